// Programs with something to mend, before and after it is mended: `pairs.toml`. Each times a section, which is an NVTX range, and
// prints how long it took: "section: 812.3 ms".
//
//     programs NAME before|after
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nvtx3/nvToolsExt.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                                                    \
    do {                                                                                                                               \
        cudaError_t code = (call);                                                                                                     \
        if (code != cudaSuccess) {                                                                                                     \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code));                                                              \
            exit(1);                                                                                                                   \
        }                                                                                                                              \
    } while (0)

// y += a x, so many times.
__global__ void axpy(float *y, const float *x, float a, long count, int times) {
    for (long at = blockIdx.x * (long)blockDim.x + threadIdx.x; at < count; at += gridDim.x * (long)blockDim.x) {
        float sum = y[at];
        for (int time = 0; time < times; time++)
            sum = fmaf(a, x[at], sum);
        y[at] = sum;
    }
}

__global__ void total(float *sum, const float *x, long count) {
    float own = 0;
    for (long at = blockIdx.x * (long)blockDim.x + threadIdx.x; at < count; at += gridDim.x * (long)blockDim.x)
        own += x[at] * x[at];
    atomicAdd(sum, own);
}

static long now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What the processor does between calls.
static void host_work(long ns) {
    for (long until = now_ns() + ns; now_ns() < until;)
        ;
}

template <typename Body> static void section(Body body) {
    CHECK(cudaDeviceSynchronize());
    long begin = now_ns();
    nvtxRangePushA("section");
    body();
    CHECK(cudaDeviceSynchronize());
    nvtxRangePop();
    printf("section: %.3f ms\n", (now_ns() - begin) / 1e6);
}

static float *on_device(long count) {
    float *memory;
    CHECK(cudaMalloc(&memory, count * sizeof(float)));
    CHECK(cudaMemset(memory, 0, count * sizeof(float)));
    return memory;
}

static float *pageable(long count) {
    float *memory = (float *)malloc(count * sizeof(float));
    memset(memory, 1, count * sizeof(float));
    return memory;
}

static float *pinned(long count) {
    float *memory;
    CHECK(cudaMallocHost(&memory, count * sizeof(float)));
    memset(memory, 1, count * sizeof(float));
    return memory;
}

static cudaStream_t stream() {
    cudaStream_t made;
    CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    return made;
}

// Copies memory that is not page-locked through two page-locked buffers of the program's own, piece by piece. For one thread.
struct Staging {
    static constexpr long PIECE = 1 << 20; // bytes
    char *buffers[2];
    cudaEvent_t done[2];

    Staging() {
        for (int at = 0; at < 2; at++) {
            CHECK(cudaMallocHost(&buffers[at], PIECE));
            memset(buffers[at], 1, PIECE);
            CHECK(cudaEventCreateWithFlags(&done[at], cudaEventDisableTiming));
        }
    }

    // Returns when the last piece is issued.
    void to_device(void *device, const void *host, long bytes, cudaStream_t on) {
        for (long from = 0; from < bytes; from += PIECE) {
            long at = from / PIECE % 2, size = std::min(PIECE, bytes - from);
            CHECK(cudaEventSynchronize(done[at])); // of an event that was never recorded it returns at once
            memcpy(buffers[at], (const char *)host + from, size);
            CHECK(cudaMemcpyAsync((char *)device + from, buffers[at], size, cudaMemcpyHostToDevice, on));
            CHECK(cudaEventRecord(done[at], on));
        }
    }

    // Returns when the last piece is in the host's memory: each is copied there while the next one is transferred.
    void to_host(void *host, const void *device, long bytes, cudaStream_t on) {
        auto take = [&](long from) {
            long at = from / PIECE % 2;
            CHECK(cudaEventSynchronize(done[at]));
            memcpy((char *)host + from, buffers[at], std::min(PIECE, bytes - from));
        };
        for (long from = 0; from < bytes; from += PIECE) {
            long at = from / PIECE % 2, size = std::min(PIECE, bytes - from);
            CHECK(cudaMemcpyAsync(buffers[at], (const char *)device + from, size, cudaMemcpyDeviceToHost, on));
            CHECK(cudaEventRecord(done[at], on));
            if (from > 0)
                take(from - PIECE);
        }
        take((bytes - 1) / PIECE * PIECE);
    }
};

