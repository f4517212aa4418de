/* Wraps `dlsym`, as tools do that trace what programs look up; it finds the real one by `dlvsym`. */
#include "hook.h"

long hook_count(void);
static long count;
long hook_count(void) { return count; }

static void *real_dlsym(void *library, const char *name) {
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    static void *(*real)(void *, const char *);
    for (int at = 0; !real && at < 3; at++) {
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[at]);
    }
    return real ? real(library, name) : NULL;
}

void *dlsym(void *library, const char *name) {
    count++;
    return real_dlsym(library, name);
}
