/*
 * A stand-in for libcuda.so.1: as many entry points as the tests call, with a GPU made of malloc.
 *
 * Like the real driver it loads the library named in CUDA_INJECTION64_PATH when it is initialized,
 * and has a process-wide lock that copies to the host take alone and launches share.
 */
#define _GNU_SOURCE
#include "standin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PUBLIC __attribute__((visibility("default")))

static pthread_rwlock_t api = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t memory = PTHREAD_MUTEX_INITIALIZER;
static int initialized;
enum { PAGES = 2048 };
static int is_cold;
static char *pages;
static __thread struct standin_plan next;

PUBLIC void standin_plan(struct standin_plan plan) { next = plan; }
PUBLIC void *standin_api_lock(void) { return &api; }
PUBLIC void *standin_memory_lock(void) { return &memory; }

static void (*issued)(const struct standin_operation *);
static CUstream capturing;

PUBLIC void standin_on_issue(void (*told)(const struct standin_operation *)) { issued = told; }

static void issue(struct standin_operation operation) {
    operation.is_captured = capturing && operation.stream == capturing;
    if (issued) {
        issued(&operation);
    }
}

static void sleep_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0) {
    }
}

/*
 * How many others want the lock that the caller has, as far as glibc's fields tell. Readers that
 * have or want it are counted in the upper 29 bits of __readers. A writer that waits for readers
 * sets bit 1 there; one that waits for a writer sets bit 1 of __writers_futex.
 */
static int wanting_api(int alone) {
    unsigned readers = __atomic_load_n(&api.__data.__readers, __ATOMIC_RELAXED);
    unsigned writers = __atomic_load_n(&api.__data.__writers_futex, __ATOMIC_RELAXED);
    return alone ? (int)(readers >> 3) + ((writers & 2) != 0) : (readers & 2) != 0;
}

/* 2: taken, and somebody waits. */
static int wanting_memory(int alone) {
    (void)alone;
    return __atomic_load_n(&memory.__data.__lock, __ATOMIC_RELAXED) == 2;
}

/* Does what the calling thread planned, with the lock that it just took. */
static void follow_plan(int (*wanting)(int), int alone) {
    struct standin_plan plan = next;
    next = (struct standin_plan){0};
    if (plan.taken) {
        sem_post(plan.taken);
    }
    while (wanting(alone) < plan.waiters) {
        sched_yield();
    }
    if (plan.let_go) {
        sem_wait(plan.let_go);
    }
    if (plan.ms) {
        sleep_ms(plan.ms);
    }
}

static void inject(void) {
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path && *path ? dlopen(path, RTLD_NOW) : NULL;
    int (*start)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (start) {
        start();
    }
}

PUBLIC CUresult cuInit(unsigned flags) {
    if (flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!initialized) {
        const char *cold = getenv("STANDIN_COLD");
        is_cold = cold != NULL;
        if (is_cold && strcmp(cold, "pages") == 0) {
            pages = calloc(PAGES, 4096);
        }
        inject();
        initialized = 1;
    }
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuDriverGetVersion(int *version) {
    *version = 13000;
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuDeviceGetCount(int *count) {
    *count = 1;
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    *device = ordinal;
    return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

PUBLIC CUresult cuDeviceGetName(char *name, int room, CUdevice device) {
    snprintf(name, (size_t)room, "Stand-in %d", device);
    return CUDA_SUCCESS;
}

/* The PCI bus of the GPU that the process sees as the first: STANDIN_GPU; 0 for one that does not identify itself. */
static int bus(void) {
    const char *text = getenv("STANDIN_GPU");
    return text ? atoi(text) : 1;
}

PUBLIC CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    (void)device;
    *value = attribute == 75 ? 9 : attribute == 16 ? 132 : attribute == 40 ? 3 : attribute == 33 ? bus() : 0;
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuDeviceGetUuid_v2(char *uuid, CUdevice device) {
    if (bus() == 0) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    memset(uuid, bus(), 16);
    uuid[15] = (char)device;
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    (void)device;
    *bytes = (size_t)80 << 30;
    return CUDA_SUCCESS;
}

static CUcontext the_context(void) { return (CUcontext)&initialized; }

PUBLIC CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device) {
    (void)flags, (void)device;
    *context = the_context();
    return initialized ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

PUBLIC CUresult cuCtxGetCurrent(CUcontext *context) {
    *context = the_context();
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuCtxSynchronize(void) { return initialized ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED; }

PUBLIC CUresult cuCtxDestroy_v2(CUcontext context) {
    return context == the_context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

PUBLIC CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
    pthread_mutex_lock(&memory);
    follow_plan(wanting_memory, 1);
    *pointer = (CUdeviceptr)(uintptr_t)calloc(1, bytes);
    pthread_mutex_unlock(&memory);
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuMemFree_v2(CUdeviceptr pointer) {
    pthread_mutex_lock(&memory);
    free((void *)(uintptr_t)pointer);
    pthread_mutex_unlock(&memory);
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    issue((struct standin_operation){STANDIN_COPY_IN, stream, bytes, {0}, 0});
    pthread_rwlock_rdlock(&api);
    memcpy((void *)(uintptr_t)to, from, bytes);
    pthread_rwlock_unlock(&api);
    return CUDA_SUCCESS;
}

/* How long copies to the host take, ms, besides what is planned. */
static long copy_ms(void) {
    const char *text = getenv("STANDIN_COPY_MS");
    return text ? atol(text) : 0;
}

static CUresult copy_to_host(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    issue((struct standin_operation){STANDIN_COPY_OUT, stream, bytes, {0}, 0});
    pthread_rwlock_wrlock(&api);
    follow_plan(wanting_api, 1);
    if (copy_ms()) {
        sleep_ms(copy_ms());
    }
    memcpy(to, (void *)(uintptr_t)from, bytes);
    pthread_rwlock_unlock(&api);
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy_to_host(to, from, bytes, stream);
}

PUBLIC CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    return copy_to_host(to, from, bytes, NULL);
}

PUBLIC CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
    issue((struct standin_operation){STANDIN_FILL, stream, 4 * count, {0}, 0});
    for (size_t at = 0; at < count; at++) {
        ((unsigned *)(uintptr_t)to)[at] = value;
    }
    return CUDA_SUCCESS;
}

/* It knows no memory: that is what the driver says of what a program has from elsewhere. */
PUBLIC CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    *module = NULL;
    return image ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

PUBLIC CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr pointer) {
    (void)value, (void)attribute, (void)pointer;
    return CUDA_ERROR_INVALID_VALUE;
}

PUBLIC CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    static int last;
    (void)flags;
    *stream = (CUstream)(uintptr_t)(0x1000 * __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED));
    return CUDA_SUCCESS;
}

