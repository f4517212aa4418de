// Samples where the threads of a process spend their processor time, by library.
//
//     void samples_begin(void)             samples the threads that are there, each every tick of its processor time (4 ms at 250 Hz)
//     void samples_end(const char *path)   ends it, and writes the library of each sample, a line each
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

enum { MOST = 1 << 20, MOST_THREADS = 1024 };
static void *seen[MOST];
static atomic_uint count;
static timer_t timers[MOST_THREADS];
static int threads;

static void sample(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    unsigned at = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    if (at < MOST) seen[at] = (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

void samples_begin(void) {
    struct sigaction action = {.sa_sigaction = sample, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks)) && threads < MOST_THREADS;) {
        int tid = atoi(task->d_name);
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
        event._sigev_un._tid = tid;
        // The clock of a thread's processor time, as the C library makes it of the thread's id.
        clockid_t clock = ~(clockid_t)tid << 3 | 6;
        struct itimerspec every = {.it_interval.tv_nsec = 1000000, .it_value.tv_nsec = 1000000};
        if (tid && timer_create(clock, &event, &timers[threads]) == 0) timer_settime(timers[threads++], 0, &every, NULL);
    }
    if (tasks) closedir(tasks);
}

void samples_end(const char *path) {
    while (threads) timer_delete(timers[--threads]);
    signal(SIGPROF, SIG_IGN);
    FILE *file = fopen(path, "w");
    unsigned all = count < MOST ? count : MOST;
    for (unsigned at = 0; file && at < all; at++) {
        Dl_info library;
        int known = dladdr(seen[at], &library) && library.dli_fname;
        const char *slash = known ? strrchr(library.dli_fname, '/') : NULL;
        fprintf(file, "%s\n", slash ? slash + 1 : known ? library.dli_fname : "?");
    }
    if (file) fclose(file);
}
