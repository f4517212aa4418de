// Advances a climate column model; one time step is a CUDA graph of six kernels that is built once and launched again and again.
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

constexpr int kColumns = 1 << 22;
constexpr int kThreads = 256;
constexpr int kBlocks = kColumns / kThreads;

__global__ void set_up(float *heat, float *moisture) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    heat[i] = 0.5f + float(i % 101) * 0.001f;
    moisture[i] = 0.2f + float(i % 53) * 0.001f;
}

__global__ void radiate(float *heat, int bands) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float h = heat[i];
    for (int b = 0; b < bands; ++b) h = fmaf(h, 0.9999f, 0.00005f);
    heat[i] = h;
}

__global__ void convect(float *heat, const float *moisture, int levels) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float h = heat[i], m = moisture[i];
    for (int l = 0; l < levels; ++l) h = fmaf(0.0001f, m - h, h);
    heat[i] = h;
}

__global__ void condense(const float *heat, float *moisture, int levels) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float h = heat[i], m = moisture[i];
    for (int l = 0; l < levels; ++l) m = fmaf(-0.0001f, m * h, m) + 0.00002f;
    moisture[i] = m;
}

class ColumnModel {
  public:
    ColumnModel() {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        for (cudaEvent_t &mark : marks_) CHECK(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming));
        CHECK(cudaMalloc(&heat_, kColumns * sizeof(float)));
        CHECK(cudaMalloc(&moisture_, kColumns * sizeof(float)));
        set_up<<<kBlocks, kThreads, 0, stream_>>>(heat_, moisture_);
        CHECK(cudaGetLastError());
        enqueue_step();
        CHECK(cudaStreamSynchronize(stream_));
        build_step();
    }

    ~ColumnModel() {
        CHECK(cudaStreamSynchronize(stream_));
        CHECK(cudaGraphExecDestroy(step_));
        CHECK(cudaFree(heat_));
        CHECK(cudaFree(moisture_));
        for (cudaEvent_t mark : marks_) CHECK(cudaEventDestroy(mark));
        CHECK(cudaStreamDestroy(stream_));
    }

    __attribute__((noinline)) void step() {
        CHECK(cudaGraphLaunch(step_, stream_));
        // No more than kAhead steps are queued.
        CHECK(cudaEventRecord(marks_[steps_ % kAhead], stream_));
        if (++steps_ >= kAhead) CHECK(cudaEventSynchronize(marks_[steps_ % kAhead]));
    }

  private:
    static constexpr int kAhead = 6;

    void enqueue_step() {
        for (int half = 0; half < 2; ++half) {
            radiate<<<kBlocks, kThreads, 0, stream_>>>(heat_, 2000);
            convect<<<kBlocks, kThreads, 0, stream_>>>(heat_, moisture_, 1500);
            condense<<<kBlocks, kThreads, 0, stream_>>>(heat_, moisture_, 1500);
        }
        CHECK(cudaGetLastError());
    }

    void build_step() {
        cudaGraph_t graph = nullptr;
        CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
        enqueue_step();
        CHECK(cudaStreamEndCapture(stream_, &graph));
        CHECK(cudaGraphInstantiate(&step_, graph, 0));
        CHECK(cudaGraphDestroy(graph));
    }

    long steps_ = 0;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t marks_[kAhead] = {};
    cudaGraphExec_t step_ = nullptr;
    float *heat_ = nullptr;
    float *moisture_ = nullptr;
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main() {
    CHECK(cudaSetDevice(0));
    ColumnModel model;
    for (int i = 0; i < 6; ++i) model.step();
    CHECK(cudaDeviceSynchronize());

    double start = seconds();
    long steps = 0;
    while (seconds() - start < 2.0) {
        for (int i = 0; i < 6; ++i) model.step();
        steps += 6;
    }
    CHECK(cudaDeviceSynchronize());
    printf("%.1f per second\n", double(steps) / (seconds() - start));
    return 0;
}
