/*
 * Servers run with another allocator and with tools of others preloaded; what the test preloads is in its table. The program
 * allocates, makes calls and waits for locks in several threads.
 * Expected: it ends as bare, every call is recorded, and what the tools count is as bare.
 */
#include "adversary.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn;

static void *works(void *data) {
    void *blocks[64] = {0};
    for (int at = 0; at < 2000; at++) {
        free(blocks[at % 64]);
        blocks[at % 64] = malloc((size_t)(at * 37 % 5000));
        memset(blocks[at % 64], at, (size_t)(at * 37 % 5000));
        if (at % 4 == 0) {
            calls(1);
        }
        if (at % 200 == 0) {
            slow_call(1);
        }
    }
    for (int at = 0; at < 64; at++) {
        free(blocks[at]);
    }
    pthread_mutex_lock(&lock);
    while (turn != (int)(intptr_t)data) {
        pthread_cond_wait(&condition, &lock);
    }
    turn++;
    nap_us(1000);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    CUdeviceptr memory;
    begin();
    CHECK(CU(cuMemAlloc_v2)(&memory, 100) == 0 && CU(cuMemFree_v2)(memory) == 0);
    for (intptr_t at = 3; at >= 0; at--) {
        threads[at] = started(works, (void *)at);
    }
    for (int at = 0; at < 4; at++) {
        joined(threads[at]);
    }
    long (*count)(void) = (long (*)(void))dlsym(RTLD_DEFAULT, "hook_count");
    printf("a tool saw some: %d\n", count && count() > 0);
    return 0;
}
