"""Traces in NVIDIA's formats, made up of a few rules.

A trace is told as a program would run: threads make calls one after another, streams run what was queued in order, a call that waits
ends when its work has ended. `save` writes the rows as Nsight Systems exports them to SQLite; `nvprof_text`, `nvprof_csv` and
`nsys_csv` print the same rows as the profilers list them. All times are nanoseconds.
"""

import random
import sqlite3
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

US = 1_000
MS = 1_000_000
KB = 1 << 10
MB = 1 << 20

VM = 1 << 48                                # Nsight's identifiers: hardware and machine, process, thread in one number
NOTHING = 0xFFFFFFFF                        # no stream, no event

# Columns as `nsys export --type sqlite` makes them (schema 3.23).
SCHEMA = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "ANALYSIS_DETAILS": "globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL, stopTime INTEGER NOT NULL",
    "META_DATA_CAPTURE": "name TEXT NOT NULL, value TEXT",
    "META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
    "PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT",
    "ThreadNames": "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER",
    "DIAGNOSTIC_EVENT": "timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL, "
        "severity INTEGER NOT NULL, text TEXT NOT NULL, globalPid INTEGER",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
    "TARGET_INFO_SYSTEM_ENV": "globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL, value TEXT",
    "TARGET_INFO_GPU": "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, isDiscrete INTEGER, "
        "l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, pwGpuId INTEGER, "
        "uuid TEXT, luid INTEGER, chipName TEXT, cuDevice INTEGER, ctxswDevPath TEXT, ctrlDevPath TEXT, revision INTEGER, "
        "nodeMask INTEGER, constantMemory INTEGER, maxIPC INTEGER, maxRegistersPerBlock INTEGER, maxShmemPerBlock INTEGER, "
        "maxShmemPerBlockOptin INTEGER, maxShmemPerSm INTEGER, maxRegistersPerSm INTEGER, threadsPerWarp INTEGER, "
        "asyncEngines INTEGER, maxWarpsPerSm INTEGER, maxBlocksPerSm INTEGER, maxThreadsPerBlock INTEGER, maxBlockDimX INTEGER, "
        "maxBlockDimY INTEGER, maxBlockDimZ INTEGER, maxGridDimX INTEGER, maxGridDimY INTEGER, maxGridDimZ INTEGER, "
        "computeMajor INTEGER, computeMinor INTEGER, smMajor INTEGER, smMinor INTEGER",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL",
    "TARGET_INFO_CUDA_CONTEXT_INFO": "nullStreamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, "
        "processId INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, parentContextId INTEGER, "
        "isGreenContext INTEGER",
    "TARGET_INFO_CUDA_STREAM": "streamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, processId INTEGER NOT NULL, "
        "contextId INTEGER NOT NULL, priority INTEGER NOT NULL, flag INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, "
        "correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
        "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, "
        "shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, "
        "gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, "
        "blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, "
        "localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, "
        "sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER, qmdBulkReleaseDone INTEGER, "
        "qmdPreexitDone INTEGER, qmdLastCtaDone INTEGER, graphId INTEGER, clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER, "
        "clusterSchedulingPolicy INTEGER, maxPotentialClusterSize INTEGER, maxActiveClusters INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
        "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, "
        "copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, "
        "srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER, "
        "virtualAddress INTEGER, copyCount INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
        "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, "
        "bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
        "contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
        "graphId INTEGER, graphExecId INTEGER",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
        "contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
        "deprecatedSyncType INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL, eventSyncId INTEGER",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "timestamp INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
        "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL, "
        "eventSyncId INTEGER",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, address INTEGER NOT NULL, "
        "originalFaultPc INTEGER, CpuInstruction INTEGER NOT NULL, module INTEGER NOT NULL, unresolvedFaultPc INTEGER",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": "start INTEGER NOT NULL, end INTEGER NOT NULL, globalPid INTEGER NOT NULL, "
        "deviceId INTEGER NOT NULL, address INTEGER NOT NULL, numberOfPageFaults INTEGER NOT NULL, faultAccessType INTEGER NOT NULL",
    "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, "
        "text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, "
        "int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, "
        "jsonText TEXT, binaryData TEXT",
    "OSRT_API": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL, "
        "returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL, argumentsId INTEGER NOT NULL",
    "OSRT_CALLCHAINS": "id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, kernelMode INTEGER, thumbCode INTEGER, "
        "unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER, stackDepth INTEGER NOT NULL, "
        "PRIMARY KEY (id, stackDepth)",
    "OSRT_FILE_ACCESS_DESCRIPTORS": "fileAccessId INTEGER NOT NULL, processId INTEGER NOT NULL, openedAt INTEGER NOT NULL, "
        "closedAt INTEGER NOT NULL, filePath TEXT NOT NULL",
    "OSRT_FILE_ACCESS_EVENTS": "fileAccessId INTEGER NOT NULL, threadId INTEGER NOT NULL, startedAt INTEGER NOT NULL, "
        "endedAt INTEGER NOT NULL, eventType INTEGER NOT NULL, apiCallId INTEGER NOT NULL, bytesProcessed INTEGER NOT NULL",
    "COMPOSITE_EVENTS": "id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, cpu INTEGER, threadState INTEGER, globalTid INTEGER, "
        "cpuCycles INTEGER NOT NULL",
    "SAMPLING_CALLCHAINS": "id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, kernelMode INTEGER, "
        "thumbCode INTEGER, unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER, "
        "stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth)",
    "SCHED_EVENTS": "start INTEGER NOT NULL, cpu INTEGER NOT NULL, isSchedIn INTEGER NOT NULL, globalTid INTEGER, threadState INTEGER, "
        "threadBlock INTEGER",
}

