/*
 * Waits whose least duration is known: the waiter says that it is about to wait, a thread that ends the wait sees it
 * asleep, looks at the clock, sleeps, looks at the clock again and then ends it.
 */
#include "orders.h"

/* A wait is known to take so long, µs. */
enum { LEAST = 2000 };

void prepare_scene(struct scene *scene) {
    NEED(sem_init(&scene->announced, 0, 0) == 0);
    NEED(sem_init(&scene->semaphore, 0, 0) == 0);
    NEED(pthread_mutex_init(&scene->mutex, NULL) == 0);
    NEED(pthread_cond_init(&scene->condition, NULL) == 0);
    NEED(pthread_barrier_init(&scene->barrier, NULL, (unsigned)scene->count + 1) == 0);
}

static void wait_for_semaphore(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) {
        NEED(errno == EINTR);
        me->interrupted++;
    }
}

void meet(struct scene *scene) { wait_for_semaphore(&scene->announced); }

static void wait_for_turn(struct scene *scene, int turn) {
    NEED(pthread_mutex_lock(&scene->mutex) == 0);
    announce();
    while (scene->turn < turn) {
        NEED(pthread_cond_wait(&scene->condition, &scene->mutex) == 0);
    }
    NEED(pthread_mutex_unlock(&scene->mutex) == 0);
}

static void end_turn(struct scene *scene) {
    NEED(pthread_mutex_lock(&scene->mutex) == 0);
    scene->turn++;
    NEED((scene->rounds % 2 ? pthread_cond_signal : pthread_cond_broadcast)(&scene->condition) == 0);
    NEED(pthread_mutex_unlock(&scene->mutex) == 0);
}

/* Two threads by turns; the holder begins. */
static void take_turns(struct scene *scene, int first) {
    for (int round = 0; round < scene->rounds; round++) {
        wait_for_turn(scene, 2 * round + first);
        end_turn(scene);
    }
}

static struct waiter *own_place(struct scene *scene) {
    int at = 0;
    while (scene->waiters[at] != me->worker) {
        at++;
    }
    return &scene->waiter[at];
}

/* The wait itself: between saying so and it, nothing that sleeps. */
static void wait_now(struct scene *scene) {
    switch (scene->awaited) {
    case OF_LOCK:
        NEED(acquire(scene->lock, (enum how)scene->how, scene->is_shared[1]));
        release(scene->lock, scene->is_shared[1]);
        break;
    case OF_FLAG: wait_for_turn(scene, 1); break;
    case OF_EVENT:
        announce();
        wait_for_semaphore(&scene->semaphore);
        break;
    case OF_BARRIER:
        announce();
        pthread_barrier_wait(&scene->barrier);
        break;
    case OF_COPY:
        announce();
        call_driver(scene->rounds % 2 ? LAUNCH : COPY_OUT, 1);
        break;
    case OF_ALLOCATION:
        announce();
        call_driver(ALLOC, 1);
        break;
    case OF_TURNS: take_turns(scene, 1); break;
    }
}

void wait_in(struct scene *scene) {
    struct waiter *own = own_place(scene);
    int before = me->interrupted;
    me->announces = &own->is_going;
    wait_now(scene);
    me->announces = NULL;
    /* Waits of threads that do not call the driver are not recorded. */
    own->is_broken = me->interrupted != before || !me->calls;
}

/* Whether all waiters sleep. */
static int all_sleep(struct scene *scene) {
    for (int at = 0; at < scene->count; at++) {
        if (!falls_asleep(&scene->waiter[at].is_going)) {
            return 0;
        }
    }
    return 1;
}

/* Lets the waiters wait for a known time. */
static void let_wait(struct scene *scene, struct op *body) {
    int sleep = all_sleep(scene);
    unsigned long from = now_ns();
    run(body);
    unsigned long spent = (now_ns() - from) / 1000;
    if (sleep && spent < LEAST) {
        nap((long)(LEAST - spent));
    }
    unsigned long to = now_ns();
    for (int at = 0; at < scene->count; at++) {
        struct waiter *waiter = &scene->waiter[at];
        waiter->from = from, waiter->to = to, waiter->is_known = sleep;
    }
}

/* A call that holds one of the driver's own locks until it is told. */
struct driver_call {
    struct scene *scene;
    sem_t taken, let_go;
};

static void *call_and_hold(void *data) {
    struct driver_call *call = data;
    block_signals(); /* the stand-in's plan ends when one comes */
    begin_thread(-1, 1);
    STANDIN(standin_plan)((struct standin_plan){.taken = &call->taken, .let_go = &call->let_go});
    call_driver(call->scene->awaited == OF_COPY ? COPY_OUT : ALLOC, 1);
    return NULL;
}

static void hold_in_driver(struct scene *scene) {
    struct driver_call call = {.scene = scene};
    NEED(sem_init(&call.taken, 0, 0) == 0 && sem_init(&call.let_go, 0, 0) == 0);
    pthread_t thread = start(call_and_hold, &call);
    wait_for_semaphore(&call.taken);
    NEED(sem_post(&scene->announced) == 0);
    let_wait(scene, NULL);
    NEED(sem_post(&call.let_go) == 0);
    NEED(pthread_join(thread, NULL) == 0);
}

