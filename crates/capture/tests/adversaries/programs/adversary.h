/*
 * What the adversaries share. A process counts in its ledger the launches that it begins and that end: a file that all processes
 * of the program share, so that a killed one's is there, too. The test compares it with what was recorded (ledger.rs).
 */
#ifndef ADVERSARY_H
#define ADVERSARY_H
#include "program.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { ENTRIES = 1024, CANNOT = 77 };

struct entry {
    uint64_t pid, begun, ended, is_child;
};

static struct entry *ledger;
/* The calling process's. */
static struct entry *mine;

static inline void open_ledger(void) {
    int file = open(getenv("STANDIN_LEDGER"), O_RDWR | O_CLOEXEC);
    CHECK(file >= 0);
    void *shared = mmap(NULL, ENTRIES * sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(shared != MAP_FAILED && close(file) == 0);
    ledger = (struct entry *)shared;
}

/* The entry of a process of that id: a new one, unless the process executed this program. */
static inline struct entry *entry_of(pid_t pid, int is_child) {
    uint64_t found = 0;
    struct entry *entry = ledger;
    while (!__atomic_compare_exchange_n(&entry->pid, &found, (uint64_t)pid, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) &&
           found != (uint64_t)pid) {
        found = 0;
        CHECK(++entry < ledger + ENTRIES);
    }
    entry->is_child = (uint64_t)is_child;
    return entry;
}

/* Launches, counted before they begin and after they ended. */
static inline void calls(int count) {
    for (int at = 0; at < count; at++) {
        struct entry *entry = mine;
        __atomic_add_fetch(&entry->begun, 1, __ATOMIC_SEQ_CST);
        CHECK(launch() == 0);
        __atomic_add_fetch(&entry->ended, 1, __ATOMIC_SEQ_CST);
    }
}

/* Opens the ledger and initializes the driver. */
static inline void begin(void) {
    bind_driver();
    open_ledger();
    mine = entry_of(getpid(), 0);
    CHECK(CU(cuInit)(0) == 0);
}

/* First thing in a child that makes calls. */
static inline void child_begins(void) { mine = entry_of((pid_t)syscall(SYS_getpid), 1); }

/* A child of that id ended with that status. */
static inline void child_ends(pid_t child, int expected) {
    int status = -1;
    CHECK(child > 0);
    while (waitpid(child, &status, 0) != child) {
        CHECK(errno == EINTR);
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == expected);
}

/* Ends the program where its machine cannot do what it is for. */
static inline void cannot(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(CANNOT);
}

static inline void nap_us(long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    while (nanosleep(&time, &time) != 0) {
    }
}

/* A launch within which the driver takes so long. */
static inline void slow_call(int ms) {
    struct standin_plan plan = {0, 0, 0, ms};
    STANDIN(standin_plan)(plan);
    calls(1);
}

/* Flags between threads, looked at without a function that is wrapped. */
#define SET(flag) __atomic_store_n(&(flag), 1, __ATOMIC_SEQ_CST)
#define AWAIT(flag)                                                                                              \
    do {                                                                                                         \
        nap_us(50);                                                                                              \
    } while (!__atomic_load_n(&(flag), __ATOMIC_SEQ_CST))

#endif