# Labels that the exporter adds; each entry is "number name label".
ENUMS = {
    "ENUM_CUDA_MEMCPY_OPER": ["0 CUDA_MEMCPY_KIND_UNKNOWN Unknown", "1 CUDA_MEMCPY_KIND_HTOD Host-to-Device",
        "2 CUDA_MEMCPY_KIND_DTOH Device-to-Host", "3 CUDA_MEMCPY_KIND_HTOA Host-to-Array", "4 CUDA_MEMCPY_KIND_ATOH Array-to-Host",
        "5 CUDA_MEMCPY_KIND_ATOA Array-to-Array", "6 CUDA_MEMCPY_KIND_ATOD Array-to-Device", "7 CUDA_MEMCPY_KIND_DTOA Device-to-Array",
        "8 CUDA_MEMCPY_KIND_DTOD Device-to-Device", "9 CUDA_MEMCPY_KIND_HTOH Host-to-Host", "10 CUDA_MEMCPY_KIND_PTOP Peer-to-Peer",
        "11 CUDA_MEMCPY_KIND_UVM_HTOD Unified Host-to-Device", "12 CUDA_MEMCPY_KIND_UVM_DTOH Unified Device-to-Host",
        "13 CUDA_MEMCPY_KIND_UVM_DTOD Unified Device-to-Device"],
    "ENUM_CUDA_MEM_KIND": ["0 CUDA_MEMOPR_MEMORY_KIND_PAGEABLE Pageable", "1 CUDA_MEMOPR_MEMORY_KIND_PINNED Pinned",
        "2 CUDA_MEMOPR_MEMORY_KIND_DEVICE Device", "3 CUDA_MEMOPR_MEMORY_KIND_ARRAY Array", "4 CUDA_MEMOPR_MEMORY_KIND_MANAGED Managed",
        "5 CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC Device Static", "6 CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC Managed Static",
        "7 CUDA_MEMOPR_MEMORY_KIND_UNKNOWN Unknown"],
    "ENUM_CUDA_UNIF_MEM_MIGRATION": ["0 CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_UNKNOWN Unknown",
        "1 CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_USER User prefetch", "2 CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE Page fault",
        "3 CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_PREFETCH Speculative prefetch",
        "4 CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_EVICTION Eviction",
        "5 CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_ACCESS_COUNTERS Access counters"],
    "ENUM_CUDA_UNIF_MEM_ACCESS_TYPE": ["0 CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_UNKNOWN Unknown",
        "1 CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_READ Read", "2 CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE Write",
        "3 CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_ATOMIC Atomic", "4 CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_PREFETCH Prefetch"],
    "ENUM_CUDA_KERNEL_LAUNCH_TYPE": ["0 CUDA_KERNEL_LAUNCH_TYPE_UNKNOWN Unknown", "1 CUDA_KERNEL_LAUNCH_TYPE_REGULAR Regular",
        "2 CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE Coop Single Device",
        "3 CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE Coop Multi Device"],
    "ENUM_CUPTI_STREAM_TYPE": ["0 CUPTI_ACTIVITY_STREAM_CREATE_FLAG_UNKNOWN Unknown stream type",
        "1 CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT Default stream",
        "2 CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING Non-blocking stream", "3 CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL Null stream"],
    "ENUM_CUPTI_SYNC_TYPE": ["0 CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN Unknown",
        "1 CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE Event sync",
        "2 CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT Stream wait sync",
        "3 CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE Stream sync",
        "4 CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE Context sync"],
    "ENUM_NSYS_EVENT_CLASS": ["0 TRACE_PROCESS_EVENT_CUDA_RUNTIME CUDA runtime", "1 TRACE_PROCESS_EVENT_CUDA_DRIVER CUDA driver",
        "26 TRACE_PROCESS_EVENT_CUDA_API CUDA API", "27 TRACE_PROCESS_EVENT_OS_RUNTIME OSRT runtime"],
    "ENUM_NSYS_EVENT_TYPE": ["34 NvtxMark NvtxMark", "59 NvtxPushPopRange NvtxPushPopRange", "60 NvtxStartEndRange NvtxStartEndRange",
        "75 NvtxDomainCreate NvtxDomainCreate"],
    "ENUM_SAMPLING_THREAD_STATE": ["0 Unknown Unknown", "1 Running Running", "2 Interruptible Interruptible",
        "3 Uninterruptible Uninterruptible", "4 Stopped Stopped", "5 Terminated Terminated", "6 Unscheduled Unscheduled",
        "7 Waiting Waiting", "8 OSRuntime OS runtime", "9 Initialized Initialized", "10 Transition Transition"],
    "ENUM_STACK_UNWIND_METHOD": ["0 Unknown Unknown", "1 FramePointer Frame pointer", "2 UnwindTable Unwind table",
        "5 KernelContext Kernel context", "6 DWARF_EH DWARF EH", "7 DWARF_DF DWARF DF", "8 LBR LBR", "255 Undefined Undefined"],
    "ENUM_OSRT_FILE_ACCESS_EVENT_TYPE": ["1 Open OSRT Open File Action", "2 Close OSRT Close File Action",
        "3 Read OSRT Read from File Action", "4 Write OSRT Write to File Action", "6 Metadata OSRT Metadata File Action"],
}

# Versions of CUDA that introduced runtime calls, with which their recorded names end; calls that are not here have 3.2.
SINCE = {"cudaLaunchKernel": 7000, "cudaMallocManaged": 6000, "cudaStreamCreateWithFlags": 5000, "cudaMallocAsync": 11020,
         "cudaFreeAsync": 11020, "cudaStreamBeginCapture": 10000, "cudaStreamEndCapture": 10000, "cudaGraphInstantiate": 12000,
         "cudaGraphLaunch": 10000, "cudaGraphExecDestroy": 10000, "cudaGraphDestroy": 10000, "cudaLaunchHostFunc": 10000}

