/*
 * Shares out a GPU, as HAMi and vGPU layers do: it has the driver's functions and `dlsym`, hands out its own for each way to
 * look one up, and calls the real ones within a lock of its own.
 */
#include "hook.h"
#include "standin.h"

long hook_count(void);
static long count;
long hook_count(void) { return __atomic_load_n(&count, __ATOMIC_RELAXED); }
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *real_dlsym(void *library, const char *name) {
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    static void *(*real)(void *, const char *);
    for (int at = 0; !real && at < 3; at++) {
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[at]);
    }
    return real ? real(library, name) : NULL;
}

static void *of_driver(const char *name) {
    static void *driver;
    if (!driver) {
        driver = dlopen("libcuda.so.1", RTLD_NOW);
    }
    return real_dlsym(driver, name);
}

#define REAL(name) ((__typeof__(&name))of_driver(#name))

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
    pthread_mutex_lock(&lock);
    count++;
    CUresult result = REAL(cuMemAlloc_v2)(pointer, bytes);
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **arguments,
                        void **extra) {
    pthread_mutex_lock(&lock);
    count++;
    CUresult result = REAL(cuLaunchKernel)(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                                           arguments, extra);
    pthread_mutex_unlock(&lock);
    return result;
}

/* One of its own of that name. */
static void *own(const char *name) {
    if (strcmp(name, "cuLaunchKernel") == 0) {
        return (void *)cuLaunchKernel;
    } else if (strncmp(name, "cuMemAlloc", 10) == 0 && (!name[10] || strcmp(name + 10, "_v2") == 0)) {
        return (void *)cuMemAlloc_v2;
    }
    return strncmp(name, "cuGetProcAddress", 16) == 0 ? (void *)cuGetProcAddress_v2 : NULL;
}

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
    if (own(name)) {
        *function = own(name);
        return CUDA_SUCCESS;
    }
    return REAL(cuGetProcAddress_v2)(name, function, version, flags, status);
}

void *dlsym(void *library, const char *name) {
    void *found = strncmp(name, "cu", 2) == 0 ? own(name) : NULL;
    return found ? found : real_dlsym(library, name);
}
