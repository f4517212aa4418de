/* A small library that does something while it is loaded and unloaded. */

void orders_loaded(int number, int begins);

/* Each thread's own, which the loader makes when it is first touched. */
static __thread int own[64];

int touch(int add);
int touch(int add) { return NUMBER + (own[add] = add); }

__attribute__((constructor)) static void begin(void) { orders_loaded(NUMBER, 1); }
__attribute__((destructor)) static void end(void) { orders_loaded(NUMBER, 0); }