# Name, chip, compute capability, multiprocessors, memory in GiB, memory bandwidth in GB/s, clock in MHz, discrete, runtime's PCIe GB/s.
GPUS = {
    "a100": ("NVIDIA A100-SXM4-40GB", "GA100", (8, 0), 108, 40, 1555, 1410, 1, 24.0),
    "h100": ("NVIDIA H100 80GB HBM3", "GH100", (9, 0), 132, 80, 3352, 1980, 1, 50.0),
    "v100": ("Tesla V100-SXM2-16GB", "GV100", (7, 0), 80, 16, 900, 1530, 1, 12.0),
    "p100": ("Tesla P100-PCIE-16GB", "GP100", (6, 0), 56, 16, 732, 1328, 1, 11.5),
    "t4": ("Tesla T4", "TU104", (7, 5), 40, 15, 320, 1590, 1, 12.0),
    "rtx2080": ("NVIDIA GeForce RTX 2080 Ti", "TU102", (7, 5), 68, 11, 616, 1545, 1, 12.0),
    "rtx3090": ("NVIDIA GeForce RTX 3090", "GA102", (8, 6), 82, 24, 936, 1695, 1, 24.0),
    "rtx4090": ("NVIDIA GeForce RTX 4090", "AD102", (8, 9), 128, 24, 1008, 2520, 1, 25.0),
    "rtx5070": ("NVIDIA GeForce RTX 5070", "GB205", (12, 0), 48, 12, 672, 2512, 1, 25.0),
    "nano": ("NVIDIA Tegra X1", "GM20B", (5, 3), 1, 4, 26, 921, 0, 5.5),
    "orin": ("Orin", "GA10B", (8, 7), 16, 32, 205, 1300, 0, 30.0),
}

PAGEABLE, PINNED, DEVICE = 0, 1, 2
IN, OUT, WITHIN = 1, 2, 8                   # host to device, device to host, device to device


class Stream:
    """Work in order. `kind` is 3 for the null stream, 1 for one that waits for it, 2 for one that does not."""

    def __init__(self, number, kind):
        self.number, self.kind, self.free = number, kind, 0


class Gpu:
    """Engines of one GPU. With `alone`, a kernel fills it, so that kernels of two streams run one after the other."""

    def __init__(self, model, alone=False):
        self.name, self.chip, self.capability, self.multiprocessors, self.memory, self.bandwidth, self.clock, self.discrete, self.link = \
            GPUS[model]
        self.alone = alone
        self.engines = defaultdict(list)    # what each engine is given to do: (start, end) in order
        self.owner = None

    def place(self, engine, ready, duration):
        """The first time at which an engine has room."""
        start, spans = ready, self.engines[engine]
        for first, last in spans:
            if start + duration + US <= first:
                break
            start = max(start, last + US)
        spans.append((start, start + duration))
        spans.sort()
        return start


class Lock:
    def __init__(self):
        self.free = 0


class Process:
    def __init__(self, trace, name, pid, gpu):
        self.trace, self.name, self.pid, self.gpu = trace, name, pid, gpu
        self.number = VM | pid << 24
        self.streams, self.calls, self.events = {}, 0, 0
        self.null = self.stream(3, 7)
        self.grids = 0
        self.held, self.holder = 0, None    # until when, and by whom, a call holds the driver's lock
        trace.row("PROCESSES", globalPid=self.number, pid=pid, name=name)

    def stream(self, kind=1, number=None):
        stream = Stream(number or 13 + len(self.streams) - 1, kind)
        self.streams[stream.number] = stream
        return stream

    def thread(self, name, tid=None, at=0):
        thread = Thread(self, name, tid or self.pid + len([t for t in self.trace.threads if t.process is self]), at)
        self.trace.threads.append(thread)
        return thread

    def idle(self):
        """When all that was queued has ended."""
        return max(stream.free for stream in self.streams.values())

    def run(self, stream, ready, duration, engine=None):
        """Start and end of work that may start when `ready`, after what the stream, and the null stream's rule, put before it."""
        start = ready
        before = [stream.free]
        if stream.kind == 3:
            before += [other.free for other in self.streams.values() if other.kind == 1]
        elif stream.kind == 1:
            before.append(self.null.free)
        if max(before) > start:
            start = max(before) + self.trace.between(900, 1400)
        if engine:
            start = self.gpu.place(engine, start, int(duration))
        stream.free = start + int(duration)
        return start, stream.free


