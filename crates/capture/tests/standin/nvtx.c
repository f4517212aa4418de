/* Ranges and names, given to the library that the environment names, as the NVTX headers do it. */
#include "program.h"

enum { CORE = 1, CORE2 = 5, FUNCTIONS = 16 };

static void *functions[2][FUNCTIONS];
static void **places[2][FUNCTIONS];

static int table(int module, void ****slots, unsigned *count) {
    int at = module == CORE ? 0 : module == CORE2 ? 1 : -1;
    if (at < 0) {
        return 0;
    }
    for (int number = 0; number < FUNCTIONS; number++) {
        places[at][number] = &functions[at][number];
    }
    *slots = places[at];
    *count = FUNCTIONS;
    return 1;
}

static const struct {
    size_t size;
    int (*table)(int, void ****, unsigned *);
} callbacks = {sizeof callbacks, table};

static const void *export(unsigned id) { return id == 1 ? &callbacks : NULL; }

static void *handle(void *domain, const char *name) {
    void *found = functions[1][domain ? 10 : 12];
    return !found ? NULL : domain ? ((void *(*)(void *, const char *))found)(domain, name)
                                  : ((void *(*)(const char *))found)(name);
}

static void name_thread(const char *name) {
    if (functions[0][14]) {
        ((void (*)(unsigned, const char *))functions[0][14])((unsigned)gettid(), name);
    }
}

static void range(void *domain, void *name) {
    struct {
        short version, size;
        int category, color_type, color, payload_type, reserved;
        long payload;
        int message_type;
        void *message;
    } attributes = {.version = 2, .size = sizeof attributes, .message_type = 3, .message = name};
    if (functions[1][4]) {
        ((int (*)(void *, void *))functions[1][4])(domain, &attributes);
        ((int (*)(void *))functions[1][5])(domain);
    }
}

int main(void) {
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*begin)(const void *(*)(unsigned)) = NULL;
    if (library) {
        begin = (__typeof__(begin))dlsym(library, "InitializeInjectionNvtx2");
        CHECK(begin && begin(export) == 1);
    }
    /* All of this may come before the driver is initialized. */
    void *domain = handle(NULL, "early domain"), *early = domain ? handle(domain, "early range") : NULL;
    name_thread("early name");
    fact("thread", (unsigned long)gettid());
    bind_driver();
    CHECK(CU(cuInit)(0) == 0);
    range(domain, early);
    void *late_domain = handle(NULL, "late domain");
    range(late_domain, late_domain ? handle(late_domain, "late range") : NULL);
    range(domain, early);
    printf("done\n");
    return 0;
}
