"""Two inference threads: while one waits within a copy from pageable memory, the other's launches wait for the driver's lock."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import KB, MB, MS, US, Gpu, IN, OUT, PAGEABLE, Trace  # noqa: E402

trace = Trace(14, ("cuda", "nvtx", "osrt"), "./bin/test_video_seg_det_parallel 1 1")
process = trace.process("test_video_seg_", 20755, Gpu("t4"))
main = process.thread("test_video_seg_", at=3300 * MS)
main.os("pthread_join", until=3480 * MS)


def copy(thread, stream, size, kind):
    """The call holds the driver's lock until the copy has ended."""
    thread.copy(stream, size, kind, PAGEABLE)
    process.held, process.holder = thread.now, thread


def infer(thread, stream, rounds, layers, kernel, duration, results, prepare, evaluate):
    for _ in range(rounds):
        with thread.range("PreProcessingWithLibtorch"):
            thread.host(prepare)
            copy(thread, stream, 3 * MB, IN)
        yield
        with thread.range("ExecutionContext::enqueue"):
            for layer in range(layers):
                thread.launch(stream, kernel, duration, 120, 128, 96, 32 * KB)
                yield
        with thread.range("PostProcessingWithLibtorch"):
            for size in results:
                copy(thread, stream, size, OUT)
                yield
            thread.host(evaluate)


segment, detect = process.thread("seg_worker", at=3302 * MS), process.thread("det_worker", at=3303 * MS)
trace.together(
    (segment, infer(segment, process.stream(2), 6, 26, "trt_volta_h884cudnn_256x64_ldg8_relu_exp_small_nhwc_tn_v1", 330 * US,
                    (2 * MB, 512 * KB), 2200 * US, 3100 * US)),
    (detect, infer(detect, process.stream(2), 9, 18, "trt_volta_scudnn_128x64_relu_medium_nn_v1", 270 * US,
                   (800 * KB, 64 * KB), 1900 * US, 1700 * US)))
trace.save(HERE / "trace.sqlite")
