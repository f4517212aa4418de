"""Four streams, each with kernels that fill a quarter of the GPU, and always more than one queued."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import KB, MS, US, Gpu, OUT, Trace  # noqa: E402

trace = Trace(43, ("cuda", "osrt"), "./encode_ladder --streams 4")
process = trace.process("encode_ladder", 31212, Gpu("rtx3090"))
trace.background(process, 990 * MS, 1130 * MS)


def encode(thread, stream, duration):
    thread.stack = [("Encoder::run()", "encode_ladder"), ("start_thread", "libc.so.6")]
    waiting = []
    while thread.now < 1120 * MS:
        for kernel in ("motion_search", "transform_quantize", "entropy_prepare"):
            thread.launch(stream, kernel + "(const unsigned char *, short *, int, int)", duration, 82, 256, 64)
            yield
        thread.copy(stream, 96 * KB, OUT)
        waiting.append(thread.record(stream))
        yield
        if len(waiting) > 2:
            thread.wait(event=waiting.pop(0))
        yield


workers = [process.thread(f"rung-{number}", at=1000 * MS + number * 90 * US) for number in range(4)]
trace.together(*((thread, encode(thread, process.stream(2), (1650 + 130 * number) * US)) for number, thread in enumerate(workers)))
trace.save(HERE / "trace.sqlite")
