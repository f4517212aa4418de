// Prices option books by simulation; each book is a chain of three kernels in a stream of its own.
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

constexpr int kPaths = 4096;
constexpr int kThreads = 256;
constexpr int kBlocks = kPaths / kThreads;

__global__ void simulate_paths(float *spot, uint32_t seed, float volatility, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t state = (seed ^ uint32_t(i)) * 2654435761u | 1u;
    float price = 100.0f;
    for (int s = 0; s < steps; ++s) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        float noise = float(state >> 8) * (1.0f / 16777216.0f) - 0.5f;
        price = fmaf(price, volatility * noise, price);
    }
    spot[i] = price;
}

__global__ void implied_volatility(const float *spot, float *implied, int iterations) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float target = spot[i] * 0.01f, x = 1.0f;
    for (int k = 0; k < iterations; ++k) x = fmaf(-0.001f, fmaf(x, x, -target), x);
    implied[i] = x;
}

__global__ void discount(const float *implied, float *value, float rate, int periods) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = implied[i];
    for (int p = 0; p < periods; ++p) v = fmaf(v, -rate, v);
    value[i] = v;
}

class Book {
  public:
    void open(uint32_t seed) {
        seed_ = seed;
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        for (cudaEvent_t &mark : marks_) CHECK(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming));
        CHECK(cudaMalloc(&spot_, kPaths * sizeof(float)));
        CHECK(cudaMalloc(&implied_, kPaths * sizeof(float)));
        CHECK(cudaMalloc(&value_, kPaths * sizeof(float)));
    }

    void close() {
        CHECK(cudaStreamSynchronize(stream_));
        CHECK(cudaFree(spot_));
        CHECK(cudaFree(implied_));
        CHECK(cudaFree(value_));
        for (cudaEvent_t mark : marks_) CHECK(cudaEventDestroy(mark));
        CHECK(cudaStreamDestroy(stream_));
    }

    __attribute__((noinline)) void price() {
        simulate_paths<<<kBlocks, kThreads, 0, stream_>>>(spot_, seed_ + uint32_t(rounds_), 0.01f, 6000);
        implied_volatility<<<kBlocks, kThreads, 0, stream_>>>(spot_, implied_, 22000);
        discount<<<kBlocks, kThreads, 0, stream_>>>(implied_, value_, 0.00001f, 44000);
        CHECK(cudaGetLastError());

        // No more than kAhead rounds of a book are queued.
        CHECK(cudaEventRecord(marks_[rounds_ % kAhead], stream_));
        if (++rounds_ >= kAhead) CHECK(cudaEventSynchronize(marks_[rounds_ % kAhead]));
    }

  private:
    static constexpr int kAhead = 3;

    uint32_t seed_ = 0;
    long rounds_ = 0;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t marks_[kAhead] = {};
    float *spot_ = nullptr;
    float *implied_ = nullptr;
    float *value_ = nullptr;
};

// Settings of the process, made before the device is first used.
static void configure(bool keep_launch_order) {
    if (keep_launch_order) {
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
    } else {
        unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    }
    CHECK(cudaSetDevice(0));
}

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    constexpr int kBooks = 8;
    configure(!fixed);
    Book books[kBooks];
    for (int b = 0; b < kBooks; ++b) books[b].open(1000u + 17u * uint32_t(b));
    for (int i = 0; i < 4; ++i) {
        for (Book &book : books) book.price();
    }
    CHECK(cudaDeviceSynchronize());

    double start = seconds();
    long priced = 0;
    while (seconds() - start < 2.0) {
        for (int i = 0; i < 4; ++i) {
            for (Book &book : books) book.price();
        }
        priced += 4 * kBooks;
    }
    CHECK(cudaDeviceSynchronize());
    double elapsed = seconds() - start;
    for (Book &book : books) book.close();
    printf("%.1f per second\n", double(priced) / elapsed);
    return 0;
}
