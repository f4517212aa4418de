// Encodes the tiles of a large image: each tile is copied in, encoded and copied out again.
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

constexpr int kValues = 6 << 20;
constexpr size_t kTileBytes = kValues * sizeof(float);
constexpr int kSlots = 3;

__global__ void encode(const float *tile, float *code, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = tile[i], residue = value;
    for (int r = 0; r < rounds; ++r) residue = fmaf(residue, 0.9990f, 0.001f * value);
    code[i] = value - residue;
}

class TileEncoder {
  public:
    explicit TileEncoder(int streams) : stream_count_(streams) {
        for (int s = 0; s < stream_count_; ++s) CHECK(cudaStreamCreateWithFlags(&streams_[s], cudaStreamNonBlocking));
        for (Slot &slot : slots_) {
            CHECK(cudaEventCreateWithFlags(&slot.done, cudaEventDisableTiming));
            CHECK(cudaMalloc(&slot.tile, kTileBytes));
            CHECK(cudaMalloc(&slot.code, kTileBytes));
            CHECK(cudaHostAlloc(&slot.host_tile, kTileBytes, cudaHostAllocDefault));
            CHECK(cudaHostAlloc(&slot.host_code, kTileBytes, cudaHostAllocDefault));
            for (int i = 0; i < kValues; ++i) slot.host_tile[i] = float(i % 4096);
        }
    }

    ~TileEncoder() {
        CHECK(cudaDeviceSynchronize());
        for (Slot &slot : slots_) {
            CHECK(cudaEventDestroy(slot.done));
            CHECK(cudaFree(slot.tile));
            CHECK(cudaFree(slot.code));
            CHECK(cudaFreeHost(slot.host_tile));
            CHECK(cudaFreeHost(slot.host_code));
        }
        for (int s = 0; s < stream_count_; ++s) CHECK(cudaStreamDestroy(streams_[s]));
    }

    __attribute__((noinline)) void submit(long number) {
        Slot &slot = slots_[number % kSlots];
        cudaStream_t stream = streams_[number % stream_count_];
        if (number >= kSlots) CHECK(cudaEventSynchronize(slot.done));
        slot.host_tile[number % kValues] = float(number % 100);

        CHECK(cudaMemcpyAsync(slot.tile, slot.host_tile, kTileBytes, cudaMemcpyHostToDevice, stream));
        encode<<<kValues / 256, 256, 0, stream>>>(slot.tile, slot.code, 3000);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(slot.host_code, slot.code, kTileBytes, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaEventRecord(slot.done, stream));
    }

  private:
    struct Slot {
        cudaEvent_t done = nullptr;
        float *tile = nullptr;
        float *code = nullptr;
        float *host_tile = nullptr;
        float *host_code = nullptr;
    };

    int stream_count_;
    cudaStream_t streams_[kSlots] = {};
    Slot slots_[kSlots];
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    CHECK(cudaSetDevice(0));
    TileEncoder encoder(fixed ? kSlots : 1);
    long number = 0;
    for (; number < 6; ++number) encoder.submit(number);
    CHECK(cudaDeviceSynchronize());

    double start = seconds();
    long first = number;
    while (seconds() - start < 2.0) {
        for (int i = 0; i < 12; ++i, ++number) encoder.submit(number);
    }
    CHECK(cudaDeviceSynchronize());
    printf("%.1f per second\n", double(number - first) / (seconds() - start));
    return 0;
}
