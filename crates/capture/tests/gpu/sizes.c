/*
 * How far apart the records lie that a copy of CUPTI hands out: a line of kind, bytes and count for each, and first its
 * version. The driver is loaded by hand, so a C compiler builds this without CUDA's headers.
 *
 *     sizes LIBCUPTI [nodes]        each node of graphs, too
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KINDS = 64, MOST_BYTES = 1024, ROOM = 1 << 20, LAUNCHES = 100 };
enum { MEMCPY = 1, MEMSET, DRIVER = 4, RUNTIME, KERNEL = 10, OVERHEAD = 17, PEER = 22, SYNCHRONIZATION = 38, GRAPH = 51 };

static const char PTX[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry nothing() { ret; }\n";

static unsigned counts[MOST_KINDS][MOST_BYTES];
static int (*next_record)(uint8_t *, size_t, uint8_t **);

static void *find(void *library, const char *name) {
    void *function = dlsym(library, name);
    if (!function) {
        fprintf(stderr, "%s is missing\n", name);
        exit(2);
    }
    return function;
}

static void check(int code, const char *what) {
    if (code) {
        fprintf(stderr, "%s: code %d\n", what, code);
        exit(3);
    }
}

static void requested(uint8_t **buffer, size_t *room, size_t *most) {
    *buffer = aligned_alloc(8, ROOM);
    *room = ROOM, *most = 0;
}

static void count(const uint8_t *record, size_t bytes) {
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    counts[kind < MOST_KINDS ? kind : 0][bytes < MOST_BYTES ? bytes : 0]++;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t room, size_t valid) {
    (void)context, (void)stream, (void)room;
    uint8_t *record = NULL, *last = NULL;
    while (next_record(buffer, valid, &record) == 0 && record) {
        if (last) {
            count(last, (size_t)(record - last));
        }
        last = record;
    }
    if (last) {
        count(last, (size_t)(buffer + valid - last));
    }
    free(buffer);
}

#define CALL(library, name, ...)                                                                                       \
    check(((int (*)())find(library, name))(__VA_ARGS__), name)

static void work(void *cuda) {
    void *context, *module, *kernel, *stream, *graph, *executable, *event, *host;
    uint64_t memory, other;
    int device;
    CALL(cuda, "cuDeviceGet", &device, 0);
    CALL(cuda, "cuDevicePrimaryCtxRetain", &context, device);
    CALL(cuda, "cuCtxSetCurrent", context);
    CALL(cuda, "cuModuleLoadData", &module, PTX);
    CALL(cuda, "cuModuleGetFunction", &kernel, module, "nothing");
    CALL(cuda, "cuStreamCreate", &stream, 1);
    CALL(cuda, "cuEventCreate", &event, 0);
    CALL(cuda, "cuMemAlloc_v2", &memory, (size_t)4096);
    CALL(cuda, "cuMemAlloc_v2", &other, (size_t)4096);
    CALL(cuda, "cuMemAllocHost_v2", &host, (size_t)4096);
    for (int at = 0; at < LAUNCHES; at++) {
        CALL(cuda, "cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
        CALL(cuda, "cuMemcpyHtoDAsync_v2", memory, host, (size_t)4096, stream);
        CALL(cuda, "cuMemcpyPeerAsync", other, context, memory, context, (size_t)4096, stream);
        CALL(cuda, "cuMemcpyDtoHAsync_v2", host, other, (size_t)4096, stream);
        CALL(cuda, "cuMemsetD8Async", memory, 1, (size_t)4096, stream);
        CALL(cuda, "cuEventRecord", event, stream);
        CALL(cuda, "cuEventSynchronize", event);
        CALL(cuda, "cuStreamSynchronize", stream);
    }
    CALL(cuda, "cuStreamBeginCapture_v2", stream, 2);
    CALL(cuda, "cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
    CALL(cuda, "cuMemsetD8Async", memory, 1, (size_t)4096, stream);
    CALL(cuda, "cuStreamEndCapture", stream, &graph);
    CALL(cuda, "cuGraphInstantiateWithFlags", &executable, graph, (unsigned long long)0);
    for (int at = 0; at < LAUNCHES; at++) {
        CALL(cuda, "cuGraphLaunch", executable, stream);
    }
    CALL(cuda, "cuStreamSynchronize", stream);
}

int main(int words, char **word) {
    static const int kinds[] = {KERNEL, MEMCPY, PEER, MEMSET, OVERHEAD, SYNCHRONIZATION, RUNTIME, DRIVER, GRAPH};
    void *cupti = words > 1 ? dlopen(word[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!cupti || !cuda) {
        fprintf(stderr, "%s\n", words > 1 ? dlerror() : "usage: sizes LIBCUPTI [nodes]");
        return 2;
    }
    next_record = (int (*)(uint8_t *, size_t, uint8_t **))find(cupti, "cuptiActivityGetNextRecord");
    uint32_t version;
    CALL(cupti, "cuptiGetVersion", &version);
    CALL(cupti, "cuptiActivityRegisterCallbacks", requested, completed);
    for (size_t at = 0; at < sizeof kinds / sizeof *kinds - (words > 2); at++) {
        CALL(cupti, "cuptiActivityEnable", kinds[at]);
    }
    CALL(cuda, "cuInit", 0);
    work(cuda);
    CALL(cupti, "cuptiActivityFlushAll", 1);
    printf("version %u\n", version);
    for (int kind = 0; kind < MOST_KINDS; kind++) {
        for (int bytes = 0; bytes < MOST_BYTES; bytes++) {
            if (counts[kind][bytes]) {
                printf("%d %d %u\n", kind, bytes, counts[kind][bytes]);
            }
        }
    }
    return 0;
}
