/* Processes that the program makes, by each way there is, with any locks held. */
#include "orders.h"

#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;
extern pid_t _Fork(void);

/* A child that runs on makes so many calls, and ends with this status. */
enum { CALLS_OF_CHILD = 6, STATUS_OF_CHILD = 3 };

/* What a child that is replaced by another program runs. */
static char own_path[3072];
static char spawned[] = "child";
static char *const spawned_words[] = {own_path, spawned, NULL};

void prepare_children(const char *path) { snprintf(own_path, sizeof own_path, "%s", path); }

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
    pid_t child;
    NEED(posix_spawn(&child, own_path, NULL, NULL, spawned_words, environ) == 0);
    return child;
}

static void await(pid_t child) {
    int status;
    NEED(child > 0);
    while (waitpid(child, &status, 0) != child) {
        NEED(errno == EINTR);
    }
    NEED(WIFEXITED(status) && WEXITSTATUS(status) == STATUS_OF_CHILD);
}

static _Noreturn void be_child(enum child how, int *grandchild) {
    if (how == FORK_EXEC) {
        execve(own_path, spawned_words, environ);
        _exit(1);
    }
    if (how == FORK_TWICE) {
        pid_t made = fork();
        if (made == 0) {
            live_on_and_allocate();
            _exit(STATUS_OF_CHILD);
        }
        *grandchild = made;
        await(made);
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

static pid_t fork_in_any_way(enum child how, int *grandchild) {
    pid_t child = how == BARE_FORK ? _Fork()
                  : how == CLONE   ? (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, NULL, NULL, NULL, NULL)
                                   : fork();
    if (child == 0) {
        be_child(how, grandchild);
    }
    return child;
}

static pid_t vfork_in_any_way(enum child how) {
    pid_t child = vfork();
    if (child == 0) {
        if (how == VFORK_EXEC) {
            execve(own_path, spawned_words, environ);
        }
        _exit(STATUS_OF_CHILD);
    }
    return child;
}

void make_child(enum child how) {
    /* A child writes the number of its own child here. */
    int *grandchild = mmap(NULL, sizeof *grandchild, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    NEED(grandchild != MAP_FAILED);
    pid_t child = how == POSIX_SPAWN                    ? spawn_process()
                  : how == CLONE_SHARED                 ? clone_shared()
                  : how == VFORK || how == VFORK_EXEC ? vfork_in_any_way(how)
                                                        : fork_in_any_way(how, grandchild);
    await(child);
    known_child(child, how == VFORK || how == CLONE_SHARED ? 0 : CALLS_OF_CHILD);
    if (how == FORK_TWICE) {
        known_child(*grandchild, CALLS_OF_CHILD);
    }
    NEED(munmap(grandchild, sizeof *grandchild) == 0);
}

int be_spawned(void) {
    initialize_driver();
    for (int at = 0; at < CALLS_OF_CHILD; at++) {
        NEED(launch() == 0);
    }
    return STATUS_OF_CHILD;
}
