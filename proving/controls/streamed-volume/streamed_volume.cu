// Filters slabs of a volume; the next slab is copied from pinned memory while the current one is filtered.
#include <cuda_runtime.h>

#include <chrono>
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

constexpr int kVoxels = 4 << 20;
constexpr size_t kSlabBytes = kVoxels * sizeof(float);
constexpr int kSlots = 3;

__global__ void filter_slab(const float *slab, float *filtered, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float voxel = slab[i], smooth = voxel;
    for (int r = 0; r < rounds; ++r) smooth = fmaf(smooth, 0.9990f, 0.001f * voxel);
    filtered[i] = smooth;
}

class VolumeFilter {
  public:
    VolumeFilter() {
        CHECK(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&kernels_, cudaStreamNonBlocking));
        CHECK(cudaMalloc(&filtered_, kSlabBytes));
        for (Slot &slot : slots_) {
            CHECK(cudaEventCreateWithFlags(&slot.arrived, cudaEventDisableTiming));
            CHECK(cudaEventCreateWithFlags(&slot.used, cudaEventDisableTiming));
            CHECK(cudaMalloc(&slot.slab, kSlabBytes));
            CHECK(cudaHostAlloc(&slot.host_slab, kSlabBytes, cudaHostAllocDefault));
            for (int i = 0; i < kVoxels; ++i) slot.host_slab[i] = float(i % 255);
        }
    }

    ~VolumeFilter() {
        CHECK(cudaDeviceSynchronize());
        for (Slot &slot : slots_) {
            CHECK(cudaEventDestroy(slot.arrived));
            CHECK(cudaEventDestroy(slot.used));
            CHECK(cudaFree(slot.slab));
            CHECK(cudaFreeHost(slot.host_slab));
        }
        CHECK(cudaFree(filtered_));
        CHECK(cudaStreamDestroy(kernels_));
        CHECK(cudaStreamDestroy(copies_));
    }

    __attribute__((noinline)) void submit(long number) {
        Slot &slot = slots_[number % kSlots];
        // The slot is free again when the slab that it had has been filtered.
        if (number >= kSlots) CHECK(cudaEventSynchronize(slot.used));
        CHECK(cudaMemcpyAsync(slot.slab, slot.host_slab, kSlabBytes, cudaMemcpyHostToDevice, copies_));
        CHECK(cudaEventRecord(slot.arrived, copies_));
        CHECK(cudaStreamWaitEvent(kernels_, slot.arrived, 0));
        filter_slab<<<kVoxels / 256, 256, 0, kernels_>>>(slot.slab, filtered_, 12000);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(slot.used, kernels_));
    }

  private:
    struct Slot {
        cudaEvent_t arrived = nullptr;
        cudaEvent_t used = nullptr;
        float *slab = nullptr;
        float *host_slab = nullptr;
    };

    cudaStream_t copies_ = nullptr;
    cudaStream_t kernels_ = nullptr;
    float *filtered_ = nullptr;
    Slot slots_[kSlots];
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main() {
    CHECK(cudaSetDevice(0));
    VolumeFilter filter;
    long number = 0;
    for (; number < 6; ++number) filter.submit(number);
    CHECK(cudaDeviceSynchronize());

    double start = seconds();
    long first = number;
    while (seconds() - start < 2.0) {
        for (int i = 0; i < 6; ++i, ++number) filter.submit(number);
    }
    CHECK(cudaDeviceSynchronize());
    printf("%.1f per second\n", double(number - first) / (seconds() - start));
    return 0;
}
