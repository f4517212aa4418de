// Smooths a density field in managed memory and draws a coarse preview of it after each step.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#define CHECK(call)                                                                                   \
    do {                                                                                              \
        cudaError_t status_ = (call);                                                                 \
        if (status_ != cudaSuccess) {                                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));          \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

constexpr int kSide = 2048;
constexpr int kCells = kSide * kSide;
constexpr size_t kBytes = kCells * sizeof(float);
constexpr int kStride = 16;
constexpr int kColumns = kSide / kStride;
constexpr int kPixels = kColumns * kColumns;

__global__ void fill(float *density) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    density[i] = float((i % kSide) ^ (i / kSide)) / kSide;
}

__global__ void smooth(const float *from, float *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int up = (i + kCells - kSide) % kCells, down = (i + kSide) % kCells;
    int left = (i + kCells - 1) % kCells, right = (i + 1) % kCells;
    to[i] = 0.6f * from[i] + 0.1f * (from[up] + from[down] + from[left] + from[right]);
}

__global__ void sample(const float *density, float exposure, float *pixels) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kPixels) pixels[i] = exposure * density[(i / kColumns) * kStride * kSide + (i % kColumns) * kStride];
}

class Simulation {
  public:
    explicit Simulation(bool sample_on_gpu) : sample_on_gpu_(sample_on_gpu) {
        CHECK(cudaStreamCreate(&stream_));
        CHECK(cudaMallocManaged(&density_, kBytes));
        CHECK(cudaMallocManaged(&next_, kBytes));
        CHECK(cudaMalloc(&pixels_, kPixels * sizeof(float)));
        CHECK(cudaHostAlloc(&preview_, kPixels * sizeof(float), cudaHostAllocDefault));
        fill<<<kCells / 256, 256, 0, stream_>>>(density_);
        fill<<<kCells / 256, 256, 0, stream_>>>(next_);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(stream_));
    }

    ~Simulation() {
        CHECK(cudaStreamSynchronize(stream_));
        CHECK(cudaFreeHost(preview_));
        CHECK(cudaFree(pixels_));
        CHECK(cudaFree(next_));
        CHECK(cudaFree(density_));
        CHECK(cudaStreamDestroy(stream_));
    }

    // Smooths the field, draws it, and chooses the exposure of the next preview.
    __attribute__((noinline)) void step() {
        for (int sweep = 0; sweep < 4; ++sweep) {
            smooth<<<kCells / 256, 256, 0, stream_>>>(density_, next_);
            std::swap(density_, next_);
        }
        CHECK(cudaGetLastError());
        if (sample_on_gpu_) {
            sample<<<(kPixels + 255) / 256, 256, 0, stream_>>>(density_, exposure_, pixels_);
            CHECK(cudaGetLastError());
            CHECK(cudaMemcpyAsync(preview_, pixels_, kPixels * sizeof(float), cudaMemcpyDeviceToHost, stream_));
            CHECK(cudaStreamSynchronize(stream_));
        } else {
            CHECK(cudaStreamSynchronize(stream_));
            draw_preview();
        }
        float sum = 0.0f;
        for (int i = 0; i < kPixels; ++i) sum += preview_[i];
        if (sum > 0.0f) exposure_ *= 0.5f * kPixels / sum;
    }

  private:
    __attribute__((noinline)) void draw_preview() {
        float *pixel = preview_;
        for (int y = 0; y < kSide; y += kStride) {
            for (int x = 0; x < kSide; x += kStride) {
                *pixel++ = exposure_ * density_[y * kSide + x];
            }
        }
    }

    bool sample_on_gpu_;
    float exposure_ = 1.0f;
    cudaStream_t stream_ = nullptr;
    float *density_ = nullptr;
    float *next_ = nullptr;
    float *pixels_ = nullptr;
    float *preview_ = nullptr;
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    CHECK(cudaSetDevice(0));
    Simulation simulation(fixed);
    for (int i = 0; i < 3; ++i) simulation.step();

    double start = seconds();
    long steps = 0;
    while (seconds() - start < 2.0) {
        simulation.step();
        ++steps;
    }
    CHECK(cudaDeviceSynchronize());
    printf("%.1f per second\n", double(steps) / (seconds() - start));
    return 0;
}
