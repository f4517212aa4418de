/* A library that takes its time when it is loaded, and then loads another. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

__attribute__((constructor)) static void construct(void) {
    void (*constructing)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "loader_constructing");
    if (constructing) {
        constructing();
    }
    dlopen("libother.so", RTLD_NOW);
}
