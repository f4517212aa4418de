/* A library that wraps one of the driver's functions, as tools that share out GPUs do. */
#define _GNU_SOURCE
#include "standin.h"

#include <dlfcn.h>

static int count;

int shim_count(void) { return count; }

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **arguments,
                        void **extra) {
    __typeof__(&cuLaunchKernel) next = (__typeof__(next))dlsym(RTLD_NEXT, "cuLaunchKernel");
    count++;
    return next(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments, extra);
}
