/*
 * orders SEED: runs the random program of a seed. `print SEED` shows it, `hang` never ends. Other words are for the
 * program's own children.
 */
#include "orders.h"

#include <signal.h>

_Noreturn void fail(const char *file, int line, const char *what) {
    char text[400];
    const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    int length = snprintf(text, sizeof text, "%s:%d: not so: %s (errno %d)\n", name, line, what, errno);
    if (length > 0 && write(2, text, (size_t)length) < 0) {
        _exit(98);
    }
    _exit(99);
}

static sem_t never;
static pthread_mutex_t shared_by_daemons = PTHREAD_MUTEX_INITIALIZER;

/* Something of everything, until the process ends. */
static void go_round(void) {
    struct op call = {.what = CALLS, .how = LAUNCH, .number = 3};
    struct op walk = {.what = ITERATE, .number = 1, .body = &call};
    run(&walk);
    NEED(pthread_mutex_lock(&shared_by_daemons) == 0);
    void *volatile memory = malloc(100);
    free(memory);
    nap(200);
    NEED(pthread_mutex_unlock(&shared_by_daemons) == 0);
}

static void *be_daemon(void *data) {
    (void)data;
    block_signals();
    begin_thread(-2, 1);
    while (program.are_busy) {
        go_round();
    }
    for (;;) {
        sem_wait(&never);
    }
    return NULL;
}

static void *be_worker(void *data) {
    run_worker((int)(intptr_t)data);
    return NULL;
}

static void *just_exit(void *data) { pthread_exit(data); }

/* The C library loads what unwinds stacks when a thread first ends so: while nothing is held. */
static void prepare_unwinding(void) {
    pthread_t thread;
    NEED(pthread_create(&thread, NULL, just_exit, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static void prepare(const char *path) {
    NEED(sem_init(&never, 0, 0) == 0);
    prepare_unwinding();
    prepare_children(path);
    set_libraries_path(path);
    prepare_handlers();
    for (int rank = 0; rank < program.locks_count; rank++) {
        make_lock(&program.locks[rank]);
    }
}

static void start_workers(pthread_t *workers, int early) {
    for (int worker = 1; worker < program.workers_count; worker++) {
        if (program.is_early[worker] == early) {
            workers[worker] = start(be_worker, (void *)(intptr_t)worker);
        }
    }
}

static void begin_driver(void) {
    if (program.init_lock >= 0) {
        acquire(program.init_lock, PLAIN, 0);
    }
    int idles = loader_idles();
    initialize_driver();
    program.was_busy = idles < 0 || !loader_was_idle(idles);
    if (program.init_lock >= 0) {
        release(program.init_lock, 0);
    }
    me->calls = program.calls_driver[0];
    if (me->calls) {
        call_driver(LAUNCH, 1);
    }
}

/* No increment was lost. */
static void check_sums(void) {
    long sums = 0, entered = 0;
    int count;
    const struct me *all = threads(&count);
    for (int rank = 0; rank < program.locks_count; rank++) {
        sums += program.locks[rank].sum;
    }
    for (int at = 0; at < count; at++) {
        entered += all[at].entered;
    }
    NEED(sums == entered);
}

static int end(void) {
    char text[64];
    int length = snprintf(text, sizeof text, "seed %lu ended\n", (unsigned long)program.seed);
    NEED(write(1, text, (size_t)length) == length);
    switch (program.ending) {
    case EXIT: exit(5);
    case UNDERSCORE_EXIT: _exit(6);
    case LAST_THREAD: pthread_exit(NULL);
    case KILLED: kill(getpid(), SIGKILL); /* fall through */
    default: return 0;
    }
}

static int run_program(const char *path) {
    pthread_t workers[MOST_WORKERS];
    prepare(path);
    begin_thread(0, 0);
    /* Scenes are made ready by the first thread, in which the driver is not initialized yet. */
    for (int scene = 0; scene < program.scenes_count; scene++) {
        prepare_scene(&program.scenes[scene]);
    }
    start_hook();
    start_workers(workers, 1);
    begin_driver();
    for (int at = 0; at < program.daemons; at++) {
        NEED(pthread_detach(start(be_daemon, NULL)) == 0);
    }
    start_timer();
    start_workers(workers, 0);
    run(program.workers[0]);
    for (int worker = 1; worker < program.workers_count; worker++) {
        NEED(pthread_join(workers[worker], NULL) == 0);
    }
    stop_timer();
    check_sums();
    write_facts();
    return end();
}

/* A thread that waits for itself. */
static int hang(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
    return 0;
}

int main(int count, char **words) {
    bind_driver();
    if (count == 2 && strcmp(words[1], "child") == 0) {
        return be_spawned();
    }
    if (count == 2 && strcmp(words[1], "hang") == 0) {
        return hang();
    }
    NEED(count == 2 || (count == 3 && strcmp(words[1], "print") == 0));
    make_program(strtoull(words[count - 1], NULL, 10));
    if (count == 3) {
        print_program();
        return 0;
    }
    return run_program(words[0]);
}
