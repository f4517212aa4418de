/*
 * Frameworks load plugins from plugins: constructors open further libraries and call the driver, threads open and close
 * libraries all the time, and locks are held meanwhile.
 * Expected: it ends as bare, and every call is recorded.
 */
#include "adversary.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* For the plugins. */
void adversary_calls(int count) { calls(count); }
void adversary_locks(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void opens(int times) {
    for (int at = 0; at < times; at++) {
        void *plugin = dlopen("libplugin.so", RTLD_NOW);
        CHECK(plugin && dlsym(plugin, "plugin_calls"));
        ((void (*)(int))dlsym(plugin, "plugin_calls"))(3);
        CHECK(dlclose(plugin) == 0);
    }
}

static void *opens_often(void *data) {
    opens(15);
    return data;
}

static void *calls_often(void *data) {
    calls(2000);
    return data;
}

static void in_threads(void) {
    pthread_t threads[4];
    for (int at = 0; at < 4; at++) {
        threads[at] = started(at % 2 ? opens_often : calls_often, NULL);
    }
    for (int at = 0; at < 4; at++) {
        joined(threads[at]);
    }
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *waits_for_held(void *data) {
    pthread_mutex_lock(&held);
    calls(1);
    pthread_mutex_unlock(&held);
    return data;
}

/* Another thread waits for the lock that is held while a library comes. */
static void with_lock(void) {
    pthread_mutex_lock(&held);
    pthread_t waiter = started(waits_for_held, NULL);
    nap_us(20000);
    opens(3);
    pthread_mutex_unlock(&held);
    joined(waiter);
}

static void *calls_slowly(void *data) {
    for (int at = 0; at < 5; at++) {
        slow_call(5);
    }
    return data;
}

/* Libraries go while other threads are in calls whose stacks are recorded. */
static void while_in_calls(void) {
    pthread_t threads[3];
    for (int at = 0; at < 3; at++) {
        threads[at] = started(calls_slowly, NULL);
    }
    opens(20);
    for (int at = 0; at < 3; at++) {
        joined(threads[at]);
    }
}

/* Two libraries take turns at the same addresses; slow calls come from both. */
static void in_turn(void) {
    for (int at = 0; at < 10; at++) {
        void *plugin = dlopen(at % 2 ? "libtwin.so" : "libplugin.so", RTLD_NOW);
        CHECK(plugin);
        STANDIN(standin_plan)((struct standin_plan){.ms = 1});
        ((void (*)(int))dlsym(plugin, at % 2 ? "twin_calls" : "plugin_calls"))(1);
        CHECK(dlclose(plugin) == 0);
    }
}

int main(int count, char **words) {
    static const struct scenario all[] = {{"threads", in_threads}, {"lock-held", with_lock},
                                          {"while-in-calls", while_in_calls}, {"in-turn", in_turn}};
    begin();
    calls(10);
    return RUN_SCENARIO(all);
}
