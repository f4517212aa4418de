/* A library that can be stopped while it is loaded. */
#ifndef HALFWAY_H
#define HALFWAY_H
#include <semaphore.h>

/* The files through which it says that it is halfway, and is told to go on. */
enum { HALFWAY_SAYS = 200, HALFWAY_WAITS = 201 };

/* Takes its mutex, posts, and holds it until somebody waits. */
void halfway_hold(sem_t *taken);
void halfway_take(void);

#endif
