"""Arrays in unified memory are written by the host and then touched by a kernel, which waits for each of their pages.

The source is a copy of Stack Overflow's question 39782746.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import KB, MB, MS, US, Gpu, Trace  # noqa: E402

trace = Trace(21, ("cuda", "faults"), "./managed_add")
process = trace.process("managed_add", 27711, Gpu("p100"))
thread = process.thread("managed_add", at=388 * MS)
ARRAYS = {"x": 0x7F2A40000000, "y": 0x7F2A42000000}
SIZE = 16 * MB


def move(start, address, size, kind, cause, speed):
    end = start + 1000 + int(size / speed)
    trace.row("CUPTI_ACTIVITY_KIND_MEMCPY", start=start, end=end, deviceId=0, contextId=0, streamId=0, correlationId=0,
              globalPid=process.number, bytes=size, copyKind=kind, srcKind=7, dstKind=7, migrationCause=cause, virtualAddress=address)
    return end


def pieces():
    done = 0
    while done < SIZE:
        size = 64 * KB if done < MB // 2 else 256 * KB if done < 2 * MB else 896 * KB
        size = min(size, SIZE - done)
        yield done, size
        done += size


def touch(name, function):
    """The host touches an array that lies on the GPU."""
    for offset, size in pieces():
        trace.row("CUDA_UM_CPU_PAGE_FAULT_EVENTS", start=thread.now, globalPid=process.number, address=ARRAYS[name] + offset,
                  originalFaultPc=0x402B40, CpuInstruction=trace.string(function), module=trace.string("managed_add"))
        thread.now = move(thread.now + trace.between(11 * US, 16 * US), ARRAYS[name] + offset, size, 12, 2, 10.8) + 12 * US
        thread.host(size / 4 * 0.25)


for _ in ARRAYS:
    thread.call("cudaMallocManaged", 52 * US)
thread.host(9 * MS, ("init(float*, float*, int)", "managed_add"))
for repetition in range(6):
    start = thread.now
    at = start + 22 * US
    for address in ARRAYS.values():
        for offset, size in pieces():
            fault = at
            at = move(fault + trace.between(28 * US, 44 * US), address + offset, size, 11, 2, 9.6)
            trace.row("CUDA_UM_GPU_PAGE_FAULT_EVENTS", start=fault, end=at, globalPid=process.number, deviceId=0,
                      address=address + offset, numberOfPageFaults=trace.between(3, 60), faultAccessType=1)
    thread.launch(process.null, "AddKernel(int, float *, float *)", at - start + 90 * US, 4096, 256, 12, cost=9 * US, spread=0)
    thread.wait()
    touch("y", "check(float const*, int)")
    if repetition < 5:
        touch("x", "init(float*, float*, int)")
        thread.host(3 * MS, ("init(float*, float*, int)", "managed_add"))
for _ in ARRAYS:
    thread.free(260 * US)
trace.save(HERE / "trace.sqlite")
