/*
 * A stand-in for libcuda.so.1: two devices made of malloc that carry out what they are asked at once, kernels included.
 *
 * What it is asked it writes into the file STANDIN_LOG, a line a call: process, thread, function, numbers. STANDIN_FAIL,
 * as in `cuMemAlloc_v2 3 2`, has the third call of a function give the code 2; code -1 ends the process instead, and -2
 * has the call take for ever. STANDIN_VERSION is the CUDA version, STANDIN_DEVICES the number of devices.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

typedef int CUresult;
typedef unsigned long long CUdeviceptr;

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500 };

struct context { int device, primary; };
struct kernel { int number; struct context *context; };
struct op { int kernel; unsigned grid, block; uint64_t arguments[5]; void *to; const void *from; size_t bytes; };
struct graph { struct op ops[256]; int count; };
struct stream { struct context *context; struct graph *capture; };
struct event { struct context *context; int recorded, at; };

static __thread struct context *current;
static struct context primaries[2] = {{0, 1}, {1, 1}};
static pthread_mutex_t logging = PTHREAD_MUTEX_INITIALIZER;

static int number(const char *variable, int otherwise) {
    const char *text = getenv(variable);
    return text ? atoi(text) : otherwise;
}

/* Writes a call down, and gives the code that it was told to give. */
__attribute__((format(printf, 2, 3))) static CUresult asked(const char *function, const char *format, ...) {
    static int calls;
    char line[512], name[16], fails[64];
    int code = SUCCESS, which;
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    pthread_mutex_lock(&logging);
    const char *path = getenv("STANDIN_LOG");
    FILE *log = path ? fopen(path, "a") : NULL;
    if (log) {
        pthread_getname_np(pthread_self(), name, sizeof name);
        fprintf(log, "%d %s %s%s%s\n", getpid(), name, function, *line ? " " : "", line);
        fclose(log);
    }
    const char *fail = getenv("STANDIN_FAIL");
    if (fail && sscanf(fail, "%63s %d %d", fails, &which, &code) == 3 && (strcmp(fails, function) != 0 || ++calls != which)) {
        code = SUCCESS;
    }
    pthread_mutex_unlock(&logging);
    if (code == -1) {
        abort();
    }
    while (code == -2) {
        pause();
    }
    return code;
}

#define ASKED(...)                                                                                                     \
    do {                                                                                                               \
        CUresult told = asked(__func__, __VA_ARGS__);                                                                  \
        if (told != SUCCESS) {                                                                                         \
            return told;                                                                                               \
        }                                                                                                              \
    } while (0)

PUBLIC CUresult cuInit(unsigned flags) {
    const char *pipes = getenv("CUDA_MPS_PIPE_DIRECTORY"), *connections = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const char *loading = getenv("CUDA_MODULE_LOADING");
    (void)flags;
    ASKED("%s %s%s%s", connections ? connections : "-", pipes ? pipes : "-", loading ? " " : "", loading ? loading : "");
    return number("STANDIN_DEVICES", 2) > 0 ? SUCCESS : NO_DEVICE;
}
PUBLIC CUresult cuDriverGetVersion(int *version) {
    *version = number("STANDIN_VERSION", 13000);
    return SUCCESS;
}
PUBLIC CUresult cuGetErrorName(CUresult code, const char **name) {
    switch (code) {
    case OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; return SUCCESS;
    case NO_DEVICE: *name = "CUDA_ERROR_NO_DEVICE"; return SUCCESS;
    case 719: *name = "CUDA_ERROR_LAUNCH_FAILED"; return SUCCESS;
    case INVALID_HANDLE: *name = "CUDA_ERROR_INVALID_HANDLE"; return SUCCESS;
    case INVALID_CONTEXT: *name = "CUDA_ERROR_INVALID_CONTEXT"; return SUCCESS;
    default: *name = NULL; return INVALID_VALUE;
    }
}

