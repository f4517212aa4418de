/* Signal handlers, which run between any two instructions of a thread, and do what a handler may do and a little more. */
#include "orders.h"

#include <signal.h>
#include <sys/time.h>

static sem_t ticks;
static pthread_mutex_t only_handlers = PTHREAD_MUTEX_INITIALIZER;
static pthread_t first;

static void handle(int signal) {
    int before = errno;
    (void)signal;
    NEED(sem_post(&ticks) == 0);
    if (pthread_mutex_trylock(&only_handlers) == 0) {
        NEED(pthread_mutex_unlock(&only_handlers) == 0);
    }
    if (me && me->calls) {
        CUcontext context;
        NEED(CU(cuCtxGetCurrent)(&context) == 0);
        __atomic_add_fetch(&me->asked_by_handlers, 1, __ATOMIC_RELAXED);
    }
    sem_trywait(&ticks);
    errno = before;
}

void prepare_handlers(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = program.restarts ? SA_RESTART : 0};
    first = pthread_self();
    NEED(sem_init(&ticks, 0, 0) == 0);
    NEED(sigaction(SIGALRM, &action, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
}

static void set_timer(long us) {
    struct itimerval timer = {{0, us}, {0, us}};
    NEED(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

void start_timer(void) {
    if (program.has_timer) {
        set_timer(program.has_timer);
    }
}

void stop_timer(void) { set_timer(0); }

void raise_signal(void) {
    static int number;
    int others = __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED) % 2;
    NEED(pthread_kill(others ? first : pthread_self(), SIGUSR1) == 0);
}

void block_signals(void) {
    sigset_t both;
    sigemptyset(&both), sigaddset(&both, SIGALRM), sigaddset(&both, SIGUSR1);
    NEED(pthread_sigmask(SIG_BLOCK, &both, NULL) == 0);
}
