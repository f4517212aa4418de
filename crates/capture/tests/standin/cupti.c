/*
 * A stand-in for CUPTI: asked for what it has, it hands out one buffer with records as the real one makes
 * them. That of CUDA 13 can leave out the calls of single functions, as CUPTI does from CUDA 12.5 on, and
 * does not start where STANDIN_CUDA says that the driver is older. It says that it is of version STANDIN_CUPTI, and
 * its records have STANDIN_RECORD bytes.
 */
#define _GNU_SOURCE
#include "standin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_PARAMETER = 1, MAX_LIMIT_REACHED = 12, NOT_COMPATIBLE = 14 };
enum { GRAPH_TRACE = 51, MEMCPY = 1, MEMSET = 2, DRIVER = 4, RUNTIME = 5, CONCURRENT_KERNEL = 10, CUDA_EVENT = 36 };
enum { LAUNCH_KERNEL = 211, GET_DEVICE = 17, KERNEL_GET_NAME = 703 };
enum { RECORDS = 16 };

static void (*request)(uint8_t **, size_t *, size_t *);
static void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);
static uint64_t (*timestamp)(void);
static int left_out[3][1024];

/* Bytes of a record, of any kind. */
static size_t record_bytes = 192;

__attribute__((constructor)) static void set_record_bytes(void) {
    const char *bytes = getenv("STANDIN_RECORD");
    record_bytes = bytes ? (size_t)atoi(bytes) : record_bytes;
}

/*
 * With STANDIN_OPERATIONS, there is a record for each operation that the driver is asked for. Numbers (correlation ids)
 * are given as calls enter the driver; a kernel's name says which thread launched it, and as which of its kernels. Of
 * STANDIN_DROP operations one is lost. With STANDIN_FULL, a buffer is handed out as soon as it is full, as by the real one.
 */
static pthread_mutex_t operations = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *kept;
static size_t count;
static uint32_t last_number;
static void (*told)(void *, int, uint32_t, const void *);
/* Operations are recorded. They are numbered in any case. */
static int is_on;

/* CUpti_CallbackData */
struct callback_data {
    int site;
    const void *pointers[5];
    uint32_t context;
    uint64_t *data;
    uint32_t correlation;
};

int cuptiSubscribe(void **subscriber, void *callback, void *data) {
    (void)data;
    told = (void (*)(void *, int, uint32_t, const void *))callback;
    return *subscriber = &told, SUCCESS;
}
int cuptiUnsubscribe(void *subscriber) { return subscriber == &told ? (told = NULL, SUCCESS) : INVALID_PARAMETER; }
int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t function) {
    return on <= 1 && subscriber == &told && domain == 1 && function ? SUCCESS : INVALID_PARAMETER;
}

static uint32_t number_of(void *stream) { return (uintptr_t)stream < 3 ? 7 : (uint32_t)((uintptr_t)stream >> 4); }

int cuptiGetContextId(void *context, uint32_t *number) {
    return context ? (*number = 1, SUCCESS) : INVALID_PARAMETER;
}
/* The default stream is 7; a handle says the number of any other. */
int cuptiGetStreamIdEx(void *context, void *stream, uint8_t own, uint32_t *number) {
    return context && !own ? (*number = number_of(stream), SUCCESS) : INVALID_PARAMETER;
}
int cuptiGetVersion(uint32_t *version) {
    const char *claimed = getenv("STANDIN_CUPTI");
    return *version = claimed ? (uint32_t)atoi(claimed) : 18, SUCCESS;
}
int cuptiActivityRegisterCallbacks(void *requested, void *completed) {
    return request = requested, complete = completed, SUCCESS;
}
int cuptiActivityRegisterTimestampCallback(void *clock) { return timestamp = clock, SUCCESS; }
int cuptiSetThreadIdType(int type) { return type == 1 ? SUCCESS : INVALID_PARAMETER; }
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind) {
    is_on &= kind != CONCURRENT_KERNEL;
    return kind > 0 ? SUCCESS : INVALID_PARAMETER;
}
int cuptiActivityFlushPeriod(uint32_t ms) { return ms < 10000 ? SUCCESS : INVALID_PARAMETER; }

#if CUDA >= 13
static int switched(int domain, uint32_t function, uint8_t on) {
    return function < 1024 ? left_out[domain][function] = !on, SUCCESS : INVALID_PARAMETER;
}
int cuptiActivityEnableDriverApi(uint32_t function, uint8_t on) { return switched(1, function, on); }
int cuptiActivityEnableRuntimeApi(uint32_t function, uint8_t on) { return switched(2, function, on); }
int cuptiActivitySetAttribute(int attribute, size_t *size, void *value) {
    return attribute >= 8 && *size == 1 && *(uint8_t *)value == 1 ? SUCCESS : INVALID_PARAMETER;
}
#endif

