// Times cuBLAS's norm, whose result a copy takes to the host, as CUDA.jl's norm and normalize! do.
//
//     cc -g norm.c -o norm -I/usr/local/cuda/include -L/usr/local/cuda/lib64 -lcublas -lcudart
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(call) ((call) == 0 ? (void)0 : (fprintf(stderr, "%s failed\n", #call), exit(1)))

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

// The time of one norm, in microseconds; a result on the device is waited for at the end.
static double norm(cublasHandle_t cublas, const float *x, int length, float *result) {
    double start = now_us();
    CHECK(cublasSnrm2(cublas, length, x, 1, result));
    return now_us() - start;
}

int main(void) {
    cublasHandle_t cublas;
    float *x, *on_device, on_host;
    const int lengths[] = {1024, 1 << 28};
    CHECK(cudaMalloc((void **)&x, sizeof *x * (1 << 28)));
    CHECK(cudaMalloc((void **)&on_device, sizeof *on_device));
    CHECK(cudaMemset(x, 0, sizeof *x * (1 << 28)));
    CHECK(cublasCreate(&cublas));
    for (int at = 0; at < 2; ++at) {
        double first = norm(cublas, x, lengths[at], &on_host), later = 0, device = 0;
        for (int round = 0; round < 100; ++round) later += norm(cublas, x, lengths[at], &on_host) / 100;
        CHECK(cublasSetPointerMode(cublas, CUBLAS_POINTER_MODE_DEVICE));
        for (int round = 0; round < 100; ++round) {
            device += norm(cublas, x, lengths[at], on_device) / 100;
            CHECK(cudaDeviceSynchronize());
        }
        CHECK(cublasSetPointerMode(cublas, CUBLAS_POINTER_MODE_HOST));
        printf("%9d floats: first call %.0f us, later ones %.1f us; with the result on the device %.1f us\n", lengths[at], first, later,
               device);
    }
    return 0;
}