// One thread copies results to the host, another one launches (seeds 001 and 003). `own`: a stream each. `staged`: the thread itself
// copies through page-locked memory.
static void neighbours(bool own, bool page_locked, bool staged = false) {
    const long COUNT = 4 << 20;
    cudaStream_t first = stream(), second = own ? stream() : first;
    float *x = on_device(COUNT), *y = on_device(COUNT), *z = on_device(1 << 20), *w = on_device(1 << 20);
    float *host = page_locked ? pinned(COUNT) : pageable(COUNT);
    Staging staging;
    auto copies = [&](int rounds) {
        for (int round = 0; round < rounds; round++) {
            axpy<<<264, 256, 0, first>>>(y, x, 2, COUNT, 40);
            if (staged)
                staging.to_host(host, y, COUNT * sizeof(float), first);
            else
                CHECK(cudaMemcpyAsync(host, y, COUNT * sizeof(float), cudaMemcpyDeviceToHost, first));
            CHECK(cudaStreamSynchronize(first));
            host_work(300'000);
        }
    };
    auto launches = [&](int rounds) {
        for (int round = 0; round < rounds; round++) {
            for (int launch = 0; launch < 8; launch++) {
                axpy<<<32, 256, 0, second>>>(w, z, 2, 1 << 18, 30);
                host_work(5'000);
            }
            CHECK(cudaStreamSynchronize(second));
        }
    };
    copies(3);
    launches(3);
    section([&] {
        std::thread copier(copies, 150), launcher(launches, 3000);
        copier.join();
        launcher.join();
    });
}

// Each batch is copied to the device, used, and waited for. `staged`: the thread itself copies through page-locked memory.
static void upload(bool page_locked, bool staged = false) {
    const long COUNT = 4 << 20;
    float *x = on_device(COUNT), *y = on_device(COUNT);
    float *host = page_locked ? pinned(COUNT) : pageable(COUNT);
    Staging staging;
    auto batches = [&](int rounds) {
        for (int round = 0; round < rounds; round++) {
            if (staged)
                staging.to_device(x, host, COUNT * sizeof(float), 0);
            else
                CHECK(cudaMemcpyAsync(x, host, COUNT * sizeof(float), cudaMemcpyHostToDevice, 0));
            axpy<<<264, 256>>>(y, x, 2, COUNT, 100);
            CHECK(cudaStreamSynchronize(0));
            host_work(200'000);
        }
    };
    batches(5);
    section([&] { batches(500); });
}

// Results of a kernel go to the host.
static void download(bool page_locked) {
    const long COUNT = 4 << 20;
    float *x = on_device(COUNT), *y = on_device(COUNT);
    float *host = page_locked ? pinned(COUNT) : pageable(COUNT);
    auto batches = [&](int rounds) {
        for (int round = 0; round < rounds; round++) {
            axpy<<<264, 256>>>(y, x, 2, COUNT, 100);
            CHECK(cudaMemcpyAsync(host, y, COUNT * sizeof(float), cudaMemcpyDeviceToHost, 0));
            CHECK(cudaStreamSynchronize(0));
            host_work(200'000);
        }
    };
    batches(5);
    section([&] { batches(300); });
}

// A temporary buffer for each kernel.
static void allocation(bool once) {
    const long COUNT = 8 << 20;
    float *x = on_device(COUNT), *kept = on_device(COUNT);
    auto kernels = [&](int rounds) {
        for (int round = 0; round < rounds; round++) {
            float *y = kept;
            if (!once)
                CHECK(cudaMalloc(&y, COUNT * sizeof(float)));
            axpy<<<264, 256>>>(y, x, 2, COUNT, 200);
            if (!once)
                CHECK(cudaFree(y));
            host_work(30'000);
        }
    };
    kernels(5);
    section([&] { kernels(1500); });
}

// A norm in each step, which the host reads (seed 002) or leaves on the device.
static void norm(bool stays) {
    const long COUNT = 1 << 20;
    float *x = on_device(COUNT), *y = on_device(COUNT), *sum = on_device(1);
    float read = 0;
    auto steps = [&](int rounds) {
        for (int round = 0; round < rounds; round++) {
            for (int launch = 0; launch < 4; launch++)
                axpy<<<264, 256>>>(y, x, 2, COUNT, 20);
            total<<<264, 256>>>(sum, y, COUNT);
            if (!stays)
                CHECK(cudaMemcpy(&read, sum, sizeof read, cudaMemcpyDeviceToHost));
            host_work(20'000);
        }
    };
    steps(5);
    section([&] { steps(8000); });
}

// Many small kernels a step, launched one by one or as a graph; `times` makes them longer.
static void steps(bool graph, int times, int rounds) {
    const int KERNELS = 30;
    const long COUNT = 1 << 18;
    float *x = on_device(COUNT), *y = on_device(COUNT);
    cudaStream_t on = stream();
    auto launches = [&] {
        for (int kernel = 0; kernel < KERNELS; kernel++)
            axpy<<<132, 256, 0, on>>>(y, x, 2, COUNT, times);
    };
    cudaGraphExec_t all;
    if (graph) {
        cudaGraph_t captured;
        CHECK(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal));
        launches();
        CHECK(cudaStreamEndCapture(on, &captured));
        CHECK(cudaGraphInstantiate(&all, captured, 0));
    }
    auto step = [&](int rounds) {
        for (int round = 0; round < rounds; round++) {
            if (graph)
                CHECK(cudaGraphLaunch(all, on));
            else
                launches();
            CHECK(cudaStreamSynchronize(on));
            host_work(10'000);
        }
    };
    step(10);
    section([&] { step(rounds); });
}

// Chains of small kernels on many streams; how many run at once depends on CUDA_DEVICE_MAX_CONNECTIONS.
static void connections() {
    const int STREAMS = 16;
    const long COUNT = 1 << 14;
    std::vector<cudaStream_t> streams;
    std::vector<float *> memory;
    for (int at = 0; at < STREAMS; at++) {
        streams.push_back(stream());
        memory.push_back(on_device(COUNT));
    }
    float *x = on_device(COUNT);
    auto chains = [&](int rounds) {
        for (int round = 0; round < rounds; round++) {
            for (int at = 0; at < STREAMS; at++)
                for (int kernel = 0; kernel < 6; kernel++)
                    axpy<<<4, 256, 0, streams[at]>>>(memory[at], x, 2, COUNT, 3000);
            CHECK(cudaDeviceSynchronize());
        }
    };
    chains(2);
    section([&] { chains(40); });
}

// What a worker launches in each round.
struct Load {
    int kernels, blocks;
    long count;
    int times;
};
static const Load SMALL_KERNELS = {50, 8, 1 << 14, 50};
// Kernels that take longer than launching them.
static const Load LONG_KERNELS = {60, 4, 1 << 14, 3000};
// As long as launching a few of them.
static const Load SHARED_KERNELS = {50, 4, 1 << 14, 500};
// Each kernel fills the GPU four times.
static const Load LARGE_KERNELS = {5, 4224, 4224 * 256, 2000};

// Workers with a stream each that launch kernels and wait, by turns on so many GPUs (seeds 000 and 004): threads, or processes.
static void workers(bool processes, Load load, int rounds, int count, int gpus) {
    const long COUNT = load.count;
    auto work = [&](cudaStream_t on, float *y, float *x, int rounds) {
        for (int round = 0; round < rounds; round++) {
            for (int kernel = 0; kernel < load.kernels; kernel++)
                axpy<<<load.blocks, 256, 0, on>>>(y, x, 2, COUNT, load.times);
            CHECK(cudaStreamSynchronize(on));
        }
    };
    if (!processes) {
        std::vector<std::thread> threads;
        std::vector<cudaStream_t> streams(count);
        std::vector<float *> x(count), y(count);
        for (int at = 0; at < count; at++) {
            CHECK(cudaSetDevice(at % gpus));
            streams[at] = stream();
            x[at] = on_device(COUNT);
            y[at] = on_device(COUNT);
            work(streams[at], y[at], x[at], 3);
        }
        return section([&] {
            for (int at = 0; at < count; at++)
                threads.emplace_back([&, at] {
                    CHECK(cudaSetDevice(at % gpus));
                    work(streams[at], y[at], x[at], rounds);
                });
            for (auto &thread : threads)
                thread.join();
        });
    }
    // Processes begin together, and the section ends when the last one is done: not with its end, which takes as long as its start.
    struct Shared {
        std::atomic<int> ready, go, done;
    };
    auto *shared = (Shared *)mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int at = 0; at < count; at++) {
        if (fork() == 0) {
            CHECK(cudaSetDevice(at % gpus));
            cudaStream_t on = stream();
            float *x = on_device(COUNT), *y = on_device(COUNT);
            work(on, y, x, 3);
            shared->ready++;
            while (!shared->go)
                usleep(100);
            work(on, y, x, rounds);
            CHECK(cudaDeviceSynchronize());
            shared->done++;
            _exit(0);
        }
    }
    while (shared->ready < count)
        if (usleep(1000); waitpid(-1, nullptr, WNOHANG) > 0)
            exit(1);
    long begin = now_ns();
    shared->go = 1;
    while (shared->done < count && now_ns() - begin < 60'000'000'000)
        usleep(100);
    printf("section: %.3f ms\n", (now_ns() - begin) / 1e6);
    for (int status, at = 0; at < count; at++)
        if (wait(&status) < 0 || status != 0)
            exit(1);
}

// Two threads that only launch; a stream each, or one for both.
static void launchers(bool own) {
    const long COUNT = 1 << 14;
    cudaStream_t streams[2] = {stream(), nullptr};
    streams[1] = own ? stream() : streams[0];
    float *x = on_device(COUNT), *y[2] = {on_device(COUNT), on_device(COUNT)};
    auto launches = [&](int thread, int rounds) {
        for (int round = 0; round < rounds; round++) {
            axpy<<<8, 256, 0, streams[thread]>>>(y[thread], x, 2, COUNT, 4);
            host_work(20'000);
        }
    };
    launches(0, 10);
    launches(1, 10);
    section([&] {
        std::thread one(launches, 0, 25'000), other(launches, 1, 25'000);
        one.join();
        other.join();
    });
}

// Sixteen threads with a stream each, whose requests have 20 to 60 kernels that leave room for all: as many run at once as there are hardware
// queues, 8 by default, and which streams share one changes with each request.
static void requests() {
    const int THREADS = 16;
    const long COUNT = 1 << 14;
    auto serve = [&](cudaStream_t on, float *y, float *x, unsigned seed, int count) {
        for (int request = 0; request < count; request++) {
            seed = seed * 1664525 + 1013904223;
            for (unsigned kernel = 0; kernel < 20 + (seed >> 16) % 41; kernel++)
                axpy<<<4, 256, 0, on>>>(y, x, 2, COUNT, 3000);
            CHECK(cudaStreamSynchronize(on));
        }
    };
    std::vector<std::thread> threads;
    cudaStream_t streams[THREADS];
    float *x[THREADS], *y[THREADS];
    for (int at = 0; at < THREADS; at++) {
        streams[at] = stream();
        x[at] = on_device(COUNT);
        y[at] = on_device(COUNT);
        serve(streams[at], y[at], x[at], at, 2);
    }
    section([&] {
        for (int at = 0; at < THREADS; at++)
            threads.emplace_back([&, at] { serve(streams[at], y[at], x[at], at, 100); });
        for (auto &thread : threads)
            thread.join();
    });
}

// Kernels are where time is; small batches are copied meanwhile.
static void busy(bool page_locked) {
    const long COUNT = 1 << 18, LARGE = 16 << 20;
    cudaStream_t copying = stream(), computing = stream();
    float *x = on_device(COUNT), *y = on_device(LARGE), *z = on_device(LARGE);
    float *host = page_locked ? pinned(COUNT) : pageable(COUNT);
    auto batches = [&](int rounds) {
        for (int round = 0; round < rounds; round++) {
            axpy<<<528, 256, 0, computing>>>(y, z, 2, LARGE, 3000);
            CHECK(cudaMemcpyAsync(x, host, COUNT * sizeof(float), cudaMemcpyHostToDevice, copying));
            CHECK(cudaStreamSynchronize(copying));
            CHECK(cudaStreamSynchronize(computing));
        }
    };
    batches(3);
    section([&] { batches(200); });
}

// Two kernels a step; the slow one takes half as long after.
__global__ void slow(float *y, const float *x, long count, int times) {
    for (long at = blockIdx.x * (long)blockDim.x + threadIdx.x; at < count; at += gridDim.x * (long)blockDim.x) {
        float sum = y[at];
        for (int time = 0; time < times; time++)
            sum = fmaf(sum, 0.5f, x[at]);
        y[at] = sum;
    }
}

static void kernels(bool fast) {
    const long COUNT = 1 << 20;
    float *x = on_device(COUNT), *y = on_device(COUNT);
    auto steps = [&](int rounds) {
        for (int round = 0; round < rounds; round++) {
            slow<<<132, 256>>>(y, x, COUNT, fast ? 1500 : 3000);
            axpy<<<132, 256>>>(y, x, 2, COUNT, 1500);
            CHECK(cudaStreamSynchronize(0));
            host_work(40'000);
        }
    };
    steps(5);
    section([&] { steps(1500); });
}

int main(int count, char **words) {
    const std::map<std::string, void (*)(bool)> programs = {
        {"own-stream", [](bool after) { neighbours(after, false); }},
        {"pinned", [](bool after) { neighbours(false, after); }},
        {"both", [](bool after) { neighbours(after, after); }},
        {"upload", [](bool after) { upload(after); }},
        {"staged", [](bool after) { neighbours(false, false, after); }},
        {"staged-upload", [](bool after) { upload(false, after); }},
        {"download", download},
        {"allocation", allocation},
        {"norm", norm},
        {"graph", [](bool after) { steps(after, 1, 4000); }},
        {"graph-busy", [](bool after) { steps(after, 4000, 300); }},
        {"connections", [](bool) { connections(); }},
        {"workers", [](bool after) { workers(after, SMALL_KERNELS, 600, 8, 1); }},
        {"one-queue", [](bool) { workers(false, LONG_KERNELS, 40, 4, 1); }},
        {"requests", [](bool) { requests(); }},
        {"crowd", [](bool) { workers(false, SHARED_KERNELS, 60, 24, 1); }},
        {"crowd-busy", [](bool) { workers(false, LONG_KERNELS, 15, 32, 1); }},
        {"crowd-processes", [](bool after) { workers(after, SMALL_KERNELS, 200, 24, 1); }},
        {"turns", [](bool after) { workers(after, LARGE_KERNELS, 150, 2, 1); }},
        {"gpus", [](bool after) { workers(after, SMALL_KERNELS, 2000, 2, 2); }},
        {"launchers", launchers},
        {"busy", busy},
        {"kernels", kernels},
    };
    auto found = programs.find(count > 1 ? words[1] : "");
    bool known = count == 3 && (!strcmp(words[2], "before") || !strcmp(words[2], "after"));
    if (found == programs.end() || !known) {
        fprintf(stderr, "programs NAME before|after, where NAME is");
        for (auto &[name, run] : programs)
            fprintf(stderr, " %s", name.c_str());
        fprintf(stderr, "\n");
        return 2;
    }
    found->second(!strcmp(words[2], "after"));
    return 0;
}
