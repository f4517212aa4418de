/* Calls that issue work: alone, by threads with a stream each, and by threads that share one. */
#include "program.h"

enum { LAUNCHES = 300, THREADS = 4 };

static int launch_into(CUstream stream, unsigned grid) {
    return CU(cuLaunchKernel)((CUfunction)(uintptr_t)0x40, grid, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
}

static void alone(void) {
    CUstream streams[3], again;
    CUgraph graph;
    CUdeviceptr memory;
    char host[4096] = {0};
    CHECK(CU(cuMemAlloc_v2)(&memory, sizeof host) == 0);
    for (int at = 0; at < 3; at++) {
        CHECK(CU(cuStreamCreate)(&streams[at], 1) == 0);
    }
    for (unsigned at = 0; at < LAUNCHES; at++) {
        CUstream stream = at % 5 == 4 ? NULL : streams[at % 3];
        CHECK(launch_into(stream, 1 + at % 2) == 0);
        if (at % 7 == 0) {
            CHECK(CU(cuMemcpyHtoDAsync_v2)(memory, host, 64 + at, stream) == 0);
        }
        if (at % 11 == 0) {
            CHECK(CU(cuMemcpyDtoH_v2)(host, memory, 128 + at) == 0);
        }
        if (at % 13 == 0) {
            CHECK(CU(cuMemsetD32Async)(memory, at, 16 + at, stream) == 0);
        }
        if (at % 50 == 0) {
            CHECK(CU(cuStreamBeginCapture_v2)(streams[0], 0) == 0);
            CHECK(launch_into(streams[0], 1) == 0 && launch_into(streams[0], 2) == 0 && launch_into(streams[1], 1) == 0);
            CHECK(CU(cuStreamEndCapture)(streams[0], &graph) == 0);
            CHECK(CU(cuGraphLaunch)(graph, streams[2]) == 0);
        }
        if (at % 60 == 0) {
            CHECK(CU(cuStreamDestroy_v2)(streams[1]) == 0 && CU(cuStreamCreate)(&again, 1) == 0);
            streams[1] = again;
        }
    }
    CHECK(CU(cuStreamSynchronize)(streams[0]) == 0);
}

/* Where the program is linked with CUPTI: the first function of that name. */
__attribute__((weak)) int cuptiActivityRegisterCallbacks(void *, void *);

/* The program begins to use CUPTI itself. */
static void profiled(void) {
    for (int at = 0; at < 40; at++) {
        CHECK(launch_into(NULL, 1) == 0);
    }
    CHECK(CU(cuStreamSynchronize)(NULL) == 0);
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    if (cupti && cuptiActivityRegisterCallbacks) {
        CHECK(cuptiActivityRegisterCallbacks(NULL, NULL) == 0);
    }
    for (int at = 0; at < 30; at++) {
        CHECK(launch_into(NULL, 1) == 0);
    }
}

static CUstream shared;
static pthread_barrier_t all_there;

static void launch_all(CUstream stream) {
    pthread_barrier_wait(&all_there);
    for (unsigned at = 0; at < LAUNCHES; at++) {
        CHECK(launch_into(stream, 1 + at % 2) == 0);
    }
    /* A thread's id is given to another one once it ended. */
    pthread_barrier_wait(&all_there);
}

static void *into_own(void *data) {
    CUstream stream;
    (void)data;
    CHECK(CU(cuStreamCreate)(&stream, 1) == 0);
    launch_all(stream);
    return NULL;
}

static void *into_shared(void *data) {
    (void)data;
    launch_all(shared);
    return NULL;
}

static void at_once(void *(*run)(void *)) {
    pthread_t threads[THREADS];
    CHECK(pthread_barrier_init(&all_there, NULL, THREADS) == 0);
    for (int at = 0; at < THREADS; at++) {
        threads[at] = started(run, NULL);
    }
    for (int at = 0; at < THREADS; at++) {
        joined(threads[at]);
    }
}

static void apart(void) { at_once(into_own); }

static void together(void) {
    CHECK(CU(cuStreamCreate)(&shared, 1) == 0);
    at_once(into_shared);
}

static sem_t is_in, may_go;

static void *launches_long(void *data) {
    (void)data;
    STANDIN(standin_plan)((struct standin_plan){.taken = &is_in, .let_go = &may_go});
    CHECK(launch_into(shared, 1) == 0);
    return NULL;
}

/* Two launches into one stream overlap; those after them follow each other. */
static void overlapping(void) {
    CHECK(CU(cuStreamCreate)(&shared, 1) == 0);
    CHECK(sem_init(&is_in, 0, 0) == 0 && sem_init(&may_go, 0, 0) == 0);
    pthread_t other = started(launches_long, NULL);
    sem_wait(&is_in);
    CHECK(launch_into(shared, 1) == 0);
    sem_post(&may_go);
    joined(other);
    for (unsigned at = 0; at < 10; at++) {
        CHECK(launch_into(shared, 1) == 0);
    }
}

/* Streams are made and launched into, and recording is switched off and on in between: a handle may be another stream's
 * each time. */
static void switched(void) {
    for (unsigned phase = 0; phase < 5; phase++) {
        CUstream streams[3];
        for (int at = 0; at < 3; at++) {
            CHECK(CU(cuStreamCreate)(&streams[at], 1) == 0);
        }
        for (unsigned at = 0; at < 30; at++) {
            CHECK(launch_into(streams[at % 3], 1) == 0);
        }
        for (int at = 0; at < 3; at++) {
            CHECK(CU(cuStreamSynchronize)(streams[at]) == 0 && CU(cuStreamDestroy_v2)(streams[at]) == 0);
        }
        switch_recording();
    }
}

/* Launches that look alike, more than are kept. */
static void much(void) {
    CUstream stream;
    CHECK(CU(cuStreamCreate)(&stream, 1) == 0);
    for (unsigned at = 0; at < 20000; at++) {
        CHECK(launch_into(stream, 1) == 0);
    }
}

int main(int count, char **words) {
    CUcontext context;
    bind_driver();
    CHECK(count == 2 && CU(cuInit)(0) == 0 && CU(cuCtxCreate_v2)(&context, 0, 0) == 0);
    static const struct scenario all[] = {
        {"alone", alone},
        {"profiled", profiled},
        {"apart", apart},
        {"together", together},
        {"overlapping", overlapping},
        {"switched", switched},
        {"much", much},
    };
    return RUN_SCENARIO(all);
}