void hold_in(struct scene *scene, struct op *body) {
    switch (scene->awaited) {
    case OF_LOCK:
        NEED(acquire(scene->lock, PLAIN, scene->is_shared[0]));
        NEED(sem_post(&scene->announced) == 0);
        let_wait(scene, body);
        release(scene->lock, scene->is_shared[0]);
        break;
    case OF_FLAG:
    case OF_EVENT:
        NEED(sem_post(&scene->announced) == 0);
        let_wait(scene, body);
        if (scene->awaited == OF_FLAG) {
            end_turn(scene);
        } else {
            NEED(sem_post(&scene->semaphore) == 0);
        }
        break;
    case OF_BARRIER:
        let_wait(scene, NULL);
        pthread_barrier_wait(&scene->barrier);
        break;
    case OF_COPY:
    case OF_ALLOCATION: hold_in_driver(scene); break;
    case OF_TURNS: take_turns(scene, 0); break;
    }
}

/* A thread that another one joins. */
struct spawned {
    struct op *op;
    int floor;
    int joiner;
    int is_known;
    unsigned long from, to;
};

static void *run_spawned(void *data) {
    struct spawned *spawned = data;
    int how = spawned->op->how;
    begin_thread(-1, (how & THAT_CALLS) != 0);
    me->top = me->floor = spawned->floor;
    if (how & THAT_DIES) {
        acquire(spawned->op->lock, PLAIN, 0);
    }
    run(spawned->op->body);
    if (how & THAT_DIES) {
        abandon(spawned->op->lock);
    }
    spawned->is_known = falls_asleep(&spawned->joiner);
    spawned->from = now_ns();
    if (spawned->is_known) {
        nap(LEAST);
    }
    spawned->to = now_ns();
    if (how & THAT_EXITS) {
        pthread_exit(NULL);
    }
    return NULL;
}

static void join(pthread_t thread, int how) {
    struct timespec until = later(how & WITH_CLOCK ? CLOCK_MONOTONIC : CLOCK_REALTIME, 600000);
    int result = how & WITH_TIME    ? pthread_timedjoin_np(thread, NULL, &until)
                 : how & WITH_CLOCK ? pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until)
                                    : pthread_join(thread, NULL);
    NEED(result == 0);
}

void spawn(struct op *op) {
    NEED(may_enter(program.storage));
    struct spawned spawned = {.op = op, .floor = me->top};
    pthread_t thread = start(run_spawned, &spawned);
    __atomic_store_n(&spawned.joiner, me->tid, __ATOMIC_SEQ_CST);
    join(thread, op->how);
    if (spawned.is_known && me->calls) {
        known_wait(me->tid, (uintptr_t)thread, AS_JOIN, spawned.from, spawned.to);
    }
}

/* What a thread that is cancelled waits for. */
struct victim {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    sem_t semaphore;
    pthread_t forever;
    int how;
    int calls;
    int is_going;
    int cleaned;
};

static void clean(void *data) {
    struct victim *victim = data;
    victim->cleaned++;
    if (victim->how == 0) {
        NEED(pthread_mutex_unlock(&victim->mutex) == 0);
    }
}

static void wait_for_ever(struct victim *victim) {
    switch (victim->how) {
    case 0:
        for (;;) {
            pthread_cond_wait(&victim->condition, &victim->mutex);
        }
    case 1:
        for (;;) {
            sem_wait(&victim->semaphore);
        }
    case 2:
        for (;;) {
            pause();
        }
    default: pthread_join(victim->forever, NULL);
    }
}

static void *be_cancelled(void *data) {
    struct victim *victim = data;
    begin_thread(-1, victim->calls);
    if (victim->how == 0) {
        NEED(pthread_mutex_lock(&victim->mutex) == 0);
    }
    pthread_cleanup_push(clean, victim);
    __atomic_store_n(&victim->is_going, me->tid, __ATOMIC_SEQ_CST);
    wait_for_ever(victim);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *wait_for_post(void *data) {
    begin_thread(-1, 0);
    wait_for_semaphore(data);
    return NULL;
}

void cancel(int how) {
    struct victim victim = {.how = how, .calls = me->calls};
    void *result = NULL;
    NEED(pthread_mutex_init(&victim.mutex, NULL) == 0 && pthread_cond_init(&victim.condition, NULL) == 0);
    NEED(sem_init(&victim.semaphore, 0, 0) == 0);
    if (how == 3) {
        victim.forever = start(wait_for_post, &victim.semaphore);
    }
    pthread_t thread = start(be_cancelled, &victim);
    falls_asleep(&victim.is_going);
    NEED(pthread_cancel(thread) == 0);
    NEED(pthread_join(thread, &result) == 0);
    NEED(result == PTHREAD_CANCELED && victim.cleaned <= 1);
    if (how == 3) {
        NEED(sem_post(&victim.semaphore) == 0);
        NEED(pthread_join(victim.forever, NULL) == 0);
    }
}
