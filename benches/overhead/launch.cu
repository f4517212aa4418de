// Cost of a kernel launch as the host sees it: THREADS threads, each with a stream of its own, launch an empty kernel.
//
//     launch THREADS SECONDS
//
// Prints the median over bursts of 200 of the microseconds that a launch takes, and the launches made.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

__global__ void empty() {}

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int threads = atoi(argv[1]);
    double seconds = atof(argv[2]);
    cudaFree(0);
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    std::atomic<long> total{0};
    std::vector<std::vector<double>> costs(threads);
    std::vector<std::thread> workers;
    for (int at = 0; at < threads; at++)
        workers.emplace_back([&, at] {
            cudaStream_t stream;
            cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
            for (int i = 0; i < 1000; i++) empty<<<1, 32, 0, stream>>>();
            cudaStreamSynchronize(stream);
            ready++;
            while (!go) {
            }
            double end = now() + seconds;
            long launches = 0;
            while (now() < end) {
                // Short enough that the stream's queue of about a thousand launches never fills.
                double burst = now();
                for (int i = 0; i < 200; i++) empty<<<1, 32, 0, stream>>>();
                costs[at].push_back((now() - burst) * 1e6 / 200);
                launches += 200;
                cudaStreamSynchronize(stream);
            }
            total += launches;
        });
    while (ready < threads) {
    }
    go = true;
    for (auto &worker : workers) worker.join();
    std::vector<double> all;
    for (auto &cost : costs) all.insert(all.end(), cost.begin(), cost.end());
    std::sort(all.begin(), all.end());
    printf("%.3f %ld\n", all[all.size() / 2], total.load());
    return cudaDeviceSynchronize() != cudaSuccess;
}
