/* Checks of locks in a program that uses the driver. */
#include "program.h"
#include "checks.h"

int main(int count, char **words) {
    const char *scenario = count > 1 ? words[1] : "";
    bind_driver();
    CHECK(CU(cuInit)(0) == 0);
    if (strcmp(scenario, "check") == 0) {
        printf("%d wrong\n", check_locks());
    } else if (strcmp(scenario, "stress") == 0) {
        printf("%d wrong\n", check_stress(8, 2000));
    } else if (strcmp(scenario, "cancel") == 0) {
        printf("%d wrong\n", check_cancel());
    } else if (strcmp(scenario, "cost") == 0) {
        lock_cost(100000);
        fact("picoseconds", (unsigned long)(1000 * lock_cost(10000000)));
    } else {
        return 98;
    }
    return 0;
}
