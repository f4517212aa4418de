import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=5, device="a100", pid=6120, python="python3.11", cuda=12040)
waiter, feeder = trace.thread("python3.11"), trace.thread("python3.11")
streams = [trace.stream(13), trace.stream(17)]


def queue(step):
    stream = streams[step % 2]
    if step:
        feeder.wait(stream, ends[-1])
    for layer in range(3):
        feeder.run("aten::linear/aten::addmm", "gemm", 2300, gap=60, stream=stream)
        feeder.run("aten::gelu", "gelu", 310, gap=40, stream=stream)
    ends.append(feeder.record(stream))


ends = []
queue(0)
for step in range(90):
    waiter.until(feeder.now - trace.between(200, 400))
    stream = streams[step % 2]
    finished = stream.free
    queue(step + 1)
    waiter.call("cudaStreamSynchronize", 3.5, end=finished + trace.between(3, 7))
    waiter.spend(180)
    feeder.until(waiter.now, 20, 40)
waiter.until(feeder.now)
waiter.synchronize(streams[0])
trace.write(__file__)
