/* Programs that the program executes, by every function there is, from children of `fork` and of `vfork`. */
#include "program.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;

static char path[4096];
static char *words[] = {"foreign", "last", NULL};

/* In a child. */
static void by_execve(void) { execve(path, words, environ); }
static void by_execv(void) { execv(path, words); }
static void by_execvp(void) { execvp("foreign", words); }
static void by_execvpe(void) { execvpe("foreign", words, environ); }
static void by_execl(void) { execl(path, "foreign", "2", "3", "4", "5", "6", "7", "8", "9", "last", NULL); }
static void by_execlp(void) { execlp("foreign", "foreign", "last", NULL); }
static void by_execle(void) {
    char *environment[] = {getenv("LD_PRELOAD") - strlen("LD_PRELOAD="), "KEPT=own", NULL};
    execle(path, "foreign", "2", "3", "4", "5", "6", "7", "8", "last", NULL, environment);
}
static void by_fexecve(void) { fexecve(open(path, O_RDONLY | O_CLOEXEC), words, environ); }
static void by_execveat(void) { execveat(AT_FDCWD, path, words, environ, 0); }
static void by_number(void) { syscall(SYS_execve, path, words, environ); }
static void in_a_folder(void) { syscall(SYS_execveat, open(getenv("FOREIGN"), O_PATH), "foreign", words, environ, 0); }
static void opened(void) { execveat(open(path, O_RDONLY), "", words, environ, AT_EMPTY_PATH); }
static void by_address(void) {
    void *found = dlsym(dlopen("libc.so.6", RTLD_NOW), "execve");
    ((int (*)(const char *, char *const *, char *const *))found)(path, words, environ);
}

static void ends(pid_t child, int expected) {
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == expected);
}

static void (*const ways[])(void) = {
    by_execve, by_execv, by_execvp, by_execvpe, by_execl, by_execlp, by_execle, by_fexecve,
    by_execveat, by_number, in_a_folder, opened, by_address,
};

static void in_children(void) {
    for (size_t at = 0; at < sizeof ways / sizeof *ways; at++) {
        pid_t child = fork();
        if (child == 0) {
            ways[at]();
            _exit(9);
        }
        ends(child, 5);
    }
}

static void in_vfork(void) {
    pid_t child = vfork();
    if (child == 0) {
        execve(path, words, environ);
        _exit(9);
    }
    ends(child, 5);
}

static void spawned(void) {
    pid_t child;
    CHECK(posix_spawn(&child, path, NULL, NULL, words, environ) == 0);
    ends(child, 5);
    CHECK(posix_spawnp(&child, "foreign", NULL, NULL, words, environ) == 0);
    ends(child, 5);
}

/* More entries than have room on a stack. */
static void with_much(void) {
    static char names[2000][16];
    for (int at = 0; at < 2000; at++) {
        snprintf(names[at], sizeof names[at], "N%d=%d", at, at);
        CHECK(putenv(names[at]) == 0);
    }
    spawned();
}

static void refused(void) {
    errno = 0;
    CHECK(execl("/nowhere/foreign", "1", "2", "3", "4", "5", "6", "7", "8", NULL) == -1 && errno == ENOENT);
    CHECK(execlp("no-such-program", "1", NULL) == -1 && errno == ENOENT);
    CHECK(execv("/", words) == -1 && errno == EACCES);
    CHECK(execveat(-1, "foreign", words, environ, 0) == -1 && errno == EBADF);
    CHECK(execveat(AT_FDCWD, "", words, environ, 0) == -1 && errno == ENOENT);
    CHECK(syscall(SYS_execve, "/nowhere/foreign", words, environ) == -1 && errno == ENOENT);
    CHECK(syscall(SYS_execve, NULL, NULL, NULL) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_execveat, AT_FDCWD, "/", words, environ, 0) == -1 && errno == EACCES);
    /* The kernel takes no argument that long: it fails after all was looked at. */
    char *most = malloc(1 << 20);
    CHECK(most);
    memset(most, 'a', (1 << 20) - 1);
    most[(1 << 20) - 1] = 0;
    char *longest[] = {"foreign", most, NULL};
    CHECK(execve(path, longest, environ) == -1 && errno == E2BIG);
    CHECK(syscall(SYS_execve, path, longest, environ) == -1 && errno == E2BIG);
    CHECK(execl(path, "foreign", "2", "3", "4", "5", "6", "7", "8", most, NULL) == -1 && errno == E2BIG);
    pid_t child;
    CHECK(posix_spawn(&child, path, NULL, NULL, longest, environ) == E2BIG);
    CHECK(posix_spawn(&child, "/nowhere/foreign", NULL, NULL, words, environ) == ENOENT);
    free(most);
}

/* A child may make every system call: only the kernel knows. The program that it executes could load the library. */
static void filtered(void) {
    struct sock_filter allowed[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {1, allowed};
    pid_t child = fork();
    if (child == 0) {
        CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
        CHECK(execl("/nowhere/sh", "sh", NULL) == -1);
        execl("/bin/sh", "sh", "-c", "echo \"$LD_PRELOAD, $CUDA_INJECTION64_PATH, $KEPT\"", NULL);
        _exit(9);
    }
    ends(child, 0);
}

int main(int count, char **arguments) {
    CHECK(count == 2 && setenv("KEPT", "theirs", 1) == 0);
    snprintf(path, sizeof path, "%s/foreign", getenv("FOREIGN"));
    bind_driver();
    CHECK(CU(cuInit)(0) == 0);
    CHECK(launch() == 0);
    setvbuf(stdout, NULL, _IONBF, 0);
    const char *which = arguments[1];
    if (strcmp(which, "executes") == 0) {
        in_children();
        in_vfork();
        spawned();
    } else if (strcmp(which, "executes-with-much") == 0) {
        with_much();
    } else if (strcmp(which, "executes-filtered") == 0) {
        filtered();
    } else {
        refused();
    }
    CHECK(launch() == 0);
    return 0;
}
