/*
 * Libraries initialize CUDA in a constructor, before `main`, and use it in a destructor, after it.
 * Expected: every call is recorded, those before and after `main`, too.
 */
#include "adversary.h"

static void *calls_once(void *data) {
    calls(5);
    return data;
}

__attribute__((constructor)) static void early(void) {
    begin();
    calls(10);
    joined(started(calls_once, NULL));
}

__attribute__((destructor)) static void late(void) {
    calls(10);
    puts("late");
}

int main(void) {
    calls(10);
    return 0;
}
