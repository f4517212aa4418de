/*
 * The ways in which programs end, in the middle of whatever their threads do. The only word names one.
 * Expected: the same exit status or signal, and every call that was begun is recorded, or known to be under way.
 */
#include "adversary.h"

static sem_t never, is_in;

static void *stays_in_call(void *data) {
    STANDIN(standin_plan)((struct standin_plan){.taken = &is_in, .let_go = &never});
    calls(1);
    return data;
}

static void *keeps_calling(void *data) {
    for (;;) {
        calls(1);
    }
    return data;
}

/* Threads that are in calls, make calls and wait as the program ends. */
static void busy(void) {
    started(stays_in_call, NULL), started(stays_in_call, NULL);
    wait_for(&is_in), wait_for(&is_in);
    started(keeps_calling, NULL);
    nap_us(5000);
}

static void exits_among_calls(void) {
    busy();
    exit(4);
}

static void leaves_among_calls(void) {
    busy();
    _exit(5);
}

static void exits_in_thread(void) {
    struct {
        void *(*run)(void *);
    } exits = {keeps_calling};
    started(exits.run, NULL);
    started((void *(*)(void *))(void *)exits_among_calls, NULL);
    pthread_exit(NULL);
}

static void calls_late(void) { calls(10); }

static void quits_quickly(void) {
    CHECK(at_quick_exit(calls_late) == 0);
    calls(10);
    quick_exit(6);
}

static void aborts(void) {
    busy();
    abort();
}

static void is_killed(void) {
    busy();
    raise(SIGKILL);
}

static void is_ended_by_signal(void) {
    busy();
    raise(SIGTERM);
}

static void exits_again(void) {
    calls(10);
    exit(7);
}

/* Further handlers still run. */
static void exits_in_handler_of_exit(void) {
    CHECK(atexit(calls_late) == 0 && atexit(exits_again) == 0);
    exit(0);
}

static void leaves_driver(const struct standin_operation *operation) {
    (void)operation;
    exit(8);
}

static void exits_in_callback(void) {
    STANDIN(standin_on_issue)(leaves_driver);
    calls(1);
}

static void closes_stdio(void) {
    CHECK(fclose(stdin) == 0 && fclose(stdout) == 0 && fclose(stderr) == 0);
    close(0), close(1), close(2);
    calls(20000);
    exit(9);
}

/* It goes on for a while with all standard descriptors closed: what is opened next gets their numbers. */
static void runs_without_stdio(void) {
    close(0), close(1), close(2);
    calls(20000);
    slow_call(2);
    CHECK(open("/dev/null", O_RDWR) == 0);
    _exit(9);
}

static void *returns_later(void *data) {
    nap_us(20000);
    calls(10);
    return data;
}

/* The last thread ends the process. */
static void main_thread_ends(void) {
    started(returns_later, NULL);
    pthread_exit(NULL);
}

/* The same program once more, which makes other calls. */
static void executes_itself(void) {
    char *words[] = {(char *)"endings", (char *)"executed", NULL};
    busy();
    execv("/proc/self/exe", words);
}

static void executed(void) { calls(50); }

static void executes_other(void) {
    busy();
    execl("/bin/sh", "sh", "-c", "echo other; exit 3", NULL);
}

/* In a thread: all others end within the call. */
static void *executes(void *data) {
    executes_itself();
    return data;
}

static void executes_in_thread(void) { joined(started(executes, NULL)); }

int main(int count, char **words) {
    static const struct scenario all[] = {
        {"exit", exits_among_calls},         {"_exit", leaves_among_calls},     {"thread-exit", exits_in_thread},
        {"quick_exit", quits_quickly},       {"abort", aborts},                 {"kill", is_killed},
        {"terminate", is_ended_by_signal},   {"exit-in-exit", exits_in_handler_of_exit},
        {"callback", exits_in_callback},     {"stdio", closes_stdio},           {"no-stdio", runs_without_stdio},
        {"main-ends", main_thread_ends},     {"exec", executes_itself},         {"executed", executed},
        {"exec-other", executes_other},      {"exec-thread", executes_in_thread},
    };
    sem_init(&never, 0, 0), sem_init(&is_in, 0, 0);
    begin();
    calls(100);
    return RUN_SCENARIO(all);
}
