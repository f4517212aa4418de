/* The part of cuda.h that the stand-in driver has, and what tests tell it to do. */
#ifndef STANDIN_H
#define STANDIN_H

#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUmod_st *CUmodule;

enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_NOT_INITIALIZED = 3, CUDA_ERROR_NOT_FOUND = 500, CUDA_ERROR_NOT_SUPPORTED = 801 };

/* Name, then arguments as declared and as passed on. */
#define STANDIN_FUNCTIONS(FUNCTION)                                                                              \
    FUNCTION(cuInit, (unsigned flags))                                                                           \
    FUNCTION(cuDriverGetVersion, (int *version))                                                                 \
    FUNCTION(cuDeviceGetCount, (int *count))                                                                     \
    FUNCTION(cuDeviceGet, (CUdevice * device, int ordinal))                                                      \
    FUNCTION(cuDeviceGetName, (char *name, int room, CUdevice device))                                           \
    FUNCTION(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))                                 \
    FUNCTION(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                                             \
    FUNCTION(cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device))                             \
    FUNCTION(cuCtxGetCurrent, (CUcontext * context))                                                             \
    FUNCTION(cuCtxSynchronize, (void))                                                                           \
    FUNCTION(cuCtxDestroy_v2, (CUcontext context))                                                               \
    FUNCTION(cuMemAlloc_v2, (CUdeviceptr * pointer, size_t bytes))                                               \
    FUNCTION(cuMemFree_v2, (CUdeviceptr pointer))                                                                \
    FUNCTION(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))            \
    FUNCTION(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                  \
    FUNCTION(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes))                                        \
    FUNCTION(cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t count, CUstream stream))                  \
    FUNCTION(cuModuleLoadData, (CUmodule * module, const void *image))                                           \
    FUNCTION(cuPointerGetAttribute, (void *value, int attribute, CUdeviceptr pointer))                           \
    FUNCTION(cuStreamCreate, (CUstream * stream, unsigned flags))                                                \
    FUNCTION(cuStreamBeginCapture_v2, (CUstream stream, int mode))                                               \
    FUNCTION(cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                             \
    FUNCTION(cuGraphLaunch, (CUgraph graph, CUstream stream))                                                    \
    FUNCTION(cuStreamIsCapturing, (CUstream stream, int *status))                                                \
    FUNCTION(cuStreamGetCtx, (CUstream stream, CUcontext * context))                                             \
    FUNCTION(cuStreamSynchronize, (CUstream stream))                                                             \
    FUNCTION(cuStreamDestroy_v2, (CUstream stream))                                                              \
    FUNCTION(cuLaunchKernel,                                                                                     \
             (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,          \
              unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **arguments,            \
              void **extra))                                                                                     \
    FUNCTION(cuGetProcAddress_v2, (const char *name, void **function, int version, uint64_t flags, int *status))

#define STANDIN_DECLARE(name, arguments) CUresult name arguments;
STANDIN_FUNCTIONS(STANDIN_DECLARE)

/* What the calling thread's next call does once it has its lock. */
struct standin_plan {
    sem_t *taken;    /* posted first */
    int waiters;     /* then it waits until so many others want the lock */
    sem_t *let_go;   /* then for this */
    int ms;          /* then so long */
};
void standin_plan(struct standin_plan plan);

/* What a call issues to the GPU. */
struct standin_operation {
    enum { STANDIN_KERNEL, STANDIN_COPY_IN, STANDIN_COPY_OUT, STANDIN_FILL, STANDIN_GRAPH } kind;
    CUstream stream;
    size_t bytes;
    unsigned grid[6]; /* and block */
    int is_captured;
};

/* Has it told as the call enters the driver. */
void standin_on_issue(void (*told)(const struct standin_operation *));

/* Its locks: one that copies take alone and others shared, and one for allocations. */
void *standin_api_lock(void);
void *standin_memory_lock(void);

#endif
