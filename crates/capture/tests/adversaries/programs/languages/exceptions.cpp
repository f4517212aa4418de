/*
 * C++ libraries throw exceptions through the driver's frames, out of callbacks, and through functions of the C library that
 * wait or run something once.
 * Expected: each is caught as bare. A call that an exception leaves never ended; later ones are recorded.
 */
extern "C" {
#include "adversary.h"
}

#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

static void throws(const standin_operation *) { throw std::runtime_error("out of the driver"); }

static int out_of_driver() {
    int caught = 0;
    for (int at = 0; at < 50; at++) {
        standin_on_issue(throws);
        try {
            calls(1);
        } catch (const std::runtime_error &) {
            caught++;
        }
        standin_on_issue(nullptr);
        calls(2);
    }
    return caught;
}

static int out_of_once() {
    std::once_flag once;
    int caught = 0;
    for (int at = 0; at < 3; at++) {
        try {
            std::call_once(once, [&] {
                calls(1);
                if (at < 2) {
                    throw at;
                }
            });
        } catch (int) {
            caught++;
        }
    }
    return caught;
}

static int out_of_wait() {
    std::mutex mutex;
    std::condition_variable condition;
    std::unique_lock<std::mutex> lock(mutex);
    std::thread signals([&] {
        std::lock_guard<std::mutex> own(mutex);
        calls(1);
        condition.notify_all();
    });
    int looked = 0, caught = 0;
    try {
        condition.wait(lock, [&] { return looked++ ? throw std::string("woken") : false; });
    } catch (const std::string &) {
        caught++;
    }
    lock.unlock();
    signals.join();
    return caught;
}

static int out_of_threads() {
    int caught = 0;
    for (int at = 0; at < 20; at++) {
        auto result = std::async(std::launch::async, [at] {
            calls(1);
            slow_call(1);
            return at % 2 ? throw std::logic_error("odd") : at;
        });
        try {
            result.get();
        } catch (const std::logic_error &) {
            caught++;
        }
    }
    return caught;
}

struct calls_at_end {
    ~calls_at_end() { calls(1); }
};

static thread_local calls_at_end last;

int main() {
    begin();
    calls(10);
    printf("%d %d %d %d\n", out_of_driver(), out_of_once(), out_of_wait(), out_of_threads());
    std::thread([] { (void)&last; }).join();
    return 0;
}
