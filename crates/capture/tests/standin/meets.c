/* Threads of a program that wait for each other's locks, signals, posts, arrivals and ends. */
#include "program.h"

#include <errno.h>
#include <signal.h>

#define MS 20

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t posts, ready;
static int flag;

static void sleep_ms(long ms) {
    struct timespec time = {0, ms * 1000000};
    while (nanosleep(&time, &time) != 0) {
    }
}

static struct timespec in_ms(clockid_t clock, long ms) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += ms * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void i_am(const char *role) { fact(role, (unsigned long)gettid()); }

static void what(const void *address) { fact("address", (unsigned long)(uintptr_t)address); }

static void *hold_mutex(void *data) {
    i_am("ender");
    CHECK(pthread_mutex_lock(&lock) == 0);
    sem_post(&ready);
    sleep_ms(MS);
    CHECK(pthread_mutex_unlock(&lock) == 0);
    return data;
}

static void mutex(void) {
    what(&lock);
    pthread_t other = started(hold_mutex, NULL);
    while (sem_trywait(&ready) != 0) {
    }
    CHECK(pthread_mutex_lock(&lock) == 0);
    CHECK(pthread_mutex_unlock(&lock) == 0);
    joined(other);
}

static void *hold_rwlock(void *data) {
    i_am("ender");
    CHECK(pthread_rwlock_wrlock(&shared) == 0);
    sem_post(&ready);
    sleep_ms(MS);
    CHECK(pthread_rwlock_unlock(&shared) == 0);
    return data;
}

static void rwlock(void) {
    what(&shared);
    pthread_t other = started(hold_rwlock, NULL);
    while (sem_trywait(&ready) != 0) {
    }
    CHECK(pthread_rwlock_rdlock(&shared) == 0);
    CHECK(pthread_rwlock_unlock(&shared) == 0);
    joined(other);
}

/* In a function of its own, which the test looks for. */
__attribute__((noinline)) static void raise_flag(void) {
    CHECK(pthread_mutex_lock(&lock) == 0);
    flag = 1;
    CHECK(pthread_cond_signal(&condition) == 0);
    CHECK(pthread_mutex_unlock(&lock) == 0);
    __asm__ volatile("");
}

static void *signal_later(void *data) {
    i_am("ender");
    sleep_ms(MS);
    raise_flag();
    return data;
}

__attribute__((noinline)) static void wait_for_flag(void) {
    CHECK(pthread_mutex_lock(&lock) == 0);
    while (!flag) {
        CHECK(pthread_cond_wait(&condition, &lock) == 0);
    }
    CHECK(pthread_mutex_unlock(&lock) == 0);
    __asm__ volatile("");
}

static void signalled(void) {
    what(&condition);
    pthread_t other = started(signal_later, NULL);
    wait_for_flag();
    joined(other);
}

static void *broadcast_later(void *data) {
    i_am("ender");
    sleep_ms(MS);
    CHECK(pthread_mutex_lock(&lock) == 0);
    flag = 1;
    CHECK(pthread_cond_broadcast(&condition) == 0);
    CHECK(pthread_mutex_unlock(&lock) == 0);
    return data;
}

static void *wait_too(void *data) {
    CHECK(launch() == 0);
    wait_for_flag();
    return data;
}

/* Three threads wait, and one wakes them all. */
static void broadcast(void) {
    what(&condition);
    pthread_t waiters[2] = {started(wait_too, NULL), started(wait_too, NULL)};
    pthread_t other = started(broadcast_later, NULL);
    wait_for_flag();
    joined(waiters[0]);
    joined(waiters[1]);
    joined(other);
}

static void *post_later(void *data) {
    i_am("ender");
    sleep_ms(MS);
    CHECK(sem_post(&posts) == 0);
    return data;
}

static void posted(void) {
    what(&posts);
    pthread_t other = started(post_later, NULL);
    wait_for(&posts);
    joined(other);
}

/* A wait that nobody ends, then one that comes at once: errno is as it was. */
static void given_up(void) {
    what(&posts);
    struct timespec until = in_ms(CLOCK_REALTIME, MS);
    errno = 0;
    CHECK(sem_timedwait(&posts, &until) == -1 && errno == ETIMEDOUT);
    sem_post(&posts);
    errno = 77;
    CHECK(sem_timedwait(&posts, &until) == 0 && errno == 77);
    CHECK(pthread_mutex_lock(&lock) == 0);
    until = in_ms(CLOCK_REALTIME, MS);
    CHECK(pthread_cond_timedwait(&condition, &lock, &until) == ETIMEDOUT);
    CHECK(pthread_mutex_unlock(&lock) == 0);
}

