/*
 * Sandboxes have the kernel refuse system calls, by seccomp. The only word names how; then the program makes calls, slow ones
 * too, which need no system call at all with the stand-in for the driver.
 * Expected: no system call of ours ends the program. What cannot be recorded any more is counted.
 */
#include "adversary.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define ARGUMENT(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[at]))
#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ANSWER(answer) BPF_STMT(BPF_RET | BPF_K, answer)
/* One statement for a system call. */
#define IF(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1)
#define ALLOWED(number) IF(number), ANSWER(SECCOMP_RET_ALLOW)

static void install(struct sock_filter *filter, size_t length, int by_prctl, unsigned flags) {
    struct sock_fprog program = {(unsigned short)length, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (by_prctl) {
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    } else {
        CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0);
    }
}

/* The process is killed at any other call. */
static void kill_others(int by_prctl, unsigned flags) {
    struct sock_filter filter[] = {NUMBER,
                                   ALLOWED(SYS_read),
                                   ALLOWED(SYS_write),
                                   ALLOWED(SYS_futex),
                                   ALLOWED(SYS_exit),
                                   ALLOWED(SYS_exit_group),
                                   ALLOWED(SYS_rt_sigreturn),
                                   ANSWER(SECCOMP_RET_KILL_PROCESS)};
    install(filter, sizeof filter / sizeof *filter, by_prctl, flags);
}

static void kills_by_prctl(void) { kill_others(1, 0); }
static void kills_by_seccomp(void) { kill_others(0, 0); }

/* Refuses, with errno, the system calls by which a recorder writes. */
static void refuses(void) {
    static const int refused[] = {SYS_openat, SYS_mmap,   SYS_fallocate, SYS_ftruncate, SYS_close,
                                  SYS_fstat,  SYS_munmap, SYS_getpid,    SYS_gettid,    SYS_process_vm_readv,
                                  SYS_lseek,  SYS_prlimit64};
    enum { COUNT = sizeof refused / sizeof *refused };
    struct sock_filter filter[2 + 2 * COUNT] = {NUMBER};
    for (int at = 0; at < COUNT; at++) {
        filter[1 + 2 * at] = (struct sock_filter)IF((unsigned)refused[at]);
        filter[2 + 2 * at] = (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | EPERM);
    }
    filter[1 + 2 * COUNT] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
    install(filter, sizeof filter / sizeof *filter, 0, 0);
}

/* No file may be made: the process is killed. */
static void kills_creation(void) {
    struct sock_filter filter[] = {NUMBER, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0), ANSWER(SECCOMP_RET_ALLOW),
                                   ARGUMENT(2), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT, 0, 1),
                                   ANSWER(SECCOMP_RET_KILL_PROCESS), ANSWER(SECCOMP_RET_ALLOW)};
    install(filter, sizeof filter / sizeof *filter, 1, 0);
}

/* A call that takes 300 us and more without a system call; in strict mode not even the clock may be read. */
static void takes_long(const struct standin_operation *operation) {
    (void)operation;
    for (volatile int at = 0; at < 1000000; at++) {
    }
}

static void works(void) {
    calls(30000);
    standin_on_issue(takes_long);
    calls(5);
    standin_on_issue(NULL);
    calls(100);
}

static void returns(void);

static void done(void) { CHECK(write(1, "done\n", 5) == 5); }

/* Only `exit` of a thread is permitted. */
static void strict(void) {
    works();
    done();
    syscall(SYS_exit, 3);
}

/* The processor's counter, by which our clock goes, is not permitted. */
static void forbids_counter(void) {
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) {
        cannot("the processor's counter cannot be forbidden");
    }
    returns();
}

static void strict_by_prctl(void) {
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    strict();
}

static void strict_by_seccomp(void) {
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) == 0);
    strict();
}

static int is_ready, go_on;
static sem_t never;

/* It stays: to unmap its stack is not permitted. */
static void *works_beside(void *data) {
    calls(100);
    SET(is_ready);
    while (!__atomic_load_n(&go_on, __ATOMIC_SEQ_CST)) {
    }
    works();
    sem_wait(&never);
    return data;
}

/* The filter of all threads is set by one of them. */
static void kills_in_threads(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    sem_init(&never, 0, 0);
    started(works_beside, NULL);
    AWAIT(is_ready);
    kill_others(0, SECCOMP_FILTER_FLAG_TSYNC);
    SET(go_on);
    works();
    pthread_mutex_lock(&lock), pthread_mutex_unlock(&lock);
    while (__atomic_load_n(&mine->ended, __ATOMIC_SEQ_CST) < 60000) {
    }
    done();
    syscall(SYS_exit_group, 3);
}

/* Ends without the handlers of `exit`. */
static void leaves(void) {
    works();
    done();
    _exit(3);
}

/* Ends with them. */
static void returns(void) {
    works();
    done();
    exit(3);
}

static void kills_then_leaves(void) {
    kills_by_prctl();
    leaves();
}

static void kills_then_returns(void) {
    kills_by_seccomp();
    returns();
}

static void refuses_then_returns(void) {
    refuses();
    returns();
}

int main(int count, char **words) {
    static const struct scenario all[] = {
        {"strict-prctl", strict_by_prctl},       {"strict-seccomp", strict_by_seccomp},
        {"kill-leaves", kills_then_leaves},      {"kill-returns", kills_then_returns},
        {"kill-threads", kills_in_threads},      {"refuse", refuses_then_returns},
        {"kill-creation", returns}, {"no-counter", forbids_counter},
    };
    open_ledger();
    mine = entry_of(getpid(), 0);
    if (count == 2 && strcmp(words[1], "kill-creation") == 0) {
        kills_creation();
    }
    CHECK(cuInit(0) == 0);
    calls(100);
    return RUN_SCENARIO(all);
}
