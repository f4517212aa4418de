/* A stand-in for the CUDA runtime, as a shared library: it looks the driver's functions up as the real one does. */
#include "cudart.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#define PUBLIC __attribute__((visibility("default")))

#define POINTER(name, arguments) __typeof__(&name) name;
static struct { STANDIN_FUNCTIONS(POINTER) } driver;
static __thread cudaError_t last_error;

static void bind(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        abort();
    }
#define FIND(name, arguments) driver.name = (__typeof__(&name))dlsym(library, #name);
    STANDIN_FUNCTIONS(FIND)
    CUcontext context;
    if (driver.cuInit(0) != 0 || driver.cuCtxCreate_v2(&context, 0, 0) != 0) {
        abort();
    }
}

static void begin(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, bind);
}

static cudaError_t noted(cudaError_t error) {
    if (error != cudaSuccess) {
        last_error = error;
    }
    return error;
}

PUBLIC cudaError_t cudaMalloc(void **memory, size_t bytes) {
    begin();
    return noted(driver.cuMemAlloc_v2((CUdeviceptr *)memory, bytes));
}

PUBLIC cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, CUstream stream) {
    begin();
    switch (kind) {
    case 1:
        return noted(driver.cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)to, from, bytes, stream));
    case 2:
        return noted(driver.cuMemcpyDtoHAsync_v2(to, (CUdeviceptr)(uintptr_t)from, bytes, stream));
    default:
        return noted(cudaErrorInvalidValue);
    }
}

PUBLIC cudaError_t cudaStreamCreate(CUstream *stream) {
    begin();
    return noted(driver.cuStreamCreate(stream, 1));
}

PUBLIC cudaError_t cudaStreamSynchronize(CUstream stream) {
    begin();
    return noted(driver.cuStreamSynchronize(stream));
}

PUBLIC cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                                    CUstream stream) {
    begin();
    return noted(driver.cuLaunchKernel((CUfunction)(uintptr_t)function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                       (unsigned)shared, stream, arguments, NULL));
}

PUBLIC cudaError_t cudaGetDevice(int *device) {
    CUcontext context;
    begin();
    *device = 0;
    return noted(driver.cuCtxGetCurrent(&context));
}

PUBLIC cudaError_t cudaGetLastError(void) {
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

PUBLIC const char *cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "invalid argument"; }
