// Scales record batches that arrive in a fixed set of receive buffers and returns the largest value of each batch.
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

constexpr int kValues = 8 << 20;
constexpr size_t kBatchBytes = kValues * sizeof(float);
constexpr int kReceiveBuffers = 4;

__global__ void scale(float *values, int n, float factor) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) values[i] *= factor;
}

__global__ void largest(const float *values, int n, int *result) {
    int best = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        best = max(best, __float_as_int(values[i]));
    }
    for (int offset = 16; offset > 0; offset /= 2) best = max(best, __shfl_down_sync(0xffffffffu, best, offset));
    if (threadIdx.x % 32 == 0) atomicMax(result, best);
}

// Buffers that the network layer fills again and again.
struct Receiver {
    float *buffers[kReceiveBuffers];

    Receiver() {
        for (float *&buffer : buffers) {
            buffer = static_cast<float *>(aligned_alloc(4096, kBatchBytes));
            if (buffer == nullptr) abort();
            for (int i = 0; i < kValues; ++i) buffer[i] = float(i % 1000);
        }
    }

    ~Receiver() {
        for (float *buffer : buffers) free(buffer);
    }
};

class BatchProcessor {
  public:
    BatchProcessor(Receiver &receiver, bool pin_buffers_once) : receiver_(receiver), pinned_(pin_buffers_once) {
        CHECK(cudaStreamCreate(&stream_));
        CHECK(cudaMalloc(&values_, kBatchBytes));
        CHECK(cudaMalloc(&result_, sizeof(int)));
        CHECK(cudaHostAlloc(&answer_, sizeof(int), cudaHostAllocDefault));
        if (pinned_) {
            for (float *buffer : receiver_.buffers) CHECK(cudaHostRegister(buffer, kBatchBytes, cudaHostRegisterDefault));
        }
    }

    ~BatchProcessor() {
        if (pinned_) {
            for (float *buffer : receiver_.buffers) CHECK(cudaHostUnregister(buffer));
        }
        CHECK(cudaFreeHost(answer_));
        CHECK(cudaFree(result_));
        CHECK(cudaFree(values_));
        CHECK(cudaStreamDestroy(stream_));
    }

    __attribute__((noinline)) float process(long number) {
        float *batch = receiver_.buffers[number % kReceiveBuffers];
        batch[number % kValues] = float(1000 + number % 100);
        if (!pinned_) CHECK(cudaHostRegister(batch, kBatchBytes, cudaHostRegisterDefault));

        CHECK(cudaMemcpyAsync(values_, batch, kBatchBytes, cudaMemcpyHostToDevice, stream_));
        CHECK(cudaMemsetAsync(result_, 0, sizeof(int), stream_));
        scale<<<1056, 256, 0, stream_>>>(values_, kValues, 0.5f);
        largest<<<1056, 256, 0, stream_>>>(values_, kValues, result_);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(answer_, result_, sizeof(int), cudaMemcpyDeviceToHost, stream_));
        CHECK(cudaStreamSynchronize(stream_));

        if (!pinned_) CHECK(cudaHostUnregister(batch));
        float value;
        memcpy(&value, answer_, sizeof(value));
        return value;
    }

  private:
    Receiver &receiver_;
    bool pinned_;
    cudaStream_t stream_ = nullptr;
    float *values_ = nullptr;
    int *result_ = nullptr;
    int *answer_ = nullptr;
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    CHECK(cudaSetDevice(0));
    Receiver receiver;
    BatchProcessor processor(receiver, fixed);
    for (int i = 0; i < 5; ++i) processor.process(i);

    double start = seconds();
    long batches = 0;
    while (seconds() - start < 2.0) processor.process(batches++);
    CHECK(cudaDeviceSynchronize());
    printf("%.1f per second\n", double(batches) / (seconds() - start));
    return 0;
}