int cuptiGetCallbackName(int domain, uint32_t function, const char **name) {
    *name = NULL;
    if (domain == 2) {
        *name = function == LAUNCH_KERNEL ? "cudaLaunchKernel_v7000" : function == GET_DEVICE ? "cudaGetDevice_v3020" : NULL;
    } else if (function == KERNEL_GET_NAME) {
        *name = "cuKernelGetName";
    } else if (function == 307) {
        *name = "cuLaunchKernel";
    }
    return *name ? SUCCESS : INVALID_PARAMETER;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped) {
    return *dropped = context || stream ? 0 : 3, SUCCESS;
}

/* Fields of a record, by their offsets in CUPTI's structs. */
static void u32(uint8_t *record, size_t at, uint32_t value) { memcpy(record + at, &value, sizeof value); }
static void u64(uint8_t *record, size_t at, uint64_t value) { memcpy(record + at, &value, sizeof value); }

static uint8_t *add(uint8_t **end, uint32_t kind) {
    uint8_t *record = *end;
    memset(record, 0, record_bytes);
    u32(record, 0, kind);
    *end += record_bytes;
    return record;
}

static void add_call(uint8_t **end, int domain, uint32_t function, uint32_t correlation, uint64_t start) {
    if (left_out[domain][function]) {
        return;
    }
    uint8_t *call = add(end, domain == 2 ? RUNTIME : DRIVER);
    u32(call, 4, function), u64(call, 8, start), u64(call, 16, start + 1000);
    u32(call, 24, 1), u32(call, 28, 1), u32(call, 32, correlation);
}

static void add_kernel(uint8_t **end, uint32_t correlation, uint64_t start, uint64_t finish) {
    uint8_t *kernel = add(end, CONCURRENT_KERNEL);
    u64(kernel, 16, start), u64(kernel, 24, finish), u32(kernel, 44, 1), u32(kernel, 48, 7);
    for (size_t at = 52; at <= 72; at += 4) {
        u32(kernel, at, 2);
    }
    u32(kernel, 92, correlation), u64(kernel, 104, (uint64_t)(uintptr_t)"standin_kernel");
}

static void add_copy(uint8_t **end, uint32_t correlation, uint64_t start) {
    enum { DEVICE_TO_HOST = 2, PAGEABLE = 1, OF_DEVICE = 3 };
    uint8_t *copy = add(end, MEMCPY);
    copy[4] = DEVICE_TO_HOST, copy[5] = OF_DEVICE, copy[6] = PAGEABLE;
    u64(copy, 8, 4096), u64(copy, 16, start), u64(copy, 24, start + 500), u32(copy, 36, 1), u32(copy, 40, 7);
    u32(copy, 44, correlation);
}

static void add_fill(uint8_t **end, uint32_t correlation, uint64_t start) {
    uint8_t *fill = add(end, MEMSET);
    u64(fill, 8, 512), u64(fill, 16, start), u64(fill, 24, start + 500), u32(fill, 36, 1), u32(fill, 40, 7);
    u32(fill, 44, correlation), fill[50] = 3;
}

/* A buffer that is to be handed out once it is full. */
static void hand_out_full(void) {
    static uint8_t *buffer;
    static size_t room, most;
    if (!buffer) {
        request(&buffer, &room, &most);
    }
    if (count == most) {
        memcpy(buffer, kept, count * record_bytes);
        complete(NULL, 0, buffer, room, count * record_bytes);
        buffer = NULL, count = 0;
    }
}

static void keep(const struct standin_operation *asked) {
    static __thread unsigned kernels;
    const char *drop = getenv("STANDIN_DROP");
    uint64_t now = timestamp() + 2000;
    pthread_mutex_lock(&operations);
    uint32_t number = ++last_number;
    int is_lost = drop && number % (uint32_t)atoi(drop) == 0;
    if (!asked->is_captured && !is_lost && is_on) {
        kept = realloc(kept, (count + 1) * record_bytes);
        uint8_t *end = kept + count++ * record_bytes, *record = end;
        switch (asked->kind) {
        case STANDIN_KERNEL: {
            char *name = malloc(64);
            snprintf(name, 64, "kernel %d %u", (int)gettid(), kernels);
            add_kernel(&end, number, now, now + 500);
            u32(record, 48, number_of(asked->stream)), u64(record, 104, (uint64_t)(uintptr_t)name);
            memcpy(record + 52, asked->grid, sizeof asked->grid);
            break;
        }
        case STANDIN_COPY_IN:
        case STANDIN_COPY_OUT:
            add_copy(&end, number, now);
            record[4] = asked->kind == STANDIN_COPY_IN ? 1 : 2;
            u64(record, 8, asked->bytes), u32(record, 40, number_of(asked->stream));
            break;
        case STANDIN_FILL:
            add_fill(&end, number, now);
            u64(record, 8, asked->bytes), u32(record, 40, number_of(asked->stream));
            break;
        case STANDIN_GRAPH:
            add(&end, GRAPH_TRACE);
            u32(record, 4, number), u64(record, 8, now), u64(record, 16, now + 500), u32(record, 28, 3);
            u32(record, 32, 1), u32(record, 36, number_of(asked->stream));
            break;
        }
    }
    kernels += asked->kind == STANDIN_KERNEL;
    if (count > 0 && getenv("STANDIN_FULL")) {
        hand_out_full();
    }
    pthread_mutex_unlock(&operations);
    if (told) {
        struct callback_data data = {.site = 0, .correlation = number};
        told(NULL, 1, 307, &data);
    }
}

