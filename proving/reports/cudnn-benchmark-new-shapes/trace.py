import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=2759, device="v100", shapes=True, pid=7093, python="python3.9", cuda=11080)
main = trace.thread("python3.9")
known = set()
TRIALS = [("conv_direct", 2400), ("conv_fft", 5200), ("conv_wino", 950)]


def find(height, width, layer):
    """cuDNN tries the algorithms that fit, each once, and times them."""
    main.spend(trace.random.uniform(9000, 22000))
    main.call("cudaMalloc", 420)
    for kernel, us in TRIALS:
        main.spend(trace.random.uniform(2500, 9000))
        begin = main.record()
        main.launch(kernel, us * height * width / 250000)
        end = main.record()
        main.synchronize_event(end)
    main.call("cudaFree", 380, end=trace.main_stream.free + trace.between(60, 120))
    main.spend(600)


def conv(height, width, layer):
    dims = [[4, 64 << layer, height >> layer + 1, width >> layer + 1], [64 << layer, 64 << layer, 3, 3], []]
    with main.ops("aten::conv2d/aten::convolution/aten::_convolution/aten::cudnn_convolution", dims=dims, types=["float", "float", ""]):
        main.spend(12)
        if (height, width, layer) not in known:
            known.add((height, width, layer))
            find(height, width, layer)
        main.launch("conv_wino", 2600 * height * width / 250000)


sizes = [(trace.random.randrange(400, 600), trace.random.randrange(400, 600)) for _ in range(22)]
for step in range(44):
    height, width = trace.random.choice(sizes)
    with main.range("## batch ##"):
        main.spend(1400).to_device(4 * 3 * height * width * 4, dims=[[4, 3, height, width]], rate=6.1)
    for layer in range(2):
        conv(height, width, layer)
        main.run("aten::batch_norm", "batch_norm", 800, gap=14, dims=[[4, 64 << layer, height >> layer + 1, width >> layer + 1]])
        main.run("aten::relu", "relu", 340, gap=14, dims=[[4, 64 << layer, height >> layer + 1, width >> layer + 1]])
    main.spend(60).synchronize_device()
trace.write(__file__)
