/* A program whose loader is called as musl's: it says whether it has anything of the library under test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    char line[8192];
    int holds = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        holds |= strstr(line, "libholdup_capture") != NULL;
    }
    const char *preloaded = getenv("LD_PRELOAD"), *kept = getenv("KEPT");
    printf("%d words to %s, %s, preloaded: %s, kept: %s\n", count, words[count - 1], holds ? "recorded" : "bare",
           preloaded ? preloaded : "", kept ? kept : "");
    return 5;
}
