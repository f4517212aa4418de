/*
 * Data loaders and workers are forked before CUDA is used, and each initializes it on its own.
 * Expected: each process has a recording of its own, with all of its calls.
 */
#include "adversary.h"

static pid_t (*const BY[])(void) = {fork, _Fork};

int main(int count, char **words) {
    bind_driver();
    open_ledger();
    pid_t child = BY[count - 1 > 0 && strcmp(words[1], "_Fork") == 0]();
    mine = entry_of(getpid(), child == 0);
    CHECK(CU(cuInit)(0) == 0);
    calls(child ? 100 : 30);
    if (child == 0) {
        _exit(3);
    }
    child_ends(child, 3);
    puts("done");
    return 0;
}
