import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=762, device="4090", shapes=True, pid=1184, python="python3.10", cuda=12010)
main, engine = trace.thread("python3.10"), trace.thread("pt_autograd_0")

for step in range(90):
    with main.range(f"ProfilerStep#{step + 5}"):
        with main.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
            main.spend(1300, 0.25)
        main.to_device(9633792, dims=[[16, 3, 224, 224]])
        for layer in range(3):
            dims = [[16, 64 << layer, 56 >> layer, 56 >> layer], [64 << layer, 64 << layer, 3, 3]]
            main.run("aten::conv2d/aten::convolution/aten::cudnn_convolution", "conv", 260, gap=45, dims=dims)
            main.run("aten::relu", "relu", 45, gap=25, dims=dims[:1])
        main.run("aten::cross_entropy_loss", "nll", 6, gap=40, dims=[[16, 1000], [16]])
        engine.until(main.now + trace.between(30, 50))
        for layer in range(3):
            engine.spend(20).back("ConvolutionBackward0", "aten::convolution_backward", "wgrad", 520)
        main.until(engine.now, 20, 40)
        with main.range("Optimizer.step#SGD.step"):
            main.spend(120).run("aten::_foreach_add_", "foreach", 40)
trace.drop(calls=True)
trace.write(__file__)
