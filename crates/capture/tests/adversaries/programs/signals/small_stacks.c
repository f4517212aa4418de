/*
 * Handlers run on alternate stacks of a few KiB, coroutines on stacks of 16 KiB that move from thread to thread, threads on the
 * smallest stack that there is, and recursions end close to the end of theirs. Below each stack lies a page that must not
 * be touched. The only word names the kind.
 * Expected: it ends as bare, and every call is recorded.
 */
#include "adversary.h"

#include <limits.h>
#include <sys/auxv.h>
#include <ucontext.h>

enum { PAGE = 4096 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A stack above a page that must not be touched. */
static char *stack(size_t bytes) {
    char *room = mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(room != MAP_FAILED && mprotect(room, PAGE, PROT_NONE) == 0);
    return room + PAGE;
}

static void *holds(void *data) {
    pthread_mutex_lock(&lock);
    SET(*(int *)data);
    nap_us(20000);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* A slow call, and a wait for a lock that another thread holds. */
static void calls_and_waits(void) {
    static int is_held;
    calls(10);
    slow_call(2);
    is_held = 0;
    pthread_t holder = started(holds, &is_held);
    AWAIT(is_held);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    joined(holder);
    calls(10);
}

static pthread_t of_handler;
static int is_held;

static void handles(int signal) {
    (void)signal;
    calls(10);
    slow_call(2);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

/* On a stack of so many bytes besides what the kernel itself writes there. */
static void on_alternate_stack(size_t bytes) {
    bytes += getauxval(AT_MINSIGSTKSZ);
    stack_t alternate = {.ss_sp = stack(bytes), .ss_size = bytes};
    struct sigaction action = {.sa_handler = handles, .sa_flags = SA_ONSTACK};
    CHECK(sigaltstack(&alternate, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    of_handler = started(holds, &is_held);
    AWAIT(is_held);
    raise(SIGUSR1);
    joined(of_handler);
}


static ucontext_t scheduler, coroutine;

static void is_coroutine(void) {
    for (;;) {
        calls_and_waits();
        swapcontext(&coroutine, &scheduler);
    }
}

static void *resumes(void *data) {
    swapcontext(&scheduler, &coroutine);
    return data;
}

/* One thread begins the coroutine, others go on with it. */
static void in_coroutines(void) {
    enum { ROOM = 16 * 1024 };
    CHECK(getcontext(&coroutine) == 0);
    coroutine.uc_stack.ss_sp = stack(ROOM), coroutine.uc_stack.ss_size = ROOM;
    makecontext(&coroutine, is_coroutine, 0);
    resumes(NULL);
    for (int at = 0; at < 4; at++) {
        joined(started(resumes, NULL));
    }
}

static void *runs(void *data) {
    calls_and_waits();
    return data;
}

static void on_smallest_stack(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0);
    CHECK(pthread_create(&thread, &attributes, runs, NULL) == 0);
    joined(thread);
}

/* Calls where so many bytes of the stack are left. */
static __attribute__((noinline)) void recurses(const char *end, long left) {
    volatile char frame[512];
    frame[0] = 0;
    if ((const char *)frame - end > left + 1024) {
        recurses(end, left);
    } else {
        calls_and_waits();
    }
    frame[1] = 0;
}

static const char *lowest;

static void *runs_near_end(void *data) {
    recurses(lowest, 12 * 1024);
    return data;
}

static void near_end(void) {
    enum { ROOM = 64 * 1024 };
    pthread_attr_t attributes;
    pthread_t thread;
    char *room = stack(ROOM);
    lowest = room;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, room, ROOM) == 0);
    CHECK(pthread_create(&thread, &attributes, runs_near_end, NULL) == 0);
    joined(thread);
}

int main(int count, char **words) {
    static const struct scenario all[] = {
        {"coroutines", in_coroutines}, {"smallest", on_smallest_stack}, {"near-end", near_end}};
    begin();
    if (count == 3 && strcmp(words[1], "handler") == 0) {
        on_alternate_stack((size_t)atol(words[2]));
        puts("done");
        return 0;
    }
    return RUN_SCENARIO(all);
}
