/*
 * The program's own allocator: the C library's, behind a mutex if the program has it so. Any code may allocate while it
 * holds any lock, so this mutex comes after all others.
 */
#include "orders.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t number, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static pthread_mutex_t allocator = PTHREAD_MUTEX_INITIALIZER;
static int is_hooked;

static void lock(void) {
    static unsigned number;
    NEED(pthread_mutex_lock(&allocator) == 0);
    if (program.is_hooked == 2 && ++number % 8 == 0) {
        int before = errno;
        nap(30);
        errno = before;
    }
}

static void unlock(void) { NEED(pthread_mutex_unlock(&allocator) == 0); }

void start_hook(void) {
    if (program.is_hooked) {
        /* As allocators do, so that a child can allocate. */
        NEED(pthread_atfork(lock, unlock, unlock) == 0);
        __atomic_store_n(&is_hooked, 1, __ATOMIC_SEQ_CST);
    }
}

/* Memory from `how`, with the mutex held. */
#define LOCKED(how)                                                                                              \
    do {                                                                                                         \
        if (!__atomic_load_n(&is_hooked, __ATOMIC_RELAXED)) {                                                    \
            return how;                                                                                          \
        }                                                                                                        \
        lock();                                                                                                  \
        void *memory_ = how;                                                                                     \
        unlock();                                                                                                \
        return memory_;                                                                                          \
    } while (0)

void *malloc(size_t size) { LOCKED(__libc_malloc(size)); }
void *calloc(size_t number, size_t size) { LOCKED(__libc_calloc(number, size)); }
void *realloc(void *memory, size_t size) { LOCKED(__libc_realloc(memory, size)); }
void *memalign(size_t alignment, size_t size) { LOCKED(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { LOCKED(__libc_memalign(alignment, size)); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
    void *made = memalign(alignment, size);
    return made ? (*memory = made, 0) : ENOMEM;
}

void free(void *memory) {
    if (!__atomic_load_n(&is_hooked, __ATOMIC_RELAXED)) {
        __libc_free(memory);
        return;
    }
    lock();
    __libc_free(memory);
    unlock();
}
