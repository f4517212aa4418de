// Cost of a kernel launch as the host sees it: THREADS threads, each with a stream of its own, launch an empty kernel.
//
//     launch THREADS SECONDS [GROUPS [TURNS.so [BURSTS]]]
//
// Prints the median over bursts of 200 of the microseconds that a launch takes, and the launches made.
//
// A processor of a virtual machine may be a third slower for a while, probably by what its core's other hyperthread does. So
// the time can be divided among GROUPS (default: 1) of such threads, one after another, each on other processors: a line each.
//
// With turns.so, in a process that is recorded, so many bursts (default: 1) with and without the recorder take turns: prints
// the medians without and with it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <pthread.h>
#include <sched.h>
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

// Keeps the calling thread on one of the processors that the process may run on: the one that lies at that part of them.
static void stay(double part, const cpu_set_t &processors) {
    int number = (int)(part * CPU_COUNT(&processors)) % CPU_COUNT(&processors);
    for (int at = 0; at < CPU_SETSIZE; at++)
        if (CPU_ISSET(at, &processors) && number-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(at, &one);
            pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        }
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

    void find(const char *path) {
        void *library = dlopen(path, RTLD_NOW);
        int (*find)() = library ? (int (*)())dlsym(library, "turns_find") : nullptr;
        if (!find || find() == 0) {
            fprintf(stderr, "launch: the driver is not wrapped: run it under holdup record\n");
            exit(2);
        }
        take = (void (*)(int))dlsym(library, "turns_take");
    }
};

// What a launch costs in each burst, with the recorder and without it.
struct Costs {
    std::vector<double> of[2];

    void add(const Costs &other) {
        for (int way = 0; way < 2; way++) of[way].insert(of[way].end(), other.of[way].begin(), other.of[way].end());
    }
};

// What a thread does once all are there.
static void work(int thread, Turns &turns, double seconds, cudaStream_t stream, Costs &costs) {
    double end = now() + seconds;
    for (int turn = 0, way; (way = turns.next(thread, turn, end)) >= 0; turn++) {
        double took = 0;
        for (int burst = 0; burst < turns.bursts; burst++) {
            // Short enough that the stream's queue of about a thousand launches never fills.
            double start = now();
            for (int i = 0; i < 200; i++) empty<<<1, 32, 0, stream>>>();
            took += now() - start;
            cudaStreamSynchronize(stream);
        }
        costs.of[way].push_back(took * 1e6 / (200 * turns.bursts));
    }
}

// A group of threads, each with a stream of its own.
static Costs launch(int threads, double seconds, Turns &turns, const char *recorder, const std::function<void(int)> &place) {
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    std::vector<Costs> costs(threads);
    std::vector<std::thread> workers;
    for (int at = 0; at < threads; at++)
        workers.emplace_back([&, at] {
            place(at);
            cudaStream_t stream;
            cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
            for (int i = 0; i < 1000; i++) empty<<<1, 32, 0, stream>>>();
            cudaStreamSynchronize(stream);
            ready++;
            while (!go) {
            }
            work(at, turns, seconds, stream, costs[at]);
            cudaStreamDestroy(stream);
        });
    while (ready < threads) {
    }
    // All of the recorder is in place by now.
    if (recorder && !turns.take) turns.find(recorder);
    go = true;
    for (auto &worker : workers) worker.join();
    for (int at = 1; at < threads; at++) costs[0].add(costs[at]);
    return costs[0];
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    int threads = atoi(argv[1]), groups = argc > 3 ? atoi(argv[3]) : 1;
    cudaFree(0);
    cpu_set_t processors;
    sched_getaffinity(0, sizeof processors, &processors);
    Turns turns;
    pthread_barrier_init(&turns.all, nullptr, threads);
    if (argc > 5) turns.bursts = atoi(argv[5]);
    for (int group = 0; group < groups; group++) {
        auto place = [&](int thread) {
            if (groups > 1) stay((double)group / groups + (double)thread / threads, processors);
        };
        Costs costs = launch(threads, atof(argv[2]) / groups, turns, argc > 4 ? argv[4] : nullptr, place);
        if (turns.take)
            printf("%.3f %.3f\n", median(costs.of[1]), median(costs.of[0]));
        else
            printf("%.3f %zu\n", median(costs.of[0]), costs.of[0].size() * 200);
    }
    return cudaDeviceSynchronize() != cudaSuccess;
}
