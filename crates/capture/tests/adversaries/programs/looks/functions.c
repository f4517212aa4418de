/*
 * Programs compare functions: whether two ways to look one up agree, in which file it lies (Triton and others find the driver's
 * library so), and who calls a callback, by unwinding.
 * Expected: the same answers as bare.
 */
#include "adversary.h"

#include <execinfo.h>

static void says_file(const char *how, void *function) {
    Dl_info info = {0};
    int found = dladdr(function, &info);
    const char *name = found && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    printf("%s: %s %s\n", how, name ? name + 1 : "nowhere", found && info.dli_sname ? info.dli_sname : "nothing");
}

static int reaches_main, depth;

static void unwinds(const struct standin_operation *operation) {
    void *frames[64];
    (void)operation;
    depth = backtrace(frames, 64);
    for (int at = 0; at < depth; at++) {
        Dl_info info = {0};
        reaches_main |= dladdr(frames[at], &info) && info.dli_sname && strcmp(info.dli_sname, "main") == 0;
    }
}

int main(void) {
    void *asked = NULL;
    begin();
    calls(10);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *of_driver = dlsym(driver, "cuLaunchKernel"), *anywhere = dlsym(RTLD_DEFAULT, "cuLaunchKernel");
    void *with_version = dlvsym(driver, "cuLaunchKernel", "libcuda.so.1");
    CHECK(cuGetProcAddress_v2("cuLaunchKernel", &asked, 13000, 0, NULL) == 0);
    printf("%d %d %d %d\n", of_driver == anywhere, of_driver == with_version, of_driver == asked,
           of_driver == (void *)cuLaunchKernel);
    says_file("by dlsym", of_driver);
    says_file("by the driver", asked);
    says_file("by the linker", (void *)cuLaunchKernel);
    says_file("dlsym", dlsym(RTLD_DEFAULT, "malloc"));
    standin_on_issue(unwinds);
    calls(1);
    standin_on_issue(NULL);
    printf("main is on the stack: %d\n", reaches_main);
    return 0;
}
