// Projects batches of embeddings with two matrix products and normalizes the rows of the result.
#include <cublas_v2.h>
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

#define CHECK_BLAS(call)                                                                              \
    do {                                                                                              \
        cublasStatus_t status_ = (call);                                                              \
        if (status_ != CUBLAS_STATUS_SUCCESS) {                                                       \
            fprintf(stderr, "%s:%d: cuBLAS status %d\n", __FILE__, __LINE__, int(status_));           \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

constexpr int kBatch = 1024;
constexpr int kWidth = 512;

__global__ void fill(float *values, int n, float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = scale * (float((i * 7919) % 1000) / 1000.0f - 0.5f);
}

// One block normalizes one row (a column in cuBLAS's order).
__global__ void normalize(float *rows) {
    __shared__ float squares[kWidth];
    float *row = rows + blockIdx.x * kWidth;
    float v = row[threadIdx.x];
    squares[threadIdx.x] = v * v;
    __syncthreads();
    for (int half = kWidth / 2; half > 0; half /= 2) {
        if (int(threadIdx.x) < half) squares[threadIdx.x] += squares[threadIdx.x + half];
        __syncthreads();
    }
    row[threadIdx.x] = v * rsqrtf(squares[0] + 1e-12f);
}

class Projection {
  public:
    explicit Projection(bool keep_handle) : keep_handle_(keep_handle) {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        for (cudaEvent_t &mark : marks_) CHECK(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming));
        input_ = matrix(kBatch * kWidth, 1.0f);
        hidden_ = matrix(kBatch * kWidth, 0.0f);
        output_ = matrix(kBatch * kWidth, 0.0f);
        first_ = matrix(kWidth * kWidth, 0.1f);
        second_ = matrix(kWidth * kWidth, 0.2f);
        CHECK(cudaStreamSynchronize(stream_));
        if (keep_handle_) {
            CHECK_BLAS(cublasCreate(&handle_));
            CHECK_BLAS(cublasSetStream(handle_, stream_));
        }
    }

    ~Projection() {
        CHECK(cudaStreamSynchronize(stream_));
        if (keep_handle_) CHECK_BLAS(cublasDestroy(handle_));
        for (float *m : {input_, hidden_, output_, first_, second_}) CHECK(cudaFree(m));
        for (cudaEvent_t mark : marks_) CHECK(cudaEventDestroy(mark));
        CHECK(cudaStreamDestroy(stream_));
    }

    __attribute__((noinline)) void project() {
        multiply(first_, input_, hidden_);
        multiply(second_, hidden_, output_);
        normalize<<<kBatch, kWidth, 0, stream_>>>(output_);
        CHECK(cudaGetLastError());

        // No more than kAhead batches are queued.
        CHECK(cudaEventRecord(marks_[batches_ % kAhead], stream_));
        if (++batches_ >= kAhead) CHECK(cudaEventSynchronize(marks_[batches_ % kAhead]));
    }

  private:
    static constexpr int kAhead = 8;

    float *matrix(int n, float scale) {
        float *values = nullptr;
        CHECK(cudaMalloc(&values, n * sizeof(float)));
        fill<<<(n + 255) / 256, 256, 0, stream_>>>(values, n, scale);
        CHECK(cudaGetLastError());
        return values;
    }

    // to = weights * from
    __attribute__((noinline)) void multiply(const float *weights, const float *from, float *to) {
        const float one = 1.0f, zero = 0.0f;
        cublasHandle_t handle = handle_;
        if (!keep_handle_) {
            CHECK_BLAS(cublasCreate(&handle));
            CHECK_BLAS(cublasSetStream(handle, stream_));
        }
        CHECK_BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kWidth, kBatch, kWidth, &one, weights, kWidth, from, kWidth, &zero, to,
                               kWidth));
        if (!keep_handle_) CHECK_BLAS(cublasDestroy(handle));
    }

    bool keep_handle_;
    long batches_ = 0;
    cudaStream_t stream_ = nullptr;
    cublasHandle_t handle_ = nullptr;
    cudaEvent_t marks_[kAhead] = {};
    float *input_ = nullptr;
    float *hidden_ = nullptr;
    float *output_ = nullptr;
    float *first_ = nullptr;
    float *second_ = nullptr;
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    CHECK(cudaSetDevice(0));
    Projection projection(fixed);
    for (int i = 0; i < 10; ++i) projection.project();
    CHECK(cudaDeviceSynchronize());

    double start = seconds();
    long batches = 0;
    while (seconds() - start < 2.0) {
        for (int i = 0; i < 16; ++i) projection.project();
        batches += 16;
    }
    CHECK(cudaDeviceSynchronize());
    printf("%.1f per second\n", double(batches) / (seconds() - start));
    return 0;
}
