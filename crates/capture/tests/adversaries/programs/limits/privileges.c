/*
 * Programs with the bit for another user's rights run without `LD_PRELOAD`, and tools have a tracer from their start or a small
 * stack by `prlimit`. The first word names what the program does before it executes itself.
 * Expected: it ends as bare.
 */
#include "adversary.h"

#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

enum { NOBODY = 65534 };

static void works(void) {
    begin();
    calls(1000);
    slow_call(2);
    puts("done");
    exit(0);
}

/* A copy of this program that runs with another user's rights. */
static void copy_self(const char *path) {
    struct stat about;
    int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    CHECK(from >= 0 && to >= 0 && fstat(from, &about) == 0);
    for (off_t sent = 0; sent < about.st_size;) {
        CHECK(sendfile(to, from, &sent, (size_t)(about.st_size - sent)) > 0);
    }
    CHECK(fchown(to, NOBODY, NOBODY) == 0 && fchmod(to, 04755) == 0 && close(to) == 0 && close(from) == 0);
}

static void executes(const char *path) {
    execl(path, path, "works", NULL);
    exit(97);
}

static void with_other_rights(void) {
    copy_self("other");
    executes("./other");
}

static void with_small_stack(void) {
    struct rlimit limits = {256 * 1024, 256 * 1024};
    CHECK(prlimit(0, RLIMIT_STACK, &limits, NULL) == 0);
    executes("/proc/self/exe");
}

/* A debugger has its program stop at each signal, and go on. */
static void traced(void) {
    pid_t child = fork();
    if (child == 0) {
        CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
        executes("/proc/self/exe");
    }
    for (int status = 0; waitpid(child, &status, 0) == child;) {
        if (WIFEXITED(status)) {
            CHECK(WEXITSTATUS(status) == 0);
            break;
        }
        CHECK(WIFSTOPPED(status));
        int signal = WSTOPSIG(status);
        ptrace(PTRACE_CONT, child, NULL, (void *)(intptr_t)(signal == SIGTRAP ? 0 : signal));
    }
}

/* It has a tracer of its own, so that no other can come. */
static void traced_by_child(void) {
    begin();
    pid_t self = getpid(), child = fork();
    if (child == 0) {
        int status;
        CHECK(ptrace(PTRACE_ATTACH, self, NULL, NULL) == 0 && waitpid(self, &status, 0) == self);
        CHECK(ptrace(PTRACE_CONT, self, NULL, NULL) == 0);
        nap_us(50000);
        _exit(0);
    }
    calls(1000);
    slow_call(20);
    /* The tracer's end lets this one go. */
    child_ends(child, 0);
    calls(1000);
}

int main(int count, char **words) {
    static const struct scenario all[] = {{"works", works}, {"other-rights", with_other_rights},
                                          {"small-stack", with_small_stack}, {"traced", traced}, {"traced-by-child", traced_by_child}};
    return RUN_SCENARIO(all);
}
