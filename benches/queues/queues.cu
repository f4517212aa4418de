// Which hardware queue does each launch go into? Each launch acquires a mutex of its queue, the third that it acquires, and the driver finds
// the `pthread_mutex_lock` of the program that loads it: this one. Prints a line for each launch: when its queue's mutex was acquired, ns;
// the mutex; the stream; from when to when the kernel ran, ns of the same clock.
//
//   queues THREADS STREAMS LAUNCHES WAITS     WAITS: of 1,000 launches, so many are followed by a wait for the stream
//
// Each thread has streams of its own, and launches one to five kernels of 20 to 60 µs into one of them before it goes to another.

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <thread>
#include <vector>

static void check(cudaError_t result) {
    if (result != cudaSuccess) {
        fprintf(stderr, "queues: %s\n", cudaGetErrorString(result));
        exit(1);
    }
}

static int64_t now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1'000'000'000ll + time.tv_nsec;
}

// The mutexes that the thread acquired in the launch that it is in; -1 outside of one.
static thread_local int acquired = -1;
static thread_local pthread_mutex_t* queue;
static thread_local int64_t queue_acquired;

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    static const auto lock = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    int result = lock(mutex);
    if (acquired >= 0 && ++acquired == 3) {
        queue = mutex;
        queue_acquired = now();
    }
    return result;
}

__device__ int64_t device_now() {
    int64_t time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
}

__global__ void run(int64_t* times, int64_t ns) {
    int64_t start = device_now(), end = start;
    while (end - start < ns) end = device_now();
    times[0] = start;
    times[1] = end;
}

struct Launch {
    int64_t acquired;
    pthread_mutex_t* queue;
    int stream;
};

int main(int count, char** words) {
    if (count != 5) {
        fprintf(stderr, "queues THREADS STREAMS LAUNCHES WAITS\n");
        return 2;
    }
    int threads = atoi(words[1]), streams = atoi(words[2]), launches = atoi(words[3]), waits = atoi(words[4]);
    std::vector<cudaStream_t> of(streams);
    for (auto& stream : of) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int64_t* times;
    check(cudaMallocManaged(&times, sizeof(int64_t) * 2 * launches * threads));
    // What is loaded with the first launch is not of interest.
    run<<<1, 32>>>(times, 0);
    check(cudaDeviceSynchronize());
    std::vector<std::vector<Launch>> all(threads);
    std::atomic<int> ready = 0;
    auto body = [&](int thread) {
        std::mt19937 random(thread);
        auto below = [&](int limit) { return static_cast<int>(random() % limit); };
        check(cudaSetDevice(0));
        all[thread].reserve(launches);
        for (ready++; ready < threads;) {
        }
        for (int at = 0, stream = 0, left = 0; at < launches; at++, left--) {
            if (left == 0) {
                stream = thread + threads * below((streams - thread + threads - 1) / threads);
                left = below(2) ? 1 : 1 + below(5);
            }
            acquired = 0;
            run<<<1, 32, 0, of[stream]>>>(times + 2 * (static_cast<int64_t>(thread) * launches + at), 20'000 + below(40'000));
            acquired = -1;
            all[thread].push_back({queue_acquired, queue, stream});
            if (below(1000) < waits) check(cudaStreamSynchronize(of[stream]));
        }
    };
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; thread++) running.emplace_back(body, thread);
    for (auto& thread : running) thread.join();
    check(cudaDeviceSynchronize());
    // A kernel starts after its launch: the earliest start after one aligns the device's clock.
    int64_t shift = INT64_MAX;
    for (int thread = 0; thread < threads; thread++)
        for (int at = 0; at < launches; at++)
            shift = std::min(shift, times[2 * (static_cast<int64_t>(thread) * launches + at)] - all[thread][at].acquired);
    for (int thread = 0; thread < threads; thread++) {
        for (int at = 0; at < launches; at++) {
            const Launch& launch = all[thread][at];
            const int64_t* ran = times + 2 * (static_cast<int64_t>(thread) * launches + at);
            printf("%lld %p %d %lld %lld\n", static_cast<long long>(launch.acquired), static_cast<void*>(launch.queue), launch.stream,
                   static_cast<long long>(ran[0] - shift), static_cast<long long>(ran[1] - shift));
        }
    }
}
