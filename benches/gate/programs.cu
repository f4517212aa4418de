// Programs without a regression, and with one planted: `record.py`. A planted line ends with its name: `// plant: readback`.
//
//     programs NAME [PLANT]
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <nvtx3/nvToolsExt.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#define CHECK(call)                                                                                                                    \
    do {                                                                                                                               \
        cudaError_t code = (call);                                                                                                     \
        if (code != cudaSuccess) {                                                                                                     \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code));                                                              \
            exit(1);                                                                                                                   \
        }                                                                                                                              \
    } while (0)

static std::string plant;

static bool planted(const char *name) { return plant == name; }

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

// Kernels that differ, and so are loaded one by one when they are first launched.
template <int N> __global__ void late(float *y, long count) {
    for (long at = blockIdx.x * (long)blockDim.x + threadIdx.x; at < count; at += gridDim.x * (long)blockDim.x) {
        float sum = y[at];
#pragma unroll
        for (int time = 0; time < 64 + N; time++)
            sum = __sinf(sum) * N + time;
        y[at] = sum;
    }
}

// A kernel that needs much local memory: the driver allocates it when it is first launched.
__global__ void deep(float *y, long count, int stride) {
    float own[2048];
    for (int at = 0; at < 2048; at++)
        own[at] = at;
    for (long at = blockIdx.x * (long)blockDim.x + threadIdx.x; at < count; at += gridDim.x * (long)blockDim.x)
        own[(at * stride) & 2047] += y[at];
    y[blockIdx.x] = own[(threadIdx.x * stride) & 2047];
}

