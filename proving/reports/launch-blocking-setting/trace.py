import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=17, device="a100", pid=30551, python="python3.9")
main, engine = trace.thread("python3.9"), trace.thread("pt_autograd_0")


def run(thread, chain, kernel, us, gap=14):
    thread.spend(gap)
    with thread.ops(chain):
        thread.spend(9)
        thread.launch(kernel, us, blocking=True)


def back(node, chain, kernel, us):
    engine.spend(6)
    with engine.op(f"autograd::engine::evaluate_function: {node}"), engine.op(node), engine.ops(chain):
        engine.spend(8)
        engine.launch(kernel, us, blocking=True)


for step in range(30):
    main.to_device(1 << 20, pinned=True, blocking=False)
    for block in range(3):
        run(main, "aten::conv1d/aten::cudnn_convolution", "conv1d", 130)
        run(main, "aten::elu", "relu", 22)
    run(main, "aten::_cdist_forward", "gemm32", 85)
    run(main, "aten::argmax", "argmax", 14)
    run(main, "aten::conv1d/aten::cudnn_convolution", "conv1d", 110)
    run(main, "aten::mean", "sum", 16)
    engine.until(main.now + trace.between(25, 50))
    for block in range(3):
        back("ConvolutionBackward0", "aten::convolution_backward", "wgrad", 150)
        back("EluBackward0", "aten::elu_backward", "add", 24)
    main.until(engine.now, 20, 40)
    main.spend(200)
    for group in range(2):
        run(main, "aten::_foreach_add_", "foreach", 46, gap=50)
trace.write(__file__)
