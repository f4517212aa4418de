/* Libraries that come and go while a program runs, and look-ups that depend on who asks. */
#include "program.h"
#include "halfway.h"

#include <sys/wait.h>

static void begin(void) {
    bind_driver();
    CHECK(CU(cuInit)(0) == 0);
}

/* Slow calls are when somebody looks what was loaded meanwhile. */
static void slow_call(void) {
    STANDIN(standin_plan)((struct standin_plan){.ms = 2});
    CHECK(copy() == 0);
}

static void *other;
#define OTHER(type, name) ((type)dlsym(other, name))
static sem_t taken;

static void *hold(void *data) {
    (void)data;
    OTHER(void (*)(sem_t *), "other_hold")(&taken);
    return NULL;
}

/* Two threads want the lock of the library. */
static void contend(void) {
    pthread_t holder = started(hold, NULL);
    wait_for(&taken);
    OTHER(void (*)(void), "other_take")();
    joined(holder);
}

/* A slow call comes while another thread is loading a library whose slots are not filled in. */
static void *halfway;

static void *load_halfway(void *data) {
    (void)data;
    halfway = dlopen("libhalfway.so", RTLD_LAZY);
    CHECK(halfway);
    return NULL;
}

static void *hold_halfway(void *data) {
    (void)data;
    ((void (*)(sem_t *))dlsym(halfway, "halfway_hold"))(&taken);
    return NULL;
}

static void half_loaded(void) {
    int says[2], waits[2];
    char byte;
    begin();
    CHECK(pipe(says) == 0 && pipe(waits) == 0);
    CHECK(dup2(says[1], HALFWAY_SAYS) >= 0 && dup2(waits[0], HALFWAY_WAITS) >= 0);
    pthread_t loading = started(load_halfway, NULL);
    CHECK(read(says[0], &byte, 1) == 1);
    slow_call();
    slow_call();
    CHECK(write(waits[1], &byte, 1) == 1);
    joined(loading);
    slow_call();
    pthread_t holder = started(hold_halfway, NULL);
    wait_for(&taken);
    ((void (*)(void))dlsym(halfway, "halfway_take"))();
    joined(holder);
}

static void late_library(void) {
    begin();
    other = dlopen("libother.so", RTLD_NOW);
    CHECK(other);
    slow_call();
    contend();
}

/* The library is unloaded and loaded again, most likely to where it was. */
static void library_again(void) {
    late_library();
    CHECK(dlclose(other) == 0);
    CHECK(dlopen("libother.so", RTLD_NOW | RTLD_NOLOAD) == NULL);
    other = dlopen("libother.so", RTLD_NOW);
    CHECK(other);
    slow_call();
    contend();
}

static void calls_of_user(int count) {
    static void *user;
    user = user ? user : dlopen("libuser.so", RTLD_NOW);
    CHECK(user);
    int (*user_launch)(void) = (int (*)(void))dlsym(user, "user_launch");
    for (int at = 0; at < count; at++) {
        CHECK(user_launch() == 0);
    }
}

/* A library that is linked with the driver comes late. */
static void late_user(void) {
    begin();
    calls_of_user(0);
    slow_call();
    calls_of_user(10);
}

static void early_user(void) {
    bind_driver();
    calls_of_user(0);
    CHECK(CU(cuInit)(0) == 0);
    calls_of_user(10);
}

/* Another library wraps a function; the program need not know. */
static void shimmed(void) {
    begin();
    for (int at = 0; at < 10; at++) {
        CHECK(launch() == 0);
    }
    int (*count)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "shim_count");
    printf("shim saw %d\n", count ? count() : -1);
}

static void answer(void *found) {
    const char *text = dlerror();
    /* Without the path before it, which differs. */
    const char *end = text ? strrchr(text, '/') : NULL;
    printf("%p %s\n", found, end ? end : text ? text : "nothing wrong");
}

/* A slow call looks through a new library while the environment is being changed: it is nobody's to read. */
static void environment_changes(void) {
    extern char **environ;
    begin();
    char **kept = environ;
    environ = (char **)8;
    other = dlopen("libother.so", RTLD_NOW);
    STANDIN(standin_plan)((struct standin_plan){.ms = 2});
    CUresult result = launch();
    environ = kept;
    CHECK(other && result == 0);
    contend();
}

