/*
 * Programs start tools that are linked otherwise: statically, or with another C library (musl). Each gets the same environment.
 * Expected: the tool runs as bare.
 */
#include "adversary.h"

#include <sys/syscall.h>

static const char *way;
static char path[4096];
static char *words[] = {"plain", NULL};

static void execute(void) {
    if (strcmp(way, "execveat") == 0) execveat(AT_FDCWD, path, words, environ, 0);
    if (strcmp(way, "execveat-open") == 0) execveat(open(path, O_RDONLY), "", words, environ, AT_EMPTY_PATH);
    if (strcmp(way, "number") == 0) syscall(SYS_execve, path, words, environ);
    if (strcmp(way, "number-at") == 0) syscall(SYS_execveat, AT_FDCWD, path, words, environ, 0);
    if (strcmp(way, "looked-up") == 0) {
        int (*found)(const char *, char **, char **) =
            (int (*)(const char *, char **, char **))dlsym(dlopen("libc.so.6", RTLD_NOW), "execve");
        found(path, words, environ);
    }
    if (strcmp(way, "execl") == 0) execl(path, "plain", NULL);
}

int main(int count, char **arguments) {
    way = count > 1 ? arguments[1] : "execl";
    begin();
    calls(100);
    snprintf(path, sizeof path, "%s/plain", getenv("STANDIN_FOLDER"));
    for (int at = 0; at < 3; at++) {
        pid_t child = fork();
        if (child == 0) {
            execute();
            _exit(1);
        }
        child_ends(child, 3);
    }
    calls(100);
    execute();
    return 1;
}
