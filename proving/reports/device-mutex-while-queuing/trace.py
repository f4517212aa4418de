"""Four pipelines of a radio telescope queue their commands under one mutex of the device, blocking calls included."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import MB, MS, US, Gpu, IN, OUT, Lock, Trace  # noqa: E402

trace = Trace(17, ("cuda", "osrt", "sched"), "./kotekan/kotekan --config chord_gnss.yaml")
process = trace.process("kotekan", 9044, Gpu("a100"))
trace.background(process, 7000 * MS, 7150 * MS)
mutex = Lock()
KERNELS = ("cudaCorrelatorKernel", "cudaUpchannelize", "cudaBasebandBeamformer")


def pipeline(thread, copies_in, kernels, copies_out):
    thread.stack = [("gpuProcess::main_thread()", "kotekan"), ("std::thread::_State_impl::_M_run()", "libstdc++.so.6"),
                    ("start_thread", "libc.so.6")]
    for frame in range(15):
        thread.host(120 * US)
        thread.lock(mutex, ("pthread_mutex_lock", "libc.so.6"), ("cudaProcess::queue_commands(int)", "kotekan"))
        thread.host(480 * US)
        thread.copy(copies_in, 2 * MB, IN)
        ready = thread.record(copies_in)
        thread.hold(kernels, ready)
        for kernel in KERNELS:
            thread.host(130 * US)
            thread.launch(kernels, kernel, 160 * US, 24, 128, 64)
        done = thread.record(kernels)
        thread.hold(copies_out, done)
        thread.copy(copies_out, MB // 2, OUT)
        finished = thread.record(copies_out)
        thread.wait(event=finished)                         # a blocking call while the mutex is held
        thread.unlock(mutex)
        thread.host(240 * US)
        yield


workers = []
for number in range(4):
    thread = process.thread(f"gpu_process_{number}", at=7003 * MS + number * 60 * US)
    workers.append((thread, pipeline(thread, process.stream(2), process.stream(2), process.stream(2))))
trace.together(*workers)
trace.save(HERE / "trace.sqlite")
