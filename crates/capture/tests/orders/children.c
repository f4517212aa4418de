/* Processes that the program makes, by each way there is, with any locks held. */
#include "orders.h"

#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;
extern pid_t _Fork(void);

/* A child that runs on makes so many calls, and ends with this status. */
enum { CALLS_OF_CHILD = 6, STATUS_OF_CHILD = 3 };

static const char *own_path;

void prepare_children(const char *path) { own_path = path; }

/* What may be done in a child of a process with threads: no lock that another thread may have held. */
static void live_on(void) {
    sem_t never;
    CUcontext context;
    unsigned word;
    sem_init(&never, 0, 0);
    for (int at = 0; at < CALLS_OF_CHILD / 2; at++) {
        struct timespec until = later(CLOCK_REALTIME, 1);
        CU(cuMemsetD32Async)((CUdeviceptr)(uintptr_t)&word, 1, 1, NULL);
        CU(cuCtxSynchronize)();
        CU(cuCtxGetCurrent)(&context);
        while (sem_timedwait(&never, &until) != 0 && errno == EINTR) {
        }
    }
}

/* Children of one that is made by fork may use the allocator. */
static void live_on_and_allocate(void) {
    void *memory = malloc(100);
    live_on();
    free(memory);
}

static int live_shared(void *data) {
    struct timespec time = {0, 100000};
    syscall(SYS_nanosleep, &time, NULL);
    *(int *)data = 1;
    return STATUS_OF_CHILD;
}

/* With its parent's memory, in which it alone runs on this thread's behalf. */
static pid_t clone_shared(void) {
    static __thread char stack[16384] __attribute__((aligned(64)));
    int ran = 0;
    pid_t child = clone(live_shared, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &ran);
    NEED(child < 0 || ran);
    return child;
}

static pid_t spawn_process(void) {
    char path[3072], word[] = "child";
    char *const words[] = {path, word, NULL};
    pid_t child;
    snprintf(path, sizeof path, "%s", own_path);
    NEED(posix_spawn(&child, path, NULL, NULL, words, environ) == 0);
    return child;
}

static pid_t fork_in_any_way(enum child how) {
    return how == FORK        ? fork()
           : how == BARE_FORK ? _Fork()
                              : (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, NULL, NULL, NULL, NULL);
}

static pid_t make_process(enum child how) {
    pid_t child;
    switch (how) {
    case VFORK:
        child = vfork();
        if (child == 0) {
            _exit(STATUS_OF_CHILD);
        }
        return child;
    case POSIX_SPAWN: return spawn_process();
    case CLONE_SHARED: return clone_shared();
    default:
        child = fork_in_any_way(how);
        if (child != 0) {
            return child;
        }
        if (how == FORK) {
            live_on_and_allocate();
        } else {
            live_on();
        }
        if (how == CLONE) {
            syscall(SYS_exit_group, STATUS_OF_CHILD);
        }
        _exit(STATUS_OF_CHILD);
    }
}

void make_child(enum child how) {
    int status;
    pid_t child = make_process(how);
    NEED(child > 0);
    while (waitpid(child, &status, 0) != child) {
        NEED(errno == EINTR);
    }
    NEED(WIFEXITED(status) && WEXITSTATUS(status) == STATUS_OF_CHILD);
    known_child(child, how == VFORK || how == CLONE_SHARED ? 0 : CALLS_OF_CHILD);
}

int be_spawned(void) {
    initialize_driver();
    for (int at = 0; at < CALLS_OF_CHILD; at++) {
        NEED(launch() == 0);
    }
    return STATUS_OF_CHILD;
}
