/*
 * Servers run with another allocator and with tools of others preloaded; what the test preloads is in its table. The program
 * allocates, makes calls and waits for locks in several threads.
 * Expected: it ends as bare, every call is recorded, and what the tools count is as bare.
 */
#include "adversary.h"

#ifdef OWN_FUNCTIONS
/* The C library's own, by other names: the program's are found first by all libraries. */
void *__libc_malloc(size_t bytes);
static long own_calls;

static void *of_c_library(const char *name) {
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    void *found = NULL;
    for (int at = 0; !found && at < 3; at++) {
        found = dlvsym(RTLD_NEXT, name, versions[at]);
    }
    return found;
}

void *malloc(size_t bytes) {
    own_calls++;
    return __libc_malloc(bytes);
}

void *dlsym(void *library, const char *name) {
    static void *(*real)(void *, const char *);
    own_calls++;
    if (!real) {
        real = (void *(*)(void *, const char *))of_c_library("dlsym");
    }
    return real(library, name);
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    static int (*real)(pthread_mutex_t *);
    own_calls++;
    if (!real) {
        real = (int (*)(pthread_mutex_t *))of_c_library("pthread_mutex_lock");
    }
    return real(mutex);
}

long hook_count(void) { return own_calls; }
#endif

#ifdef PATCHES
#include <link.h>

/* The slot through which this program calls a function, as hooking libraries find it. */
static void **slot_of(const char *name) {
    ElfW(Rela) *relocations = NULL;
    ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    size_t bytes = 0;
    for (ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++) {
        relocations = entry->d_tag == DT_JMPREL ? (void *)entry->d_un.d_ptr : relocations;
        bytes = entry->d_tag == DT_PLTRELSZ ? entry->d_un.d_val : bytes;
        symbols = entry->d_tag == DT_SYMTAB ? (void *)entry->d_un.d_ptr : symbols;
        names = entry->d_tag == DT_STRTAB ? (void *)entry->d_un.d_ptr : names;
    }
    for (size_t at = 0; at < bytes / sizeof *relocations; at++) {
        if (strcmp(names + symbols[ELF64_R_SYM(relocations[at].r_info)].st_name, name) == 0) {
            return (void **)relocations[at].r_offset;
        }
    }
    return NULL;
}

static __typeof__(&cuLaunchKernel) before;
static long own_calls;

static CUresult own_launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **arguments,
                           void **extra) {
    __atomic_add_fetch(&own_calls, 1, __ATOMIC_SEQ_CST);
    return before(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments, extra);
}

static void patch(void) {
    void **slot = slot_of("cuLaunchKernel");
    CHECK(slot);
    calls(1);
    before = (__typeof__(before))*slot;
    *slot = (void *)own_launch;
    calls(10);
    CHECK(own_calls == 10);
    *slot = (void *)before;
    calls(1);
    CHECK(own_calls == 10);
    *slot = (void *)own_launch;
}
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn;

static void *works(void *data) {
    void *blocks[64] = {0};
    for (int at = 0; at < 2000; at++) {
        free(blocks[at % 64]);
        blocks[at % 64] = malloc((size_t)(at * 37 % 5000));
        memset(blocks[at % 64], at, (size_t)(at * 37 % 5000));
        if (at % 4 == 0) {
            calls(1);
        }
        if (at % 200 == 0) {
            slow_call(1);
        }
    }
    for (int at = 0; at < 64; at++) {
        free(blocks[at]);
    }
    pthread_mutex_lock(&lock);
    while (turn != (int)(intptr_t)data) {
        pthread_cond_wait(&condition, &lock);
    }
    turn++;
    nap_us(1000);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    CUdeviceptr memory;
    begin();
    CHECK(CU(cuMemAlloc_v2)(&memory, 100) == 0 && CU(cuMemFree_v2)(memory) == 0);
#ifdef PATCHES
    patch();
#endif
    for (intptr_t at = 3; at >= 0; at--) {
        threads[at] = started(works, (void *)at);
    }
    for (int at = 0; at < 4; at++) {
        joined(threads[at]);
    }
    long (*count)(void) = (long (*)(void))dlsym(RTLD_DEFAULT, "hook_count");
    printf("a tool saw some: %d\n", count && count() > 0);
    return 0;
}
