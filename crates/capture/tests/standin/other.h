/* A library with locks of its own. */
#ifndef OTHER_H
#define OTHER_H
#include <pthread.h>
#include <semaphore.h>

/* Takes the mutex, posts, holds it until somebody waits and 2 ms more. */
void other_hold(sem_t *taken);
/* Whom to cancel while it waits for the mutex: known once `known` is set. */
struct other_victim {
    sem_t *taken; /* posted when the mutex is taken */
    int known;
    pthread_t thread;
};
void other_hold_and_cancel(struct other_victim *victim);
/* Acquires the mutex and releases it. */
void other_take(void);
/* Takes the mutex and keeps it. */
void other_take_for_good(void);
/* As `other_take`, waiting so many ms at most; whether it got it. */
int other_take_in(long ms);
/* Takes the spin lock, posts, and holds it until the other thread has spun for 2 ms. */
void other_spin_hold(sem_t *taken, pthread_t other);
void other_spin_take(void);
void *other_lock(void);

#endif
