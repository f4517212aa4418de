import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=60691, device="v100", pid=18830, python="python3.9", cuda=11070)
main, engine = trace.thread("python3.9"), trace.thread("pt_autograd_0")
PARAMETERS = 2


def clip_grad_norm():
    for parameter in range(PARAMETERS):
        main.run("aten::norm", "norm", 5, gap=9)
    main.run("aten::stack", "add", 4, gap=12)
    main.run("aten::norm", "norm", 4)
    main.run("aten::isnan", "isnan", 2)
    main.item(pinned=False, chain="aten::is_nonzero/aten::item/aten::_local_scalar_dense")
    main.run("aten::isinf", "isnan", 2)
    main.item(pinned=False, chain="aten::is_nonzero/aten::item/aten::_local_scalar_dense")
    main.run("aten::lt", "isnan", 2)
    main.item(pinned=False, chain="aten::is_nonzero/aten::item/aten::_local_scalar_dense")
    for parameter in range(PARAMETERS):
        main.run("aten::mul_", "mul", 4, gap=9)


for step in range(30):
    with main.range(f"ProfilerStep#{step + 3}"):
        main.spend(330).to_device(2 << 20, pinned=True, blocking=False)
        for layer in range(2):
            main.run("aten::linear/aten::addmm", "gemm32_v", 570, gap=65)
        engine.until(main.now + trace.between(25, 45))
        for layer in range(2):
            engine.back("AddmmBackward0", "aten::mm", "gemm32_v", 900)
        main.until(engine.now, 20, 40)
        main.spend(60)
        clip_grad_norm()
        with main.range("Optimizer.step#Adam.step"):
            main.spend(340)
            for operator in ("aten::_foreach_addcmul_", "aten::_foreach_addcdiv_"):
                main.run(operator, "foreach", 22, gap=30)
        main.spend(110)
trace.write(__file__)
