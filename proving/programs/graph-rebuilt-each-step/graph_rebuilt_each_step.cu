// Advances a chain of coupled shallow-water channels; one time step is a CUDA graph of sixty kernels.
#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
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

constexpr int kCells = 1 << 16;
constexpr int kThreads = 256;
constexpr int kBlocks = kCells / kThreads;
constexpr int kSweeps = 20;

// Wind over the channel; scaled by the length of the time step.
__global__ void force(float *velocity, const float *height, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    velocity[i] += dt * 0.01f * (1.0f - height[i]);
}

__global__ void flux(const float *height, const float *velocity, float *flow) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    flow[i] = 0.5f * (height[i] + height[(i + 1) % kCells]) * velocity[i];
}

__global__ void continuity(float *height, const float *flow) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    height[i] -= 0.0005f * (flow[i] - flow[(i + kCells - 1) % kCells]);
}

__global__ void momentum(float *velocity, const float *height) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    velocity[i] = 0.9999f * velocity[i] - 0.0005f * (height[(i + 1) % kCells] - height[i]);
}

class Channel {
  public:
    explicit Channel(bool update_in_place) : update_in_place_(update_in_place) {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        for (cudaEvent_t &mark : marks_) CHECK(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming));
        float **fields[] = {&height_, &velocity_, &flow_};
        for (float **field : fields) {
            CHECK(cudaMalloc(field, kCells * sizeof(float)));
            CHECK(cudaMemsetAsync(*field, 0, kCells * sizeof(float), stream_));
        }
        enqueue(0.1f);
        CHECK(cudaStreamSynchronize(stream_));
        if (update_in_place_) build(0.1f);
    }

    ~Channel() {
        CHECK(cudaStreamSynchronize(stream_));
        if (update_in_place_) discard();
        CHECK(cudaFree(height_));
        CHECK(cudaFree(velocity_));
        CHECK(cudaFree(flow_));
        for (cudaEvent_t mark : marks_) CHECK(cudaEventDestroy(mark));
        CHECK(cudaStreamDestroy(stream_));
    }

    __attribute__((noinline)) void step(float dt) {
        if (update_in_place_) {
            set_time_step(dt);
            CHECK(cudaGraphLaunch(step_, stream_));
        } else {
            build(dt);
            CHECK(cudaGraphLaunch(step_, stream_));
            discard();
        }

        // No more than kAhead steps are queued.
        CHECK(cudaEventRecord(marks_[steps_ % kAhead], stream_));
        if (++steps_ >= kAhead) CHECK(cudaEventSynchronize(marks_[steps_ % kAhead]));
    }

  private:
    static constexpr int kAhead = 8;

    void enqueue(float dt) {
        force<<<kBlocks, kThreads, 0, stream_>>>(velocity_, height_, dt);
        for (int s = 0; s < kSweeps; ++s) {
            flux<<<kBlocks, kThreads, 0, stream_>>>(height_, velocity_, flow_);
            continuity<<<kBlocks, kThreads, 0, stream_>>>(height_, flow_);
            momentum<<<kBlocks, kThreads, 0, stream_>>>(velocity_, height_);
        }
        CHECK(cudaGetLastError());
    }

    __attribute__((noinline)) void build(float dt) {
        CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
        enqueue(dt);
        CHECK(cudaStreamEndCapture(stream_, &graph_));
        CHECK(cudaGraphInstantiate(&step_, graph_, 0));
    }

    __attribute__((noinline)) void discard() {
        CHECK(cudaGraphExecDestroy(step_));
        CHECK(cudaGraphDestroy(graph_));
    }

    // The first kernel of the graph is the only one that has the time step.
    __attribute__((noinline)) void set_time_step(float dt) {
        cudaGraphNode_t first = nullptr;
        size_t roots = 1;
        CHECK(cudaGraphGetRootNodes(graph_, &first, &roots));
        void *arguments[] = {&velocity_, &height_, &dt};
        cudaKernelNodeParams parameters = {};
        parameters.func = reinterpret_cast<void *>(force);
        parameters.gridDim = dim3(kBlocks);
        parameters.blockDim = dim3(kThreads);
        parameters.kernelParams = arguments;
        CHECK(cudaGraphExecKernelNodeSetParams(step_, first, &parameters));
    }

    bool update_in_place_;
    long steps_ = 0;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t marks_[kAhead] = {};
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t step_ = nullptr;
    float *height_ = nullptr;
    float *velocity_ = nullptr;
    float *flow_ = nullptr;
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    CHECK(cudaSetDevice(0));
    Channel channel(fixed);
    for (int i = 0; i < 10; ++i) channel.step(0.1f);
    CHECK(cudaDeviceSynchronize());

    double start = seconds();
    long steps = 0;
    while (seconds() - start < 2.0) {
        for (int i = 0; i < 16; ++i, ++steps) channel.step(0.1f + 0.05f * std::sin(0.01f * float(steps)));
    }
    CHECK(cudaDeviceSynchronize());
    printf("%.1f per second\n", double(steps) / (seconds() - start));
    return 0;
}
