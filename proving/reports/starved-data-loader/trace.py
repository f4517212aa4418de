import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=5958, device="3090", pid=40912, python="python3.13", cuda=12080)
main, engine = trace.thread("python3.13"), trace.thread("pt_autograd_0")


def start_up():
    """The first step loads libraries and modules; it is not what the program waits for later."""
    with main.op("aten::conv2d"), main.op("aten::cudnn_convolution"):
        main.spend(1450000)
        main.call("cudaMalloc", 900)
        main.launch("conv", 6100, host=320000)
    for name in ("aten::batch_norm", "aten::relu", "aten::adaptive_avg_pool2d", "aten::linear"):
        with main.op(name):
            main.call("cudaFuncGetAttributes", 90000)
            main.call("cudaMalloc", 700)
            main.launch("gemm32", 900, host=41000)
    main.synchronize()


for step in range(34):
    with main.range("[pl][profile][_TrainingEpochLoop].train_dataloader_next"):
        with main.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
            main.spend(trace.random.choice([60000, 170000, 240000, 310000]), 0.3)
    if not step:
        start_up()
    for index in range(2):
        main.to_device(19267584 if not index else 512, rate=7.4)
    for layer in range(3):
        main.run("aten::conv2d/aten::cudnn_convolution", "conv", 9200, gap=130)
        main.run("aten::batch_norm", "batch_norm", 2100, gap=60)
    main.run("aten::cross_entropy_loss", "nll", 8, gap=60)
    engine.until(main.now + trace.between(30, 50))
    for layer in range(3):
        engine.spend(70).back("ConvolutionBackward0", "aten::convolution_backward", "wgrad", 17500)
    main.until(engine.now, 20, 40)
    with main.range("Optimizer.step#SGD.step"):
        main.spend(150).run("aten::_foreach_add_", "foreach", 420)
    with main.range("[pl][profile]log"):
        main.item()
trace.write(__file__)
