// Moves particles through a rotating flow with a two-stage Runge-Kutta scheme.
#include <cuda_runtime.h>

#include <chrono>
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

constexpr int kParticles = 1 << 22;
constexpr size_t kBytes = kParticles * sizeof(float4);
constexpr int kThreads = 256;
constexpr int kBlocks = kParticles / kThreads;

__device__ float4 flow(float4 p) {
    float r2 = p.x * p.x + p.y * p.y + 0.1f;
    return make_float4(-p.y / r2, p.x / r2, 0.05f * p.z, 0.0f);
}

__global__ void place(float4 *particles) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    particles[i] = make_float4(float(i % 2048) / 1024.0f - 1.0f, float(i / 2048) / 1024.0f - 1.0f, 0.5f, 1.0f);
}

__global__ void slope(const float4 *particles, float4 *k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    k[i] = flow(particles[i]);
}

__global__ void midpoint_slope(const float4 *particles, const float4 *k1, float4 *k2, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 p = particles[i], k = k1[i];
    k2[i] = flow(make_float4(p.x + 0.5f * dt * k.x, p.y + 0.5f * dt * k.y, p.z + 0.5f * dt * k.z, p.w));
}

__global__ void advance(float4 *particles, const float4 *k2, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 p = particles[i], k = k2[i];
    particles[i] = make_float4(p.x + dt * k.x, p.y + dt * k.y, p.z + dt * k.z, p.w);
}

class Integrator {
  public:
    explicit Integrator(bool keep_scratch) : keep_scratch_(keep_scratch) {
        CHECK(cudaStreamCreate(&stream_));
        CHECK(cudaMalloc(&particles_, kBytes));
        for (cudaEvent_t &mark : marks_) CHECK(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming));
        if (keep_scratch_) {
            CHECK(cudaMalloc(&k1_, kBytes));
            CHECK(cudaMalloc(&k2_, kBytes));
        }
        place<<<kBlocks, kThreads, 0, stream_>>>(particles_);
        CHECK(cudaGetLastError());
    }

    ~Integrator() {
        CHECK(cudaDeviceSynchronize());
        if (keep_scratch_) {
            CHECK(cudaFree(k1_));
            CHECK(cudaFree(k2_));
        }
        CHECK(cudaFree(particles_));
        for (cudaEvent_t mark : marks_) CHECK(cudaEventDestroy(mark));
        CHECK(cudaStreamDestroy(stream_));
    }

    __attribute__((noinline)) void step(float dt) {
        if (!keep_scratch_) CHECK(cudaMalloc(&k1_, kBytes));
        if (!keep_scratch_) CHECK(cudaMalloc(&k2_, kBytes));

        slope<<<kBlocks, kThreads, 0, stream_>>>(particles_, k1_);
        midpoint_slope<<<kBlocks, kThreads, 0, stream_>>>(particles_, k1_, k2_, dt);
        advance<<<kBlocks, kThreads, 0, stream_>>>(particles_, k2_, dt);
        CHECK(cudaGetLastError());

        if (!keep_scratch_) CHECK(cudaFree(k1_));
        if (!keep_scratch_) CHECK(cudaFree(k2_));

        // No more than kAhead steps are queued.
        CHECK(cudaEventRecord(marks_[steps_ % kAhead], stream_));
        if (++steps_ >= kAhead) CHECK(cudaEventSynchronize(marks_[steps_ % kAhead]));
    }

  private:
    static constexpr int kAhead = 8;

    bool keep_scratch_;
    long steps_ = 0;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t marks_[kAhead] = {};
    float4 *particles_ = nullptr;
    float4 *k1_ = nullptr;
    float4 *k2_ = nullptr;
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    CHECK(cudaSetDevice(0));
    Integrator integrator(fixed);
    for (int i = 0; i < 10; ++i) integrator.step(0.001f);
    CHECK(cudaDeviceSynchronize());

    double start = seconds();
    long steps = 0;
    while (seconds() - start < 2.0) {
        for (int i = 0; i < 16; ++i) integrator.step(0.001f);
        steps += 16;
    }
    CHECK(cudaDeviceSynchronize());
    printf("%.1f per second\n", double(steps) / (seconds() - start));
    return 0;
}
