// What a call of each kind costs in a program, ns: each line of output is a name and the time that one round takes. Built and run by
// `benches/costs.py`, bare and recorded.
//
//     costs ROUNDS
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                                                    \
    do {                                                                                                                               \
        cudaError_t code = (call);                                                                                                     \
        if (code != cudaSuccess) {                                                                                                     \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code));                                                              \
            exit(1);                                                                                                                   \
        }                                                                                                                              \
    } while (0)

__global__ void nothing() {}

// Works for about as long as `times` says.
__global__ void works(float *sum, int times) {
    float own = threadIdx.x;
    for (int time = 0; time < times; time++)
        own = fmaf(own, 0.999f, 1);
    if (own == 0.5f)
        *sum = own;
}

static long now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The processor works on something else.
static void host_work(long ns) {
    for (long until = now_ns() + ns; now_ns() < until;)
        ;
}

static void time(const char *name, int rounds, const std::function<void()> &round) {
    for (int warm = 0; warm < 50; warm++)
        round();
    CHECK(cudaDeviceSynchronize());
    long begin = now_ns();
    for (int at = 0; at < rounds; at++)
        round();
    CHECK(cudaDeviceSynchronize());
    printf("%s %.1f\n", name, double(now_ns() - begin) / rounds);
}

// Times a round while another thread does something again and again.
static void time_beside(const char *name, int rounds, const std::function<void()> &other, const std::function<void()> &round) {
    std::atomic<bool> done{false};
    std::thread beside([&] {
        while (!done)
            other();
    });
    time(name, rounds, round);
    done = true;
    beside.join();
}