/* One stream at a time captures. */
PUBLIC CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
    (void)mode;
    capturing = stream;
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    if (stream != capturing) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    capturing = NULL;
    *graph = (CUgraph)(uintptr_t)0x60;
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuGraphLaunch(CUgraph graph, CUstream stream) {
    issue((struct standin_operation){STANDIN_GRAPH, stream, 0, {0}, 0});
    return graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

PUBLIC CUresult cuStreamIsCapturing(CUstream stream, int *status) {
    *status = capturing && stream == capturing;
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuStreamGetCtx(CUstream stream, CUcontext *context) {
    (void)stream;
    *context = the_context();
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuStreamSynchronize(CUstream stream) {
    (void)stream;
    pthread_rwlock_rdlock(&api);
    follow_plan(wanting_api, 0);
    pthread_rwlock_unlock(&api);
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuStreamDestroy_v2(CUstream stream) { return stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

/*
 * A launch of the real driver runs through so much code and data that what comes back to the processor for
 * others after it has gone from the nearest caches: with STANDIN_COLD in the environment, so do these, 40 KiB of
 * code and 64 KiB of data. A framework between two launches uses so many pages of memory that their addresses are
 * forgotten, too: with STANDIN_COLD=pages as many as a processor knows.
 */
static void run_cold(void) {
    for (unsigned at = 0; pages && at < PAGES; at++) {
        pages[at * 4096ul + at * 64 % 4096]++;
    }
#ifdef __x86_64__
    static char data[1 << 16];
    unsigned long word, sum = 0;
    __asm__ volatile(".set offset, 0\n"
                     ".rept 2048\n"
                     "mov offset(%[data]), %[word]\n"
                     "lea 0x1234567(%[word], %[sum]), %[sum]\n"
                     "shr $1, %[sum]\n"
                     "jmp 1f\n"
                     "1:\n"
                     ".set offset, (offset + 4160) & 0xffff\n"
                     ".endr\n"
                     : [sum] "+&r"(sum), [word] "=&r"(word)
                     : [data] "r"(data)
                     : "cc");
#endif
}

/* A kernel adds up the numbers that it was launched with, if it was given a place for the sum. */
static void run(unsigned long sum, void **arguments, void **extra) {
    if (arguments) {
        *(unsigned long *)arguments[0] = sum + (unsigned long)(uintptr_t)extra;
    }
}

PUBLIC CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                               CUstream stream, void **arguments, void **extra) {
    unsigned grid[6] = {grid_x, grid_y, grid_z, block_x, block_y, block_z};
    struct standin_operation kernel = {STANDIN_KERNEL, stream, 0, {0}, 0};
    memcpy(kernel.grid, grid, sizeof grid);
    issue(kernel);
    pthread_rwlock_rdlock(&api);
    follow_plan(wanting_api, 0);
    if (is_cold) {
        run_cold();
    }
    run((unsigned long)(uintptr_t)function + grid_x + 10ul * grid_y + 100ul * grid_z + 1000ul * block_x +
            10000ul * block_y + 100000ul * block_z + 1000000ul * shared + 7 * (unsigned long)(uintptr_t)stream,
        arguments, extra);
    pthread_rwlock_unlock(&api);
    return CUDA_SUCCESS;
}

/* A name without a version means the newest. */
static int is_asked(const char *name, const char *function) {
    size_t length = strlen(name);
    return strncmp(name, function, length) == 0 && (function[length] == 0 || strcmp(function + length, "_v2") == 0);
}

PUBLIC CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
#define FUNCTION_NAMED(name, arguments) {#name, (void *)name},
    static const struct {
        const char *name;
        void *function;
    } all[] = {STANDIN_FUNCTIONS(FUNCTION_NAMED)};
    (void)flags;
    for (size_t at = 0; version >= 12000 && at < sizeof all / sizeof *all; at++) {
        if (is_asked(name, all[at].name)) {
            *function = all[at].function;
            if (status) {
                *status = 0;
            }
            return CUDA_SUCCESS;
        }
    }
    *function = NULL;
    return CUDA_ERROR_NOT_FOUND;
}
