/* The ways in which programs end, start again and split. */
#include "program.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void calls(int count) {
    for (int at = 0; at < count; at++) {
        CHECK(launch() == 0);
    }
}

static void begin(void) {
    bind_driver();
    CHECK(CU(cuInit)(0) == 0);
    fact("pid", (unsigned long)getpid());
}

static void child_ends_well(pid_t child) {
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    printf("child ended with %d\n", status);
}

static void returns(void) {
    begin();
    calls(100);
}

static void exits_at_once(void) {
    returns();
    fflush(stdout);
    _exit(7);
}

/* The same in a child, as in Python's multiprocessing. */
static void child_exits_at_once(void) {
    bind_driver();
    pid_t child = fork();
    if (child == 0) {
        CHECK(CU(cuInit)(0) == 0);
        calls(30);
        _exit(3);
    }
    child_ends_well(child);
}

static void leaves(int signal) {
    (void)signal;
    _Exit(5);
}

/* A signal handler ends the program, which has handlers of its own for what holdup uses to do so. */
static void exits_in_handler(void) {
    signal(SIGALRM, SIG_IGN), signal(SIGABRT, SIG_IGN), signal(SIGTERM, leaves);
    returns();
    raise(SIGTERM);
}

/* A child that has its parent's memory cannot run a program and ends; then the parent is killed. */
static void child_cannot_run(void) {
    returns();
    pid_t child = vfork();
    if (child == 0) {
        execl("/nowhere", "nowhere", NULL);
        _exit(9);
    }
    child_ends_well(child);
    kill(getpid(), SIGKILL);
}

static void aborts(void) {
    returns();
    abort();
}

static void is_killed(void) {
    returns();
    kill(getpid(), SIGKILL);
}

/* After more operations than CUPTI's first buffer takes. */
static void is_killed_later(void) {
    begin();
    calls(1000);
    kill(getpid(), SIGKILL);
}

static sem_t taken, never;

/* Goes with the process. */
static void *stays_in_call(void *data) {
    (void)data;
    fact("stays", (unsigned long)gettid());
    STANDIN(standin_plan)((struct standin_plan){.taken = &taken, .let_go = &never});
    launch();
    return NULL;
}

/* Killed while a thread is in a call. */
static void is_killed_in_call(void) {
    returns();
    started(stays_in_call, NULL);
    wait_for(&taken);
    kill(getpid(), SIGKILL);
}

static void *keeps_calling(void *data) {
    while (launch() == 0) {
        if (__atomic_add_fetch((long *)data, 1, __ATOMIC_RELAXED) == 20000) {
            sem_post(&taken);
        }
    }
    return NULL;
}

/* Killed while threads write records. */
static void is_killed_anywhere(void) {
    static long count;
    begin();
    for (int at = 0; at < 4; at++) {
        started(keeps_calling, &count);
    }
    wait_for(&taken);
    kill(getpid(), SIGKILL);
}

/* The main thread ends before another one, which goes on calling. */
static void *calls_later(void *data) {
    joined(*(pthread_t *)data);
    calls(50);
    printf("later\n");
    exit(0);
}

static void main_thread_ends_first(void) {
    static pthread_t self;
    self = pthread_self();
    returns();
    started(calls_later, &self);
    pthread_exit(NULL);
}

/* Becomes the same program in another scenario. */
static void becomes_itself(char **words) {
    returns();
    char *next[] = {words[0], "returns", NULL};
    execv("/proc/self/exe", next);
}

/* Splits before there is anything to record: both halves are recorded. */
static void forks_early(void) {
    bind_driver();
    pid_t child = fork();
    CHECK(CU(cuInit)(0) == 0);
    fact(child ? "pid" : "child", (unsigned long)getpid());
    calls(child ? 100 : 30);
    if (child == 0) {
        exit(3);
    }
    child_ends_well(child);
}

/* As before. The child sees another GPU as its first, or the same one. */
static void forks_for_gpus(void) {
    bind_driver();
    pid_t child = fork();
    if (child == 0) {
        CHECK(setenv("STANDIN_GPU", getenv("STANDIN_GPU_OF_CHILD"), 1) == 0);
    } else {
        child_ends_well(child);
    }
    CHECK(CU(cuInit)(0) == 0);
    calls(child ? 100 : 30);
    if (child == 0) {
        exit(3);
    }
}

