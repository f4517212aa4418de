/* What other users may do to the files of a recording, and what becomes of them in a process that changes its user. */
#include "program.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const uid_t NOBODY = 65534;

static void calls(int count) {
    for (int at = 0; at < count; at++) {
        CHECK(launch() == 0);
    }
}

static void begin(void) {
    bind_driver();
    CHECK(CU(cuInit)(0) == 0);
}

/* The path of a file in the spool; false where nothing is recorded. */
static int in_spool(char *path, const char *name) {
    const char *spool = getenv("HOLDUP_SPOOL");
    return spool && snprintf(path, PATH_MAX, "%s/%s", spool, name) < PATH_MAX;
}

/* The path of a process's first file there. */
static int first_file(char *path) {
    char name[64];
    snprintf(name, sizeof name, "%d-0.spool", (int)getpid());
    return in_spool(path, name);
}

/* A file of the user's that has nothing to do with the recording: it is empty. */
static const char *victim(void) {
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s.victim", getenv("STANDIN_FACTS"));
    int file = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0 && close(file) == 0);
    return path;
}

static void victim_is_empty(void) {
    struct stat found;
    CHECK(stat(victim(), &found) == 0 && found.st_size == 0);
}

static void put_link(const char *path) {
    unlink(path);
    CHECK(symlink(victim(), path) == 0);
}

/* Says the mode of each file. */
static void tells_modes(void) {
    char path[PATH_MAX];
    begin();
    calls(10);
    DIR *folder = in_spool(path, ".") ? opendir(path) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct stat found;
        CHECK(in_spool(path, entry->d_name) && stat(path, &found) == 0);
        if (S_ISREG(found.st_mode)) {
            fact("mode", found.st_mode & 0777);
        }
    }
}

static void returns(void) {
    begin();
    calls(10);
}

/* Where a program's files would be, there are links. */
static void meets_links(void) {
    char shared[PATH_MAX], own[PATH_MAX], itself[PATH_MAX] = {0};
    CHECK(readlink("/proc/self/exe", itself, sizeof itself - 1) > 0);
    int is_recorded = in_spool(shared, "budget");
    if (is_recorded) {
        put_link(shared);
    }
    pid_t child = fork();
    if (child == 0) {
        if (first_file(own)) {
            put_link(own);
        }
        execl(itself, itself, "returns", NULL);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    victim_is_empty();
    if (is_recorded) {
        in_spool(own, ""), snprintf(own + strlen(own), 64, "%d-0.spool", (int)child);
        CHECK(unlink(shared) == 0 && unlink(own) == 0);
    }
}

/* Where a program's file was, there is another one, or a link to one. */
static void loses_file(int is_link) {
    char path[PATH_MAX], aside[PATH_MAX];
    begin();
    calls(10);
    int is_recorded = first_file(path) && in_spool(aside, "aside");
    if (is_recorded) {
        CHECK(rename(path, aside) == 0 && (is_link ? symlink : link)(victim(), path) == 0);
    }
    calls(10000);
    victim_is_empty();
    CHECK(!is_recorded || rename(aside, path) == 0);
}

static void loses_file_to_link(void) { loses_file(1); }
static void loses_file_to_other(void) { loses_file(0); }

static void becomes_nobody(void) {
    returns();
    CHECK(setresuid(NOBODY, NOBODY, NOBODY) == 0);
    calls(10000);
}

/* As nobody from before the first call on. */
static void is_nobody(void) {
    CHECK(setresuid(NOBODY, NOBODY, NOBODY) == 0);
    returns();
}

int main(int count, char **words) {
    static const struct scenario all[] = {
        {"tells-modes", tells_modes},
        {"returns", returns},
        {"meets-links", meets_links},
        {"loses-file-to-link", loses_file_to_link},
        {"loses-file-to-other", loses_file_to_other},
        {"becomes-nobody", becomes_nobody},
        {"is-nobody", is_nobody},
    };
    return RUN_SCENARIO(all);
}
