/* What takes the loader's locks. */
#include "orders.h"

#include <link.h>

/* Where the small libraries lie. */
static char libraries_path[3000];

void set_libraries_path(const char *own) {
    const char *end = strrchr(own, '/');
    NEED(end && end - own < (long)sizeof libraries_path - 32);
    snprintf(libraries_path, sizeof libraries_path, "%.*s", (int)(end - own), own);
}

/* How often a callback began, and how often one ended. */
static int begun, ended;

int loader_was_idle(int before) { return before == __atomic_load_n(&begun, __ATOMIC_SEQ_CST); }
int loader_idles(void) {
    int over = __atomic_load_n(&ended, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&begun, __ATOMIC_SEQ_CST) == over ? over : -1;
}

struct iteration {
    struct op *op;
    int left;
};

/* The loader's lock is held here. */
static int visit(struct dl_phdr_info *info, size_t size, void *data) {
    struct iteration *iteration = data;
    NEED(info && size);
    __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
    enter_rank(program.objects);
    run(iteration->op->body);
    leave_rank(program.objects);
    __atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
    return --iteration->left == 0;
}

void iterate(struct op *op) {
    struct iteration iteration = {op, op->number};
    NEED(may_enter(program.objects));
    dl_iterate_phdr(visit, &iteration);
}

static void check_loads(void) {
    NEED(may_enter(program.loader) && may_enter(program.storage) && may_enter(program.objects));
}

void look_up_symbol(void) {
    static const char *const names[] = {"cuLaunchKernel", "malloc", "no_such_function", "pthread_mutex_lock"};
    static int next;
    NEED(may_enter(program.loader));
    const char *name = names[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % 4];
    void *found = dlsym(RTLD_DEFAULT, name);
    NEED((found != NULL) == (name[0] != 'n'));
    if (!found) {
        NEED(dlerror());
    }
}

void look_up_address(void) {
    Dl_info info;
    NEED(may_enter(program.loader));
    NEED(dladdr((void *)look_up_address, &info) != 0 && info.dli_fname);
}

void reopen(void) {
    check_loads();
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    NEED(library);
    NEED(dlclose(library) == 0);
}

void load(struct op *op) {
    char path[3100];
    struct op *outer = me->constructor;
    check_loads();
    snprintf(path, sizeof path, "%s/liborder%d.so", libraries_path, op->number);
    me->constructor = op->body;
    void *library = dlopen(path, op->number % 2 ? RTLD_NOW : RTLD_LAZY);
    me->constructor = outer;
    NEED(library);
    int (*touch)(int) = (int (*)(int))dlsym(library, "touch");
    NEED(touch && touch(3) == op->number + 3);
    NEED(dlclose(library) == 0);
}

/* Called by the constructors (1) and destructors (0) of the small libraries, under the loader's lock. */
__attribute__((visibility("default"))) void orders_loaded(int number, int begins) {
    if (!me) {
        return; /* the process ends */
    }
    int is_shared = number < SHARED_LIBRARIES;
    struct library *library = &program.libraries[number];
    struct op *own = begins ? me->constructor : NULL;
    me->constructor = NULL;
    enter_rank(program.loader);
    run(!is_shared ? own : begins ? library->constructor : library->destructor);
    leave_rank(program.loader);
}
