/*
 * Containers' init processes make namespaces: in one for process ids the child is process 1, whatever its parent calls it.
 * Expected: the child, which initializes the driver itself, has a recording of its own, under the id that it knows.
 */
#include "adversary.h"

int main(void) {
    bind_driver();
    open_ledger();
    if (unshare(CLONE_NEWPID) != 0) {
        cannot("the kernel permits no namespace of process ids");
    }
    for (int at = 0; at < 2; at++) {
        pid_t child = fork();
        if (child == 0) {
            CHECK(getpid() == at + 1 || at == 1);
            child_begins();
            CHECK(cuInit(0) == 0);
            calls(100);
            exit(3);
        }
        child_ends(child, 3);
        if (at == 0) {
            /* The first one was its namespace's init: nothing more can start in it. */
            break;
        }
    }
    puts("done");
    return 0;
}
