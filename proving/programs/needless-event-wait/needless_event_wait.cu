// Follows objects in four camera feeds; each feed has a non-blocking stream and buffers of its own.
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

constexpr int kCells = 8192;
constexpr int kThreads = 256;
constexpr int kBlocks = kCells / kThreads;
constexpr int kFeeds = 4;
constexpr int kAhead = 4;

__global__ void detect(float *response, int frame, int scales) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = float((i * 37 + frame * 11) % 1024) / 1024.0f;
    for (int s = 0; s < scales; ++s) x = fmaf(x, 0.9996f, 0.0003f);
    response[i] = x;
}

__global__ void track(const float *response, float *position, int corrections) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float target = response[i], p = position[i];
    for (int c = 0; c < corrections; ++c) p = fmaf(0.002f, target - p, p);
    position[i] = p;
}

class Tracker {
  public:
    explicit Tracker(bool frames_in_order) : frames_in_order_(frames_in_order) {
        CHECK(cudaEventCreateWithFlags(&last_frame_, cudaEventDisableTiming));
        for (Feed &feed : feeds_) {
            CHECK(cudaStreamCreateWithFlags(&feed.stream, cudaStreamNonBlocking));
            for (cudaEvent_t &mark : feed.marks) CHECK(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming));
            CHECK(cudaMalloc(&feed.response, kCells * sizeof(float)));
            CHECK(cudaMalloc(&feed.position, kCells * sizeof(float)));
            CHECK(cudaMemsetAsync(feed.position, 0, kCells * sizeof(float), feed.stream));
        }
    }

    ~Tracker() {
        CHECK(cudaDeviceSynchronize());
        for (Feed &feed : feeds_) {
            CHECK(cudaFree(feed.response));
            CHECK(cudaFree(feed.position));
            for (cudaEvent_t mark : feed.marks) CHECK(cudaEventDestroy(mark));
            CHECK(cudaStreamDestroy(feed.stream));
        }
        CHECK(cudaEventDestroy(last_frame_));
    }

    // The next frame of one feed.
    __attribute__((noinline)) void frame(int number) {
        Feed &feed = feeds_[number];
        if (frames_in_order_) CHECK(cudaStreamWaitEvent(feed.stream, last_frame_, 0));
        detect<<<kBlocks, kThreads, 0, feed.stream>>>(feed.response, int(feed.frames), 60000);
        track<<<kBlocks, kThreads, 0, feed.stream>>>(feed.response, feed.position, 20000);
        CHECK(cudaGetLastError());
        if (frames_in_order_) CHECK(cudaEventRecord(last_frame_, feed.stream));

        // No more than kAhead frames of a feed are queued.
        CHECK(cudaEventRecord(feed.marks[feed.frames % kAhead], feed.stream));
        if (++feed.frames >= kAhead) CHECK(cudaEventSynchronize(feed.marks[feed.frames % kAhead]));
    }

  private:
    struct Feed {
        long frames = 0;
        cudaStream_t stream = nullptr;
        cudaEvent_t marks[kAhead] = {};
        float *response = nullptr;
        float *position = nullptr;
    };

    bool frames_in_order_;
    cudaEvent_t last_frame_ = nullptr;
    Feed feeds_[kFeeds];
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    CHECK(cudaSetDevice(0));
    Tracker tracker(!fixed);
    for (int i = 0; i < 5; ++i) {
        for (int feed = 0; feed < kFeeds; ++feed) tracker.frame(feed);
    }
    CHECK(cudaDeviceSynchronize());

    double start = seconds();
    long frames = 0;
    while (seconds() - start < 2.0) {
        for (int i = 0; i < 8; ++i) {
            for (int feed = 0; feed < kFeeds; ++feed) tracker.frame(feed);
        }
        frames += 8 * kFeeds;
    }
    CHECK(cudaDeviceSynchronize());
    printf("%.1f per second\n", double(frames) / (seconds() - start));
    return 0;
}
