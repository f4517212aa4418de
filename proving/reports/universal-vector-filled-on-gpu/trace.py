"""A vector in unified memory is initialized by a kernel and then filled by the host, which gets every page back by a fault."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import KB, MB, MS, US, Gpu, Trace  # noqa: E402

trace = Trace(20, ("cuda", "faults"), "./universal")
process = trace.process("universal", 33900, Gpu("rtx3090"))
thread = process.thread("universal", at=640 * MS)
SIZE = 8 * MB
for vector in range(14):
    address = 0x7F5C00000000 + vector * (64 << 20)
    thread.call("cudaMallocManaged", 41 * US)
    thread.launch(process.null, "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<"
                  "thrust::cuda_cub::__uninitialized_fill::functor<thrust::pointer<int>, int>, long>>(F, long)", 790 * US, 8192, 256, 16)
    thread.wait(process.null)
    done = 0
    while done < SIZE:                                      # the driver moves more at once where pages were touched one after another
        size = 64 * KB if done < 256 * KB else 256 * KB if done < MB else 512 * KB
        trace.row("CUDA_UM_CPU_PAGE_FAULT_EVENTS", start=thread.now, globalPid=process.number, address=address + done,
                  originalFaultPc=0x403A17, CpuInstruction=trace.string("universal(int)"), module=trace.string("universal"))
        start = thread.now + trace.between(9 * US, 15 * US)
        for piece, cause in ((4 * KB, 2), (size - 4 * KB, 3)):
            end = start + 900 + int(piece / 11.4)
            trace.row("CUPTI_ACTIVITY_KIND_MEMCPY", start=start, end=end, deviceId=0, contextId=0, streamId=0, correlationId=0,
                      globalPid=process.number, bytes=piece, copyKind=12, srcKind=7, dstKind=7, migrationCause=cause,
                      virtualAddress=address + done)
            start = end + 1
        thread.now = start + trace.between(18 * US, 26 * US)
        thread.host(size / 4 * 0.15)
        done += size
    thread.host(SIZE / 4 * 0.1)
    thread.free(120 * US)
trace.save(HERE / "trace.sqlite")
