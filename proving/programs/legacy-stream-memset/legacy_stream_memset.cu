// Builds histograms of sensor channels window by window; each channel has a stream of its own.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                                   \
    do {                                                                                              \
        cudaError_t status_ = (call);                                                                 \
        if (status_ != cudaSuccess) {                                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));          \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

constexpr int kSamples = 1 << 19;
constexpr int kBins = 256;
constexpr int kBlocks = 32;
constexpr int kThreads = 256;

__global__ void make_samples(float *samples, uint32_t seed) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kSamples; i += gridDim.x * blockDim.x) {
        uint32_t h = (uint32_t(i) + seed) * 2654435761u;
        h ^= h >> 15;
        samples[i] = float(h & 0xffffu) / 65536.0f;
    }
}

__global__ void histogram(const float *samples, uint32_t *counts, int rounds) {
    __shared__ uint32_t local[kBins];
    for (int b = threadIdx.x; b < kBins; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kSamples; i += gridDim.x * blockDim.x) {
        float corrected = samples[i];
        for (int r = 0; r < rounds; ++r) corrected = fmaf(corrected, 0.9995f, 0.00025f);
        atomicAdd(&local[min(kBins - 1, int(corrected * kBins))], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < kBins; b += blockDim.x) atomicAdd(&counts[b], local[b]);
}

class Channel {
  public:
    void open(uint32_t seed, bool clear_in_stream) {
        clear_in_stream_ = clear_in_stream;
        CHECK(cudaStreamCreate(&stream_));
        for (cudaEvent_t &mark : marks_) CHECK(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming));
        CHECK(cudaMalloc(&samples_, kSamples * sizeof(float)));
        CHECK(cudaMalloc(&counts_, kBins * sizeof(uint32_t)));
        CHECK(cudaHostAlloc(&latest_, kBins * sizeof(uint32_t), cudaHostAllocDefault));
        make_samples<<<kBlocks, kThreads, 0, stream_>>>(samples_, seed);
        CHECK(cudaGetLastError());
    }

    void close() {
        CHECK(cudaStreamSynchronize(stream_));
        CHECK(cudaFreeHost(latest_));
        CHECK(cudaFree(counts_));
        CHECK(cudaFree(samples_));
        for (cudaEvent_t mark : marks_) CHECK(cudaEventDestroy(mark));
        CHECK(cudaStreamDestroy(stream_));
    }

    __attribute__((noinline)) void window() {
        clear_counts();
        histogram<<<kBlocks, kThreads, 0, stream_>>>(samples_, counts_, 400);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(latest_, counts_, kBins * sizeof(uint32_t), cudaMemcpyDeviceToHost, stream_));

        // The host is no more than kAhead windows ahead of each channel.
        CHECK(cudaEventRecord(marks_[windows_ % kAhead], stream_));
        if (++windows_ >= kAhead) CHECK(cudaEventSynchronize(marks_[windows_ % kAhead]));
    }

  private:
    static constexpr int kAhead = 4;

    __attribute__((noinline)) void clear_counts() {
        if (clear_in_stream_) {
            CHECK(cudaMemsetAsync(counts_, 0, kBins * sizeof(uint32_t), stream_));
        } else {
            CHECK(cudaMemset(counts_, 0, kBins * sizeof(uint32_t)));
        }
    }

    bool clear_in_stream_ = false;
    long windows_ = 0;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t marks_[kAhead] = {};
    float *samples_ = nullptr;
    uint32_t *counts_ = nullptr;
    uint32_t *latest_ = nullptr;
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    constexpr int kChannels = 4;
    CHECK(cudaSetDevice(0));
    Channel channels[kChannels];
    for (int c = 0; c < kChannels; ++c) channels[c].open(77u * uint32_t(c), fixed);
    for (int i = 0; i < 8; ++i) {
        for (Channel &channel : channels) channel.window();
    }
    CHECK(cudaDeviceSynchronize());

    double start = seconds();
    long windows = 0;
    while (seconds() - start < 2.0) {
        for (int i = 0; i < 8; ++i) {
            for (Channel &channel : channels) channel.window();
        }
        windows += 8 * kChannels;
    }
    CHECK(cudaDeviceSynchronize());
    double elapsed = seconds() - start;
    for (Channel &channel : channels) channel.close();
    printf("%.1f per second\n", double(windows) / elapsed);
    return 0;
}