static void *arrive_later(void *data) {
    i_am("ender");
    sleep_ms(MS);
    int result = pthread_barrier_wait(&barrier);
    CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
    return data;
}

static void *arrive_soon(void *data) {
    CHECK(launch() == 0);
    int result = pthread_barrier_wait(&barrier);
    CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
    return data;
}

static void met(void) {
    what(&barrier);
    pthread_barrier_init(&barrier, NULL, 3);
    pthread_t others[2] = {started(arrive_soon, NULL), started(arrive_later, NULL)};
    arrive_soon(NULL);
    joined(others[0]);
    joined(others[1]);
}

static void *end_later(void *data) {
    i_am("ender");
    sleep_ms(MS);
    return data;
}

static void ended(void) {
    pthread_t other = started(end_later, NULL);
    what((void *)other);
    joined(other);
}

static void *wait_without_calls(void *data) {
    i_am("unconcerned");
    wait_for(&posts);
    return data;
}

/* A thread that makes no call of the driver waits. */
static void unconcerned(void) {
    what(&posts);
    pthread_t other = started(wait_without_calls, NULL);
    sleep_ms(MS);
    sem_post(&posts);
    joined(other);
}

static void *ping(void *data) {
    for (int at = 0; at < 3000; at++) {
        CHECK(sem_post(&ready) == 0);
        wait_for(&posts);
    }
    return data;
}

/* Many waits, most of them short. */
static void short_ones(void) {
    what(&ready);
    pthread_t other = started(ping, NULL);
    for (int at = 0; at < 3000; at++) {
        wait_for(&ready);
        CHECK(sem_post(&posts) == 0);
    }
    joined(other);
}

static void unlock(void *data) { CHECK(pthread_mutex_unlock(data) == 0); }

static void *wait_for_ever(void *data) {
    CHECK(launch() == 0);
    CHECK(pthread_mutex_lock(&lock) == 0);
    pthread_cleanup_push(unlock, &lock);
    sem_post(&ready);
    for (;;) {
        pthread_cond_wait(&condition, &lock);
    }
    pthread_cleanup_pop(1);
    return data;
}

static void *wait_for_post_for_ever(void *data) {
    CHECK(launch() == 0);
    sem_post(&ready);
    for (;;) {
        sem_wait(&posts);
    }
    return data;
}

/* Threads are cancelled in their waits; those who come later wait as ever. */
static void cancelled(void) {
    what(&condition);
    void *(*const waits[])(void *) = {wait_for_ever, wait_for_post_for_ever};
    for (int at = 0; at < 2; at++) {
        pthread_t thread = started(waits[at], NULL);
        wait_for(&ready);
        sleep_ms(2);
        CHECK(pthread_cancel(thread) == 0);
        void *result;
        CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    }
    pthread_t other = started(signal_later, NULL);
    wait_for_flag();
    joined(other);
}

static void post_in_handler(int number) {
    (void)number;
    sem_post(&posts);
}

static int handled_all;

static void *kill_later(void *data) {
    while (!__atomic_load_n(&handled_all, __ATOMIC_ACQUIRE)) {
        sleep_ms(1);
        pthread_kill(*(pthread_t *)data, SIGUSR1);
    }
    return NULL;
}

