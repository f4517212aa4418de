// Decodes messages in eight worker threads and classifies each of them on the GPU.
#include <cuda_runtime.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                   \
    do {                                                                                              \
        cudaError_t status_ = (call);                                                                 \
        if (status_ != cudaSuccess) {                                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));          \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

constexpr int kWorkers = 8;
constexpr int kEncoded = 128 << 10;
constexpr int kDecoded = kEncoded / 4 * 3;

__global__ void classify(const unsigned char *message, int *label, int layers) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i < kDecoded ? float(message[i]) / 255.0f : 0.0f;
    for (int l = 0; l < layers; ++l) x = fmaf(x, 0.9995f, 0.0002f);
    int positive = __syncthreads_count(x > 0.5f);
    if (threadIdx.x == 0) atomicAdd(label, positive);
}

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

class Worker {
  public:
    explicit Worker(uint32_t seed) : encoded_(kEncoded) {
        const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        memset(value_of_, 0, sizeof(value_of_));
        for (int d = 0; d < 64; ++d) value_of_[static_cast<unsigned char>(digits[d])] = static_cast<unsigned char>(d);
        for (unsigned char &c : encoded_) {
            seed = seed * 1664525u + 1013904223u;
            c = static_cast<unsigned char>(digits[seed >> 26]);
        }
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CHECK(cudaHostAlloc(&decoded_, kDecoded, cudaHostAllocDefault));
        CHECK(cudaHostAlloc(&answer_, sizeof(int), cudaHostAllocDefault));
        CHECK(cudaMalloc(&message_, kDecoded));
        CHECK(cudaMalloc(&label_, sizeof(int)));
    }

    ~Worker() {
        CHECK(cudaFree(label_));
        CHECK(cudaFree(message_));
        CHECK(cudaFreeHost(answer_));
        CHECK(cudaFreeHost(decoded_));
        CHECK(cudaStreamDestroy(stream_));
    }

    __attribute__((noinline)) int handle() {
        uint32_t checksum = decode();
        CHECK(cudaMemcpyAsync(message_, decoded_, kDecoded, cudaMemcpyHostToDevice, stream_));
        CHECK(cudaMemsetAsync(label_, 0, sizeof(int), stream_));
        classify<<<kDecoded / 256, 256, 0, stream_>>>(message_, label_, 12000);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(answer_, label_, sizeof(int), cudaMemcpyDeviceToHost, stream_));
        CHECK(cudaStreamSynchronize(stream_));
        encoded_[checksum % kEncoded] = 'A' + *answer_ % 26;
        return *answer_;
    }

  private:
    // Base64 to bytes, with a checksum of the bytes.
    __attribute__((noinline)) uint32_t decode() {
        uint32_t checksum = 2166136261u;
        unsigned char *to = decoded_;
        for (int i = 0; i < kEncoded; i += 4) {
            uint32_t bits = 0;
            for (int k = 0; k < 4; ++k) bits = bits << 6 | value_of_[encoded_[i + k]];
            for (int k = 2; k >= 0; --k) {
                *to = static_cast<unsigned char>(bits >> (8 * k));
                checksum = (checksum ^ *to++) * 16777619u;
            }
        }
        return checksum;
    }

    unsigned char value_of_[256];
    std::vector<unsigned char> encoded_;
    cudaStream_t stream_ = nullptr;
    unsigned char *decoded_ = nullptr;
    unsigned char *message_ = nullptr;
    int *answer_ = nullptr;
    int *label_ = nullptr;
};

// Binds the process to the first CPU that it may use, for warm caches.
static void bind_process() {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
    int cpu = 0;
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &allowed)) ++cpu;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) perror("sched_setaffinity");
}

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    CHECK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    CHECK(cudaSetDevice(0));
    if (!fixed) bind_process();

    std::atomic<int> ready{0};
    std::atomic<double> deadline{0.0};
    std::atomic<long> handled{0};
    std::vector<std::thread> threads;
    for (int w = 0; w < kWorkers; ++w) {
        threads.emplace_back([&ready, &deadline, &handled, w] {
            CHECK(cudaSetDevice(0));
            Worker worker(99u + 1000u * uint32_t(w));
            for (int i = 0; i < 5; ++i) worker.handle();
            ++ready;
            while (deadline == 0.0) std::this_thread::yield();
            long count = 0;
            while (seconds() < deadline) {
                worker.handle();
                ++count;
            }
            handled += count;
        });
    }
    while (ready < kWorkers) std::this_thread::yield();

    double start = seconds();
    deadline = start + 2.0;
    for (std::thread &thread : threads) thread.join();
    CHECK(cudaDeviceSynchronize());
    printf("%.1f per second\n", double(handled) / (seconds() - start));
    return 0;
}
