// Ranks requests: the embedding rows of a request are brought from a table in host memory to the GPU and scored there.
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

constexpr int kTableRows = 1 << 16;
constexpr int kDimension = 256;
constexpr int kRows = 192;
constexpr size_t kRowBytes = kDimension * sizeof(float);
constexpr int kSlots = 4;

__global__ void score_rows(const float *rows, float *scores, int layers) {
    __shared__ float partial[kDimension];
    float x = rows[blockIdx.x * kDimension + threadIdx.x];
    for (int l = 0; l < layers; ++l) x = fmaf(x, 0.999f, 0.0005f);
    partial[threadIdx.x] = x;
    __syncthreads();
    for (int half = kDimension / 2; half > 0; half /= 2) {
        if (int(threadIdx.x) < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) scores[blockIdx.x] = partial[0];
}

class Ranker {
  public:
    explicit Ranker(bool gather_on_host) : gather_on_host_(gather_on_host) {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CHECK(cudaHostAlloc(&table_, kTableRows * kRowBytes, cudaHostAllocDefault));
        for (size_t i = 0; i < size_t(kTableRows) * kDimension; ++i) table_[i] = float(i % 251) * 0.01f;
        for (Slot &slot : slots_) {
            CHECK(cudaEventCreateWithFlags(&slot.done, cudaEventDisableTiming));
            CHECK(cudaMalloc(&slot.rows, kRows * kRowBytes));
            CHECK(cudaMalloc(&slot.scores, kRows * sizeof(float)));
            CHECK(cudaHostAlloc(&slot.staging, kRows * kRowBytes, cudaHostAllocDefault));
            CHECK(cudaHostAlloc(&slot.answer, kRows * sizeof(float), cudaHostAllocDefault));
        }
    }

    ~Ranker() {
        CHECK(cudaDeviceSynchronize());
        for (Slot &slot : slots_) {
            CHECK(cudaEventDestroy(slot.done));
            CHECK(cudaFree(slot.rows));
            CHECK(cudaFree(slot.scores));
            CHECK(cudaFreeHost(slot.staging));
            CHECK(cudaFreeHost(slot.answer));
        }
        CHECK(cudaFreeHost(table_));
        CHECK(cudaStreamDestroy(stream_));
    }

    __attribute__((noinline)) void rank(long number) {
        Slot &slot = slots_[number % kSlots];
        if (number >= kSlots) CHECK(cudaEventSynchronize(slot.done));
        choose_rows();
        bring_rows(slot);
        score_rows<<<kRows, kDimension, 0, stream_>>>(slot.rows, slot.scores, 8000);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(slot.answer, slot.scores, kRows * sizeof(float), cudaMemcpyDeviceToHost, stream_));
        CHECK(cudaEventRecord(slot.done, stream_));
    }

  private:
    struct Slot {
        cudaEvent_t done = nullptr;
        float *rows = nullptr;
        float *scores = nullptr;
        float *staging = nullptr;
        float *answer = nullptr;
    };

    void choose_rows() {
        for (int &row : chosen_) {
            state_ = state_ * 1664525u + 1013904223u;
            row = int(state_ >> 16) % kTableRows;
        }
    }

    __attribute__((noinline)) void bring_rows(Slot &slot) {
        if (gather_on_host_) {
            for (int r = 0; r < kRows; ++r) {
                memcpy(slot.staging + r * kDimension, table_ + size_t(chosen_[r]) * kDimension, kRowBytes);
            }
            CHECK(cudaMemcpyAsync(slot.rows, slot.staging, kRows * kRowBytes, cudaMemcpyHostToDevice, stream_));
            return;
        }
        for (int r = 0; r < kRows; ++r) {
            const float *row = table_ + size_t(chosen_[r]) * kDimension;
            CHECK(cudaMemcpyAsync(slot.rows + r * kDimension, row, kRowBytes, cudaMemcpyHostToDevice, stream_));
        }
    }

    bool gather_on_host_;
    uint32_t state_ = 2024u;
    int chosen_[kRows] = {};
    cudaStream_t stream_ = nullptr;
    float *table_ = nullptr;
    Slot slots_[kSlots];
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    CHECK(cudaSetDevice(0));
    Ranker ranker(fixed);
    long number = 0;
    for (; number < 10; ++number) ranker.rank(number);
    CHECK(cudaDeviceSynchronize());

    double start = seconds();
    long first = number;
    while (seconds() - start < 2.0) {
        for (int i = 0; i < 16; ++i, ++number) ranker.rank(number);
    }
    CHECK(cudaDeviceSynchronize());
    printf("%.1f per second\n", double(number - first) / (seconds() - start));
    return 0;
}