/* A handler ends the very wait that it interrupts. */
static void handled(void) {
    what(&posts);
    struct sigaction action = {.sa_handler = post_in_handler, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_t self = pthread_self(), other = started(kill_later, &self);
    for (int at = 0; at < 50; at++) {
        while (sem_wait(&posts) != 0) {
            CHECK(errno == EINTR);
        }
    }
    __atomic_store_n(&handled_all, 1, __ATOMIC_RELEASE);
    joined(other);
}

/* A lock with Python's layout that is not Python's, in an object that says it has the interpreter. */
#ifdef LIKE
char _PyRuntime[64];
#endif

static struct {
    pthread_cond_t condition;
    pthread_mutex_t lock;
    pthread_cond_t switched;
    pthread_mutex_t switch_lock;
    int locked;
} like = {PTHREAD_COND_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 0};

static void take_like(void) {
    pthread_mutex_lock(&like.lock);
    while (like.locked) {
        struct timespec until = in_ms(CLOCK_REALTIME, 7);
        pthread_cond_timedwait(&like.condition, &like.lock, &until);
    }
    pthread_mutex_lock(&like.switch_lock);
    like.locked = 1;
    pthread_cond_signal(&like.switched);
    pthread_mutex_unlock(&like.switch_lock);
    pthread_mutex_unlock(&like.lock);
}

static void give_like(void) {
    pthread_mutex_lock(&like.lock);
    like.locked = 0;
    pthread_cond_signal(&like.condition);
    pthread_mutex_unlock(&like.lock);
}

static void *hold_like(void *data) {
    i_am("ender");
    take_like();
    sem_post(&ready);
    sleep_ms(MS);
    give_like();
    return data;
}

static void like_a_gil(void) {
    what(&like.condition);
    pthread_t other = started(hold_like, NULL);
    wait_for(&ready);
    take_like();
    give_like();
    joined(other);
}

/* The conditions of glibc before 2.3.2, as old programs have them. */
#ifdef __x86_64__
__asm__(".symver old_init, pthread_cond_init@GLIBC_2.2.5");
__asm__(".symver old_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver old_signal, pthread_cond_signal@GLIBC_2.2.5");
int old_init(void *condition, const void *attributes);
int old_wait(void *condition, pthread_mutex_t *mutex);
int old_signal(void *condition);

/* As much as the old type had, and behind it what must stay. */
static struct {
    void *words[2];
    unsigned long behind[8];
} old = {{0}, {1, 2, 3, 4, 5, 6, 7, 8}};

static void *signal_old(void *data) {
    sleep_ms(MS);
    CHECK(pthread_mutex_lock(&lock) == 0);
    flag = 1;
    CHECK(old_signal(&old) == 0);
    CHECK(pthread_mutex_unlock(&lock) == 0);
    return data;
}

static void old_condition(void) {
    CHECK(old_init(&old, NULL) == 0);
    pthread_t other = started(signal_old, NULL);
    CHECK(pthread_mutex_lock(&lock) == 0);
    while (!flag) {
        CHECK(old_wait(&old, &lock) == 0);
    }
    CHECK(pthread_mutex_unlock(&lock) == 0);
    joined(other);
    for (unsigned long at = 0; at < 8; at++) {
        CHECK(old.behind[at] == at + 1);
    }
}
#else
static void old_condition(void) {}
#endif

/* A program that loads Python when it has called CUDA. */
static const char planted[] =
    "import os, threading, time\n"
    "def fact(name, value):\n"
    "    with open(os.environ['STANDIN_FACTS'], 'a') as facts:\n"
    "        facts.write(f'{name} {value}\\n')\n"
    "begun, done = threading.Event(), threading.Event()\n"
    "def compute():\n"
    "    fact('ender', threading.get_native_id())\n"
    "    begun.set()\n"
    "    counter = 0\n"
    "    while not done.is_set():\n"
    "        for _ in range(1000): counter += 1\n"
    "thread = threading.Thread(target=compute)\n"
    "thread.start()\n"
    "begun.wait()\n"
    "for _ in range(20): time.sleep(0.0001)\n"
    "done.set()\n"
    "thread.join()\n";

static void late_python(void) {
    void *python = dlopen(getenv("STANDIN_LIBPYTHON"), RTLD_NOW | RTLD_GLOBAL);
    CHECK(python);
    void (*initialize)(int) = (void (*)(int))dlsym(python, "Py_InitializeEx");
    int (*run)(const char *) = (int (*)(const char *))dlsym(python, "PyRun_SimpleString");
    int (*finalize)(void) = (int (*)(void))dlsym(python, "Py_FinalizeEx");
    initialize(0);
    /* Slow calls, at which holdup looks for what was loaded. */
    for (int at = 0; at < 20; at++) {
        STANDIN(standin_plan)((struct standin_plan){.ms = 1});
        CHECK(copy() == 0);
    }
    CHECK(run(planted) == 0);
    CHECK(finalize() == 0);
}

int main(int count, char **words) {
    static const struct scenario all[] = {
        {"mutex", mutex},
        {"rwlock", rwlock},
        {"signalled", signalled},
        {"broadcast", broadcast},
        {"posted", posted},
        {"given-up", given_up},
        {"met", met},
        {"ended", ended},
        {"unconcerned", unconcerned},
        {"short", short_ones},
        {"cancelled", cancelled},
        {"handled", handled},
        {"like-a-gil", like_a_gil},
        {"old-condition", old_condition},
        {"late-python", late_python},
    };
    sem_init(&posts, 0, 0);
    sem_init(&ready, 0, 0);
    bind_driver();
    CHECK(CU(cuInit)(0) == 0);
    fact("waiter", (unsigned long)gettid());
    CHECK(launch() == 0);
    return RUN_SCENARIO(all);
}
