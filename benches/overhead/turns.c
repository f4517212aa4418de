// What a wrapped launch adds, within one process: bursts of 200 launches of an empty kernel through the recorder's function
// and through the driver's own take turns, so that nothing but the function differs.
//
//     turns BURSTS        with libholdup_capture.so inside, as `holdup record --level light` puts it there
//
// Prints the medians of both in ns a launch, and the difference.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LAUNCHES = 200 };

typedef int (*Launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

static const char EMPTY[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry empty()\n{\nret;\n}\n";

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

// A function of the driver as its symbol table has it: dlsym gives the recorder's.
static void *own(void *driver, const char *name) {
    struct link_map *map;
    const ElfW(Sym) *symbol = NULL;
    const char *names = NULL;
    if (dlinfo(driver, RTLD_DI_LINKMAP, &map)) exit(1);
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB) symbol = (const void *)entry->d_un.d_ptr;
        if (entry->d_tag == DT_STRTAB) names = (const void *)entry->d_un.d_ptr;
    }
    for (; (const char *)symbol < names; symbol++)
        if (symbol->st_value && !strcmp(names + symbol->st_name, name)) return (char *)map->l_addr + symbol->st_value;
    fprintf(stderr, "the driver has no %s\n", name);
    exit(1);
}

static void check(int result, const char *what) {
    if (!result) return;
    fprintf(stderr, "%s: %d\n", what, result);
    exit(1);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int bursts = argc == 2 ? atoi(argv[1]) : 0, device;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *kernel, *stream;
    if (bursts < 1 || !driver) return 2;
    check(((int (*)(unsigned))dlsym(driver, "cuInit"))(0), "cuInit");
    check(((int (*)(int *, int))own(driver, "cuDeviceGet"))(&device, 0), "cuDeviceGet");
    check(((int (*)(void **, int))own(driver, "cuDevicePrimaryCtxRetain"))(&context, device), "cuDevicePrimaryCtxRetain");
    check(((int (*)(void *))own(driver, "cuCtxSetCurrent"))(context), "cuCtxSetCurrent");
    check(((int (*)(void **, const void *))own(driver, "cuModuleLoadData"))(&module, EMPTY), "cuModuleLoadData");
    check(((int (*)(void **, void *, const char *))own(driver, "cuModuleGetFunction"))(&kernel, module, "empty"), "empty");
    check(((int (*)(void **, unsigned))own(driver, "cuStreamCreate"))(&stream, 1), "cuStreamCreate");
    int (*synchronize)(void *) = own(driver, "cuStreamSynchronize");
    Launch ways[2] = {own(driver, "cuLaunchKernel"), dlsym(driver, "cuLaunchKernel")};
    if (ways[0] == ways[1]) {
        fprintf(stderr, "nothing stands before the driver: run it under holdup record --level light\n");
        return 2;
    }
    double *costs[2] = {malloc(bursts * sizeof(double)), malloc(bursts * sizeof(double))};
    for (int turn = 0; turn < 2 * bursts; turn++) {
        // Own, recorded, recorded, own: neither is always first.
        int way = (turn ^ (turn >> 1)) & 1;
        double begun = now();
        for (int i = 0; i < LAUNCHES; i++) ways[way](kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
        costs[way][turn / 2] = (now() - begun) / LAUNCHES;
        check(synchronize(stream), "cuStreamSynchronize");
    }
    for (int way = 0; way < 2; way++) qsort(costs[way], bursts, sizeof(double), ascending);
    double bare = costs[0][bursts / 2], recorded = costs[1][bursts / 2];
    printf("bare %.0f ns, recorded %.0f ns: %+.0f ns (%+.1f %%)\n", bare, recorded, recorded - bare, (recorded / bare - 1) * 100);
    return 0;
}