PUBLIC CUresult cuDeviceGetCount(int *count) { return *count = number("STANDIN_DEVICES", 2), SUCCESS; }
PUBLIC CUresult cuDeviceGet(int *device, int ordinal) { return *device = ordinal, SUCCESS; }
PUBLIC CUresult cuDeviceGetName(char *name, int room, int device) {
    return snprintf(name, (size_t)room, "Stand-in %d", device), SUCCESS;
}
PUBLIC CUresult cuDeviceGetPCIBusId(char *name, int room, int device) {
    return snprintf(name, (size_t)room, "0000:%02X:00.7", 0xee + device), SUCCESS;
}
PUBLIC CUresult cuDeviceGetUuid(unsigned char *uuid, int device) { return memset(uuid, 0xa0 + device, 16), SUCCESS; }
PUBLIC CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) { return (void)device, *bytes = (size_t)1 << 33, SUCCESS; }
PUBLIC CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
    static const int known[][2] = {{13, 1980000}, {15, 1}, {16, 132}, {20, 0}, {31, 1}, {36, 3201000}, {37, 6144}, {40, 3},
                                   {41, 1}, {75, 9}, {76, 0}, {83, 1}, {89, 1}};
    for (size_t at = 0; at < sizeof known / sizeof *known; at++) {
        if (known[at][0] == attribute) {
            return *value = known[at][1], SUCCESS;
        }
    }
    if (attribute == 115) {
        /* The second device has no memory pools. */
        return *value = device == 0, SUCCESS;
    }
    return *value = 0, SUCCESS;
}

PUBLIC CUresult cuDevicePrimaryCtxRetain(struct context **context, int device) {
    ASKED("%d", device);
    return *context = &primaries[device], SUCCESS;
}
PUBLIC CUresult cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
    ASKED("%d %u", device, flags);
    return SUCCESS;
}
PUBLIC CUresult cuCtxCreate_v2(struct context **context, unsigned flags, int device) {
    ASKED("%u %d", flags, device);
    *context = calloc(1, sizeof **context);
    (*context)->device = device;
    return SUCCESS;
}
PUBLIC CUresult cuCtxSetCurrent(struct context *context) { return current = context, SUCCESS; }
PUBLIC CUresult cuCtxSynchronize(void) {
    ASKED("%s", "");
    return current ? SUCCESS : INVALID_CONTEXT;
}

static const char *const names[] = {"holdup_empty",          "holdup_delay",        "holdup_add_constant",
                                    "holdup_increment",      "holdup_matrix_product", "holdup_norm_partial",
                                    "holdup_norm_final",     "holdup_scale_by_device", "holdup_scale_by_host"};
PUBLIC CUresult cuModuleLoadData(void **module, const char *image) {
    ASKED("%d", strstr(image, ".version") != NULL);
    return *module = current, current ? SUCCESS : INVALID_CONTEXT;
}
PUBLIC CUresult cuModuleUnload(void *module) {
    ASKED("%d", module != NULL);
    return module ? SUCCESS : INVALID_HANDLE;
}
PUBLIC CUresult cuModuleGetFunction(struct kernel **function, void *module, const char *name) {
    for (int at = 0; at < 9; at++) {
        if (strcmp(names[at], name) == 0) {
            *function = calloc(1, sizeof **function);
            (*function)->number = at;
            (*function)->context = module;
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

/* Device and host memory are the same here. */
static CUresult allocate(uint64_t *pointer, size_t bytes) {
    return *pointer = (uint64_t)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256), *pointer ? SUCCESS : OUT_OF_MEMORY;
}
PUBLIC CUresult cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    ASKED("%zu", bytes);
    return allocate(pointer, bytes);
}
PUBLIC CUresult cuMemAllocManaged(uint64_t *pointer, size_t bytes, unsigned flags) {
    ASKED("%zu %u", bytes, flags);
    return allocate(pointer, bytes);
}
PUBLIC CUresult cuMemHostAlloc(uint64_t *pointer, size_t bytes, unsigned flags) {
    ASKED("%zu %u", bytes, flags);
    return allocate(pointer, bytes);
}
PUBLIC CUresult cuMemFree_v2(CUdeviceptr pointer) {
    ASKED("%s", "");
    return free((void *)(uintptr_t)pointer), SUCCESS;
}
PUBLIC CUresult cuMemFreeHost(void *pointer) {
    ASKED("%s", "");
    return free(pointer), SUCCESS;
}
PUBLIC CUresult cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags) {
    ASKED("%zu %u", bytes, flags);
    return pointer ? SUCCESS : INVALID_VALUE;
}
PUBLIC CUresult cuMemHostUnregister(void *pointer) {
    ASKED("%s", "");
    return pointer ? SUCCESS : INVALID_VALUE;
}