/* The answers of the loader. */
static void look_ups(void) {
    begin();
    void *finder = dlopen("libfinder.so", RTLD_NOW | RTLD_LOCAL);
    CHECK(finder);
    const char *names[] = {"finder_number", "finder_inner", "finder_next", "finder_default"};
    for (int at = 0; at < 4; at++) {
        printf("%s %d\n", names[at], ((int (*)(void))dlsym(finder, names[at]))());
    }
    answer(dlopen("libnowhere.so", RTLD_NOW));
    answer(dlsym(finder, "nothing"));
    answer(dlsym(finder, "cuNothing"));
    answer(dlsym(RTLD_DEFAULT, "cuNothing"));
    answer(dlsym(RTLD_NEXT, "cuNothing"));
    answer(dlsym(RTLD_DEFAULT, "c"));
    answer(dlsym(RTLD_DEFAULT, ""));
    printf("%d\n", dlsym(RTLD_NEXT, "getpid") == dlsym(RTLD_DEFAULT, "getpid"));
    CHECK(dlsym(RTLD_NEXT, "getpid") != NULL && dlsym(NULL, "getpid") != NULL);
}

/* While a thread loads a library whose constructor loads another, the program starts recording. */
static sem_t constructing, called;
static int initializing, waits_for_call;

/* A constructor may wait for another thread's call, which is not to wait for the loader. */
static void await_call(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 3;
    printf("call %s\n", sem_timedwait(&called, &until) == 0 ? "ended" : "waits for the loader");
}

__attribute__((visibility("default"))) void loader_constructing(void);
void loader_constructing(void) {
    char path[64], state = 0;
    sem_post(&constructing);
    if (waits_for_call) {
        return await_call();
    }
    while (!__atomic_load_n(&initializing, __ATOMIC_ACQUIRE)) {
        sched_yield();
    }
    /* Until the main thread waits: for this library, or for this thread to end. */
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
    while (state != 'S') {
        FILE *file = fopen(path, "r");
        CHECK(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
        fclose(file);
    }
}

static void *load(void *data) {
    (void)data;
    CHECK(dlopen("libconstructed.so", RTLD_NOW));
    return NULL;
}

static void while_loading(void) {
    bind_driver();
    calls_of_user(0);
    pthread_t loading = started(load, NULL);
    wait_for(&constructing);
    __atomic_store_n(&initializing, 1, __ATOMIC_RELEASE);
    CHECK(CU(cuInit)(0) == 0);
    joined(loading);
    calls_of_user(10);
}

static void *calls_while_loading(void *data) {
    (void)data;
    __typeof__(&standin_plan) plan = STANDIN(standin_plan);
    sem_post(&called);
    wait_for(&constructing);
    plan((struct standin_plan){.ms = 2});
    CHECK(launch() == 0);
    sem_post(&called);
    return NULL;
}

/* Something that looks like Python was loaded, and a library is being. */
static void slow_while_loading(void) {
    begin();
    waits_for_call = 1;
    CHECK(dlopen("libpython-like.so", RTLD_NOW));
    pthread_t calling = started(calls_while_loading, NULL);
    wait_for(&called);
    CHECK(dlopen("libconstructed.so", RTLD_NOW));
    joined(calling);
}

/* The look-up is another library's, which has looked up in the usual way. */
static void looked_up_twice(void) {
    begin();
    void *answers = dlopen("libanswers.so", RTLD_NOW | RTLD_LOCAL), *found = NULL;
    CHECK(answers);
    __typeof__(&cuGetProcAddress_v2) look = (__typeof__(look))dlsym(answers, "cuGetProcAddress_v2");
    CHECK(look("cuLaunchKernel", &found, 13000, 0, NULL) == 0);
    for (int at = 0; at < 10; at++) {
        CHECK(((__typeof__(&cuLaunchKernel))found)(NULL, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) == 0);
    }
}

static void *copies(void *data) {
    (void)data;
    STANDIN(standin_plan)((struct standin_plan){.taken = &taken, .waiters = 1});
    CHECK(copy() == 0);
    return NULL;
}

/* The child of a recorded program looks the driver's functions up again, and begins anew. */
static void child_begins(void) {
    late_library();
    pid_t child = fork();
    if (child == 0) {
        fact("child", (unsigned long)getpid());
        begin();
        CHECK(launch() == 0);
        pthread_t holder = started(copies, NULL);
        wait_for(&taken);
        CHECK(launch() == 0);
        joined(holder);
        contend();
        exit(0);
    }
    fact("pid", (unsigned long)getpid());
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int count, char **words) {
    static const struct scenario all[] = {
        {"late-library", late_library}, {"library-again", library_again}, {"late-user", late_user},
        {"half-loaded", half_loaded},
        {"early-user", early_user},     {"shimmed", shimmed},             {"look-ups", look_ups},
        {"while-loading", while_loading}, {"child-begins", child_begins},
        {"environment-changes", environment_changes}, {"slow-while-loading", slow_while_loading},
        {"looked-up-twice", looked_up_twice},
    };
    sem_init(&taken, 0, 0);
    sem_init(&constructing, 0, 0);
    sem_init(&called, 0, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    return RUN_SCENARIO(all);
}
