// Renders frames on the GPU and compresses each one by run lengths on the host as soon as it has been copied.
#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
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

constexpr int kWidth = 1280;
constexpr int kHeight = 720;
constexpr int kPixels = kWidth * kHeight;
constexpr size_t kFrameBytes = kPixels * sizeof(uint32_t);

__global__ void render(uint32_t *frame, int number, int bounces) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = float(i % kWidth) / kWidth, y = float(i / kWidth) / kHeight;
    float light = 0.5f + 0.001f * float(number % 100);
    for (int b = 0; b < bounces; ++b) light = fmaf(light, 0.9990f, 0.0005f * (x + y));
    uint32_t shade = uint32_t(light * 32.0f) & 0xffu;
    frame[i] = shade | shade << 8 | shade << 16;
}

class Renderer {
  public:
    explicit Renderer(int encoder_threads) : in_threads_(encoder_threads > 0) {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        for (Slot &slot : slots_) {
            slot.owner = this;
            slot.packet.resize(2 * kPixels);
            CHECK(cudaMalloc(&slot.frame, kFrameBytes));
            CHECK(cudaHostAlloc(&slot.pixels, kFrameBytes, cudaHostAllocDefault));
        }
        for (int t = 0; t < encoder_threads; ++t) encoders_.emplace_back([this] { encode_until_closed(); });
    }

    ~Renderer() {
        finish();
        {
            std::lock_guard<std::mutex> guard(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
        for (std::thread &encoder : encoders_) encoder.join();
        for (Slot &slot : slots_) {
            CHECK(cudaFree(slot.frame));
            CHECK(cudaFreeHost(slot.pixels));
        }
        CHECK(cudaStreamDestroy(stream_));
    }

    __attribute__((noinline)) void submit(int number) {
        Slot &slot = slots_[number % kSlots];
        wait_until_free(slot);
        render<<<kPixels / 256, 256, 0, stream_>>>(slot.frame, number, 16000);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(slot.pixels, slot.frame, kFrameBytes, cudaMemcpyDeviceToHost, stream_));
        CHECK(cudaLaunchHostFunc(stream_, frame_ready, &slot));
    }

    // Waits until all frames have been encoded.
    void finish() {
        CHECK(cudaStreamSynchronize(stream_));
        for (Slot &slot : slots_) {
            std::unique_lock<std::mutex> lock(mutex_);
            changed_.wait(lock, [&slot] { return !slot.busy; });
        }
    }

  private:
    static constexpr int kSlots = 8;

    struct Slot {
        Renderer *owner = nullptr;
        bool busy = false;
        uint32_t *frame = nullptr;
        uint32_t *pixels = nullptr;
        std::vector<uint32_t> packet;
    };

    void wait_until_free(Slot &slot) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&slot] { return !slot.busy; });
        slot.busy = true;
    }

    // Called in stream order when the pixels of a slot have arrived.
    __attribute__((noinline)) static void frame_ready(void *argument) {
        Slot &slot = *static_cast<Slot *>(argument);
        Renderer &renderer = *slot.owner;
        if (renderer.in_threads_) {
            std::lock_guard<std::mutex> guard(renderer.mutex_);
            renderer.arrived_.push_back(&slot);
            renderer.changed_.notify_all();
        } else {
            renderer.encode(slot);
            renderer.release(slot);
        }
    }

    __attribute__((noinline)) void encode(Slot &slot) {
        bytes_ += run_lengths(slot.pixels, slot.packet.data());
    }

    void release(Slot &slot) {
        std::lock_guard<std::mutex> guard(mutex_);
        slot.busy = false;
        changed_.notify_all();
    }

    __attribute__((noinline)) static size_t run_lengths(const uint32_t *pixels, uint32_t *packet) {
        size_t words = 0;
        uint32_t color = pixels[0], length = 0, check = 0;
        for (int i = 0; i < kPixels; ++i) {
            check = (check ^ pixels[i]) * 16777619u;
            if (pixels[i] == color) {
                ++length;
                continue;
            }
            packet[words++] = length;
            packet[words++] = color;
            color = pixels[i];
            length = 1;
        }
        packet[words++] = check;
        return words * sizeof(uint32_t);
    }

    void encode_until_closed() {
        while (true) {
            Slot *slot = nullptr;
            {
                std::unique_lock<std::mutex> lock(mutex_);
                changed_.wait(lock, [this] { return closed_ || !arrived_.empty(); });
                if (arrived_.empty()) return;
                slot = arrived_.front();
                arrived_.pop_front();
            }
            encode(*slot);
            release(*slot);
        }
    }

    bool in_threads_;
    bool closed_ = false;
    std::atomic<size_t> bytes_{0};
    cudaStream_t stream_ = nullptr;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Slot *> arrived_;
    std::vector<std::thread> encoders_;
    Slot slots_[kSlots];
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    CHECK(cudaSetDevice(0));
    Renderer renderer(fixed ? 4 : 0);
    int number = 0;
    for (; number < 10; ++number) renderer.submit(number);
    renderer.finish();

    double start = seconds();
    int first = number;
    while (seconds() - start < 2.0) {
        for (int i = 0; i < 8; ++i, ++number) renderer.submit(number);
    }
    renderer.finish();
    printf("%.1f per second\n", double(number - first) / (seconds() - start));
    return 0;
}
