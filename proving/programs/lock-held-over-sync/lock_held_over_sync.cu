// Scores recommendation requests in six threads that share one model; each thread has its own stream and buffers.
#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

constexpr int kFeatures = 4096;
constexpr int kThreads = 256;
constexpr int kBlocks = kFeatures / kThreads;
constexpr int kClients = 6;

__global__ void score_items(const float *features, const float *weights, float *scores, int layers) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float w = weights[i], s = features[i];
    for (int l = 0; l < layers; ++l) s = fmaf(s, 0.9997f, 0.0001f * w);
    scores[i] = s;
}

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// Buffers and stream of one client thread.
struct Session {
    cudaStream_t stream = nullptr;
    float *host_features = nullptr;
    float *host_scores = nullptr;
    float *features = nullptr;
    float *scores = nullptr;

    Session() {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaHostAlloc(&host_features, kFeatures * sizeof(float), cudaHostAllocDefault));
        CHECK(cudaHostAlloc(&host_scores, kFeatures * sizeof(float), cudaHostAllocDefault));
        CHECK(cudaMalloc(&features, kFeatures * sizeof(float)));
        CHECK(cudaMalloc(&scores, kFeatures * sizeof(float)));
    }
};

class Model {
  public:
    explicit Model(bool lock_requests) : lock_requests_(lock_requests) {
        std::vector<float> initial(kFeatures);
        for (int i = 0; i < kFeatures; ++i) initial[i] = float(i % 17) * 0.1f;
        CHECK(cudaMalloc(&weights_, kFeatures * sizeof(float)));
        CHECK(cudaMemcpy(weights_, initial.data(), kFeatures * sizeof(float), cudaMemcpyHostToDevice));
    }

    // Scores the features of one session; the best score is returned.
    __attribute__((noinline)) float score(Session &session) {
        if (lock_requests_) {
            std::lock_guard<std::mutex> guard(mutex_);
            ++requests_;
            run(session);
        } else {
            {
                std::lock_guard<std::mutex> guard(mutex_);
                ++requests_;
            }
            run(session);
        }
        float best = 0.0f;
        for (int i = 0; i < kFeatures; ++i) best = session.host_scores[i] > best ? session.host_scores[i] : best;
        return best;
    }

    long requests() {
        std::lock_guard<std::mutex> guard(mutex_);
        return requests_;
    }

  private:
    __attribute__((noinline)) void run(Session &session) {
        size_t bytes = kFeatures * sizeof(float);
        CHECK(cudaMemcpyAsync(session.features, session.host_features, bytes, cudaMemcpyHostToDevice, session.stream));
        score_items<<<kBlocks, kThreads, 0, session.stream>>>(session.features, weights_, session.scores, 80000);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(session.host_scores, session.scores, bytes, cudaMemcpyDeviceToHost, session.stream));
        CHECK(cudaStreamSynchronize(session.stream));
    }

    bool lock_requests_;
    std::mutex mutex_;
    long requests_ = 0;
    float *weights_ = nullptr;
};

class Client {
  public:
    Client(Model &model, uint32_t seed) : model_(model), state_(seed) {}

    __attribute__((noinline)) void request() {
        for (int i = 0; i < kFeatures; i += 16) {
            state_ = state_ * 1664525u + 1013904223u;
            session_.host_features[i] = float(state_ >> 8) * (1.0f / 16777216.0f);
        }
        total_ += model_.score(session_);
    }

  private:
    Model &model_;
    Session session_;
    uint32_t state_;
    float total_ = 0.0f;
};

int main(int argc, char **argv) {
    bool fixed = argc > 1 && strcmp(argv[1], "--fixed") == 0;
    CHECK(cudaSetDevice(0));
    Model model(!fixed);
    std::atomic<int> ready{0};
    std::atomic<double> deadline{0.0};

    std::vector<std::thread> threads;
    for (int c = 0; c < kClients; ++c) {
        threads.emplace_back([&model, &ready, &deadline, c] {
            CHECK(cudaSetDevice(0));
            Client client(model, 12345u + 77u * uint32_t(c));
            for (int i = 0; i < 10; ++i) client.request();
            ++ready;
            while (deadline == 0.0) std::this_thread::yield();
            while (seconds() < deadline) client.request();
        });
    }
    while (ready < kClients) std::this_thread::yield();

    long before = model.requests();
    double start = seconds();
    deadline = start + 2.0;
    for (std::thread &thread : threads) thread.join();
    CHECK(cudaDeviceSynchronize());
    double elapsed = seconds() - start;
    printf("%.1f per second\n", double(model.requests() - before) / elapsed);
    return 0;
}
