/* Makes the program of a seed: the same one each time. What may follow what keeps it free of deadlocks. */
#include "orders.h"

struct program program;

uint64_t draw(struct random *random) {
    /* splitmix64: a counter, mixed. */
    uint64_t mixed = random->state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

int below(struct random *random, int limit) { return (int)(draw(random) % (uint64_t)limit); }

int chance(struct random *random, int percent) { return below(random, 100) < percent; }

static struct random dice;

/* What a thread holds where a step is made. */
struct context {
    int top;     /* highest rank that it holds, or that it must stay above */
    int held[MOST_LOCKS];
    int depth;
    int calls;   /* it calls the driver */
    int loads;   /* it may load libraries from this number on */
};

/* Children and threads within threads take time: a program has few. */
static int children_left, threads_left, next_library;

static struct op *make(enum what what) {
    static struct op ops[1 << 16];
    static size_t used;
    NEED(used < sizeof ops / sizeof *ops);
    struct op *op = &ops[used++];
    op->what = what;
    return op;
}

static int may_take(const struct context *context, int rank) {
    return context->held[rank] || rank > context->top;
}

static int is_loaders(int rank) {
    return rank == program.loader || rank == program.storage || rank == program.objects;
}

/* dlopen and dlclose are allowed. */
static int may_load(const struct context *context) {
    return may_take(context, program.loader) && may_take(context, program.storage) &&
           may_take(context, program.objects);
}

static struct context holding(struct context context, int rank) {
    context.held[rank] = 1;
    context.top = rank > context.top ? rank : context.top;
    context.depth++;
    return context;
}

/* A lock that may be waited for; -1 if there is none. */
static int some_lock(const struct context *context, int above) {
    int found[MOST_LOCKS], count = 0;
    for (int rank = above + 1; rank < program.locks_count; rank++) {
        int is_again = context->held[rank] && program.locks[rank].kind == RECURSIVE;
        if (!is_loaders(rank) && (is_again || !context->held[rank])) {
            found[count++] = rank;
        }
    }
    return count ? found[below(&dice, count)] : -1;
}

static struct op *steps(struct context context, int count);

static enum how some_way(void) {
    static const enum how ways[] = {PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, TIMED, CLOCKED, TRIED, IMPATIENT};
    return ways[below(&dice, sizeof ways / sizeof *ways)];
}

static int is_shared(int rank) { return is_rwlock(rank) && chance(&dice, 60); }

static struct op *acquire_some(struct context context) {
    enum how how = some_way();
    /* Who only tries waits for nobody: the rank does not matter. */
    int rank = some_lock(&context, how == TRIED ? -1 : context.top);
    if (rank < 0) {
        return NULL;
    }
    struct op *op = make(ACQUIRE);
    op->lock = rank, op->how = how, op->is_shared = is_shared(rank);
    op->body = steps(holding(context, rank), 1 + below(&dice, 3));
    return op;
}

/* Hand over hand. */
static struct op *chain(struct context context) {
    int first = some_lock(&context, context.top);
    if (first < 0 || context.held[first]) {
        return NULL;
    }
    int second = some_lock(&context, first);
    if (second < 0 || context.held[second]) {
        return NULL;
    }
    struct op *op = make(CHAIN);
    op->lock = first, op->other = second;
    op->body = steps(holding(context, second), 1 + below(&dice, 2));
    return op;
}

static struct op *iterate_objects(struct context context) {
    if (!may_take(&context, program.objects)) {
        return NULL;
    }
    struct op *op = make(ITERATE);
    op->number = chance(&dice, 70) ? 1 : 3;
    struct context within = holding(context, program.objects);
    within.loads = MOST_LIBRARIES;
    op->body = steps(within, 1 + below(&dice, 2));
    return op;
}

static struct op *load_some(struct context context) {
    int left = SHARED_LIBRARIES - context.loads;
    if (left <= 0 || !may_load(&context)) {
        return NULL;
    }
    struct op *op = make(LIBRARY);
    op->number = context.loads + below(&dice, left);
    return op;
}

static struct op *spawn_some(struct context context) {
    if (threads_left == 0 || !may_take(&context, program.storage) || context.depth > 4) {
        return NULL;
    }
    threads_left--;
    struct op *op = make(SPAWN);
    /* The thread holds nothing, but a thread that waits for its end does. */
    struct context within = {.top = context.top, .depth = context.depth + 1, .loads = MOST_LIBRARIES};
    within.calls = chance(&dice, 60) && context.calls;
    op->how = (within.calls ? THAT_CALLS : 0) | (int[]){0, 0, WITH_TIME, WITH_CLOCK}[below(&dice, 4)];
    if (may_take(&context, program.loader) && chance(&dice, 30)) {
        op->how |= THAT_EXITS;
    }
    int lock = some_lock(&within, within.top);
    if (lock >= 0 && program.locks[lock].kind == ROBUST) {
        op->how |= THAT_DIES, op->lock = lock;
        within = holding(within, lock);
    }
    op->body = steps(within, 1 + below(&dice, 3));
    return op;
}

static struct op *make_some_child(struct context context) {
    if (children_left == 0) {
        return NULL;
    }
    enum child how = (enum child)below(&dice, CHILDREN);
    /* C libraries differ in which of their locks a fork takes. */
    if (how <= FORK_EXEC && !may_load(&context)) {
        how = BARE_FORK;
    }
    children_left--;
    struct op *op = make(CHILD);
    op->how = how;
    return op;
}

static struct op *numbered(enum what what, int number) {
    struct op *op = make(what);
    op->number = number;
    return op;
}

static struct op *call_some(struct context context) {
    if (!context.calls) {
        return NULL;
    }
    struct op *op = numbered(CALLS, 1 + below(&dice, 6));
    op->how = below(&dice, FUNCTIONS);
    return op;
}

static struct op *ask_loader(struct context context, enum what what) {
    return (what == REOPEN ? may_load(&context) : may_take(&context, program.loader)) ? make(what) : NULL;
}

/* A step; NULL where the one that was drawn is not allowed. */
static struct op *some_step(struct context context) {
    int drawn = below(&dice, context.depth < 4 ? 100 : 50);
    if (drawn < 10) {
        return call_some(context);
    } else if (drawn < 25) {
        return numbered(NAP, 20 + below(&dice, 250));
    } else if (drawn < 31) {
        return numbered(COMPUTE, 1 + below(&dice, 30));
    } else if (drawn < 37) {
        return numbered(ALLOCATE, 1 + below(&dice, 12));
    } else if (drawn < 46) {
        return ask_loader(context, drawn < 40 ? SYMBOL : drawn < 43 ? ADDRESS : REOPEN);
    } else if (drawn < 48) {
        return make(RAISE);
    } else if (drawn < 50) {
        return make_some_child(context);
    } else if (drawn < 74) {
        return acquire_some(context);
    } else if (drawn < 78) {
        return chain(context);
    } else if (drawn < 90) {
        return iterate_objects(context);
    } else if (drawn < 95) {
        return load_some(context);
    }
    return spawn_some(context);
}

static struct op *steps(struct context context, int count) {
    struct op *first = NULL, **last = &first;
    for (int at = 0; at < count; at++) {
        struct op *op = some_step(context);
        if (op) {
            *last = op, last = &op->next;
        }
    }
    return first;
}

static void make_locks(void) {
    static const enum kind kinds[] = {NORMAL, NORMAL, NORMAL, ADAPTIVE, RECURSIVE, CHECKED, INHERITING, ROBUST,
                                      ROBUST, RWLOCK, RWLOCK, FAIR_RWLOCK, SEMAPHORE, MONITOR};
    program.locks_count = 5 + below(&dice, MOST_LOCKS - 4);
    for (int rank = 0; rank < program.locks_count; rank++) {
        program.locks[rank].kind = kinds[below(&dice, sizeof kinds / sizeof *kinds)];
    }
    program.objects = 2 + below(&dice, program.locks_count - 2);
    program.storage = 1 + below(&dice, program.objects - 1);
    program.loader = below(&dice, program.storage);
    program.locks[program.loader].kind = LOADER;
    program.locks[program.storage].kind = STORAGE;
    program.locks[program.objects].kind = OBJECTS;
}

/* `inner` within locks of lower ranks than `limit`; the highest one is `top` then. */
static struct op *wrapped(struct op *inner, int limit, int *top) {
    int ranks[MOST_LOCKS], count = 0;
    for (int rank = 0; rank < limit && count < 3; rank++) {
        int is_taken = rank == program.storage || (rank == program.loader && next_library == MOST_LIBRARIES);
        if (!is_taken && chance(&dice, is_loaders(rank) ? 45 : 25)) {
            ranks[count++] = rank;
            *top = rank;
        }
    }
    while (count-- > 0) {
        int rank = ranks[count];
        struct op *outer = make(rank == program.objects ? ITERATE : rank == program.loader ? LIBRARY : ACQUIRE);
        outer->body = inner;
        if (outer->what == ACQUIRE) {
            outer->lock = rank, outer->is_shared = is_shared(rank);
        } else {
            outer->number = outer->what == ITERATE ? 1 : next_library++;
        }
        inner = outer;
    }
    return inner;
}

static struct op *in_scene(enum what what, struct scene *scene) {
    struct op *op = make(what);
    op->scene = scene;
    return op;
}

static enum awaited some_scene(void) {
    static const enum awaited all[] = {OF_LOCK, OF_LOCK, OF_LOCK, OF_LOCK, OF_FLAG, OF_EVENT, OF_BARRIER, OF_COPY,
                                       OF_ALLOCATION, OF_TURNS};
    return all[below(&dice, sizeof all / sizeof *all)];
}

/* Draws who takes part: the holder first. */
static void cast(struct scene *scene) {
    int order[MOST_WORKERS];
    int count = program.workers_count;
    for (int at = 0; at < count; at++) {
        order[at] = at;
    }
    for (int at = count - 1; at > 0; at--) {
        int with = below(&dice, at + 1), kept = order[at];
        order[at] = order[with], order[with] = kept;
    }
    scene->holder = order[0];
    scene->count = scene->awaited == OF_BARRIER ? 1 + below(&dice, count - 1) : 1;
    for (int at = 0; at < scene->count; at++) {
        scene->waiters[at] = order[1 + at];
    }
    int needs_calls = scene->awaited == OF_COPY || scene->awaited == OF_ALLOCATION;
    int both_call = program.calls_driver[scene->waiters[0]] && !program.is_early[scene->holder];
    if (needs_calls && !both_call) {
        scene->awaited = OF_FLAG;
    }
}

static void draw_lock(struct scene *scene) {
    struct context empty = {.top = -1};
    int limit = program.locks_count;
    scene->lock = some_lock(&empty, below(&dice, limit) - 1);
    if (scene->lock < 0) {
        scene->lock = some_lock(&empty, -1);
    }
    if (scene->lock < 0) {
        scene->awaited = OF_EVENT;
        return;
    }
    int shared = is_rwlock(scene->lock) ? below(&dice, 3) : 0;
    scene->is_shared[0] = shared == 1, scene->is_shared[1] = shared == 2;
    scene->how = (int[]){PLAIN, PLAIN, TIMED, CLOCKED}[below(&dice, 4)];
}

static void append(int worker, struct op *op) {
    struct op **last = &program.workers[worker];
    while (*last) {
        last = &(*last)->next;
    }
    *last = op;
}

static void make_scene(struct scene *scene) {
    scene->awaited = some_scene();
    cast(scene);
    scene->lock = -1;
    if (scene->awaited == OF_LOCK) {
        draw_lock(scene);
    }
    scene->rounds = 1 + below(&dice, 20);
    int top = -1;
    struct op *wait = in_scene(WAIT, scene), *hold = in_scene(HOLD, scene);
    if (scene->awaited != OF_BARRIER && scene->awaited != OF_TURNS) {
        wait = wrapped(wait, scene->awaited == OF_LOCK ? scene->lock : program.locks_count, &top);
        append(scene->waiters[0], in_scene(MEET, scene));
    }
    for (int at = 0; at < scene->count; at++) {
        append(scene->waiters[at], at == 0 ? wait : in_scene(WAIT, scene));
    }
    if (scene->awaited == OF_LOCK || scene->awaited == OF_FLAG || scene->awaited == OF_EVENT) {
        struct context within = {.top = top, .depth = 2, .calls = program.calls_driver[scene->holder]};
        if (scene->awaited == OF_LOCK) {
            within = holding(within, scene->lock);
        }
        hold->body = steps(within, below(&dice, 4));
    }
    append(scene->holder, hold);
}

static void add_noise(int worker) {
    struct context empty = {.top = -1, .calls = program.calls_driver[worker]};
    append(worker, steps(empty, below(&dice, 5)));
}

static void make_libraries(void) {
    struct context within = {.top = -1, .depth = 2, .calls = 0};
    within = holding(within, program.loader);
    for (int at = 0; at < SHARED_LIBRARIES; at++) {
        within.loads = at + 1;
        program.libraries[at].constructor = steps(within, below(&dice, 4));
        within.loads = MOST_LIBRARIES;
        program.libraries[at].destructor = steps(within, below(&dice, 3));
    }
}

static void draw_circumstances(void) {
    program.is_hooked = chance(&dice, 40) ? 1 + below(&dice, 2) : 0;
    program.has_timer = chance(&dice, 30) ? 500 + below(&dice, 2500) : 0;
    program.restarts = chance(&dice, 50);
    program.daemons = chance(&dice, 25) ? 1 + below(&dice, 2) : 0;
    program.are_busy = chance(&dice, 50);
    program.ending = (enum ending)below(&dice, ENDINGS);
    if (program.daemons && program.ending == LAST_THREAD) {
        program.ending = EXIT;
    }
    children_left = chance(&dice, 40) ? 1 + below(&dice, 3) : 0;
    threads_left = below(&dice, 8);
    next_library = SHARED_LIBRARIES;
    struct context empty = {.top = -1};
    int lock = some_lock(&empty, -1);
    /* The driver is initialized by a look into the loader. */
    program.init_lock = chance(&dice, 30) && lock >= 0 && lock < program.loader ? lock : -1;
}

void make_program(uint64_t seed) {
    program.seed = seed;
    dice.state = seed * 0xd1342543de82ef95u + 1;
    make_locks();
    draw_circumstances();
    program.workers_count = 2 + below(&dice, MOST_WORKERS - 1);
    for (int worker = 0; worker < program.workers_count; worker++) {
        program.is_early[worker] = worker > 0 && chance(&dice, 10);
        program.calls_driver[worker] = !program.is_early[worker] && chance(&dice, 85);
    }
    make_libraries();
    program.scenes_count = 1 + below(&dice, MOST_SCENES);
    for (int scene = 0; scene < program.scenes_count; scene++) {
        for (int worker = 0; worker < program.workers_count; worker++) {
            if (chance(&dice, 60)) {
                add_noise(worker);
            }
        }
        make_scene(&program.scenes[scene]);
    }
    for (int worker = 0; worker < program.workers_count; worker++) {
        add_noise(worker);
        if (chance(&dice, 10)) {
            struct op *op = make(CANCEL);
            op->how = below(&dice, 4);
            append(worker, op);
        }
    }
}
