// Two threads use one stream at once: one copies from pageable memory, one launches. Prints a backtrace if recording it ends the
// program. Uses the driver alone. With an argument, a third thread has the parent, `holdup record`, switch recording off and on
// that many times, 4 ms apart.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <thread>
#include <unistd.h>
#include <vector>

typedef void *Handle;
static const char KERNEL[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry empty() { ret; }\n";

static void crashed(int signal) {
    void *frames[64];
    backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
    _exit(128 + signal);
}

static void *driver;

template <typename... Arguments> static void call(const char *name, Arguments... arguments) {
    auto function = (int (*)(Arguments...))dlsym(driver, name);
    int code = function ? function(arguments...) : -1;
    if (code != 0) {
        fprintf(stderr, "%s: %d\n", name, code);
        exit(1);
    }
}

int main(int count, char **arguments) {
    signal(SIGSEGV, crashed);
    signal(SIGABRT, crashed);
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        return 2;
    int device = 0;
    Handle context, module, function, stream;
    unsigned long long memory;
    const size_t bytes = 16 << 20;
    call("cuInit", 0u);
    call("cuDeviceGet", &device, 0);
    call("cuDevicePrimaryCtxRetain", &context, device);
    call("cuCtxSetCurrent", context);
    call("cuModuleLoadData", &module, (const void *)KERNEL);
    call("cuModuleGetFunction", &function, module, "empty");
    call("cuStreamCreate", &stream, 1u);
    call("cuMemAlloc_v2", &memory, bytes);
    std::atomic<bool> done{false};
    std::thread launching([&] {
        call("cuCtxSetCurrent", context);
        while (!done)
            call("cuLaunchKernel", function, 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream, (void **)nullptr, (void **)nullptr);
    });
    const int switches = count > 1 ? atoi(arguments[1]) : 0;
    std::atomic<bool> switched{false};
    std::thread switching([&] {
        for (int at = 0; at < switches; at++) {
            kill(getppid(), SIGUSR2);
            usleep(4000);
        }
        switched = true;
    });
    std::vector<char> pageable(bytes, 1);
    for (int at = 0; at < 30 || !switched; at++)
        call("cuMemcpyHtoDAsync_v2", memory, (const void *)pageable.data(), bytes, stream);
    done = true;
    switching.join();
    launching.join();
    call("cuStreamSynchronize", stream);
    puts("done");
}