/* Whether a stream may be used now; the default one always. */
static CUresult usable(struct stream *stream) {
    return !current ? INVALID_CONTEXT : stream && stream->context != current ? INVALID_HANDLE : SUCCESS;
}

static void carry_out(const struct op *op);
static CUresult issue(struct stream *stream, struct op op) {
    CUresult result = usable(stream);
    if (result == SUCCESS && stream && stream->capture) {
        stream->capture->ops[stream->capture->count++] = op;
    } else if (result == SUCCESS) {
        carry_out(&op);
    }
    return result;
}
static CUresult copy(struct stream *stream, void *to, const void *from, size_t bytes) {
    return issue(stream, (struct op){.kernel = -1, .to = to, .from = from, .bytes = bytes});
}

#define ADDRESS(pointer) ((void *)(uintptr_t)(pointer))
#define COPY(name, to_type, from_type)                                                                                 \
    PUBLIC CUresult name(to_type to, from_type from, size_t bytes) {                                                   \
        ASKED("%zu", bytes);                                                                                           \
        return copy(NULL, ADDRESS(to), ADDRESS(from), bytes);                                                          \
    }
#define COPY_ASYNC(name, to_type, from_type)                                                                           \
    PUBLIC CUresult name(to_type to, from_type from, size_t bytes, struct stream *stream) {                            \
        ASKED("%zu %d", bytes, stream != NULL);                                                                        \
        return copy(stream, ADDRESS(to), ADDRESS(from), bytes);                                                        \
    }
COPY(cuMemcpyHtoD_v2, CUdeviceptr, const void *)
COPY(cuMemcpyDtoH_v2, void *, CUdeviceptr)
COPY(cuMemcpyDtoD_v2, CUdeviceptr, CUdeviceptr)
COPY(cuMemcpy, CUdeviceptr, CUdeviceptr)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void *)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, void *, CUdeviceptr)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr)
COPY_ASYNC(cuMemcpyAsync, CUdeviceptr, CUdeviceptr)

struct end2d { size_t x, y; int memory; void *host; CUdeviceptr device; void *array; size_t pitch; };
struct copy2d { struct end2d from, to; size_t width, height; };
struct end3d { size_t x, y, z, level; int memory; void *host; CUdeviceptr device; void *array, *reserved; size_t pitch, height; };
struct copy3d { struct end3d from, to; size_t width, height, depth; };
PUBLIC CUresult cuMemcpy2DAsync_v2(const struct copy2d *how, struct stream *stream) {
    ASKED("%zux%zu %d/%zu %d/%zu", how->width, how->height, how->from.memory, how->from.pitch, how->to.memory, how->to.pitch);
    char *from = how->from.memory == 1 ? how->from.host : ADDRESS(how->from.device);
    char *to = how->to.memory == 1 ? how->to.host : ADDRESS(how->to.device);
    CUresult result = SUCCESS;
    for (size_t row = 0; row < how->height && result == SUCCESS; row++) {
        result = copy(stream, to + row * how->to.pitch, from + row * how->from.pitch, how->width);
    }
    return result;
}
PUBLIC CUresult cuMemcpy3DAsync_v2(const struct copy3d *how, struct stream *stream) {
    ASKED("%zux%zux%zu %d/%zu/%zu %d/%zu/%zu", how->width, how->height, how->depth, how->from.memory, how->from.pitch,
          how->from.height, how->to.memory, how->to.pitch, how->to.height);
    char *from = how->from.memory == 1 ? how->from.host : ADDRESS(how->from.device);
    char *to = how->to.memory == 1 ? how->to.host : ADDRESS(how->to.device);
    CUresult result = SUCCESS;
    for (size_t slice = 0; slice < how->depth; slice++) {
        for (size_t row = 0; row < how->height && result == SUCCESS; row++) {
            size_t from_row = slice * how->from.height + row, to_row = slice * how->to.height + row;
            result = copy(stream, to + to_row * how->to.pitch, from + from_row * how->from.pitch, how->width);
        }
    }
    return result;
}

