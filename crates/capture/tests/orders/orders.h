/*
 * A random program of threads and locks that cannot deadlock, made of a seed.
 *
 * All locks, those of the loader among them, stand in one order: a lock's rank. A thread waits only for locks of higher
 * rank than all that it holds, and for another thread only if that one, until it ends the wait, waits for nothing of
 * lower rank than what the first holds. Where a thread looks whether another one waits, it gives up after a while.
 */
#ifndef ORDERS_H
#define ORDERS_H

#include "../standin/program.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

enum {
    MOST_WORKERS = 8,
    MOST_LOCKS = 15, /* the loader's included */
    MOST_SCENES = 8,
    MOST_THREADS = 256,
    MOST_LIBRARIES = 6,
    SHARED_LIBRARIES = 3, /* the others are loaded by one scene each */
    MOST_ITEMS = 64,
};

/* Fails the program with a line that says where. */
#define NEED(condition)                                                                                          \
    do {                                                                                                         \
        if (!(condition)) {                                                                                      \
            fail(__FILE__, __LINE__, #condition);                                                                \
        }                                                                                                        \
    } while (0)
_Noreturn void fail(const char *file, int line, const char *what);

/* Random numbers. */
struct random {
    uint64_t state;
};
uint64_t draw(struct random *random);
/* One below `limit`. */
int below(struct random *random, int limit);
/* Whether one of `percent` in 100 happens. */
int chance(struct random *random, int percent);

/*
 * The last three are the loader's, as glibc 2.35 and later have them. A look-up (dlsym, dladdr) takes the first. dlopen
 * and dlclose take the first, then that of threads' storage, then that of the list of objects; constructors and
 * destructors run under the first alone. pthread_create takes the second. dl_iterate_phdr calls back under the third.
 */
enum kind {
    NORMAL,
    ADAPTIVE,
    RECURSIVE,
    CHECKED,
    INHERITING,
    ROBUST,
    RWLOCK,
    FAIR_RWLOCK,
    SEMAPHORE,
    MONITOR,
    LOADER,
    STORAGE,
    OBJECTS
};

/* A lock with a rank: its place in `program.locks`. */
struct lock {
    enum kind kind;
    union {
        pthread_mutex_t mutex;
        pthread_rwlock_t rwlock;
        sem_t semaphore;
        struct {
            pthread_mutex_t mutex;
            pthread_cond_t condition;
            int is_held;
        } monitor;
    };
    /* Who is inside, to check that the lock excludes. */
    int owner;
    int depth;
    int readers;
    long sum;
};

/* What a wait is recorded as: the numbers of crates/spool/src/waits.rs. */
enum recorded {
    UNRECORDED,
    AS_MUTEX = 1,
    AS_RWLOCK = 2,
    AS_CONDITION = 5,
    AS_SEMAPHORE = 6,
    AS_BARRIER = 7,
    AS_JOIN = 8
};

/* How a thread asks for a lock. */
enum how { PLAIN, TIMED, CLOCKED, TRIED, IMPATIENT };

enum what {
    ACQUIRE,  /* `lock`, `how`, `is_shared`: `body` with the lock held, nothing if it is not had */
    CHAIN,    /* `lock`, then `other`, releases the first, `body` */
    ITERATE,  /* dl_iterate_phdr: `body` in its callback, for `number` objects */
    SYMBOL,   /* dlsym */
    ADDRESS,  /* dladdr */
    REOPEN,   /* dlopen and dlclose of what is loaded */
    LIBRARY,  /* dlopen and dlclose of library `number`: `body` in its constructor, or the library's own */
    CALLS,    /* `number` calls of the driver, of the kind `how` */
    ALLOCATE, /* malloc and free */
    COMPUTE,  /* `number` µs */
    NAP,      /* `number` µs */
    SPAWN,    /* a thread that runs `body`, and its end; `spawning` says more */
    CHILD,    /* a process, made as `how` says */
    RAISE,    /* a signal, to the thread itself or the first */
    MEET,     /* waits until the scene's holder is ready */
    WAIT,     /* waits in the scene */
    HOLD,     /* what the scene's waiter waits for: `body` meanwhile */
    CANCEL,   /* a thread that is cancelled while it waits, as `how` says */
};

/* In `how` of a SPAWN. */
enum spawning {
    THAT_CALLS = 1, /* the thread calls the driver */
    THAT_EXITS = 2, /* it ends by pthread_exit */
    THAT_DIES = 4,  /* it ends while it holds `lock`, a robust mutex */
    WITH_TIME = 8,  /* it is joined by pthread_timedjoin_np */
    WITH_CLOCK = 16 /* or by pthread_clockjoin_np */
};

/* How a CHILD is made. */
enum child {
    FORK,
    FORK_TWICE,
    FORK_EXEC,
    BARE_FORK,
    VFORK,
    VFORK_EXEC,
    POSIX_SPAWN,
    CLONE,
    CLONE_SHARED,
    CHILDREN
};

struct scene;

/* A step of a thread. */
struct op {
    enum what what;
    int how;
    int lock;
    int other;
    int is_shared;
    int number;
    struct scene *scene;
    struct op *body;
    struct op *next;
};

/* What a scene's waiter waits for. */
enum awaited { OF_LOCK, OF_FLAG, OF_EVENT, OF_BARRIER, OF_COPY, OF_ALLOCATION, OF_TURNS };

/* Waiters for one thing, and a thread that ends their waits at a known time. */
struct scene {
    enum awaited awaited;
    int lock;
    int how;
    int is_shared[2]; /* the holder, the waiter */
    int holder;
    int waiters[MOST_WORKERS];
    int count;
    int rounds;
    sem_t announced;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    int turn;
    sem_t semaphore;
    pthread_barrier_t barrier;
    struct waiter {
        int is_going; /* the kernel's id of the thread, once it is about to wait */
        int is_known; /* it was seen asleep from `from` to `to`, ns */
        int is_broken; /* a signal interrupted it */
        unsigned long from, to;
    } waiter[MOST_WORKERS];
};

struct library {
    struct op *constructor, *destructor;
};

struct program {
    uint64_t seed;
    int locks_count;
    struct lock locks[MOST_LOCKS];
    int loader, storage, objects; /* the ranks of the loader's locks */
    int workers_count;
    struct op *workers[MOST_WORKERS];
    int calls_driver[MOST_WORKERS];
    int is_early[MOST_WORKERS];
    int scenes_count;
    struct scene scenes[MOST_SCENES];
    struct library libraries[MOST_LIBRARIES];
    int is_hooked;    /* the allocator takes a mutex: 2 for one that sometimes sleeps with it */
    int has_timer;    /* µs between two SIGALRM, 0 for none */
    int restarts;     /* system calls go on after a signal */
    int init_lock;    /* held while the driver is initialized, -1 for none */
    int daemons;      /* threads that never end */
    int are_busy;     /* they do not only wait */
    int ending;       /* how it ends, below */
    int was_busy;     /* a thread was in a callback of dl_iterate_phdr while the driver was initialized */
};

enum ending { RETURN, EXIT, UNDERSCORE_EXIT, KILLED, LAST_THREAD, ENDINGS };

extern struct program program;

/* text.c: makes the program of a seed. */
void make_program(uint64_t seed);
/* print.c: shows it. */
void print_program(void);

/* Functions whose calls are counted. */
enum function { LAUNCH, COPY_OUT, COPY_IN, FILL, ALLOC, FREE, SYNC, QUERY, FUNCTIONS };

/* A thread. */
struct me {
    int tid;
    int worker;  /* its number among the workers, -1 for others, -2 for those that go on at the end */
    int calls;   /* it calls the driver */
    int held[MOST_LOCKS];
    int top;     /* highest rank that it holds, or `floor` */
    int floor;   /* highest rank that a thread holds which waits for this one, -1 for none */
    int interrupted;
    int *announces; /* where it says that it is about to wait, once; NULL for nowhere */
    long entered;   /* locks that it had for itself */
    struct op *constructor; /* what the library that it loads does */
    long counts[FUNCTIONS];
    long asked_by_handlers;
};
extern __thread struct me *me;

/* threads.c */
struct me *begin_thread(int worker, int calls);
const struct me *threads(int *count);
/* Says that it is about to wait, where a scene wants to know. */
void announce(void);
pthread_t start(void *(*run)(void *), void *data);
void run(struct op *op);
void run_worker(int worker);
void nap(long us);
/* Whether a thread sleeps that said it was about to wait; looks for a while. */
int falls_asleep(const int *tid);
struct timespec later(clockid_t clock, long ms);

/* locks.c */
void make_lock(struct lock *lock);
int acquire(int rank, enum how how, int is_shared);
void release(int rank, int is_shared);
/* The thread ends while it holds a lock. */
void abandon(int rank);
int is_rwlock(int rank);
/* Whether a lock of the loader's may be waited for. */
int may_enter(int rank);
/* The loader holds its lock for the thread. */
void enter_rank(int rank);
void leave_rank(int rank);
/* The address and kind by which waits for a lock are recorded. */
uintptr_t recorded_address(const struct lock *lock);
enum recorded recorded_kind(const struct lock *lock);

/* scenes.c */
void prepare_scene(struct scene *scene);
void meet(struct scene *scene);
void wait_in(struct scene *scene);
void hold_in(struct scene *scene, struct op *body);
void spawn(struct op *op);
void cancel(int how);

/* loading.c */
void iterate(struct op *op);
void look_up_symbol(void);
void look_up_address(void);
void reopen(void);
void load(struct op *op);
void set_libraries_path(const char *own);
/* How many callbacks there were, if no thread is in one; else -1. Whether there were no more since. */
int loader_idles(void);
int loader_was_idle(int before);

/* calls.c */
void initialize_driver(void);
void call_driver(int how, int number);
void count_call(enum function function);

/* children.c */
void make_child(enum child how);
int be_spawned(void);
void prepare_children(const char *path);

/* handlers.c */
void prepare_handlers(void);
void start_timer(void);
void stop_timer(void);
void raise_signal(void);
void block_signals(void);

/* allocator.c */
void start_hook(void);

/* facts.c */
void known_wait(int tid, uintptr_t address, enum recorded kind, unsigned long from, unsigned long to);
void known_child(int pid, int calls);
void write_facts(void);

#endif
