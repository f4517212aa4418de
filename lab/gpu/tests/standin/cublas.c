// A stand-in for cuBLAS beside the one for the driver: memory of the device is the host's, and what is asked is done at
// once. STANDIN_CUBLAS=STATUS has norms fail with that status.

#include <math.h>
#include <stdlib.h>

typedef struct {
    void *stream;
    int mode;
} Handle;

int cublasCreate_v2(void **handle) {
    *handle = calloc(1, sizeof(Handle));
    return *handle ? 0 : 3;
}

int cublasDestroy_v2(void *handle) {
    free(handle);
    return 0;
}

int cublasSetStream_v2(void *handle, void *stream) {
    ((Handle *)handle)->stream = stream;
    return 0;
}

int cublasSetPointerMode_v2(void *handle, int mode) {
    ((Handle *)handle)->mode = mode;
    return mode == 0 || mode == 1 ? 0 : 7;
}

int cublasSnrm2_v2(void *handle, int count, const float *x, int step, float *result) {
    const char *fails = getenv("STANDIN_CUBLAS");
    if (fails)
        return atoi(fails);
    double sum = 0;
    for (int at = 0; at < count; at++)
        sum += (double)x[at * step] * x[at * step];
    *result = (float)sqrt(sum);
    return handle ? 0 : 1;
}
