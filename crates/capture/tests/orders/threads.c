/* Threads, and the steps that they take. */
#include "orders.h"

#include <ctype.h>
#include <sys/syscall.h>

__thread struct me *me;

/* All threads there were, for the facts. */
static struct me all[MOST_THREADS];
static int used;

struct me *begin_thread(int worker, int calls) {
    int at = __atomic_fetch_add(&used, 1, __ATOMIC_SEQ_CST);
    NEED(at < MOST_THREADS);
    all[at] = (struct me){.tid = gettid(), .worker = worker, .calls = calls, .top = -1, .floor = -1};
    me = &all[at];
    if (calls) {
        call_driver(LAUNCH, 1);
    }
    return me;
}

const struct me *threads(int *count) {
    *count = __atomic_load_n(&used, __ATOMIC_SEQ_CST);
    return all;
}

void announce(void) {
    int *where = me->announces;
    me->announces = NULL;
    if (where) {
        __atomic_store_n(where, me->tid, __ATOMIC_SEQ_CST);
    }
}

pthread_t start(void *(*run)(void *), void *data) {
    pthread_t thread;
    NEED(pthread_create(&thread, NULL, run, data) == 0);
    return thread;
}

void nap(long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    while (nanosleep(&time, &time) != 0) {
    }
}

struct timespec later(clockid_t clock, long ms) {
    struct timespec time;
    NEED(clock_gettime(clock, &time) == 0);
    time.tv_sec += ms / 1000;
    time.tv_nsec += ms % 1000 * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

/* What the kernel says of a thread: 'S' for one that sleeps until something happens. */
static char state_of(int tid) {
    char path[64], text[128];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    ssize_t length = read(file, text, sizeof text - 1);
    NEED(close(file) == 0);
    text[length > 0 ? length : 0] = 0;
    char *name = strrchr(text, ')');
    return name ? name[2] : 0;
}

int falls_asleep(const int *tid) {
    enum { LOOKS = 150 };
    int before = 0;
    for (int look = 0; look < LOOKS; look++) {
        int going = __atomic_load_n(tid, __ATOMIC_SEQ_CST);
        int sleeps = going != 0 && state_of(going) == 'S';
        if (sleeps && before) {
            return 1;
        }
        before = sleeps;
        nap(sleeps ? 20 : 100);
    }
    return 0;
}

static void compute(long us) {
    unsigned long until = now_ns() + 1000 * (unsigned long)us;
    while (now_ns() < until) {
    }
}

static void allocate(int number) {
    void *kept[12];
    for (int at = 0; at < number; at++) {
        size_t size = (size_t)16 << (at % 10);
        kept[at] = at % 3 ? malloc(size) : calloc(1, size);
        NEED(kept[at]);
        ((volatile char *)kept[at])[0] = 1;
    }
    for (int at = 0; at < number; at++) {
        free(kept[at]);
    }
}

static void run_held(struct op *op) {
    if (acquire(op->lock, (enum how)op->how, op->is_shared)) {
        run(op->body);
        release(op->lock, op->is_shared);
    }
}

static void run_chain(struct op *op) {
    acquire(op->lock, PLAIN, 0);
    acquire(op->other, PLAIN, 0);
    release(op->lock, 0);
    run(op->body);
    release(op->other, 0);
}

static void run_one(struct op *op) {
    switch (op->what) {
    case ACQUIRE: run_held(op); break;
    case CHAIN: run_chain(op); break;
    case ITERATE: iterate(op); break;
    case SYMBOL: look_up_symbol(); break;
    case ADDRESS: look_up_address(); break;
    case REOPEN: reopen(); break;
    case LIBRARY: load(op); break;
    case CALLS: call_driver(op->how, op->number); break;
    case ALLOCATE: allocate(op->number); break;
    case COMPUTE: compute(op->number); break;
    case NAP: nap(op->number); break;
    case SPAWN: spawn(op); break;
    case CHILD: make_child((enum child)op->how); break;
    case RAISE: raise_signal(); break;
    case MEET: meet(op->scene); break;
    case WAIT: wait_in(op->scene); break;
    case HOLD: hold_in(op->scene, op->body); break;
    case CANCEL: cancel(op->how); break;
    }
}

void run(struct op *op) {
    for (; op; op = op->next) {
        run_one(op);
    }
}

void run_worker(int worker) {
    begin_thread(worker, program.calls_driver[worker]);
    run(program.workers[worker]);
}