static long now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void host_work(long ns) {
    for (long until = now_ns() + ns; now_ns() < until;) // plant: host
        ;
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

struct Step {
    Step(const char *name, int number) {
        char text[32];
        snprintf(text, sizeof text, "%s %d", name, number);
        nvtxRangePushA(text);
    }
    ~Step() { nvtxRangePop(); }
};

// A solver: kernels, and a residual that the host reads every tenth step.
static void solver() {
    const long COUNT = 4 << 20;
    cudaStream_t on = stream();
    float *x = on_device(COUNT), *y = on_device(COUNT), *sum = on_device(1), *read = pinned(1);
    for (int number = 0; number < 500; number++) {
        Step step("step", number);
        float *used = y;
        if (planted("malloc"))
            CHECK(cudaMalloc(&used, COUNT * sizeof(float))); // plant: malloc
        if (planted("host"))
            host_work(1'500'000); // plant: host
        for (int launch = 0; launch < 12; launch++) {
            axpy<<<264, 256, 0, on>>>(used, x, 2, COUNT, 400);
            if (planted("device-sync"))
                CHECK(cudaDeviceSynchronize()); // plant: device-sync
        }
        total<<<264, 256, 0, on>>>(sum, used, COUNT);
        if (planted("readback"))
            CHECK(cudaMemcpy(read, sum, sizeof *read, cudaMemcpyDeviceToHost)); // plant: readback
        if (planted("malloc"))
            CHECK(cudaFree(used)); // plant: malloc
        if (planted("pin")) {
            float *fresh;
            CHECK(cudaMallocHost(&fresh, 1 << 20)); // plant: pin
            CHECK(cudaFreeHost(fresh)); // plant: pin
        }
        if (number % 10 == 9) {
            CHECK(cudaMemcpyAsync(read, sum, sizeof *read, cudaMemcpyDeviceToHost, on));
            CHECK(cudaStreamSynchronize(on));
        }
    }
}

// A queue between two threads.
struct Queue {
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<float *> items;

    void push(float *item) {
        std::lock_guard<std::mutex> held(mutex);
        items.push_back(item);
        filled.notify_one();
    }

    float *pop() {
        std::unique_lock<std::mutex> held(mutex);
        filled.wait(held, [&] { return !items.empty(); });
        float *item = items.front();
        items.pop_front();
        return item;
    }
};

// A thread prepares batches, another one computes with them.
static void pipeline() {
    const long COUNT = 1 << 20;
    const int BATCHES = 300;
    Queue empty, full;
    std::mutex statistics;
    for (int at = 0; at < 3; at++)
        empty.push(planted("pageable") || planted("register") ? pageable(COUNT) : pinned(COUNT));
    std::thread loader([&] {
        for (int number = 0; number < BATCHES; number++) {
            float *batch = empty.pop();
            std::unique_lock<std::mutex> held(statistics, std::defer_lock);
            if (planted("lock"))
                held.lock(); // plant: lock
            for (long until = now_ns() + 400'000, at = 0; now_ns() < until; at = (at + 997) % COUNT) // plant: lock
                batch[at] += 1; // plant: lock
            if (planted("sleep"))
                usleep(4'000); // plant: sleep
            if (held.owns_lock())
                held.unlock();
            full.push(batch);
        }
    });
    cudaStream_t on = stream();
    float *x = on_device(COUNT), *y = on_device(4 * COUNT), *z = on_device(4 * COUNT), *result = pinned(1 << 14);
    for (int number = 0; number < BATCHES; number++) {
        float *batch = full.pop();
        if (planted("lock"))
            std::lock_guard<std::mutex> held(statistics); // plant: lock
        if (planted("register"))
            CHECK(cudaHostRegister(batch, COUNT * sizeof(float), 0)); // plant: register
        CHECK(cudaMemcpyAsync(x, batch, COUNT * sizeof(float), cudaMemcpyHostToDevice, on)); // plant: pageable
        axpy<<<264, 256, 0, on>>>(y, x, 2, COUNT, 400);
        for (int launch = 0; launch < 4; launch++)
            axpy<<<264, 256, 0, on>>>(y, z, 2, 4 * COUNT, 1500);
        CHECK(cudaMemcpyAsync(result, y, (1 << 14) * sizeof(float), cudaMemcpyDeviceToHost, on));
        CHECK(cudaStreamSynchronize(on));
        if (planted("register"))
            CHECK(cudaHostUnregister(batch)); // plant: register
        empty.push(batch);
    }
    loader.join();
}

template <int... N> static void launch_late(cudaStream_t on, float *y, long count, std::integer_sequence<int, N...>) {
    (late<N><<<264, 256, 0, on>>>(y, count), ...); // plant: first-launch
    deep<<<264, 256, 0, on>>>(y, count, 7);        // plant: first-launch
}

// Images go through three streams: each is copied to the device, filtered, and copied back.
static void images() {
    const long COUNT = 1 << 19;
    const int SLOTS = 3, IMAGES = 800;
    cudaStream_t on[SLOTS];
    cudaEvent_t done[SLOTS];
    float *from[SLOTS], *to[SLOTS], *x[SLOTS], *y[SLOTS];
    for (int slot = 0; slot < SLOTS; slot++) {
        on[slot] = stream();
        CHECK(cudaEventCreateWithFlags(&done[slot], cudaEventDisableTiming));
        from[slot] = pinned(COUNT), to[slot] = pinned(COUNT), x[slot] = on_device(COUNT), y[slot] = on_device(COUNT);
    }
    for (int number = 0; number < IMAGES; number++) {
        Step step("batch", number);
        int slot = number % SLOTS;
        CHECK(cudaEventSynchronize(done[slot]));
        CHECK(cudaMemcpyAsync(x[slot], from[slot], COUNT * sizeof(float), cudaMemcpyHostToDevice, on[slot]));
        for (int filter = 0; filter < 4; filter++)
            axpy<<<264, 256, 0, on[slot]>>>(y[slot], x[slot], 2, COUNT, 4000);
        if (planted("first-launch") && number == IMAGES / 2)
            launch_late(on[slot], y[slot], COUNT, std::make_integer_sequence<int, 48>()); // plant: first-launch
        if (planted("fresh")) {
            float *fresh = (float *)malloc(COUNT * sizeof(float));
            CHECK(cudaMemcpyAsync(fresh, y[slot], COUNT * sizeof(float), cudaMemcpyDeviceToHost, on[slot])); // plant: fresh
            free(fresh);
        } else {
            CHECK(cudaMemcpyAsync(to[slot], y[slot], COUNT * sizeof(float), cudaMemcpyDeviceToHost, on[slot]));
        }
        CHECK(cudaEventRecord(done[slot], on[slot]));
        if (planted("stream-sync"))
            CHECK(cudaStreamSynchronize(on[slot])); // plant: stream-sync
    }
    CHECK(cudaDeviceSynchronize());
}

int main(int count, char **words) {
    const std::map<std::string, void (*)()> programs = {{"solver", solver}, {"pipeline", pipeline}, {"images", images}};
    auto found = programs.find(count > 1 ? words[1] : "");
    if (found == programs.end() || count > 3) {
        fprintf(stderr, "programs solver|pipeline|images [PLANT]\n");
        return 2;
    }
    plant = count == 3 ? words[2] : "";
    CHECK(cudaFree(nullptr));
    long begin = now_ns();
    found->second();
    CHECK(cudaDeviceSynchronize());
    printf("%.0f ms\n", (now_ns() - begin) / 1e6);
}
