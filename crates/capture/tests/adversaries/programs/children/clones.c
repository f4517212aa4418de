/*
 * Sandboxes, language runtimes and launchers make processes by other calls than `fork`: no handler of `pthread_atfork` runs
 * in these. The only word names the call. The child makes calls, waits for locks and ends.
 * Expected: the parent's recording has its own calls alone.
 */
#include "adversary.h"

#include <spawn.h>

enum { ROOM = 256 * 1024 };

/* The entry of a child that shares the parent's memory: `mine` stays the parent's. */
static struct entry *others;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *holds(void *data) {
    pthread_mutex_lock(&lock);
    SET(*(int *)data);
    nap_us(30000);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Calls and waits as a child does that has its own copy of everything. */
static void lives(void) {
    child_begins();
    calls(300);
    slow_call(2);
}

/* Calls without a function that a child of shared memory must not use. */
static int lives_in_parent(void *data) {
    (void)data;
    for (int at = 0; at < 50; at++) {
        others->begun++;
        launch();
        others->ended++;
    }
    return 3;
}

static char *stack(void) {
    char *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(room != MAP_FAILED);
    return room + ROOM;
}

static void by_fork_without_handlers(void) {
    pid_t child = _Fork();
    if (child == 0) {
        lives();
        _exit(3);
    }
    calls(100);
    child_ends(child, 3);
}

static void by_system_call(void) {
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        lives();
        _exit(3);
    }
    calls(100);
    child_ends(child, 3);
}

static int lives_apart(void *data) {
    (void)data;
    lives();
    return 3;
}

static void by_clone(void) {
    pid_t child = clone(lives_apart, stack(), SIGCHLD, NULL);
    calls(100);
    child_ends(child, 3);
}

static void in_parents_memory(int flags) {
    /* The id is not known yet to the child, which has this thread's variables. */
    others = entry_of(1 << 30, 1);
    pid_t child = clone(lives_in_parent, stack(), flags | SIGCHLD, NULL);
    child_ends(child, 3);
    others->pid = (uint64_t)child;
}

static void by_clone_vm(void) { in_parents_memory(CLONE_VM); }
static void by_clone_vfork(void) { in_parents_memory(CLONE_VM | CLONE_VFORK); }

static void by_vfork(void) {
    others = entry_of(1 << 30, 1);
    pid_t child = vfork();
    if (child == 0) {
        lives_in_parent(NULL);
        _exit(3);
    }
    others->pid = (uint64_t)child;
    child_ends(child, 3);
}

/* The child of `vfork` waits for a lock that another thread of its parent holds. */
static void by_vfork_waiting(void) {
    int is_held = 0;
    pthread_t holder = started(holds, &is_held);
    AWAIT(is_held);
    pid_t child = vfork();
    if (child == 0) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        _exit(3);
    }
    child_ends(child, 3);
    joined(holder);
}

/* A program that is there returns 0. */
static void executes(const char *program, int status) {
    pid_t child = vfork();
    if (child == 0) {
        execl(program, program, NULL);
        _exit(3);
    }
    calls(10);
    child_ends(child, status);
}

static void by_vfork_and_exec(void) {
    for (int at = 0; at < 10; at++) {
        executes("/bin/true", 0);
        executes("/nowhere", 3);
    }
}

static void by_spawn(void) {
    for (int at = 0; at < 20; at++) {
        char *words[] = {(char *)"sh", (char *)"-c", (char *)"exit 3", NULL};
        pid_t child = -1;
        CHECK(posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) == 0);
        calls(10);
        child_ends(child, 3);
    }
}

/* A grandchild, whose parent is gone, is waited for by a pipe's end. */
static void await_end(int file) {
    char byte;
    CHECK(read(file, &byte, 1) == 0);
}

static void by_double_fork(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            nap_us(20000);
            lives();
        }
        _exit(3);
    }
    close(ends[1]);
    child_ends(child, 3);
    calls(100);
    await_end(ends[0]);
}

static void as_daemon(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        CHECK(daemon(1, 1) == 0);
        lives();
        _exit(0);
    }
    close(ends[1]);
    child_ends(child, 0);
    calls(100);
    await_end(ends[0]);
}

static void outlives(void) {
    if (fork() == 0) {
        nap_us(100000);
        lives();
        _exit(0);
    }
    calls(100);
}

static void many(void) {
    for (int at = 0; at < 200; at++) {
        pid_t child = fork();
        if (child == 0) {
            child_begins();
            calls(2);
            _exit(3);
        }
        calls(1);
        child_ends(child, 3);
    }
}

int main(int count, char **words) {
    static const struct scenario all[] = {
        {"_Fork", by_fork_without_handlers}, {"syscall", by_system_call},   {"clone", by_clone},
        {"clone-vm", by_clone_vm},           {"clone-vfork", by_clone_vfork}, {"vfork", by_vfork},
        {"vfork-waits", by_vfork_waiting},   {"vfork-exec", by_vfork_and_exec}, {"spawn", by_spawn},
        {"double-fork", by_double_fork},     {"daemon", as_daemon},         {"outlives", outlives},
        {"many", many},
    };
    begin();
    calls(100);
    return RUN_SCENARIO(all);
}
