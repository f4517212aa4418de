/*
 * Programs look at themselves: test suites count descriptors, threads and mappings to find leaks, servers look for handlers,
 * masks and limits. The program prints what it sees.
 * Expected: what it sees is as bare.
 */
#include "adversary.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <ucontext.h>

static int entries(const char *folder) {
    DIR *opened = opendir(folder);
    int count = 0;
    CHECK(opened);
    while (readdir(opened)) {
        count++;
    }
    return closedir(opened), count;
}

/* Parts of memory that can be written and executed, and those without a file's name that can be executed. */
static void mappings(int *open, int *unnamed) {
    char line[4096], access[8];
    unsigned long inode;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    *open = *unnamed = 0;
    while (fgets(line, sizeof line, maps)) {
        CHECK(sscanf(line, "%*s %7s %*s %*s %lu", access, &inode) == 2);
        *open += strncmp(access, "rwx", 3) == 0;
        *unnamed += access[2] == 'x' && !inode && !strchr(line, '[');
    }
    fclose(maps);
}

static void look(void) {
    sigset_t mask;
    struct rlimit limit;
    struct sigaction action;
    int handlers = 0, blocked = 0, open, unnamed;
    char name[32];
    CHECK(sigprocmask(SIG_SETMASK, NULL, &mask) == 0);
    for (int signal = 1; signal < 65; signal++) {
        handlers += sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_DFL;
        blocked += sigismember(&mask, signal) == 1;
    }
    mode_t created = umask(0);
    umask(created);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0 && prctl(PR_GET_NAME, name) == 0);
    mappings(&open, &unnamed);
    printf("descriptors %d, threads %d, handlers %d, blocked %d\n", entries("/proc/self/fd"), entries("/proc/self/task"),
           handlers, blocked);
    printf("umask %o, files %lu, name %s, dumpable %d\n", created, (unsigned long)limit.rlim_cur, name, prctl(PR_GET_DUMPABLE));
    printf("writable code %d, unnamed code %d\n", open, unnamed);
    printf("tsc %d, cancel %d, children %d\n", (prctl(PR_GET_TSC, &open), open),
           (pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &open), open), waitpid(-1, NULL, WNOHANG));
}

static void *looks(void *data) {
    calls(10);
    look();
    return data;
}

int main(void) {
    look();
    begin();
    calls(5000);
    slow_call(2);
    look();
    joined(started(looks, NULL));
    look();
    return 0;
}
