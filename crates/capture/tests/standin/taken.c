/*
 * Addresses of the driver's functions that a program takes before it initializes the driver, in every way
 * in which it can; later it copies through them, ten times.
 */
#include "program.h"

#include <elf.h>
#include <link.h>

static void *opened(int flags) {
    void *library = dlopen("libcuda.so.1", flags);
    CHECK(library);
    return library;
}

typedef void *(*look_up_t)(void *, const char *);

static void *by_dlsym(const char *name) { return dlsym(opened(RTLD_NOW), name); }

static void *by_dlvsym(const char *name) { return dlvsym(opened(RTLD_NOW), name, "libcuda.so.1"); }

static void *by_default(const char *name) {
    opened(RTLD_NOW | RTLD_GLOBAL);
    return dlsym(RTLD_DEFAULT, name);
}

/* As a program does that has its own way to look up: it asks for `dlsym` itself. */
static void *by_found_dlsym(const char *name) {
    look_up_t found = (look_up_t)dlsym(RTLD_DEFAULT, "dlsym");
    return found(opened(RTLD_NOW), name);
}

static void *of_libc(void) {
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    CHECK(libc);
    return libc;
}

static void *by_dlsym_of_libc(const char *name) {
    look_up_t found = (look_up_t)dlsym(of_libc(), "dlsym");
    CHECK(found);
    return found(opened(RTLD_NOW), name);
}

static void *by_dlvsym_of_libc(const char *name) {
    const char *versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    look_up_t found = NULL;
    for (int at = 0; at < 3 && !found; at++) {
        found = (look_up_t)dlvsym(of_libc(), "dlsym", versions[at]);
    }
    CHECK(found);
    return found(opened(RTLD_NOW), name);
}

static void *by_address(const char *name) {
    __typeof__(&cuGetProcAddress_v2) look = (__typeof__(look))by_dlsym("cuGetProcAddress_v2");
    void *found = NULL;
    char plain[64];
    snprintf(plain, sizeof plain, "%.*s", (int)(strlen(name) - (strstr(name, "_v2") ? 3 : 0)), name);
    CHECK(look(plain, &found, 13000, 0, NULL) == 0);
    return found;
}

/* A library that is linked with the driver, and brings it, hands the addresses out. */
static void *by_library(const char *name) {
    void *taker = dlopen("libtaker.so", RTLD_NOW);
    CHECK(taker);
    return ((void *(*)(const char *))dlsym(taker, "taker_says"))(name);
}

/* It has taken them as it began; the driver was there. */
static void *by_late_constructor(const char *name) {
    CHECK(dlsym(opened(RTLD_NOW), "cuInit"));
    void *taker = dlopen("libtaker.so", RTLD_NOW);
    CHECK(taker);
    return ((void *(*)(const char *))dlsym(taker, "taker_took"))(name);
}

/* By looking through the driver's symbols where they lie in memory. */
static int walk(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    const char **sought = data;
    if (!strstr(info->dlpi_name, "libcuda.so")) {
        return 0;
    }
    const ElfW(Dyn) *entry = NULL;
    for (int at = 0; at < info->dlpi_phnum; at++) {
        if (info->dlpi_phdr[at].p_type == PT_DYNAMIC) {
            entry = (void *)(info->dlpi_addr + info->dlpi_phdr[at].p_vaddr);
        }
    }
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        symbols = entry->d_tag == DT_SYMTAB ? (void *)entry->d_un.d_ptr : symbols;
        strings = entry->d_tag == DT_STRTAB ? (void *)entry->d_un.d_ptr : strings;
    }
    CHECK(symbols && strings);
    /* The names come behind the symbols. */
    for (; (const char *)symbols < strings; symbols++) {
        if (symbols->st_shndx != SHN_UNDEF && strcmp(strings + symbols->st_name, sought[0]) == 0) {
            sought[1] = (const char *)(info->dlpi_addr + symbols->st_value);
            return 1;
        }
    }
    return 0;
}

static void *by_walking(const char *name) {
    CHECK(dlsym(opened(RTLD_NOW), "cuInit"));
    const char *sought[2] = {name, NULL};
    dl_iterate_phdr(walk, sought);
    return (void *)sought[1];
}

#ifndef LOOK_UP
extern void *taker_says(const char *name), *taker_took(const char *name);

/* Its linker writes them here before it begins. */
static void *const table[] = {(void *)cuInit, (void *)cuMemcpyHtoDAsync_v2};
static void *volatile constructed[2];

__attribute__((constructor)) static void construct(void) {
    constructed[0] = (void *)cuInit;
    constructed[1] = (void *)cuMemcpyHtoDAsync_v2;
}

static int which(const char *name) { return strcmp(name, "cuInit") != 0; }

static void *by_name(const char *name) { return which(name) ? (void *)cuMemcpyHtoDAsync_v2 : (void *)cuInit; }
static void *by_table(const char *name) { return table[which(name)]; }
static void *by_constructor(const char *name) { return constructed[which(name)]; }
static void *by_linked_library(const char *name) { return taker_says(name); }
static void *by_first_constructor(const char *name) { return taker_took(name); }
static void *by_next(const char *name) { return dlsym(RTLD_NEXT, name); }
#endif

int main(int count, char **words) {
    static const struct {
        const char *name;
        void *(*take)(const char *);
    } all[] = {
        {"dlsym", by_dlsym},
        {"dlvsym", by_dlvsym},
        {"default", by_default},
        {"found-dlsym", by_found_dlsym},
        {"dlsym-of-libc", by_dlsym_of_libc},
        {"dlvsym-of-libc", by_dlvsym_of_libc},
        {"address", by_address},
        {"library", by_library},
        {"late-constructor", by_late_constructor},
        {"walking", by_walking},
#ifndef LOOK_UP
        {"name", by_name},
        {"table", by_table},
        {"constructor", by_constructor},
        {"linked-library", by_linked_library},
        {"first-constructor", by_first_constructor},
        {"next", by_next},
#endif
    };
    for (size_t at = 0; at < sizeof all / sizeof *all; at++) {
        if (count == 2 && strcmp(words[1], all[at].name) == 0) {
            __typeof__(&cuInit) begin = (__typeof__(begin))all[at].take("cuInit");
            __typeof__(&cuMemcpyHtoDAsync_v2) copy_in = (__typeof__(copy_in))all[at].take("cuMemcpyHtoDAsync_v2");
            CHECK(begin && copy_in && begin(0) == 0);
            for (int copies = 0; copies < 10; copies++) {
                long from = copies, to = -1;
                CHECK(copy_in((CUdeviceptr)(uintptr_t)&to, &from, sizeof to, NULL) == 0 && to == copies);
            }
            printf("done\n");
            return 0;
        }
    }
    return 98;
}
