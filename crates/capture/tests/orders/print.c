/* The program as text, for those who look for the cause of a failure. */
#include "orders.h"

static const char *const kinds[] = {"normal", "adaptive", "recursive", "errorcheck", "inherit", "robust",
                                    "rwlock", "fair-rwlock", "semaphore", "monitor", "loader",
                                    "storage", "objects"};
static const char *const ways[] = {"", " timed", " clocked", " tried", " impatient"};
static const char *const functions[] = {"launch", "copy-out", "copy-in", "fill", "alloc", "free", "sync", "query"};
static const char *const children[] = {"fork", "fork-twice", "fork-exec", "_Fork", "vfork", "vfork-exec",
                                       "posix_spawn", "clone", "clone-shared"};
static const char *const awaited[] = {"lock", "flag", "event", "barrier", "copy", "allocation", "turns"};
static const char *const cancelled[] = {"condition", "semaphore", "sleep", "join"};

static void print_ops(const struct op *op, int indent);

static void print_scene(const struct op *op) {
    const struct scene *scene = op->scene;
    const char *what = op->what == MEET ? "meet" : op->what == WAIT ? "wait" : "hold";
    printf("%s scene %d: %s", what, (int)(scene - program.scenes), awaited[scene->awaited]);
    if (scene->lock >= 0) {
        printf(" %d%s%s", scene->lock, ways[op->what == WAIT ? scene->how : PLAIN],
               scene->is_shared[op->what == WAIT] ? " shared" : "");
    }
}

static void print_op(const struct op *op) {
    switch (op->what) {
    case ACQUIRE: printf("acquire %d%s%s", op->lock, ways[op->how], op->is_shared ? " shared" : ""); break;
    case CHAIN: printf("chain %d %d", op->lock, op->other); break;
    case ITERATE: printf("iterate %d", op->number); break;
    case SYMBOL: printf("dlsym"); break;
    case ADDRESS: printf("dladdr"); break;
    case REOPEN: printf("dlopen again"); break;
    case LIBRARY: printf("library %d", op->number); break;
    case CALLS: printf("call %s %d", functions[op->how], op->number); break;
    case ALLOCATE: printf("allocate %d", op->number); break;
    case COMPUTE: printf("compute %d us", op->number); break;
    case NAP: printf("nap %d us", op->number); break;
    case SPAWN:
        printf("spawn%s%s%s", op->how & THAT_CALLS ? ", calls" : "", op->how & THAT_EXITS ? ", exits" : "",
               op->how & WITH_TIME ? ", timed" : op->how & WITH_CLOCK ? ", clocked" : "");
        if (op->how & THAT_DIES) {
            printf(", dies with %d", op->lock);
        }
        break;
    case CHILD: printf("child by %s", children[op->how]); break;
    case RAISE: printf("raise"); break;
    case CANCEL: printf("cancel in %s", cancelled[op->how]); break;
    case MEET:
    case WAIT:
    case HOLD: print_scene(op); break;
    }
}

static void print_ops(const struct op *op, int indent) {
    for (; op; op = op->next) {
        printf("%*s", indent, "");
        print_op(op);
        printf("\n");
        print_ops(op->body, indent + 2);
    }
}

void print_program(void) {
    printf("locks, by rank:");
    for (int rank = 0; rank < program.locks_count; rank++) {
        printf(" %d %s%s", rank, kinds[program.locks[rank].kind], rank + 1 < program.locks_count ? "," : "\n");
    }
    printf("hook %d, timer %d us, restarts %d, lock at init %d, daemons %d busy %d, ending %d\n", program.is_hooked,
           program.has_timer, program.restarts, program.init_lock, program.daemons, program.are_busy, program.ending);
    for (int at = 0; at < SHARED_LIBRARIES; at++) {
        printf("library %d: constructor\n", at);
        print_ops(program.libraries[at].constructor, 2);
        printf("library %d: destructor\n", at);
        print_ops(program.libraries[at].destructor, 2);
    }
    for (int worker = 0; worker < program.workers_count; worker++) {
        printf("thread %d%s%s\n", worker, program.calls_driver[worker] ? ", calls the driver" : "",
               program.is_early[worker] ? ", begins before it" : "");
        print_ops(program.workers[worker], 2);
    }
}