int main(int count, char **words) {
    int rounds = count == 2 ? atoi(words[1]) : 0;
    if (rounds < 1) {
        fprintf(stderr, "costs ROUNDS\n");
        return 2;
    }
    const size_t SIZE = 1 << 20;
    char *device, *pinned, *pageable = (char *)malloc(SIZE);
    CHECK(cudaMalloc(&device, SIZE));
    CHECK(cudaMallocHost(&pinned, SIZE));
    memset(pageable, 1, SIZE);
    cudaStream_t stream;
    cudaEvent_t event, timed;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventCreate(&timed));
    float *sum = (float *)device;
    auto sync = [&] { CHECK(cudaStreamSynchronize(stream)); };
    auto launch = [&] { nothing<<<1, 32, 0, stream>>>(); };

    time("launches", 10 * rounds, launch);
    time("launch-after-work", rounds, [&] { launch(); host_work(20'000); });
    time("kernels-of-20us", rounds, [&] { works<<<1, 32, 0, stream>>>(sum, 9'000); });
    time("wide-kernels", rounds, [&] { works<<<1024, 256, 0, stream>>>(sum, 2'000); });
    time("launches-with-times", 10 * rounds, [&] { launch(); CHECK(cudaEventRecord(timed, stream)); });
    time("kernels-of-20us-with-times", rounds, [&] { works<<<1, 32, 0, stream>>>(sum, 9'000); CHECK(cudaEventRecord(timed, stream)); });
    time("launch-sync", rounds, [&] { launch(); sync(); });
    time("launch-sync-after-work", rounds, [&] { launch(); sync(); host_work(20'000); });
    time("copy-4B-to-pageable", rounds, [&] { CHECK(cudaMemcpy(pageable, device, 4, cudaMemcpyDeviceToHost)); });
    time("launch-copy-4B-to-pageable", rounds, [&] {
        launch();
        CHECK(cudaMemcpyAsync(pageable, device, 4, cudaMemcpyDeviceToHost, stream));
        host_work(20'000);
    });
    time("copy-4B-behind-120us", rounds / 4, [&] {
        works<<<1, 32, 0, stream>>>(sum, 54'000);
        CHECK(cudaMemcpyAsync(pageable, device, 4, cudaMemcpyDeviceToHost, stream));
        host_work(20'000);
    });
    time("copy-4B-to-pinned-sync", rounds, [&] {
        CHECK(cudaMemcpyAsync(pinned, device, 4, cudaMemcpyDeviceToHost, stream));
        sync();
    });
    time("copy-64KB-from-pageable", rounds, [&] { CHECK(cudaMemcpyAsync(device, pageable, 1 << 16, cudaMemcpyHostToDevice, stream)); sync(); });
    time("copy-1MB-from-pageable", rounds / 4, [&] { CHECK(cudaMemcpyAsync(device, pageable, SIZE, cudaMemcpyHostToDevice, stream)); sync(); });
    time("copy-1MB-to-pageable", rounds / 4, [&] { CHECK(cudaMemcpyAsync(pageable, device, SIZE, cudaMemcpyDeviceToHost, stream)); sync(); });
    time("copies-4KB-from-pinned", rounds, [&] { CHECK(cudaMemcpyAsync(device, pinned, 4096, cudaMemcpyHostToDevice, stream)); });
    time("copies-1MB-from-pinned", rounds / 4, [&] { CHECK(cudaMemcpyAsync(device, pinned, SIZE, cudaMemcpyHostToDevice, stream)); });
    time("fills", rounds, [&] { CHECK(cudaMemsetAsync(device, 0, 4096, stream)); });
    time("malloc-free", rounds / 4, [&] {
        void *memory;
        CHECK(cudaMalloc(&memory, 4 << 20));
        CHECK(cudaFree(memory));
    });
    time("malloc-launch-free", rounds / 4, [&] {
        void *memory;
        CHECK(cudaMalloc(&memory, 4 << 20));
        launch();
        CHECK(cudaFree(memory));
    });
    time("malloc-120us-free", rounds / 4, [&] {
        void *memory;
        CHECK(cudaMalloc(&memory, 32 << 20));
        works<<<1, 32, 0, stream>>>(sum, 54'000);
        CHECK(cudaFree(memory));
        host_work(30'000);
    });
    time("malloc-async-free-async", rounds, [&] {
        void *memory;
        CHECK(cudaMallocAsync(&memory, 4 << 20, stream));
        CHECK(cudaFreeAsync(memory, stream));
    });
    time("record-wait-event", rounds, [&] { CHECK(cudaEventRecord(event, stream)); CHECK(cudaStreamWaitEvent(stream, event, 0)); });
    cudaGraph_t graph;
    cudaGraphExec_t all;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int at = 0; at < 20; at++)
        launch();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&all, graph, 0));
    time("graph-of-20", rounds, [&] { CHECK(cudaGraphLaunch(all, stream)); });
    time("graph-of-20-sync", rounds, [&] { CHECK(cudaGraphLaunch(all, stream)); sync(); });

    const size_t LARGE = 16 << 20;
    char *large, *there = (char *)malloc(LARGE), *from = (char *)malloc(LARGE), *locked;
    cudaStream_t second;
    CHECK(cudaMalloc(&large, LARGE));
    CHECK(cudaMallocHost(&locked, LARGE));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    memset(there, 1, LARGE);
    memset(from, 1, LARGE);
    auto step = [&] {
        for (int at = 0; at < 8; at++) {
            launch();
            host_work(5'000);
        }
        sync();
    };
    auto copies = [&](void *host, cudaMemcpyKind kind) {
        bool to_host = kind == cudaMemcpyDeviceToHost;
        CHECK(cudaMemcpyAsync(to_host ? host : large, to_host ? large : host, LARGE, kind, second));
        CHECK(cudaStreamSynchronize(second));
    };
    time_beside("8-launches-beside-nothing", rounds / 4, [&] { host_work(100'000); }, step);
    time_beside("8-launches-beside-memcpy", rounds / 4, [&] { memcpy(there, from, LARGE); }, step);
    time_beside("8-launches-beside-memcpy-from-pinned", rounds / 4, [&] { memcpy(there, locked, LARGE); }, step);
    time_beside("8-launches-beside-copies-to-pageable", rounds / 4, [&] { copies(there, cudaMemcpyDeviceToHost); }, step);
    time_beside("8-launches-beside-copies-from-pageable", rounds / 4, [&] { copies(from, cudaMemcpyHostToDevice); }, step);
    time_beside("8-launches-beside-copies-to-pinned", rounds / 4, [&] { copies(locked, cudaMemcpyDeviceToHost); }, step);
    time_beside("8-launches-beside-synchronizations", rounds / 4, [&] { CHECK(cudaStreamSynchronize(second)); }, step);
    time_beside("8-launches-beside-launches", rounds / 4, [&] { nothing<<<1, 32, 0, second>>>(); host_work(2'000); }, step);
    auto spaced = [&] { launch(); host_work(20'000); };
    time_beside("launch-20us-beside-nothing", rounds, [&] { host_work(100'000); }, spaced);
    time_beside("launch-20us-beside-the-same", rounds, [&] { nothing<<<1, 32, 0, second>>>(); host_work(20'000); }, spaced);
    time_beside("launch-20us-beside-the-same-in-its-stream", rounds, spaced, spaced);
    return 0;
}
