// Programs that keep a GPU waiting for a reason and at a line that are known: `account.py`. Each prints what it measured, as
// ["name", nanoseconds].
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
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

__global__ void work(long ns) {
    long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - begin < ns);
}

static long now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void fact(const char *name, long ns) { printf("[\"%s\", %ld]\n", name, ns); }

static const long MS = 1000000;
static std::mutex mutex;
static volatile unsigned sink;

// About 6 ms.
__attribute__((noinline)) static unsigned compute(unsigned seed) {
    for (int at = 0; at < 9000000; at++)
        seed = seed * 1664525 + 1013904223; // computes
    return seed;
}

// Another thread computes under the mutex that the launching thread needs.
static void locked(bool sleeps) {
    std::atomic<bool> done{false};
    std::thread other([&] {
        while (!done) {
            {
                std::lock_guard<std::mutex> held(mutex);
                if (sleeps)
                    usleep(6000); // sleeps
                else
                    sink = compute(sink);
            }
            usleep(1000);
        }
    });
    long waited = 0;
    for (int at = 0; at < 200; at++) {
        long begin = now();
        mutex.lock(); // locks
        waited += now() - begin;
        mutex.unlock();
        work<<<1, 1>>>(2 * MS);
        CHECK(cudaDeviceSynchronize());
    }
    done = true;
    other.join();
    fact("lost", waited);
}

// Memory is allocated and freed for each kernel.
static void allocation() {
    long spent = 0;
    for (int at = 0; at < 400; at++) {
        void *memory;
        long begin = now();
        CHECK(cudaMalloc(&memory, 256 << 20)); // allocates
        spent += now() - begin;
        work<<<1, 1>>>(1 * MS);
        CHECK(cudaDeviceSynchronize());
        begin = now();
        CHECK(cudaFree(memory)); // frees
        spent += now() - begin;
    }
    fact("lost", spent);
}

static long launches(int count) {
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    long begin = now();
    for (int at = 0; at < count; at++) {
        work<<<1, 1, 0, stream>>>(1 * MS);
        CHECK(cudaStreamSynchronize(stream));
    }
    return now() - begin;
}

// Pageable copies of one thread in the default stream, after a kernel; another thread launches into a stream of its own.
static void pageable() {
    long alone = launches(300);
    std::atomic<bool> done{false};
    std::thread other([&] {
        size_t size = 64 << 20;
        void *device, *host = malloc(size);
        memset(host, 1, size);
        CHECK(cudaMalloc(&device, size));
        while (!done) {
            work<<<1, 1>>>(5 * MS);
            CHECK(cudaMemcpyAsync(host, device, size, cudaMemcpyDeviceToHost, 0)); // copies
        }
        free(host);
    });
    long beside = launches(300);
    done = true;
    other.join();
    fact("alone", alone);
    fact("lost", beside - alone);
}

// Two kernels in each of 16 streams, stream after stream: with too few connections, a stream waits for the one before it.
static void connections() {
    std::vector<cudaStream_t> streams(16);
    for (auto &stream : streams)
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    long begin = now();
    for (int at = 0; at < 30; at++) {
        for (auto &stream : streams)
            for (int kernel = 0; kernel < 2; kernel++)
                work<<<1, 1, 0, stream>>>(1 * MS); // launches
        CHECK(cudaDeviceSynchronize());
    }
    fact("wall", now() - begin);
}

int main(int, char **arguments) {
    CHECK(cudaFree(0));
    work<<<1, 1>>>(1 * MS);
    CHECK(cudaDeviceSynchronize());
    const char *name = arguments[1];
    long begin = now();
    if (!strcmp(name, "mutex-computes"))
        locked(false);
    else if (!strcmp(name, "mutex-sleeps"))
        locked(true);
    else if (!strcmp(name, "allocation"))
        allocation();
    else if (!strcmp(name, "pageable"))
        pageable();
    else if (!strcmp(name, "connections"))
        connections();
    else
        return 2;
    fact("loop", now() - begin);
}
