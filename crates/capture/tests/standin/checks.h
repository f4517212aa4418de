/* Whether locks do what POSIX says they do, seen from a library whose locks may be watched. */
#ifndef CHECKS_H
#define CHECKS_H

/* Number of statements that do not hold; says which on standard error. */
int check_locks(void);
/* Threads at once on all kinds of locks: number of sums that are wrong. */
int check_stress(int threads, int rounds);
/* Cancels a thread that waits for a condition, and one that waits in a lock function. */
int check_cancel(void);
/* Nanoseconds that taking and letting go of a free mutex takes, on average over so many. */
double lock_cost(long count);

#endif
