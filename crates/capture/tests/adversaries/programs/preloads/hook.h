/* The C library's own function of a name, for a library that wraps it. */
#ifndef HOOK_H
#define HOOK_H
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#endif
