/* A library that is linked with the driver and hands out addresses of its functions. */
#include "standin.h"

#include <string.h>

static void *took[2];

__attribute__((constructor)) static void take(void) {
    took[0] = (void *)cuInit;
    took[1] = (void *)cuMemcpyHtoDAsync_v2;
}

static int which(const char *name) { return strcmp(name, "cuInit") != 0; }

/* As they are now. */
void *taker_says(const char *name) { return which(name) ? (void *)cuMemcpyHtoDAsync_v2 : (void *)cuInit; }

/* As they were when the library was loaded. */
void *taker_took(const char *name) { return took[which(name)]; }
