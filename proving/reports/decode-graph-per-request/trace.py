"""A language model's server captures and instantiates the decode loop's graph for every request. The first half is start-up."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import KB, MB, MS, US, Gpu, IN, OUT, Trace  # noqa: E402

trace = Trace(15, ("cuda", "nvtx"), "./imp-server --model qwen3-8b.gguf")
process = trace.process("imp-server", 71220, Gpu("rtx5070"))
stream = process.stream(2)
thread = process.thread("imp-server", at=420 * MS)
# Start-up: the context, the modules, the weights.
thread.call("cudaFree", 171 * MS)
thread.call("cuLibraryLoadData", 24 * MS)
for _ in range(3):
    thread.call("cudaMalloc", 1300 * US)
thread.call("cudaHostAlloc", 21 * MS)
for _ in range(14):
    thread.host(6 * MS)
    thread.copy(stream, 128 * MB, IN)
    thread.wait(stream)
thread.host(2 * MS)
for request in range(20):
    thread.host(180 * US)
    with thread.range("prefill"):
        for layer in range(6):
            thread.launch(stream, "void flash_attn_prefill<128, 64>(const __half *, const __half *, __half *, int)", 330 * US, 640, 128,
                          168)
    with thread.range("decode_loop_setup"):
        thread.call("cudaStreamBeginCapture", 6 * US)
        for node in range(22):
            thread.host(170 * US)
            thread.call("cudaLaunchKernel", 7 * US)         # captured, not run
        thread.call("cudaStreamEndCapture", 410 * US)
        thread.call("cudaGraphInstantiate", 8350 * US)
    with thread.range("decode"):
        thread.graph(stream, (9 + request % 5 * 2) * MS / 2, 1 + request, 1 + request, cost=60 * US)
        thread.copy(stream, 4 * KB, OUT)
        thread.wait(stream)
    thread.call("cudaGraphExecDestroy", 690 * US)
    thread.call("cudaGraphDestroy", 210 * US)
trace.save(HERE / "trace.sqlite")
