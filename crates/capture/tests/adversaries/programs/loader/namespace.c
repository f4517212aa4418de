/*
 * Audit tools and plugin hosts load libraries into a namespace of their own, with a second C library
 * Expected: it ends as bare, and calls of the program's own namespace are recorded.
 */
#include "adversary.h"

int main(void) {
    begin();
    calls(10);
    void *own = dlmopen(LM_ID_NEWLM, "libsolitary.so", RTLD_NOW);
    CHECK(own && dlsym(own, "solitary_locks"));
    ((void (*)(void))dlsym(own, "solitary_locks"))();
    slow_call(2);
    CHECK(dlclose(own) == 0);
    calls(10);
    puts("done");
    return 0;
}
