// Denoises a video: frames are uploaded in two streams in turn, so that one frame is filtered while the next one arrives.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                   \
    do {                                                                                              \
        cudaError_t status_ = (call);                                                                 \
        if (status_ != cudaSuccess) {                                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));          \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

constexpr int kWidth = 3840;
constexpr int kHeight = 2160;
constexpr int kPixels = kWidth * kHeight;
constexpr size_t kFrameBytes = kPixels * sizeof(uchar4);
constexpr int kFrames = 4;

__global__ void denoise(const uchar4 *frame, uchar4 *clean, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= kPixels) return;
    uchar4 c = frame[i];
    float luma = 0.3f * c.x + 0.6f * c.y + 0.1f * c.z;
    float estimate = luma;
    for (int r = 0; r < rounds; ++r) estimate = fmaf(estimate, 0.998f, 0.002f * luma);
    float gain = estimate / (luma + 1.0f);
    clean[i] = make_uchar4(c.x * gain, c.y * gain, c.z * gain, c.w);
}

// Frames as a decoder delivers them, in memory of the program.
class FrameStore {
  public:
    explicit FrameStore(bool pinned) : pinned_(pinned) {
        for (int f = 0; f < kFrames; ++f) {
            unsigned char *data = nullptr;
            if (pinned_) {
                CHECK(cudaHostAlloc(&data, kFrameBytes, cudaHostAllocDefault));
            } else {
                data = static_cast<unsigned char *>(malloc(kFrameBytes));
                if (data == nullptr) abort();
            }
            for (size_t i = 0; i < kFrameBytes; ++i) data[i] = static_cast<unsigned char>(i * 31 + f * 7);
            frames_.push_back(data);
        }
    }

    ~FrameStore() {
        for (unsigned char *data : frames_) {
            if (pinned_) {
                CHECK(cudaFreeHost(data));
            } else {
                free(data);
            }
        }
    }

    const unsigned char *frame(long number) const { return frames_[number % kFrames]; }

  private:
    bool pinned_;
    std::vector<unsigned char *> frames_;
};

class Denoiser {
  public:
    Denoiser() {
        for (Lane &lane : lanes_) {
            CHECK(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
            CHECK(cudaEventCreateWithFlags(&lane.done, cudaEventDisableTiming));
            CHECK(cudaMalloc(&lane.frame, kFrameBytes));
            CHECK(cudaMalloc(&lane.clean, kFrameBytes));
        }
    }

    ~Denoiser() {
        CHECK(cudaDeviceSynchronize());
        for (Lane &lane : lanes_) {
            CHECK(cudaFree(lane.frame));
            CHECK(cudaFree(lane.clean));
            CHECK(cudaEventDestroy(lane.done));
            CHECK(cudaStreamDestroy(lane.stream));
        }
    }

    __attribute__((noinline)) void submit(long number, const unsigned char *frame) {
        Lane &lane = lanes_[number % kLanes];
        if (number >= kLanes) CHECK(cudaEventSynchronize(lane.done));
        upload(lane, frame);
        denoise<<<(kPixels + 255) / 256, 256, 0, lane.stream>>>(lane.frame, lane.clean, 2000);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(lane.done, lane.stream));
    }

  private:
    static constexpr int kLanes = 2;

    struct Lane {
        cudaStream_t stream = nullptr;
        cudaEvent_t done = nullptr;
        uchar4 *frame = nullptr;
        uchar4 *clean = nullptr;
    };

    __attribute__((noinline)) void upload(Lane &lane, const unsigned char *frame) {
        CHECK(cudaMemcpyAsync(lane.frame, frame, kFrameBytes, cudaMemcpyHostToDevice, lane.stream));
    }

    Lane lanes_[kLanes];
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    CHECK(cudaSetDevice(0));
    FrameStore store(fixed);
    Denoiser denoiser;
    long number = 0;
    for (; number < 6; ++number) denoiser.submit(number, store.frame(number));
    CHECK(cudaDeviceSynchronize());

    double start = seconds();
    long first = number;
    while (seconds() - start < 2.0) {
        for (int i = 0; i < 8; ++i, ++number) denoiser.submit(number, store.frame(number));
    }
    CHECK(cudaDeviceSynchronize());
    printf("%.1f per second\n", double(number - first) / (seconds() - start));
    return 0;
}
