// Programs with one habit each that costs them time, and the same without it.
//
//     nvcc -g -std=c++17 -o habits habits.cu
//     habits NAME [mended]      prints rounds per second; NAME is a function below
//
// A line with `HERE:` and a name is where the habit is.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <functional>
#include <map>
#include <string>

#define CHECK(call)                                                                                  \
    if (cudaError_t error = (call); error != cudaSuccess) {                                          \
        printf("%s: %s\n", #call, cudaGetErrorString(error));                                        \
        exit(1);                                                                                     \
    }

constexpr int LENGTH = 1 << 20;

__global__ void work(float *values, int length, int rounds) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= length) return;
    float value = values[at];
    for (int round = 0; round < rounds; ++round) value = value * 1.0001f + 0.5f;
    values[at] = value;
}

void launch(cudaStream_t stream, float *values, int rounds) {
    work<<<LENGTH / 256, 256, 0, stream>>>(values, LENGTH, rounds); // HERE:blocking
}

void repeat(int rounds, std::function<void(int)> step) {
    for (int at = 0; at < 5; ++at) step(at);
    CHECK(cudaDeviceSynchronize());
    auto start = std::chrono::steady_clock::now();
    for (int at = 0; at < rounds; ++at) step(at);
    CHECK(cudaDeviceSynchronize());
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    printf("%.1f rounds/s\n", rounds / took.count());
}

float *device_memory(size_t bytes) {
    float *memory;
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cudaMemset(memory, 0, bytes));
    return memory;
}

// A stream for each upload.
void streams(bool mended) {
    float *to = device_memory(1 << 20), *from;
    CHECK(cudaMallocHost(&from, 1 << 20));
    cudaStream_t kept;
    CHECK(cudaStreamCreateWithFlags(&kept, cudaStreamNonBlocking));
    repeat(400, [&](int) {
        cudaStream_t stream = kept;
        if (!mended) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); // HERE:streams
        CHECK(cudaMemcpyAsync(to, from, 1 << 20, cudaMemcpyHostToDevice, stream));
        CHECK(cudaStreamSynchronize(stream));
        if (!mended) CHECK(cudaStreamDestroy(stream));
    });
}

// A graph that is captured and instantiated anew in each round.
void graphs(bool mended) {
    float *values = device_memory(4 * LENGTH);
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraphExec_t executable = nullptr;
    auto build = [&] {
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        for (int at = 0; at < 50; ++at) launch(stream, values, 10);
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&executable, graph, 0)); // HERE:graphs
        CHECK(cudaGraphDestroy(graph));
    };
    if (mended) build();
    repeat(300, [&](int) {
        if (!mended) build();
        CHECK(cudaGraphLaunch(executable, stream));
        CHECK(cudaStreamSynchronize(stream));
        if (!mended) CHECK(cudaGraphExecDestroy(executable));
    });
}

// Memory from a pool that gives it back at each synchronization.
void pool(bool mended) {
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t keep = mended ? UINT64_MAX : 0;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    repeat(200, [&](int) {
        float *values;
        CHECK(cudaMallocAsync(&values, size_t(1) << 30, stream));
        launch(stream, values, 100);
        CHECK(cudaFreeAsync(values, stream));
        CHECK(cudaStreamSynchronize(stream)); // HERE:pool
    });
}

// CUDA_LAUNCH_BLOCKING=1, which `habits.py` sets.
void blocking(bool) {
    float *values = device_memory(4 * LENGTH);
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    repeat(400, [&](int) {
        for (int at = 0; at < 20; ++at) launch(stream, values, 50);
        CHECK(cudaStreamSynchronize(stream));
    });
}

// A memset in the legacy default stream between kernels and copies of other streams.
void joined(bool mended) {
    float *values = device_memory(4 * LENGTH), *small = device_memory(4096), *to = device_memory(64 << 20), *from;
    CHECK(cudaMallocHost(&from, 64 << 20));
    cudaStream_t computing, copying, filling;
    CHECK(cudaStreamCreate(&computing));
    CHECK(cudaStreamCreate(&copying));
    CHECK(cudaStreamCreateWithFlags(&filling, cudaStreamNonBlocking));
    repeat(100, [&](int) {
        CHECK(cudaMemcpyAsync(to, from, 64 << 20, cudaMemcpyHostToDevice, copying));
        for (int at = 0; at < 4; ++at) launch(computing, values, 300);
        CHECK(cudaMemsetAsync(small, 0, 4096, mended ? filling : cudaStreamLegacy)); // HERE:joined
        for (int at = 0; at < 4; ++at) launch(computing, values, 300);
        CHECK(cudaStreamSynchronize(computing));
    });
}

int main(int count, char **arguments) {
    std::map<std::string, void (*)(bool)> programs = {{"streams", streams}, {"graphs", graphs}, {"pool", pool},
                                                      {"blocking", blocking}, {"joined", joined}};
    if (count < 2 || !programs.count(arguments[1])) {
        fprintf(stderr, "habits NAME [mended]\n");
        return 2;
    }
    programs[arguments[1]](count > 2 && !strcmp(arguments[2], "mended"));
}
