// Relaxes a three-dimensional lattice with two large kernels per sweep; a few sweeps are queued ahead of the GPU.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#define CHECK(call)                                                                                   \
    do {                                                                                              \
        cudaError_t status_ = (call);                                                                 \
        if (status_ != cudaSuccess) {                                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));          \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

constexpr int kSide = 512;
constexpr int kSites = kSide * kSide * kSide;
constexpr size_t kBytes = size_t(kSites) * sizeof(float);
constexpr int kThreads = 256;
constexpr int kBlocks = kSites / kThreads;

__global__ void prepare(float *lattice) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    lattice[i] = float(i % 97) / 97.0f;
}

__global__ void relax(const float *from, float *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    constexpr int mask = kSites - 1;
    float sum = from[(i + 1) & mask] + from[(i - 1) & mask] + from[(i + kSide) & mask] + from[(i - kSide) & mask];
    sum += from[(i + kSide * kSide) & mask] + from[(i - kSide * kSide) & mask];
    to[i] = 0.4f * from[i] + 0.1f * sum;
}

__global__ void react(float *lattice, int substeps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float c = lattice[i];
    for (int s = 0; s < substeps; ++s) c = fmaf(0.01f * c, 1.0f - c, c) - 0.001f * c;
    lattice[i] = c;
}

class Lattice {
  public:
    Lattice() {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        for (cudaEvent_t &mark : marks_) CHECK(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming));
        CHECK(cudaMalloc(&current_, kBytes));
        CHECK(cudaMalloc(&next_, kBytes));
        prepare<<<kBlocks, kThreads, 0, stream_>>>(current_);
        CHECK(cudaGetLastError());
    }

    ~Lattice() {
        CHECK(cudaStreamSynchronize(stream_));
        CHECK(cudaFree(current_));
        CHECK(cudaFree(next_));
        for (cudaEvent_t mark : marks_) CHECK(cudaEventDestroy(mark));
        CHECK(cudaStreamDestroy(stream_));
    }

    __attribute__((noinline)) void sweep() {
        relax<<<kBlocks, kThreads, 0, stream_>>>(current_, next_);
        react<<<kBlocks, kThreads, 0, stream_>>>(next_, 40);
        CHECK(cudaGetLastError());
        std::swap(current_, next_);

        // No more than kAhead sweeps are queued.
        CHECK(cudaEventRecord(marks_[sweeps_ % kAhead], stream_));
        if (++sweeps_ >= kAhead) CHECK(cudaEventSynchronize(marks_[sweeps_ % kAhead]));
    }

  private:
    static constexpr int kAhead = 8;

    long sweeps_ = 0;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t marks_[kAhead] = {};
    float *current_ = nullptr;
    float *next_ = nullptr;
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main() {
    CHECK(cudaSetDevice(0));
    Lattice lattice;
    for (int i = 0; i < 10; ++i) lattice.sweep();
    CHECK(cudaDeviceSynchronize());

    double start = seconds();
    long sweeps = 0;
    while (seconds() - start < 2.0) {
        for (int i = 0; i < 8; ++i) lattice.sweep();
        sweeps += 8;
    }
    CHECK(cudaDeviceSynchronize());
    printf("%.1f per second\n", double(sweeps) / (seconds() - start));
    return 0;
}