class Thread:
    """One thread of the host; `now` is where it stands."""

    def __init__(self, process, name, tid, at):
        self.process, self.trace, self.name, self.tid, self.now = process, process.trace, name, tid, at
        self.number = process.number | tid
        self.stack = []                     # callers, innermost first: (function, module)
        self.work = []                      # what samples find: (start, end, chain)
        self.born = at
        process.trace.row("ThreadNames", nameId=self.trace.string(name), priority=20, globalTid=self.number)

    # The host

    def host(self, duration, *chain):
        """Work of the program itself, which no table but the samples shows."""
        duration = self.trace.about(duration)
        self.work.append((self.now, self.now + duration, [*chain, *self.stack]))
        self.now += duration

    @contextmanager
    def range(self, text):
        start = self.now
        self.now += self.trace.between(150, 350)
        yield
        self.now += self.trace.between(150, 350)
        self.trace.row("NVTX_EVENTS", start=start, end=self.now, eventType=59, text=text, globalTid=self.number, domainId=0)

    def os(self, name, duration=None, until=None, chain=(), out=True, start=None):
        """A call of the operating system's library; `out`: the thread gives its processor back."""
        begin = self.now if start is None else start
        end = until if until is not None else begin + self.trace.about(duration)
        number = self.trace.chain("OSRT_CALLCHAINS", [*chain, *self.stack]) if chain else 0
        self.trace.row("OSRT_API", start=begin, end=end, eventClass=27, globalTid=self.number, nameId=self.trace.string(name),
                       returnValue=0, nestingLevel=0, callchainId=number, argumentsId=0)
        if out and end - begin > 20 * US:
            self.trace.blocked.append((self, begin + 3 * US, end - 4 * US))
        else:
            self.work.append((begin, end, [*chain, *self.stack]))
        if start is None:
            self.now = end + self.trace.between(400, 900)
        return begin, end

    def lock(self, lock, *chain, name="pthread_mutex_lock"):
        """Waits for a lock of the program; only a wait is recorded."""
        if lock.free > self.now:
            self.os(name, until=lock.free + self.trace.between(12 * US, 30 * US), chain=chain)

    def unlock(self, lock):
        lock.free = self.now

    # Calls

    def call(self, name, cost, until=0, spin=True):
        """A call of CUDA that costs `cost`, and ends no earlier than `until`."""
        process, start = self.process, self.now
        cost = self.trace.about(cost)
        end = max(start + cost, until)
        if process.held > start and process.holder is not self:
            freed = process.held + self.trace.between(6 * US, 14 * US)
            self.os("pthread_rwlock_wrlock", start=start + 900, until=freed,
                    chain=[("pthread_rwlock_wrlock", "libc.so.6"), ("0x7f30c42a91d4", "libcuda.so.1"), (name, "libcudart.so.12")])
            end = max(end, freed + cost)
        process.calls += 1
        full = name if not name.startswith("cuda") else f"{name}_v{SINCE.get(name, 3020)}"
        self.trace.row("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=0 if name.startswith("cuda") else 1,
                       globalTid=self.number, correlationId=process.calls, nameId=self.trace.string(full), returnValue=0)
        if spin:
            self.work.append((start, end, [("0x7f30c4251c8e", "libcuda.so.1"), (name, "libcudart.so.12"), *self.stack]))
        self.now = end + self.trace.between(300, 900)
        return start, end, process.calls

    def launch(self, stream, kernel, duration, grid=256, block=256, registers=32, shared=0, cost=4.6 * US, name="cudaLaunchKernel",
               spread=0.06):
        """Queues a kernel, which is not recorded if it has no name; returns when it will have ended."""
        _, ready, number = self.call(name, cost)
        process = self.process
        start, end = process.run(stream, ready + self.trace.between(2000, 4000), self.trace.about(duration, spread),
                                 "kernels" if process.gpu.alone else None)
        if not kernel:
            return end
        short = kernel.split("(")[0].split("<")[0].split("::")[-1].split(" ")[-1]
        process.grids += 1
        gx, gy, gz = (grid, 1, 1) if isinstance(grid, int) else grid
        bx, by, bz = (block, 1, 1) if isinstance(block, int) else block
        self.trace.row("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=0, contextId=1, greenContextId=0,
                       streamId=stream.number, correlationId=number, globalPid=process.number, demangledName=self.trace.string(kernel),
                       shortName=self.trace.string(short), mangledName=self.trace.string(short), launchType=1, cacheConfig=0,
                       registersPerThread=registers, gridX=gx, gridY=gy, gridZ=gz, blockX=bx, blockY=by, blockZ=bz,
                       staticSharedMemory=shared, dynamicSharedMemory=0, localMemoryPerThread=0, localMemoryTotal=0,
                       gridId=process.grids, sharedMemoryExecuted=8192, sharedMemoryLimitConfig=0, clusterX=0, clusterY=0, clusterZ=0,
                       clusterSchedulingPolicy=0, maxPotentialClusterSize=0, maxActiveClusters=0)
        return end

    def copy(self, stream, size, kind, host=PINNED, name="cudaMemcpyAsync", speed=None, cost=4.2 * US, waits=None):
        """Queues a copy. It waits for its end within the call if it is synchronous, or if the host's memory is pageable."""
        process = self.process
        if waits is None:
            waits = kind != WITHIN and (host == PAGEABLE or "Async" not in name)
        if speed is None:
            speed = process.gpu.bandwidth / 2.4 if kind == WITHIN else process.gpu.link * (0.9 if host == PINNED else 0.27)
        duration = 1200 + size / speed
        engine = {IN: "in", OUT: "out"}.get(kind)
        if waits:
            ready = process.held if process.holder is not self and process.held > self.now else self.now
            start, end = process.run(stream, ready + self.trace.between(5 * US, 9 * US), duration, engine)
            _, _, number = self.call(name, cost, until=end + self.trace.between(3 * US, 6 * US))
        else:
            _, ready, number = self.call(name, cost)
            start, end = process.run(stream, ready + self.trace.between(1800, 3200), duration, engine)
        source, target = {IN: (host, DEVICE), OUT: (DEVICE, host)}.get(kind, (DEVICE, DEVICE))
        self.trace.row("CUPTI_ACTIVITY_KIND_MEMCPY", start=start, end=end, deviceId=0, contextId=1, greenContextId=0,
                       streamId=stream.number, correlationId=number, globalPid=process.number, bytes=size, copyKind=kind,
                       srcKind=source, dstKind=target, copyCount=1)
        return end

    def fill(self, stream, size, name="cudaMemsetAsync"):
        process = self.process
        _, ready, number = self.call(name, 4 * US)
        start, end = process.run(stream, ready + self.trace.between(1800, 3200), 900 + size / process.gpu.bandwidth * 1.4)
        self.trace.row("CUPTI_ACTIVITY_KIND_MEMSET", start=start, end=end, deviceId=0, contextId=1, greenContextId=0,
                       streamId=stream.number, correlationId=number, globalPid=process.number, value=0, bytes=size, memKind=DEVICE)

    def graph(self, stream, duration, graph, execution, cost=9 * US):
        """Launches a graph, recorded as a whole."""
        process = self.process
        _, ready, number = self.call("cudaGraphLaunch", cost)
        start, end = process.run(stream, ready + self.trace.between(3000, 5000), self.trace.about(duration, 0.03),
                                 "kernels" if process.gpu.alone else None)
        self.trace.row("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start=start, end=end, deviceId=0, contextId=1, greenContextId=0,
                       streamId=stream.number, correlationId=number, globalPid=process.number, graphId=graph, graphExecId=execution)
        return end

    def wait(self, stream=None, event=None, name=None, cost=1.6 * US, extra=0):
        """Waits for a stream, for an event, or for the whole device."""
        process = self.process
        kind, default = (1, "cudaEventSynchronize") if event else (3, "cudaStreamSynchronize") if stream else (4, "cudaDeviceSynchronize")
        done = event[1] if event else stream.free if stream else process.idle()
        until = done + self.trace.between(2500, 5500) + extra if done > self.now else 0
        start, end, number = self.call(name or default, cost + extra, until=until)
        self.trace.row("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=start + 350, end=end - 250, deviceId=0, contextId=1,
                       streamId=stream.number if stream else NOTHING, correlationId=number, globalPid=process.number, syncType=kind,
                       eventId=event[0] if event else NOTHING, eventSyncId=event[2] if event else NOTHING)

    def record(self, stream, event=None, name="cudaEventRecord"):
        """Records an event: its number, when it will have happened, and the number of this record of it."""
        process = self.process
        process.events += 1
        _, end, number = self.call(name, 1.9 * US)
        event = event or process.events
        self.trace.row("CUPTI_ACTIVITY_KIND_CUDA_EVENT", timestamp=0, deviceId=0, contextId=1, greenContextId=0, streamId=stream.number,
                       correlationId=number, globalPid=process.number, eventId=event, eventSyncId=process.events)
        return event, max(end, stream.free), process.events

    def hold(self, stream, event, name="cudaStreamWaitEvent"):
        """Lets a stream wait for an event."""
        start, end, number = self.call(name, 1.7 * US)
        self.trace.row("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=start + 300, end=end - 200, deviceId=0, contextId=1,
                       streamId=stream.number, correlationId=number, globalPid=self.process.number, syncType=2, eventId=event[0],
                       eventSyncId=event[2])
        stream.free = max(stream.free, event[1])

    def free(self, cost, name="cudaFree"):
        """Frees device memory, which waits for all work."""
        until = self.process.idle() + self.trace.about(cost) if self.process.idle() > self.now else 0
        self.call(name, cost, until=until)


