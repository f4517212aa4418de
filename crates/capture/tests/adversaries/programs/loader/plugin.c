/* A plugin whose constructor waits for a lock, opens another library and calls the driver, as its destructor does. */
#include <dlfcn.h>

void adversary_calls(int count);
void adversary_locks(void);

void plugin_calls(int count) { adversary_calls(count); }

__attribute__((constructor)) static void comes(void) {
    adversary_locks();
    void *twin = dlopen("libtwin.so", RTLD_NOW);
    if (twin) {
        ((void (*)(int))dlsym(twin, "twin_calls"))(1);
        dlclose(twin);
    }
    adversary_calls(1);
}

__attribute__((destructor)) static void goes(void) { adversary_calls(1); }