static void (*on_issue(void))(void (*)(const struct standin_operation *)) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return (void (*)(void (*)(const struct standin_operation *)))(driver ? dlsym(driver, "standin_on_issue") : NULL);
}

/* Hands out what was kept, the last record first: buffers come in any order. */
static void hand_out(void) {
    uint8_t *buffer = NULL, *end;
    size_t room = 0, most, left = count;
    while (left > 0) {
        request(&buffer, &room, &most);
        size_t fit = most && most < room / record_bytes ? most : room / record_bytes;
        for (end = buffer; left > 0 && fit > 0; fit--, end += record_bytes) {
            memcpy(end, kept + --left * record_bytes, record_bytes);
        }
        complete(NULL, 0, buffer, room, (size_t)(end - buffer));
    }
}

/* With STANDIN_NESTED, hands out a buffer of two records on a thread that is reading another one. */
static void nest(void) {
    static int nested;
    const char *wanted = getenv("STANDIN_NESTED");
    uint8_t *buffer = NULL;
    size_t room = 0, most;
    if (wanted && atoi(wanted) && !nested++) {
        request(&buffer, &room, &most);
        uint8_t *end = buffer;
        uint64_t now = timestamp() - 100000;
        add_copy(&end, 7, now);
        add_fill(&end, 8, now);
        complete(NULL, 0, buffer, room, (size_t)(end - buffer));
    }
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record) {
    uint8_t *next = *record ? *record + record_bytes : buffer;
    nest();
    return next < buffer + valid ? *record = next, SUCCESS : MAX_LIMIT_REACHED;
}

int cuptiActivityEnable(int kind) {
    const char *driver = getenv("STANDIN_CUDA");
    if (driver && atoi(driver) < CUDA) {
        return NOT_COMPATIBLE;
    }
    if (kind == CONCURRENT_KERNEL && getenv("STANDIN_OPERATIONS") && on_issue()) {
        on_issue()(keep);
    }
    is_on |= kind == CONCURRENT_KERNEL;
    return kind > 0 ? SUCCESS : INVALID_PARAMETER;
}

/* With STANDIN_FLUSH, a flush never returns ("stuck") or fails badly. */
static void fail_to_flush(const char *how) {
    if (strcmp(how, "stuck") == 0) {
        pthread_mutex_lock(&operations);
        pthread_mutex_lock(&operations);
    }
    abort();
}

int cuptiActivityFlushAll(uint32_t how) {
    uint8_t *buffer = NULL, *end;
    size_t room = 0, most;
    static int flushed;
    if (getenv("STANDIN_FLUSH")) {
        fail_to_flush(getenv("STANDIN_FLUSH"));
    }
    if (flushed++ || how > 1) {
        return SUCCESS;
    }
    if (getenv("STANDIN_OPERATIONS")) {
        return hand_out(), SUCCESS;
    }
    request(&buffer, &room, &most);
    if (room < record_bytes * RECORDS) {
        return INVALID_PARAMETER;
    }
    uint64_t now = timestamp() - 100000;
    end = buffer;
    add_call(&end, 2, GET_DEVICE, 1, now);
    add_call(&end, 1, KERNEL_GET_NAME, 2, now + 1000);
    add_call(&end, 2, LAUNCH_KERNEL, 3, now + 3000);
    add_kernel(&end, 3, now + 4000, now + 9000);
    add_copy(&end, 4, now + 10000);
    add_fill(&end, 5, now + 11000);
    /* Made by CUPTI before CUDA 12.9 where synchronizations are asked for. */
    u32(add(&end, CUDA_EVENT), 4, 6);
    /* It did not end: it has no times. */
    add_kernel(&end, 6, 0, 0);
    complete(NULL, 0, buffer, room, (size_t)(end - buffer));
    return SUCCESS;
}
