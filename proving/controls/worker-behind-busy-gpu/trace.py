"""One thread feeds the GPU; another waits for it nearly all of the time, because it is busy."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import KB, MS, US, Gpu, OUT, Trace  # noqa: E402

trace = Trace(45, ("cuda", "osrt", "sched"), "./ray_farm scene.bin")
process = trace.process("ray_farm", 31414, Gpu("rtx4090", alone=True))
stream, results = process.stream(2), process.stream(2)
tiles = []


def feed(thread):
    thread.stack = [("Farm::feed()", "ray_farm"), ("start_thread", "libc.so.6")]
    recent = []
    for tile in range(64):
        thread.launch(stream, "trace_paths(const Scene *, float4 *, int, unsigned int)", 2350 * US, 8160, 128, 96)
        yield
        thread.launch(stream, "accumulate(const float4 *, float4 *, int)", 140 * US, 8160)
        tiles.append(thread.record(stream))
        recent.append(tiles[-1])
        yield
        if len(recent) > 4:
            ahead = recent.pop(0)
            if ahead[1] > thread.now:                       # four tiles ahead is enough
                thread.os("pthread_cond_wait", until=ahead[1] + trace.between(30 * US, 60 * US),
                          chain=[("pthread_cond_wait", "libc.so.6"), ("Farm::room()", "ray_farm")])
        yield


def collect(thread):
    done = 0
    while done < 64:
        if done == len(tiles):
            thread.now += 20 * US
            yield
            continue
        thread.hold(results, tiles[done])
        thread.copy(results, 512 * KB, OUT)
        thread.wait(results)
        thread.host(35 * US)
        done += 1
        yield


feeder, worker = process.thread("feeder", at=4000 * MS), process.thread("collector", at=4000 * MS + 40 * US)
trace.together((feeder, feed(feeder)), (worker, collect(worker)))
trace.save(HERE / "trace.sqlite")
