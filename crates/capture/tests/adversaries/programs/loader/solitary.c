/* Uses locks; it depends on nothing of the program. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void solitary_locks(void) {
    for (int at = 0; at < 100; at++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
}