static CUresult fill(struct stream *stream, CUdeviceptr to, unsigned word, size_t count) {
    for (size_t at = 0; at < count; at++) {
        ((unsigned *)ADDRESS(to))[at] = word;
    }
    return usable(stream);
}
PUBLIC CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned word, size_t count) {
    ASKED("%u %zu", word, count);
    return fill(NULL, to, word, count);
}
PUBLIC CUresult cuMemsetD32Async(CUdeviceptr to, unsigned word, size_t count, struct stream *stream) {
    ASKED("%u %zu", word, count);
    return fill(stream, to, word, count);
}

/* Whether the calling thread may be on one processor alone. */
static int is_alone(void) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set) == 1;
}
PUBLIC CUresult cuStreamCreate(struct stream **stream, unsigned flags) {
    ASKED("%u %d", flags, is_alone());
    *stream = calloc(1, sizeof **stream);
    (*stream)->context = current;
    return SUCCESS;
}
PUBLIC CUresult cuStreamDestroy_v2(struct stream *stream) {
    ASKED("%s", "");
    return free(stream), SUCCESS;
}
PUBLIC CUresult cuStreamQuery(struct stream *stream) {
    ASKED("%s", "");
    return usable(stream) == SUCCESS ? 600 : INVALID_HANDLE;
}
PUBLIC CUresult cuStreamSynchronize(struct stream *stream) {
    ASKED("%s", "");
    /* A stream of another context, too. */
    return stream || current ? SUCCESS : INVALID_CONTEXT;
}
PUBLIC CUresult cuEventCreate(struct event **event, unsigned flags) {
    ASKED("%u", flags);
    *event = calloc(1, sizeof **event);
    (*event)->context = current;
    return SUCCESS;
}
PUBLIC CUresult cuEventDestroy_v2(struct event *event) {
    ASKED("%s", "");
    return free(event), SUCCESS;
}
PUBLIC CUresult cuEventRecord(struct event *event, struct stream *stream) {
    ASKED("%s", "");
    static int recorded;
    event->recorded++;
    event->at = __atomic_add_fetch(&recorded, 1, __ATOMIC_RELAXED);
    return stream && stream->context != event->context ? INVALID_HANDLE : usable(stream);
}
PUBLIC CUresult cuEventQuery(struct event *event) {
    ASKED("%d", event->recorded);
    return event->recorded ? SUCCESS : 600;
}
/* A quarter of a millisecond from one record to the next, whatever the event. */
PUBLIC CUresult cuEventElapsedTime(float *ms, struct event *from, struct event *to) {
    ASKED("%d %d", from->recorded, to->recorded);
    return from->recorded && to->recorded ? (*ms = (float)(to->at - from->at) / 4, SUCCESS) : INVALID_HANDLE;
}
PUBLIC CUresult cuEventSynchronize(struct event *event) {
    ASKED("%d", event->recorded);
    return SUCCESS;
}
PUBLIC CUresult cuStreamWaitEvent(struct stream *stream, struct event *event, unsigned flags) {
    ASKED("%d %u", event->recorded, flags);
    return usable(stream);
}

