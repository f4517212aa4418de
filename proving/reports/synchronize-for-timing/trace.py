import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=22, device="3090", pid=16040, python="python3.10", cuda=11080)
main, engine = trace.thread("python3.10"), trace.thread("pt_autograd_0")

for step in range(32):
    main.spend(1900, 0.2)
    for size in (1 << 20, 1 << 18):
        main.to_device(size, pinned=True, blocking=False)
    for layer in range(3):
        main.run("aten::gather", "gather", 330, gap=150)
        main.run("aten::sum", "sum", 210, gap=80)
        main.run("aten::matmul/aten::mm", "gemm32", 410, gap=110)
    main.run("aten::cross_entropy_loss/aten::nll_loss_nd", "nll", 9, gap=60)
    engine.until(main.now + trace.between(30, 50))
    for layer in range(3):
        engine.spend(120).back("GatherBackward0", "aten::scatter_add_", "scatter", 820)
        engine.spend(80).back("MmBackward0", "aten::mm", "gemm32", 730)
    main.until(engine.now, 20, 40)
    main.run("aten::_foreach_add_", "foreach", 160, gap=240)
    main.spend(40).synchronize_device()
    main.spend(250)
trace.write(__file__)
