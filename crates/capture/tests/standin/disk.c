/* A disk: every other reservation of room in a file is interrupted, as by a signal; with STANDIN_DISK in the environment,
 * a file may take so many bytes, and then the disk is full. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

static int count;

static int reserve(int file, off64_t offset, off64_t length) {
    const char *room = getenv("STANDIN_DISK");
    if (__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) % 2 == 0) {
        return EINTR;
    }
    if (room && offset + length > atoll(room)) {
        return ENOSPC;
    }
    return fallocate64(file, 0, offset, length) == 0 ? 0 : errno;
}

int posix_fallocate(int file, off_t offset, off_t length) { return reserve(file, offset, length); }
int posix_fallocate64(int file, off64_t offset, off64_t length) { return reserve(file, offset, length); }
