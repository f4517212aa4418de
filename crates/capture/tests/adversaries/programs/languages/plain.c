/*
 * A tool without CUDA that has a thread and locks.
 * Expected: it runs as bare, and nothing is recorded.
 */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *locks(void *data) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return data;
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, locks, NULL) != 0 || pthread_join(thread, NULL) != 0) {
        return 1;
    }
    puts("plain");
    return 3;
}
