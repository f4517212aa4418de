// Answers image queries: each query finds the strong edges of a large image and returns how many there are.
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

constexpr int kWidth = 4096;
constexpr int kHeight = 4096;
constexpr size_t kPixels = size_t(kWidth) * kHeight;

__global__ void fill_image(float *image) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < kPixels) {
        uint32_t h = uint32_t(i) * 2654435761u;
        image[i] = float(h >> 8) * (1.0f / 16777216.0f);
    }
}

__global__ void blur_rows(const float *image, float *blurred) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < 2 || i + 2 >= kPixels) return;
    blurred[i] = 0.1f * (image[i - 2] + image[i + 2]) + 0.2f * (image[i - 1] + image[i + 1]) + 0.4f * image[i];
}

__global__ void edge_strength(const float *blurred, float *edges) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < kWidth || i + kWidth >= kPixels) return;
    float dx = blurred[i + 1] - blurred[i - 1];
    float dy = blurred[i + kWidth] - blurred[i - kWidth];
    edges[i] = dx * dx + dy * dy;
}

__global__ void select_edges(const float *edges, float threshold, float4 *candidates, int *count) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i >= kPixels || !(edges[i] > threshold)) return;
    int slot = atomicAdd(count, 1);
    if (slot < int(kPixels)) candidates[slot] = make_float4(float(i % kWidth), float(i / kWidth), edges[i], 1.0f);
}

class QueryServer {
  public:
    explicit QueryServer(bool keep_memory) {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CHECK(cudaMalloc(&image_, kPixels * sizeof(float)));
        CHECK(cudaHostAlloc(&answer_, sizeof(int), cudaHostAllocDefault));
        if (keep_memory) {
            cudaMemPool_t pool;
            uint64_t threshold = UINT64_MAX;
            CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
            CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
        }
        fill_image<<<kBlocks, kThreads, 0, stream_>>>(image_);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(stream_));
    }

    ~QueryServer() {
        CHECK(cudaFree(image_));
        CHECK(cudaFreeHost(answer_));
        CHECK(cudaStreamDestroy(stream_));
    }

    // One query from start to end; returns the number of edge points.
    __attribute__((noinline)) int query(float threshold) {
        float *blurred = static_cast<float *>(take(kPixels * sizeof(float)));
        float *edges = static_cast<float *>(take(kPixels * sizeof(float)));
        float4 *candidates = static_cast<float4 *>(take(kPixels * sizeof(float4)));
        int *count = static_cast<int *>(take(sizeof(int)));

        CHECK(cudaMemsetAsync(count, 0, sizeof(int), stream_));
        blur_rows<<<kBlocks, kThreads, 0, stream_>>>(image_, blurred);
        edge_strength<<<kBlocks, kThreads, 0, stream_>>>(blurred, edges);
        select_edges<<<kBlocks, kThreads, 0, stream_>>>(edges, threshold, candidates, count);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(answer_, count, sizeof(int), cudaMemcpyDeviceToHost, stream_));

        CHECK(cudaFreeAsync(count, stream_));
        CHECK(cudaFreeAsync(candidates, stream_));
        CHECK(cudaFreeAsync(edges, stream_));
        CHECK(cudaFreeAsync(blurred, stream_));
        CHECK(cudaStreamSynchronize(stream_));
        return *answer_;
    }

  private:
    static constexpr int kThreads = 256;
    static constexpr int kBlocks = int(kPixels / kThreads);

    // Scratch memory for one query, sized for the worst case.
    __attribute__((noinline)) void *take(size_t bytes) {
        void *memory = nullptr;
        CHECK(cudaMallocAsync(&memory, bytes, stream_));
        return memory;
    }

    cudaStream_t stream_ = nullptr;
    float *image_ = nullptr;
    int *answer_ = nullptr;
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    CHECK(cudaSetDevice(0));
    QueryServer server(fixed);
    for (int i = 0; i < 5; ++i) server.query(0.2f);

    double start = seconds();
    long queries = 0;
    while (seconds() - start < 2.0) {
        server.query(0.2f + 0.001f * float(queries % 8));
        ++queries;
    }
    CHECK(cudaDeviceSynchronize());
    printf("%.1f per second\n", double(queries) / (seconds() - start));
    return 0;
}
