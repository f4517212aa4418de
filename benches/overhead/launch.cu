// Cost of a kernel launch as the host sees it: THREADS threads, each with a stream of its own, launch an empty kernel.
//
//     launch THREADS SECONDS [TURNS.so [BURSTS]]
//
// Prints the median over bursts of 200 of the microseconds that a launch takes, and the launches made. With turns.so, in a
// process that is recorded, so many bursts (default: 1) with and without the recorder take turns: prints the medians over
// turns without and with it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>
#include <thread>
#include <vector>

__global__ void empty() {}

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double median(std::vector<double> &costs) {
    std::sort(costs.begin(), costs.end());
    return costs.empty() ? 0 : costs[costs.size() / 2];
}

// Bursts with the recorder and without it; one way only, without turns.so.
struct Turns {
    void (*take)(int) = nullptr;
    int bursts = 1;
    pthread_barrier_t all;
    bool over = false;

    // What this turn of a thread is: 1 without the recorder, 0 with it, -1 nothing any more.
    int next(int thread, int turn, double end) {
        if (!take) return now() < end ? 0 : -1;
        // With, without, without, with: neither is always first.
        int without = (turn ^ (turn >> 1)) & 1;
        pthread_barrier_wait(&all);
        if (thread == 0) {
            over = now() >= end;
            take(without && !over);
        }
        pthread_barrier_wait(&all);
        return over ? -1 : without;
    }
};

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    int threads = atoi(argv[1]);
    double seconds = atof(argv[2]);
    cudaFree(0);
    Turns turns;
    pthread_barrier_init(&turns.all, nullptr, threads);
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    std::vector<std::vector<double>> costs[2] = {std::vector<std::vector<double>>(threads), std::vector<std::vector<double>>(threads)};
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
            for (int turn = 0, way; (way = turns.next(at, turn, end)) >= 0; turn++) {
                double took = 0;
                for (int burst = 0; burst < turns.bursts; burst++) {
                    // Short enough that the stream's queue of about a thousand launches never fills.
                    double start = now();
                    for (int i = 0; i < 200; i++) empty<<<1, 32, 0, stream>>>();
                    took += now() - start;
                    cudaStreamSynchronize(stream);
                }
                costs[way][at].push_back(took * 1e6 / (200 * turns.bursts));
            }
        });
    while (ready < threads) {
    }
    if (argc > 3) {
        void *library = dlopen(argv[3], RTLD_NOW);
        int (*find)() = library ? (int (*)())dlsym(library, "turns_find") : nullptr;
        if (!find || find() == 0) {
            fprintf(stderr, "launch: nothing stands before the driver: run it under holdup record\n");
            exit(2);
        }
        if (argc > 4) turns.bursts = atoi(argv[4]);
        turns.take = (void (*)(int))dlsym(library, "turns_take");
    }
    go = true;
    for (auto &worker : workers) worker.join();
    std::vector<double> all[2];
    for (int way = 0; way < 2; way++)
        for (auto &cost : costs[way]) all[way].insert(all[way].end(), cost.begin(), cost.end());
    if (turns.take)
        printf("%.3f %.3f\n", median(all[1]), median(all[0]));
    else
        printf("%.3f %zu\n", median(all[0]), all[0].size() * 200);
    return cudaDeviceSynchronize() != cudaSuccess;
}
