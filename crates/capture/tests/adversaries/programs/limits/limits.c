/*
 * Servers, sandboxes and batch systems give away rights and set limits after they began. The first word names what; then the
 * program makes as many calls as fill several chunks of a recording.
 * Expected: it ends as bare. What cannot be recorded any more is counted.
 */
#include "adversary.h"

#include <dirent.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { NOBODY = 65534 };

static void setuid_nobody(void) { CHECK(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0); }
static void seteuid_nobody(void) { CHECK(seteuid(NOBODY) == 0); }
static void undumpable(void) { CHECK(prctl(PR_SET_DUMPABLE, 0) == 0); }

static void undumpable_nobody(void) {
    setuid_nobody();
    undumpable();
}

static void limit(__rlimit_resource_t what, rlim_t most) {
    struct rlimit limits = {most, most};
    CHECK(setrlimit(what, &limits) == 0);
}

/* The number of the next descriptor is one too many. */
static void no_descriptors(void) {
    int next = dup(2);
    CHECK(next >= 0 && close(next) == 0);
    limit(RLIMIT_NOFILE, (rlim_t)next);
}

static void small_files(void) { limit(RLIMIT_FSIZE, 100000); }
/* Enough for what it prints. */
static void no_files(void) { limit(RLIMIT_FSIZE, 1000); }

/* Bytes of this process's address space. */
static rlim_t used(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu", &pages) == 1 && fclose(file) == 0);
    return pages * 4096;
}

static size_t needed;

/* Enough for what the program itself allocates at its end. */
static void little_memory(void) {
    needed = 4 << 20;
    limit(RLIMIT_AS, used() + (8 << 20));
}

static void few_processes(void) { limit(RLIMIT_NPROC, 0); }
static void little_locked(void) { limit(RLIMIT_MEMLOCK, 0); }

static void all_locked(void) {
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        cannot("this user may not lock all memory");
    }
}

static void rooted(void) {
    CHECK(mkdir("root", 0755) == 0 && chroot("root") == 0 && chdir("/") == 0);
}

/* Removes the folder of the recording, as one does who cleans up `/tmp`. */
static void unlinked(void) {
    const char *spool = getenv("HOLDUP_SPOOL");
    DIR *folder = spool ? opendir(spool) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        unlinkat(dirfd(folder), entry->d_name, 0);
    }
    CHECK(!folder || (closedir(folder) == 0 && rmdir(spool) == 0));
}

/* A file of the program, which nobody else may write into. */
static int own = -1;

static void open_own(void) {
    own = open("own", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(own >= 0 && write(own, "own", 3) == 3);
}

static void all_closed(void) {
    CHECK(close_range(3, ~0u, 0) == 0);
    open_own();
}

static void all_replaced(void) {
    open_own();
    for (int at = 3; at < 200; at++) {
        CHECK(dup2(own, at) == at);
    }
}

static void elsewhere(void) { CHECK(chdir("/") == 0); }
static void masked(void) { umask(0777); }

static void check_own(void) {
    char text[8];
    CHECK(own < 0 || (lseek(own, 0, SEEK_SET) == 0 && read(own, text, sizeof text) == 3 && memcmp(text, "own", 3) == 0));
}

int main(int count, char **words) {
    static const struct scenario all[] = {
        {"setuid", setuid_nobody},       {"seteuid", seteuid_nobody},     {"undumpable", undumpable},
        {"undumpable-nobody", undumpable_nobody}, {"descriptors", no_descriptors}, {"file-size", small_files},
        {"no-files", no_files},          {"memory", little_memory},       {"processes", few_processes},
        {"locked", little_locked}, {"all-locked", all_locked},       {"chroot", rooted},              {"unlinked", unlinked},
        {"closed", all_closed},          {"replaced", all_replaced},      {"elsewhere", elsewhere},
        {"umask", masked},               {"nothing", check_own},
    };
    int is_early = count == 3 && strcmp(words[2], "early") == 0;
    open_ledger();
    mine = entry_of(getpid(), 0);
    if (!is_early) {
        CHECK(cuInit(0) == 0);
        calls(100);
    }
    for (size_t at = 0; count > 1 && at < sizeof all / sizeof *all; at++) {
        if (strcmp(words[1], all[at].name) == 0) {
            all[at].run();
            CHECK(!is_early || cuInit(0) == 0);
            calls(30000);
            slow_call(2);
            check_own();
            CHECK(!needed || memset(malloc(needed), 1, needed));
            puts("done");
            return 0;
        }
    }
    return 98;
}
