/* The part of the runtime's interface that the stand-in for it has. */
#ifndef CUDART_H
#define CUDART_H
#include "standin.h"

typedef int cudaError_t;
typedef struct {
    unsigned x, y, z;
} dim3;

enum { cudaSuccess = 0, cudaErrorInvalidValue = 1 };

#define CUDART_FUNCTIONS(FUNCTION)                                                                               \
    FUNCTION(cudaError_t, cudaMalloc, (void **memory, size_t bytes))                                             \
    FUNCTION(cudaError_t, cudaMemcpyAsync, (void *to, const void *from, size_t bytes, int kind, CUstream stream)) \
    FUNCTION(cudaError_t, cudaStreamCreate, (CUstream * stream))                                                 \
    FUNCTION(cudaError_t, cudaStreamSynchronize, (CUstream stream))                                              \
    FUNCTION(cudaError_t, cudaLaunchKernel,                                                                      \
             (const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, CUstream stream))    \
    FUNCTION(cudaError_t, cudaGetDevice, (int *device))                                                          \
    FUNCTION(cudaError_t, cudaGetLastError, (void))                                                              \
    FUNCTION(const char *, cudaGetErrorString, (cudaError_t error))

#define CUDART_DECLARE(type, name, arguments) type name arguments;
CUDART_FUNCTIONS(CUDART_DECLARE)
#endif
