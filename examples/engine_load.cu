// Loads what an inference engine loads (a module, memory and weights for each layer) alone, and while other threads infer.
//
//     nvcc -g -O2 engine_load.cu -o engine_load -lcuda && nvcc -cubin -arch=native engine_load.cu -o engine_load.cubin
//     ./engine_load [threads that infer [engines]]
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#include <fstream>
#include <iterator>
#include <pthread.h>
#include <thread>
#include <vector>

#define CHECK(call) ((call) == 0 ? (void)0 : (std::fprintf(stderr, "%s failed\n", #call), std::exit(1)))

extern "C" __global__ void layer(float *x, int rounds) {
    float value = x[threadIdx.x];
    for (int round = 0; round < rounds; ++round) value = value * 0.999f + 0.001f;
    x[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

constexpr int LAYERS = 60;
constexpr size_t WEIGHTS = 4 << 20;

// One engine: for each layer a module, memory, weights from the host, and a first launch.
static double load_engine(const std::vector<char> &cubin) {
    auto start = std::chrono::steady_clock::now();
    std::vector<char> weights(WEIGHTS, 1);
    std::vector<CUmodule> modules(LAYERS);
    std::vector<void *> memory(LAYERS);
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int at = 0; at < LAYERS; ++at) {
        CUfunction function;
        CHECK(cuModuleLoadData(&modules[at], cubin.data()));
        CHECK(cuModuleGetFunction(&function, modules[at], "layer"));
        CHECK(cudaMalloc(&memory[at], WEIGHTS));
        CHECK(cudaMemcpyAsync(memory[at], weights.data(), WEIGHTS, cudaMemcpyHostToDevice, stream));
        int rounds = 1;
        void *arguments[] = {&memory[at], &rounds};
        CHECK(cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr));
    }
    CHECK(cudaStreamSynchronize(stream));
    auto loaded = std::chrono::steady_clock::now();
    for (int at = 0; at < LAYERS; ++at) {
        CHECK(cudaFree(memory[at]));
        CHECK(cuModuleUnload(modules[at]));
    }
    CHECK(cudaStreamDestroy(stream));
    return std::chrono::duration<double, std::milli>(loaded - start).count();
}

static void infer(std::atomic<bool> &go_on, std::atomic<long> &rounds) {
    cudaStream_t stream;
    float *x;
    pthread_setname_np(pthread_self(), "infer");
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&x, 1 << 20));
    while (go_on) {
        for (int kernel = 0; kernel < 10; ++kernel) layer<<<64, 256, 0, stream>>>(x, 40000);
        CHECK(cudaStreamSynchronize(stream));
        ++rounds;
    }
    CHECK(cudaFree(x));
    CHECK(cudaStreamDestroy(stream));
}

int main(int count, char **words) {
    int inferring = count > 1 ? std::atoi(words[1]) : 4, engines = count > 2 ? std::atoi(words[2]) : 5;
    std::ifstream file("engine_load.cubin", std::ios::binary);
    std::vector<char> cubin((std::istreambuf_iterator<char>(file)), {});
    if (cubin.empty()) return std::fprintf(stderr, "engine_load.cubin is not here\n"), 2;
    CHECK(cudaFree(nullptr));
    pthread_setname_np(pthread_self(), "loader");
    load_engine(cubin);
    double alone = 0, beside = 0;
    for (int round = 0; round < engines; ++round) alone += load_engine(cubin) / engines;
    std::atomic<bool> go_on{true};
    std::atomic<long> rounds{0};
    std::vector<std::thread> threads;
    for (int at = 0; at < inferring; ++at) threads.emplace_back(infer, std::ref(go_on), std::ref(rounds));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (int round = 0; round < engines; ++round) beside += load_engine(cubin) / engines;
    go_on = false;
    for (auto &thread : threads) thread.join();
    std::printf("an engine of %d layers loads in %.1f ms alone, in %.1f ms while %d threads infer: %.1f times as long; %ld rounds\n",
                LAYERS, alone, beside, inferring, beside / alone, rounds.load());
    return 0;
}
