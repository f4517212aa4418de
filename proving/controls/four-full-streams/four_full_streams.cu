// Evolves four independent populations, each in a non-blocking stream; together they fill the GPU.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                   \
    do {                                                                                              \
        cudaError_t status_ = (call);                                                                 \
        if (status_ != cudaSuccess) {                                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));          \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

constexpr int kIndividuals = 1 << 20;
constexpr int kThreads = 256;
constexpr int kBlocks = kIndividuals / kThreads;

__global__ void found(uint32_t *genomes, uint32_t seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    genomes[i] = (uint32_t(i) + seed) * 2654435761u | 1u;
}

__global__ void mutate(uint32_t *genomes, int generations) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t g = genomes[i];
    for (int k = 0; k < generations; ++k) {
        g ^= g << 13;
        g ^= g >> 17;
        g ^= g << 5;
    }
    genomes[i] = g;
}

__global__ void rate_fitness(const uint32_t *genomes, float *fitness, int trials) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float trait = float(genomes[i] >> 8) * (1.0f / 16777216.0f), f = 0.5f;
    for (int t = 0; t < trials; ++t) f = fmaf(f, 0.999f, 0.001f * trait);
    fitness[i] = f;
}

class Population {
  public:
    void open(uint32_t seed) {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        for (cudaEvent_t &mark : marks_) CHECK(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming));
        CHECK(cudaMalloc(&genomes_, kIndividuals * sizeof(uint32_t)));
        CHECK(cudaMalloc(&fitness_, kIndividuals * sizeof(float)));
        found<<<kBlocks, kThreads, 0, stream_>>>(genomes_, seed);
        CHECK(cudaGetLastError());
    }

    void close() {
        CHECK(cudaStreamSynchronize(stream_));
        CHECK(cudaFree(genomes_));
        CHECK(cudaFree(fitness_));
        for (cudaEvent_t mark : marks_) CHECK(cudaEventDestroy(mark));
        CHECK(cudaStreamDestroy(stream_));
    }

    __attribute__((noinline)) void evolve() {
        mutate<<<kBlocks, kThreads, 0, stream_>>>(genomes_, 1000);
        rate_fitness<<<kBlocks, kThreads, 0, stream_>>>(genomes_, fitness_, 6000);
        CHECK(cudaGetLastError());

        // No more than kAhead rounds of a population are queued.
        CHECK(cudaEventRecord(marks_[rounds_ % kAhead], stream_));
        if (++rounds_ >= kAhead) CHECK(cudaEventSynchronize(marks_[rounds_ % kAhead]));
    }

  private:
    static constexpr int kAhead = 4;

    long rounds_ = 0;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t marks_[kAhead] = {};
    uint32_t *genomes_ = nullptr;
    float *fitness_ = nullptr;
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main() {
    constexpr int kPopulations = 4;
    CHECK(cudaSetDevice(0));
    Population populations[kPopulations];
    for (int p = 0; p < kPopulations; ++p) populations[p].open(500u + uint32_t(p) * 123457u);
    for (int i = 0; i < 4; ++i) {
        for (Population &population : populations) population.evolve();
    }
    CHECK(cudaDeviceSynchronize());

    double start = seconds();
    long rounds = 0;
    while (seconds() - start < 2.0) {
        for (int i = 0; i < 4; ++i) {
            for (Population &population : populations) population.evolve();
        }
        rounds += 4 * kPopulations;
    }
    CHECK(cudaDeviceSynchronize());
    double elapsed = seconds() - start;
    for (Population &population : populations) population.close();
    printf("%.1f per second\n", double(rounds) / elapsed);
    return 0;
}
