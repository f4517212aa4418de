/*
 * Launchers and daemons clear or change their environment. The only word names how; then the program initializes the driver.
 * Expected: it ends as bare. Without the environment there is nothing that says where to record.
 */
#include "adversary.h"

static void cleared(void) { CHECK(clearenv() == 0); }

/* The array is gone, too. */
static void null(void) { environ = NULL; }

static void without_preload(void) { CHECK(unsetenv("LD_PRELOAD") == 0); }

static void changed_meanwhile(void) {
    CHECK(setenv("HOLDUP_SPOOL", "/nowhere", 1) == 0 && setenv("HOLDUP_LEVEL", "nonsense", 1) == 0);
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*change)(void);
    } all[] = {{"cleared", cleared}, {"null", null}, {"without-preload", without_preload}, {"changed", changed_meanwhile}};
    open_ledger();
    for (size_t at = 0; count == 2 && at < sizeof all / sizeof *all; at++) {
        if (strcmp(words[1], all[at].name) == 0) {
            all[at].change();
            mine = entry_of(getpid(), 0);
            CHECK(CU(cuInit)(0) == 0);
            calls(1000);
            slow_call(2);
            puts("done");
            return 0;
        }
    }
    return 98;
}