PUBLIC CUresult cuStreamBeginCapture_v2(struct stream *stream, int mode) {
    ASKED("%d", mode);
    stream->capture = calloc(1, sizeof *stream->capture);
    return usable(stream);
}
PUBLIC CUresult cuStreamEndCapture(struct stream *stream, struct graph **graph) {
    ASKED("%d", stream->capture->count);
    *graph = stream->capture;
    stream->capture = NULL;
    return SUCCESS;
}
PUBLIC CUresult cuGraphInstantiate_v2(struct graph **instance, struct graph *graph, void *node, char *log, size_t room) {
    (void)node, (void)log, (void)room;
    ASKED("%d", graph->count);
    *instance = malloc(sizeof **instance);
    return **instance = *graph, SUCCESS;
}
PUBLIC CUresult cuGraphDestroy(struct graph *graph) {
    ASKED("%s", "");
    return free(graph), SUCCESS;
}
PUBLIC CUresult cuGraphExecDestroy(struct graph *graph) {
    ASKED("%s", "");
    return free(graph), SUCCESS;
}
PUBLIC CUresult cuGraphLaunch(struct graph *graph, struct stream *stream) {
    ASKED("%d", graph->count);
    for (int at = 0; at < graph->count; at++) {
        carry_out(&graph->ops[at]);
    }
    return usable(stream);
}
#ifndef WITHOUT_POOLS
PUBLIC CUresult cuMemAllocAsync(uint64_t *pointer, size_t bytes, struct stream *stream) {
    ASKED("%zu", bytes);
    return usable(stream) == SUCCESS ? allocate(pointer, bytes) : INVALID_HANDLE;
}
PUBLIC CUresult cuMemFreeAsync(CUdeviceptr pointer, struct stream *stream) {
    ASKED("%s", "");
    return free(ADDRESS(pointer)), usable(stream);
}
#endif

PUBLIC CUresult cuLaunchKernel(struct kernel *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                               unsigned shared, struct stream *stream, void **arguments, void **extra) {
    /* How wide each kernel's arguments are, a digit an argument. */
    static const char *const widths[] = {"", "8", "88444", "8844", "88844", "884", "884", "848", "844"};
    struct op op = {.kernel = kernel->number, .grid = gx, .block = bx};
    (void)shared, (void)extra;
    for (int at = 0; widths[kernel->number][at]; at++) {
        memcpy(&op.arguments[at], arguments[at], (size_t)(widths[kernel->number][at] - '0'));
    }
    ASKED("%s %ux%ux%u %ux%ux%u", names[kernel->number], gx, gy, gz, bx, by, bz);
    return kernel->context == current ? issue(stream, op) : INVALID_HANDLE;
}

/* Along the rows of b: the same sums in the same order as along its columns, and several times faster. */
static void product(const float *a, const float *b, float *c, size_t rows, size_t inner, size_t columns) {
    for (size_t row = 0; row < rows; row++) {
        float *sums = c + row * columns;
        memset(sums, 0, columns * sizeof *sums);
        for (size_t at = 0; at < inner; at++) {
            for (size_t column = 0; column < columns; column++) {
                sums[column] += a[row * inner + at] * b[at * columns + column];
            }
        }
    }
}

static void carry_out(const struct op *op) {
    const uint64_t *arguments = op->arguments;
    float *first = ADDRESS(arguments[0]), *second = ADDRESS(arguments[1]);
    float sum = 0, by;
    switch (op->kernel) {
    case -1: memmove(op->to, op->from, op->bytes); break;
    case 0: break;
    case 1: usleep((unsigned)(arguments[0] / 1000)); break;
    case 2:
        for (size_t at = 0; at < arguments[3] * 4; at++) {
            ((int *)second)[at] = ((int *)first)[at] + (int)arguments[2];
        }
        break;
    case 3:
        for (size_t at = 0; at < arguments[2]; at++) {
            first[arguments[1] + at] += (float)arguments[3];
        }
        break;
    case 4: {
        size_t tiles_a_row = arguments[4] / 32;
        product(first, second, ADDRESS(arguments[2]), op->grid / tiles_a_row * 32, arguments[3], arguments[4]);
        break;
    }
    case 5:
        for (size_t block = 0; block < op->grid; block++) {
            second[block] = 0;
        }
        for (size_t from = 0; from < arguments[2]; from += op->block) {
            size_t until = from + op->block < arguments[2] ? from + op->block : arguments[2];
            float *of_block = &second[from / op->block % op->grid];
            sum = *of_block;
            for (size_t at = from; at < until; at++) {
                sum += first[at] * first[at];
            }
            *of_block = sum;
        }
        break;
    case 6:
        for (size_t at = 0; at < arguments[2]; at++) {
            sum += first[at];
        }
        *second = sqrtf(sum);
        break;
    case 7:
    case 8:
        memcpy(&by, op->kernel == 7 ? ADDRESS(arguments[2]) : (const void *)&arguments[2], sizeof by);
        for (size_t at = 0; at < arguments[1]; at++) {
            first[at] /= by;
        }
        break;
    }
}
