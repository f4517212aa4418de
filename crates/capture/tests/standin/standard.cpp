// A program of the standard library of C++: its threads wait for a mutex, a condition, a future, the end of a thread.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>
#include <unistd.h>

extern "C" int cuInit(unsigned);
extern "C" int cuCtxSynchronize();

static const auto A_WHILE = std::chrono::milliseconds(20);

static void fact(const char *name, unsigned long value) {
    FILE *file = std::fopen(std::getenv("STANDIN_FACTS"), "a");
    std::fprintf(file, "%s %lu\n", name, value);
    std::fclose(file);
}

static std::mutex mutex;
static std::condition_variable condition;
static bool flag;

static void wait_for_mutex() {
    std::promise<void> held;
    std::thread other([&] {
        fact("mutex", gettid());
        std::lock_guard<std::mutex> lock(mutex);
        held.set_value();
        std::this_thread::sleep_for(A_WHILE);
    });
    held.get_future().get();
    mutex.lock();
    mutex.unlock();
    other.join();
}

static void wait_for_condition() {
    std::thread other([] {
        fact("condition", gettid());
        std::this_thread::sleep_for(A_WHILE);
        std::lock_guard<std::mutex> lock(mutex);
        flag = true;
        condition.notify_one();
    });
    {
        std::unique_lock<std::mutex> lock(mutex);
        condition.wait(lock, [] { return flag; });
    }
    other.join();
}

static void wait_for_end() {
    std::thread other([] {
        fact("join", gettid());
        std::this_thread::sleep_for(A_WHILE);
    });
    other.join();
}

int main() {
    if (cuInit(0) != 0 || cuCtxSynchronize() != 0) return 99;
    fact("waiter", gettid());
    wait_for_mutex();
    wait_for_condition();
    wait_for_end();
    std::puts("done");
}