class Trace:
    """Rows of one recording."""

    def __init__(self, seed, recorded=("cuda",), command="./main", year=2025):
        self.random = random.Random(seed)
        self.rows = defaultdict(list)
        self.strings, self.chains, self.threads, self.blocked = {}, {}, [], []
        self.recorded, self.command, self.year = recorded, command, year
        for text in ("[Unknown]", "[kernel.kallsyms]", "[Max depth]", "[Broken backtraces]"):
            self.string(text)

    def between(self, low, high):
        return self.random.randint(int(low), int(high))

    def about(self, value, spread=0.12):
        return int(value * self.random.uniform(1 - spread, 1 + spread))

    def row(self, table, **columns):
        self.rows[table].append(columns)

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def chain(self, table, frames):
        """The number of a call chain of OSRT_CALLCHAINS, innermost function first."""
        key = tuple(frames)
        if key not in self.chains:
            self.chains[key] = len(self.chains) + 1
            self.frames(table, self.chains[key], frames, None)
        return self.chains[key]

    def frames(self, table, number, frames, unwound):
        for depth, (function, module) in enumerate(frames):
            self.row(table, id=number, symbol=self.string(function), module=self.string(module), kernelMode=0, thumbCode=0,
                     unresolved=int(function.startswith("0x")), specialEntry=0, originalIP=0x7F3000000000 + self.string(function) * 4096,
                     unwindMethod=unwound, stackDepth=depth)

    def process(self, name, pid, gpu):
        return Process(self, name, pid, gpu)

    def sample(self, thread, period, until=None):
        """Samples of one thread, where it has a processor; `period` apart."""
        blocked = sorted((start, end) for owner, start, end in self.blocked if owner is thread)
        at = thread.born + period // 2
        for start, end, chain in sorted(thread.work, key=lambda work: work[:2]):
            at = max(at, start + self.between(0, period // 8))
            while at < min(end, until or end):
                if chain and not any(first <= at < last for first, last in blocked):
                    number = len(self.rows["COMPOSITE_EVENTS"]) + 1
                    self.row("COMPOSITE_EVENTS", id=number, start=at, cpu=thread.tid % 16, threadState=1, globalTid=thread.number,
                             cpuCycles=1)
                    self.frames("SAMPLING_CALLCHAINS", number, chain, 7)
                at += self.about(period, 0.08)

    def schedule(self):
        """Switches of threads that gave their processor back."""
        for thread, start, end in sorted(self.blocked, key=lambda entry: entry[1]):
            for time, inside in ((start, 0), (end, 1)):
                self.row("SCHED_EVENTS", start=time, cpu=thread.tid % 16, isSchedIn=inside, globalTid=thread.number, threadState=0)

    def background(self, process, start, end, period=100 * MS):
        """The driver's own thread, which polls."""
        thread = process.thread("cuda-EvtHandlr", process.pid + 17, start)
        while thread.now < end:
            thread.os("poll", until=min(thread.now + period, end), chain=[("__poll", "libc.so.6"), ("0x7f30c43a15f7", "libcuda.so.1"),
                                                                         ("start_thread", "libc.so.6")])
        return thread

    def together(self, *running):
        """Runs threads' stories side by side: of (thread, generator), the one that is behind goes on."""
        running = list(running)
        while running:
            pair = min(running, key=lambda pair: pair[0].now)
            if next(pair[1], self) is self:
                running.remove(pair)

    # Writing

    def finish(self):
        rows = [row for name, table in self.rows.items() for row in table if "start" in row and name != "TARGET_INFO"]
        first, last = min(row["start"] for row in rows), max(row.get("end") or row["start"] for row in rows)
        processes = sorted({thread.process for thread in self.threads}, key=lambda process: process.pid)
        epoch = 1_735_689_600_000_000_000 + (self.year - 2025) * 31_536_000_000_000_000
        self.row("ANALYSIS_DETAILS", globalVid=VM, duration=last + 40 * MS, startTime=9_255_378_000_000_000,
                 stopTime=9_255_378_000_000_000 + last + 40 * MS)
        self.row("TARGET_INFO_SESSION_START_TIME", utcEpochNs=epoch, utcTime=f"{self.year}-01-01T00:00:00",
                 localTime=f"{self.year}-01-01T01:00:00")
        kinds = {"cuda": "Cuda", "nvtx": "NvtxEvents", "osrt": "OSRuntime"}
        capture = [("DEVICE_ID", "Local (CLI)"), *(("CAPTURE_EVENT_TYPE", kinds[kind]) for kind in self.recorded if kind in kinds),
                   ("START_TRIGGER", "Immediate"), ("STOP_TRIGGER", "Delayed"), ("DEVICE_TYPE", "Unix")]
        if "osrt" in self.recorded:
            capture += [("OS_RUNTIME_OPTIONS:DURATION_THRESHOLD_NS", "1000"), ("OS_RUNTIME_OPTIONS:COLLECT_BACKTRACES", "true"),
                        ("OS_RUNTIME_OPTIONS:BACKTRACES_THRESHOLD_NS", "80000")]
        yes = lambda kind: "true" if kind in self.recorded else "false"
        capture += [("PROCESS_0:HOW_TO_ATTACH", "LaunchAnother"), ("PROCESS_0:COMMAND", self.command),
                    ("PROCESS_0:COLLECT_NVTX_TRACE", yes("nvtx")), ("PROCESS_0:COLLECT_CUDA_TRACE", yes("cuda")),
                    ("PROCESS_0:CUDA_SKIP_SOME_API_CALLS", "true"),
                    ("PROCESS_0:COLLECT_UVM_CPU_PAGE_FAULTS", yes("faults")), ("PROCESS_0:COLLECT_UVM_GPU_PAGE_FAULTS", yes("faults")),
                    ("LINUX_PERF_OPTIONS:COLLECT_CPU_CTXSW_TRACE", yes("sched")),
                    ("LINUX_PERF_OPTIONS:COLLECT_IP_BACKTRACE_SAMPLES", yes("sample"))]
        if "cuda" in self.recorded:
            capture.append(("PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", "Graph"))
        for name, value in capture:
            self.row("META_DATA_CAPTURE", name=name, value=value)
        for name, value in (("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"), ("EXPORT_PRODUCT_VERSION", "2025.5.1.121"),
                            ("EXPORT_PRODUCT_DATE", "2025.5"), ("EXPORT_SCHEMA_VERSION", "3.23.3"), ("EXPORT_SCHEMA_VERSION_MAJOR", "3"),
                            ("EXPORT_SCHEMA_VERSION_MINOR", "23"), ("EXPORT_SCHEMA_VERSION_MICRO", "3"),
                            ("EXPORT_PLATFORM", "linux-desktop"), ("EXPORT_PARAM_INPUT_FILE", "trace.nsys-rep"),
                            ("EXPORT_PARAM_OUTPUT_FILE", "trace.sqlite"),
                            ("EXPORT_PARAM_LAZY", "true"), ("EXPORT_PARAM_TIME_NORMALIZE", "false")):
            self.row("META_DATA_EXPORT", name=name, value=value)
        for name, number, value in (("CpuCores", 1, "16"), ("CpuArchitecture", 3, "x86_64"), ("NvDriverVersion", 205, "570.158.01"),
                                    ("OsDescription", 605, "Ubuntu 22.04.5 LTS"), ("CudaDriverVersion", 611, "12080"),
                                    ("Hostname", 619, "proving"), ("HasCudaEvents", 812, "1")):
            self.row("TARGET_INFO_SYSTEM_ENV", globalVid=VM, devStateName="Local (CLI)", name=name, nameEnum=number, value=value)
        gpu = processes[0].gpu
        major, minor = gpu.capability
        self.row("TARGET_INFO_GPU", vmId=VM, id=0, name=gpu.name, busLocation="0000:01:00.0", isDiscrete=gpu.discrete, l2CacheSize=6 * MB,
                 totalMemory=gpu.memory << 30, memoryBandwidth=gpu.bandwidth * 10**9, clockRate=gpu.clock * 10**6,
                 smCount=gpu.multiprocessors, pwGpuId=0, uuid="49f21dcc-c8fa-396b-fea7-232a69c4de31", luid=0, chipName=gpu.chip,
                 cuDevice=0, ctxswDevPath="", ctrlDevPath="", revision=161, nodeMask=0, constantMemory=65536, maxIPC=4,
                 maxRegistersPerBlock=65536, maxShmemPerBlock=49152, maxShmemPerBlockOptin=101376, maxShmemPerSm=102400,
                 maxRegistersPerSm=65536, threadsPerWarp=32, asyncEngines=2, maxWarpsPerSm=48, maxBlocksPerSm=16,
                 maxThreadsPerBlock=1024, maxBlockDimX=1024, maxBlockDimY=1024, maxBlockDimZ=64, maxGridDimX=2147483647,
                 maxGridDimY=65535, maxGridDimZ=65535, computeMajor=major, computeMinor=minor, smMajor=major, smMinor=minor)
        for process in processes if "cuda" in self.recorded else ():
            self.row("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=process.pid)
            self.row("TARGET_INFO_CUDA_CONTEXT_INFO", nullStreamId=7, hwId=0, vmId=1, processId=process.pid, deviceId=0, contextId=1,
                     parentContextId=0, isGreenContext=0)
            for stream in process.streams.values():
                self.row("TARGET_INFO_CUDA_STREAM", streamId=stream.number, hwId=0, vmId=1, processId=process.pid, contextId=1, priority=0,
                         flag=stream.kind)
        for text in (f"Recording of {self.command}", *(f"{kinds[kind]} events collected." for kind in self.recorded if kind in kinds)):
            self.row("DIAGNOSTIC_EVENT", timestamp=max(0, first - 20 * MS), timestampType=1, source=2, severity=1, text=text, globalPid=VM)
        for text, number in self.strings.items():
            self.row("StringIds", id=number, value=text)

    def save(self, path):
        """Writes the rows as an export of Nsight Systems."""
        if "sched" in self.recorded:
            self.schedule()
        self.check()
        self.finish()
        path = Path(path)
        path.unlink(missing_ok=True)
        base = sqlite3.connect(path, isolation_level=None)
        base.execute("PRAGMA page_size = 1024")
        base.execute("PRAGMA journal_mode = OFF")
        base.execute("BEGIN")
        for name, labels in ENUMS.items():
            base.execute(f"CREATE TABLE {name} (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT)")
            base.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", [label.split(" ", 2) for label in labels])
        for name, columns in SCHEMA.items():
            rows = self.rows.get(name)
            if not rows:
                continue
            base.execute(f"CREATE TABLE {name} ({columns})")
            keys = [column.split()[0] for column in columns.split(", PRIMARY KEY")[0].split(", ")]
            order = next((key for key in ("start", "startedAt", "timestamp") if key in rows[0] and name != "COMPOSITE_EVENTS"), None)
            if order:
                rows = sorted(rows, key=lambda row: row[order])
            base.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(keys))})",
                             [tuple(row.get(key) for key in keys) for row in rows])
        base.execute("COMMIT")
        base.execute("VACUUM")
        base.close()
        assert path.stat().st_size < 200_000, f"{path} has {path.stat().st_size} bytes"

    def gpu_rows(self):
        for kind in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE"):
            for row in self.rows.get("CUPTI_ACTIVITY_KIND_" + kind, ()):
                yield kind, row

    def check(self):
        """What holds in every recording: nothing ends before it starts, threads and streams do one thing at a time, work follows a call."""
        for name, table in self.rows.items():
            for row in table:
                assert row.get("end") is None or row["end"] >= row["start"] >= 0, (name, row)
        for table in ("CUPTI_ACTIVITY_KIND_RUNTIME", "OSRT_API", "NVTX_EVENTS"):
            threads = defaultdict(list)
            for row in self.rows.get(table, ()):
                threads[row["globalTid"]].append((row["start"], -row["end"]))
            for spans in threads.values():
                open_ends = []
                for start, end in sorted(spans):
                    while open_ends and open_ends[-1] <= start:
                        open_ends.pop()
                    assert not open_ends or -end <= open_ends[-1], (table, start, -end, open_ends)
                    open_ends.append(-end)
        calls = {(row["globalTid"] >> 24, row["correlationId"]): row for row in self.rows.get("CUPTI_ACTIVITY_KIND_RUNTIME", ())}
        streams = defaultdict(list)
        for kind, row in self.gpu_rows():
            if row.get("copyKind") in (11, 12, 13):
                continue
            call = calls[row["globalPid"] >> 24, row["correlationId"]]
            assert row["start"] > call["start"], (row, call)
            streams[row["globalPid"], row["streamId"]].append((row["start"], row["end"]))
        for spans in streams.values():
            spans.sort()
            assert all(after[0] >= before[1] for before, after in zip(spans, spans[1:])), spans

    # Listings

    def listing(self):
        """Rows of calls and of the GPU, in order: (start, end, what, row)."""
        text = {number: value for value, number in self.strings.items()}
        names = {}
        for row in self.rows["CUPTI_ACTIVITY_KIND_RUNTIME"]:
            name = text[row["nameId"]]
            names[row["correlationId"]] = name[:name.rindex("_v")] if name.startswith("cuda") else name
            yield row["start"], row["end"], "call", {**row, "name": names[row["correlationId"]]}
        ways = {IN: "HtoD", OUT: "DtoH", WITHIN: "DtoD"}
        for kind, row in self.gpu_rows():
            name = text[row["demangledName"]] if kind == "KERNEL" else f"[CUDA memcpy {ways[row['copyKind']]}]" if kind == "MEMCPY" \
                else "[CUDA memset]"
            yield row["start"], row["end"], kind, {**row, "name": name}

    def nvprof_rows(self):
        kernels = {row["correlationId"]: row["name"] for _, _, what, row in self.listing() if what == "KERNEL"}
        for start, end, what, row in sorted(self.listing(), key=lambda entry: entry[:2]):
            name = row["name"]
            if what == "KERNEL":
                name = f"{name} [{row['correlationId']}]"
            elif what == "call" and row["correlationId"] in kernels:
                name = f"{name} ({kernels[row['correlationId']]} [{row['correlationId']}])"
            yield start, end, what, row, name

    def nvprof_csv(self, path, process, command):
        """`nvprof --print-gpu-trace --print-api-trace --csv`, in milliseconds and microseconds."""
        self.check()
        kinds = {PAGEABLE: '"Pageable"', PINNED: '"Pinned"', DEVICE: '"Device"'}
        lines = [f"=={process.pid}== NVPROF is profiling process {process.pid}, command: {command}",
                 f"=={process.pid}== Profiling application: {command}", f"=={process.pid}== Profiling result:",
                 '"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread","Static SMem",'
                 '"Dynamic SMem","Size","Throughput","SrcMemType","DstMemType","Device","Context","Stream","Name","Correlation_ID"',
                 "ms,us,,,,,,,,B,B,MB,GB/s,,,,,,,"]
        for start, end, what, row, name in self.nvprof_rows():
            fields = [""] * 14
            where = ["", "", ""] if what == "call" else [f'"{process.gpu.name} (0)"', '"1"', f'"{row["streamId"]}"']
            if what == "KERNEL":
                fields[:9] = [str(row[key]) for key in ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread",
                                                        "staticSharedMemory", "dynamicSharedMemory")]
            elif what == "MEMCPY":
                fields[9:13] = [f"{row['bytes'] / MB:.6f}", f"{row['bytes'] / (end - start):.6f}", kinds[row["srcKind"]],
                                kinds[row["dstKind"]]]
            times = f"{start / MS:.6f},{(end - start) / US:.3f}"
            lines.append(",".join([times, *fields[:13], *where, f'"{name}"', str(row["correlationId"])]))
        Path(path).write_text("\n".join(lines) + "\n")

    def nvprof_text(self, path, process, command):
        """`nvprof --print-gpu-trace --print-api-trace`."""
        self.check()

        def time(value):
            for unit, size in (("s", 10**9), ("ms", MS), ("us", US)):
                if value >= size:
                    return f"{value / size:.{5 - len(str(value // size))}f}{unit}"
            return f"{value}ns"

        def size(value):
            for unit, many in (("MB", MB), ("KB", KB)):
                if value >= many:
                    return f"{value / many:.5g}{unit}"
            return f"{value}B"

        kinds = {PAGEABLE: "Pageable", PINNED: "Pinned", DEVICE: "Device"}
        columns = ("Start", "Duration", "Grid Size", "Block Size", "Regs*", "SSMem*", "DSMem*", "Size", "Throughput", "SrcMemType",
                   "DstMemType", "Device", "Context", "Stream")
        widths = (8, 9, 20, 15, 9, 9, 9, 9, 11, 11, 11, 16, 9, 9)
        line = lambda fields, name: " ".join(field.rjust(width) for field, width in zip(fields, widths)) + "  " + name
        lines = [f"=={process.pid}== NVPROF is profiling process {process.pid}, command: {command}",
                 f"=={process.pid}== Profiling application: {command}", f"=={process.pid}== Profiling result:", line(columns, "Name")]
        for start, end, what, row, name in self.nvprof_rows():
            fields = [time(start), time(end - start)] + ["-"] * 12
            if what != "call":
                fields[11:] = [process.gpu.name[:15], "1", str(row["streamId"])]
            if what == "KERNEL":
                fields[2:7] = [f"({row['gridX']} {row['gridY']} {row['gridZ']})", f"({row['blockX']} {row['blockY']} {row['blockZ']})",
                               str(row["registersPerThread"]), size(row["staticSharedMemory"]), size(row["dynamicSharedMemory"])]
            elif what == "MEMCPY":
                fields[7:11] = [size(row["bytes"]), f"{row['bytes'] / (end - start):.4f}GB/s", kinds[row["srcKind"]], kinds[row["dstKind"]]]
            lines.append(line(fields, name))
        lines += ["", "Regs: Number of registers used per CUDA thread. This number includes registers used internally by the CUDA driver "
                  "and/or tools and can be more than what the compiler shows.",
                  "SSMem: Static shared memory allocated per CUDA block.", "DSMem: Dynamic shared memory allocated per CUDA block.",
                  "SrcMemType: The type of source memory accessed by memory operation/copy",
                  "DstMemType: The type of destination memory accessed by memory operation/copy"]
        Path(path).write_text("\n".join(lines) + "\n")

    def nsys_csv(self, path, process, thread):
        """`nsys stats --report cuda_gpu_trace --report cuda_api_trace --format csv`, one after the other."""
        self.check()
        kinds = {PAGEABLE: "Pageable", PINNED: "Pinned", DEVICE: "Device"}
        ways = {IN: "Host-to-Device", OUT: "Device-to-Host", WITHIN: "Device-to-Device"}
        rows = sorted(self.listing(), key=lambda entry: entry[:2])
        lines = ["Processing [trace.sqlite] with [/opt/nvidia/nsight-systems/2025.5.1/host-linux-x64/reports/cuda_gpu_trace.py]... ",
                 "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
                 "Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name"]
        for start, end, what, row in rows:
            if what == "call":
                continue
            fields = [""] * 13
            name = row["name"]
            if what == "KERNEL":
                fields[:9] = [str(row[key]) for key in ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread")] \
                    + [f"{row['staticSharedMemory'] / 10**6:.3f}", "0.000"]
            elif what == "MEMCPY":
                name = f"[CUDA memcpy {ways[row['copyKind']]}]"
                fields[9:] = [f"{row['bytes'] / 10**6:.3f}", f"{row['bytes'] / (end - start) * 1000:.3f}", kinds[row["srcKind"]],
                              kinds[row["dstKind"]]]
            quoted = f'"{name}"' if "," in name else name
            lines.append(",".join([str(start), str(end - start), str(row["correlationId"]), *fields, f"{process.gpu.name} (0)", "1", "",
                                   str(row["streamId"]), quoted]))
        lines += ["", "Processing [trace.sqlite] with [/opt/nvidia/nsight-systems/2025.5.1/host-linux-x64/reports/cuda_api_trace.py]... ",
                  "Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name"]
        for start, end, what, row in rows:
            if what == "call":
                lines.append(f"{start},{end - start},{row['name']},0,{row['correlationId']},{process.pid},{thread.tid},20,{thread.name}")
        Path(path).write_text("\n".join(lines) + "\n")
