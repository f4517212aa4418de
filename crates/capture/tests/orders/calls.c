/* Calls of the driver, which are counted. */
#include "orders.h"

void initialize_driver(void) { NEED(CU(cuInit)(0) == 0); }

void count_call(enum function function) {
    /* A signal handler may count between any two instructions. */
    __atomic_add_fetch(&me->counts[function], 1, __ATOMIC_RELAXED);
}

static void copy_in(void) {
    static __thread long from, to;
    NEED(CU(cuMemcpyHtoDAsync_v2)((CUdeviceptr)(uintptr_t)&to, &from, sizeof to, NULL) == 0);
}

static void fill(void) {
    static __thread unsigned words[4];
    NEED(CU(cuMemsetD32Async)((CUdeviceptr)(uintptr_t)words, 7, 4, NULL) == 0 && words[3] == 7);
}

static void allocate_and_free(void) {
    CUdeviceptr pointer;
    NEED(CU(cuMemAlloc_v2)(&pointer, 64) == 0);
    count_call(ALLOC);
    NEED(CU(cuMemFree_v2)(pointer) == 0);
    count_call(FREE);
}

static void ask(void) {
    CUcontext context;
    NEED(CU(cuCtxGetCurrent)(&context) == 0);
}

static void call_once(enum function function) {
    switch (function) {
    case LAUNCH: NEED(launch() == 0); break;
    case COPY_OUT: NEED(copy() == 0); break;
    case COPY_IN: copy_in(); break;
    case FILL: fill(); break;
    case ALLOC:
    case FREE: allocate_and_free(); return;
    case SYNC: NEED(CU(cuCtxSynchronize)() == 0); break;
    default: ask();
    }
    count_call(function);
}

void call_driver(int how, int number) {
    for (int at = 0; at < number; at++) {
        call_once((enum function)how);
    }
}
