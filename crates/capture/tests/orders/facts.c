/* What the program knows of itself, for the test: a file, written at the end. */
#include "orders.h"

enum { MOST_FACTS = 256 };

static struct {
    int tid;
    uintptr_t address;
    enum recorded kind;
    unsigned long from, to;
} waits[MOST_FACTS];
static int waits_count;

static struct {
    int pid, calls;
} children[MOST_FACTS];
static int children_count;

void known_wait(int tid, uintptr_t address, enum recorded kind, unsigned long from, unsigned long to) {
    int at = __atomic_fetch_add(&waits_count, 1, __ATOMIC_SEQ_CST);
    NEED(at < MOST_FACTS);
    waits[at].tid = tid, waits[at].address = address, waits[at].kind = kind;
    waits[at].from = from, waits[at].to = to;
}

void known_child(int pid, int calls) {
    int at = __atomic_fetch_add(&children_count, 1, __ATOMIC_SEQ_CST);
    NEED(at < MOST_FACTS);
    children[at].pid = pid, children[at].calls = calls;
}

static void of_scene(struct scene *scene) {
    const struct lock *lock = scene->lock >= 0 ? &program.locks[scene->lock] : NULL;
    for (int at = 0; at < scene->count; at++) {
        struct waiter *waiter = &scene->waiter[at];
        uintptr_t address = 0;
        enum recorded kind = UNRECORDED;
        switch (scene->awaited) {
        case OF_LOCK: address = recorded_address(lock), kind = recorded_kind(lock); break;
        case OF_FLAG: address = (uintptr_t)&scene->condition, kind = AS_CONDITION; break;
        case OF_EVENT: address = (uintptr_t)&scene->semaphore, kind = AS_SEMAPHORE; break;
        case OF_BARRIER: address = (uintptr_t)&scene->barrier, kind = AS_BARRIER; break;
        case OF_COPY: address = (uintptr_t)STANDIN(standin_api_lock)(), kind = AS_RWLOCK; break;
        case OF_ALLOCATION: address = (uintptr_t)STANDIN(standin_memory_lock)(), kind = AS_MUTEX; break;
        case OF_TURNS: break;
        }
        if (kind != UNRECORDED && waiter->is_known && !waiter->is_broken) {
            known_wait(waiter->is_going, address, kind, waiter->from, waiter->to);
        }
    }
}

static void write_fact(FILE *file, const char *name, unsigned long value) { fprintf(file, "%s %lu\n", name, value); }

/* Calls of a function: those of the thread's own, and those of handlers, which may interrupt the recorder. */
static void of_calls(FILE *file, const struct me *thread, int function) {
    unsigned long own = (unsigned long)thread->counts[function];
    unsigned long more = function == QUERY ? (unsigned long)thread->asked_by_handlers : 0;
    if (thread->worker == -2) {
        more = 1ul << 40;
    }
    if (own + more > 0) {
        write_fact(file, "calls-thread", (unsigned long)thread->tid);
        write_fact(file, "calls-function", (unsigned long)function);
        write_fact(file, "calls-least", own);
        write_fact(file, "calls-most", own + more);
    }
}

static void of_threads(FILE *file) {
    int count;
    const struct me *all = threads(&count);
    for (int at = 0; at < count; at++) {
        write_fact(file, "thread", (unsigned long)all[at].tid);
        for (int function = 0; function < FUNCTIONS; function++) {
            of_calls(file, &all[at], function);
        }
    }
}

/* One line each, in the file STANDIN_FACTS. */
void write_facts(void) {
    const char *path = getenv("STANDIN_FACTS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) {
        return;
    }
    for (int at = 0; at < program.scenes_count; at++) {
        of_scene(&program.scenes[at]);
    }
    write_fact(file, "process", (unsigned long)getpid());
    write_fact(file, "loader-busy", (unsigned long)program.was_busy);
    of_threads(file);
    for (int at = 0; at < waits_count; at++) {
        write_fact(file, "wait-thread", (unsigned long)waits[at].tid);
        write_fact(file, "wait-address", waits[at].address);
        write_fact(file, "wait-kind", (unsigned long)waits[at].kind);
        write_fact(file, "wait-from", waits[at].from);
        write_fact(file, "wait-to", waits[at].to);
    }
    for (int at = 0; at < children_count; at++) {
        write_fact(file, "child", (unsigned long)children[at].pid);
        write_fact(file, "child-calls", (unsigned long)children[at].calls);
    }
    NEED(fclose(file) == 0);
}