/* The child of a recorded program calls the driver, as it must not, and ends. */
static void forks_late(void) {
    begin();
    calls(100);
    pid_t child = fork();
    if (child == 0) {
        fact("child", (unsigned long)getpid());
        calls(30);
        exit(3);
    }
    child_ends_well(child);
    calls(10);
}

/* Says that it is done, too, where nothing stops it. */
static void *initializes(void *inside) {
    CHECK(CU(cuInit)(0) == 0);
    sem_post(inside);
    return NULL;
}

/* Splits while another thread is in the middle of the start of the recording; the child starts one of its own. */
static void forks_within_start(void) {
    sem_t *(*inside)(void) = (sem_t * (*)(void)) dlsym(RTLD_DEFAULT, "stuck_inside");
    sem_t *(*go_on)(void) = (sem_t * (*)(void)) dlsym(RTLD_DEFAULT, "stuck_go_on");
    CHECK(inside && go_on);
    bind_driver();
    pthread_t starter = started(initializes, inside());
    wait_for(inside());
    pid_t child = fork();
    if (child == 0) {
        /* It ends by a signal if it waits for a thread that it does not have. */
        alarm(10);
        CHECK(CU(cuInit)(0) == 0);
        fact("child", (unsigned long)getpid());
        calls(30);
        exit(3);
    }
    child_ends_well(child);
    sem_post(go_on());
    joined(starter);
    fact("pid", (unsigned long)getpid());
    calls(100);
}

static void *holds_for_ever(void *data) {
    (void)data;
    STANDIN(standin_plan)((struct standin_plan){.taken = &taken, .let_go = &never});
    launch();
    return NULL;
}

/* As before, with another thread inside the driver, which the child does not have. */
static void forks_with_threads(void) {
    begin();
    started(holds_for_ever, NULL);
    wait_for(&taken);
    pid_t child = fork();
    if (child == 0) {
        calls(30);
        joined(started(keeps_calling, &(long){-30}) /* ends when the process does */);
    }
    CHECK(child > 0);
    kill(child, SIGKILL);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    printf("child killed by %d\n", WTERMSIG(status));
    calls(10);
}

/* Children that run other programs, one by fork, one by what the C library takes for it. */
static void runs_others(void) {
    begin();
    calls(10);
    pid_t child = fork();
    if (child == 0) {
        execlp("true", "true", NULL);
        _exit(1);
    }
    child_ends_well(child);
    printf("shell ended with %d\n", system("exit 5"));
    calls(10);
}

/* Closes the driver's library, and opens it again. */
static void closes_driver(void) {
    begin();
    calls(10);
#ifdef LOOK_UP
    CHECK(dlclose(driver_library) == 0);
    bind_driver();
    CHECK(CU(cuInit)(0) == 0);
#endif
    calls(10);
}

/* No file may grow beyond 100 kB: what cannot be written is dropped, and the program goes on. */
static void limits_file_size(void) {
    struct rlimit limit = {100000, 100000};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    begin();
    calls(10000);
}

/* No file can be opened any more. */
static void uses_up_descriptors(void) {
    struct rlimit limit = {3, 3};
    begin();
    calls(10);
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    calls(10000);
}

int main(int count, char **words) {
    static const struct scenario all[] = {
        {"returns", returns},
        {"exits-at-once", exits_at_once},
        {"child-exits-at-once", child_exits_at_once},
        {"exits-in-handler", exits_in_handler},
        {"child-cannot-run", child_cannot_run},
        {"aborts", aborts},
        {"is-killed", is_killed},
        {"is-killed-later", is_killed_later},
        {"is-killed-in-call", is_killed_in_call},
        {"is-killed-anywhere", is_killed_anywhere},
        {"main-thread-ends-first", main_thread_ends_first},
        {"forks-early", forks_early},
        {"forks-for-gpus", forks_for_gpus},
        {"forks-late", forks_late},
        {"forks-within-start", forks_within_start},
        {"forks-with-threads", forks_with_threads},
        {"runs-others", runs_others},
        {"closes-driver", closes_driver},
        {"limits-file-size", limits_file_size},
        {"uses-up-descriptors", uses_up_descriptors},
    };
    sem_init(&taken, 0, 0);
    sem_init(&never, 0, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (count == 2 && strcmp(words[1], "becomes-itself") == 0) {
        becomes_itself(words);
    }
    return RUN_SCENARIO(all);
}
