/* A library that lists the loaded ones as some loaders do: the program has no name at all, not even an empty one. */
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>
#include <string.h>

int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data) {
    unsigned long long count = 0;
    for (struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        count++;
    }
    for (struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)map->l_addr;
        if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
            continue;
        }
        struct dl_phdr_info info = {
            .dlpi_addr = map->l_addr,
            .dlpi_name = map->l_name && *map->l_name ? map->l_name : NULL,
            .dlpi_phdr = (const ElfW(Phdr) *)(map->l_addr + header->e_phoff),
            .dlpi_phnum = header->e_phnum,
            .dlpi_adds = count,
        };
        int result = visit(&info, sizeof info, data);
        if (result) {
            return result;
        }
    }
    return 0;
}
