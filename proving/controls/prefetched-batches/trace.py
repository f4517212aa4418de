import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=3, device="a100", pid=51007, python="python3.11", cuda=12040)
main, engine, pin = trace.thread("python3.11"), trace.thread("pt_autograd_0"), trace.thread("pt_data_pin")
compute, ahead = trace.main_stream, trace.stream(20)
used = []


def fetch():
    """The next batch, while the GPU works on this one; at most two batches ahead."""
    with main.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
        main.spend(70)
    if len(used) > 2:
        main.synchronize_event(used[-3])
    main.to_device(77070336, pinned=True, blocking=False, stream=ahead)
    return main.record(ahead)


ready = fetch()
for step in range(52):
    main.wait(compute, ready)
    for layer in range(2):
        main.run("aten::conv2d/aten::cudnn_convolution", "conv", 6200, gap=50)
        main.run("aten::batch_norm", "batch_norm", 1500, gap=40)
    main.run("aten::cross_entropy_loss", "nll", 7, gap=50)
    engine.until(main.now + trace.between(30, 50))
    for layer in range(2):
        engine.spend(20).back("ConvolutionBackward0", "aten::convolution_backward", "wgrad", 12400)
    main.until(engine.now, 20, 40)
    main.spend(100).run("aten::_foreach_add_", "foreach", 380)
    used.append(main.record(compute))
    ready = fetch()
    pin.until(main.now).call("cudaEventQuery", 1.5)
main.synchronize()
trace.write(__file__)
