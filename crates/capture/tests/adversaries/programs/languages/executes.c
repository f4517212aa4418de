/*
 * Programs start tools that are linked otherwise: statically, or with another C library (musl). Each gets the same environment.
 * Expected: the tool runs as bare.
 */
#include "adversary.h"

int main(void) {
    char path[4096];
    begin();
    calls(100);
    snprintf(path, sizeof path, "%s/plain", getenv("STANDIN_FOLDER"));
    for (int at = 0; at < 3; at++) {
        pid_t child = fork();
        if (child == 0) {
            execl(path, "plain", NULL);
            _exit(1);
        }
        child_ends(child, 3);
    }
    calls(100);
    execl(path, "plain", NULL);
    return 1;
}
