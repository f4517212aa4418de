/*
 * Sandboxes start a program under a seccomp filter of theirs: it permits what the program needs, and nothing of a recorder's.
 * The first word names the launcher's filter, the second how it executes the program: itself.
 * Expected: no system call of ours ends the program.
 */
#include "adversary.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <spawn.h>
#include <sys/prctl.h>

#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ARGUMENT(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[at]))
#define ANSWER(answer) BPF_STMT(BPF_RET | BPF_K, answer)
#define IF(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1)
#define KILLED(number) IF(number), ANSWER(SECCOMP_RET_KILL_PROCESS)

/* Files are not made, by whatever way; nobody looks into another process or sets a timer. */
static void kills(void) {
    struct sock_filter filter[] = {NUMBER,
                                   KILLED(SYS_fallocate),
                                   KILLED(SYS_process_vm_readv),
                                   KILLED(SYS_setitimer),
                                   KILLED(SYS_socket),
                                   KILLED(SYS_ftruncate),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
                                   ANSWER(SECCOMP_RET_ALLOW),
                                   ARGUMENT(2),
                                   BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT, 0, 1),
                                   ANSWER(SECCOMP_RET_KILL_PROCESS),
                                   ANSWER(SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* It only asks. */
static void asks(void) {
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_GET_SECCOMP) >= 0);
}

int main(int count, char **words) {
    if (count == 2) {
        begin();
        calls(1000);
        return 3;
    }
    CHECK(count == 3);
    if (strcmp(words[1], "kills") == 0) {
        kills();
    } else {
        asks();
    }
    char *next[] = {words[0], words[1], NULL};
    if (strcmp(words[2], "execv") == 0) execv("/proc/self/exe", next);
    if (strcmp(words[2], "execl") == 0) execl("/proc/self/exe", words[0], words[1], NULL);
    if (strcmp(words[2], "execve-by-number") == 0) syscall(SYS_execve, "/proc/self/exe", next, environ);
    if (strcmp(words[2], "spawn") == 0) {
        pid_t child;
        CHECK(posix_spawn(&child, "/proc/self/exe", NULL, NULL, next, environ) == 0);
        child_ends(child, 3);
        return 3;
    }
    return 1;
}
