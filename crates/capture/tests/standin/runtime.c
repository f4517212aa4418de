/* A program of the runtime's interface: launches and copies of threads with a stream each, and queries between them. */
#include "cudart.h"
#include "program.h"

enum { LAUNCHES = 300, THREADS = 2, FAILURES = 3 };

#ifdef LOOK_UP
#define POINTER(type, name, arguments) __typeof__(&name) name;
static struct { CUDART_FUNCTIONS(POINTER) } runtime;
#define RT(name) runtime.name
static void bind_runtime(void) {
    void *library = dlopen("libcudart.so.13", RTLD_NOW);
    CHECK(library);
#define FIND(type, name, arguments) runtime.name = (__typeof__(&name))dlsym(library, #name);
    CUDART_FUNCTIONS(FIND)
}
#else
#define RT(name) name
static void bind_runtime(void) {}
#endif

static void *work(void *data) {
    CUstream stream;
    void *memory;
    char host[4096] = {0};
    int device;
    (void)data;
    CHECK(RT(cudaMalloc)(&memory, sizeof host) == 0 && RT(cudaStreamCreate)(&stream) == 0);
    for (unsigned at = 0; at < LAUNCHES; at++) {
        CHECK(RT(cudaGetDevice)(&device) == 0);
        CHECK(RT(cudaLaunchKernel)((void *)0x40, (dim3){1 + at % 2, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream) == 0);
        CHECK(RT(cudaGetLastError)() == 0);
        if (at % 10 == 0) {
            CHECK(RT(cudaMemcpyAsync)(memory, host, 64 + at, 1, stream) == 0);
        }
    }
    for (unsigned at = 0; at < FAILURES; at++) {
        CHECK(RT(cudaMemcpyAsync)(memory, host, 64, 9, stream) == cudaErrorInvalidValue);
        CHECK(strcmp(RT(cudaGetErrorString)(RT(cudaGetLastError)()), "invalid argument") == 0);
    }
    CHECK(RT(cudaStreamSynchronize)(stream) == 0 && strcmp(RT(cudaGetErrorString)(0), "no error") == 0);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    void *memory;
    bind_runtime();
    /* Recording begins in the middle of it. */
    CHECK(RT(cudaMalloc)(&memory, 64) == 0);
    for (int at = 0; at < THREADS; at++) {
        threads[at] = started(work, NULL);
    }
    for (int at = 0; at < THREADS; at++) {
        joined(threads[at]);
    }
    return 0;
}
