/*
 * gperftools' profiler is preloaded: SIGPROF unwinds the stack of whatever thread is on a processor.
 * Expected: it ends as bare, and every call is recorded.
 */
#include "adversary.h"

static void *works(void *data) {
    volatile unsigned long sum = 0;
    for (int at = 0; at < 100; at++) {
        calls(20);
        for (int step = 0; step < 200000; step++) {
            sum += (unsigned long)step;
        }
    }
    slow_call(2);
    return data;
}

int main(void) {
    begin();
    pthread_t threads[] = {started(works, NULL), started(works, NULL)};
    joined(threads[0]), joined(threads[1]);
    puts("done");
    fflush(stdout);
    /* The profiler prints its numbers, which differ from run to run. */
    CHECK(freopen("/dev/null", "w", stderr));
    return 0;
}
