/* A library whose look-ups depend on who asks: it finds what lies next to it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int finder_number(void) { return 1; }

/* The number of the library in the folder that only this one is told to search. */
int finder_inner(void) {
    void *inner = dlopen("libinner.so", RTLD_NOW | RTLD_LOCAL);
    int (*number)(void) = inner ? (int (*)(void))dlsym(inner, "finder_number") : NULL;
    return number ? number() : -1;
}

/* What comes after this library in its own scope, which nobody else has. */
int finder_next(void) {
    int (*number)(void) = (int (*)(void))dlsym(RTLD_NEXT, "cuFinderNumber");
    return number ? number() : -1;
}

/* In its own scope from the beginning. */
int finder_default(void) {
    int (*number)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "cuFinderNumber");
    return number ? number() : -1;
}
