// Removes the recorder's wrappers of locks and calls from a process, and puts them back, so that runs with
// and without it can take turns in one process: what differs between two processes is more than what it costs.
//
//     int turns_find(void)          where it stands, in how many places; to be called once it is all there
//     void turns_take(int without)  takes it out, or puts it back; while nobody is inside the driver
//
// At level full CUPTI goes on, and its records are read, either way.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
    void **slot, *recorders, *own;
} Place;

enum { MOST = 65536 };
static Place places[MOST];
static int count;
static ElfW(Addr) from, to; // of the recorder
static void *driver, *library;

static int is_recorders(const void *address) { return (ElfW(Addr))address >= from && (ElfW(Addr))address < to; }

typedef struct {
    const ElfW(Sym) *symbols;
    const char *names;
    const ElfW(Rela) *relocations[2];
    size_t bytes[2];
} Tables;

static Tables tables_of(const ElfW(Dyn) *entry) {
    Tables tables = {0};
    for (; entry->d_tag != DT_NULL; entry++) {
        void *pointer = (void *)entry->d_un.d_ptr;
        switch (entry->d_tag) {
        case DT_SYMTAB: tables.symbols = pointer; break;
        case DT_STRTAB: tables.names = pointer; break;
        case DT_JMPREL: tables.relocations[0] = pointer; break;
        case DT_RELA: tables.relocations[1] = pointer; break;
        case DT_PLTRELSZ: tables.bytes[0] = entry->d_un.d_val; break;
        case DT_RELASZ: tables.bytes[1] = entry->d_un.d_val; break;
        }
    }
    return tables;
}

// The driver's function that the recorder wraps: dlsym gives the recorder's, the symbol table the driver's own.
static void *behind(const void *recorders) {
    struct link_map *map;
    if (dlinfo(driver, RTLD_DI_LINKMAP, &map)) return NULL;
    Tables tables = tables_of(map->l_ld);
    for (const ElfW(Sym) *symbol = tables.symbols; (const char *)symbol < tables.names; symbol++) {
        const char *name = tables.names + symbol->st_name;
        if (symbol->st_value && !strncmp(name, "cu", 2) && dlsym(driver, name) == recorders) return (char *)map->l_addr + symbol->st_value;
    }
    return NULL;
}

static void add(void **slot, void *own) {
    for (int at = 0; at < count; at++)
        if (places[at].slot == slot) return;
    if (!own || count == MOST) return;
    size_t page = sysconf(_SC_PAGESIZE);
    if (mprotect((void *)((uintptr_t)slot & ~(page - 1)), page, PROT_READ | PROT_WRITE)) return;
    places[count++] = (Place){slot, *slot, own};
}

// The slots that a library calls other libraries' functions through.
static void slots(struct dl_phdr_info *object, const ElfW(Phdr) *dynamic) {
    Tables tables = tables_of((void *)(object->dlpi_addr + dynamic->p_vaddr));
    for (int kind = 0; kind < 2; kind++)
        for (size_t at = 0; at < tables.bytes[kind] / sizeof(ElfW(Rela)); at++) {
            const ElfW(Rela) *relocation = tables.relocations[kind] + at;
            const char *name = tables.names + tables.symbols[ELF64_R_SYM(relocation->r_info)].st_name;
            void **slot = (void **)(object->dlpi_addr + relocation->r_offset);
            int waits = !strncmp(name, "pthread_", 8) || !strncmp(name, "sem_", 4);
            if (waits && is_recorders(*slot)) add(slot, dlsym(library, name));
            if (!strncmp(name, "cu", 2) && is_recorders(*slot)) add(slot, behind(*slot));
        }
}

// The functions of the driver that a library has looked up, and keeps somewhere in its data.
static void data(struct dl_phdr_info *object, const ElfW(Phdr) *segment) {
    void **word = (void **)((object->dlpi_addr + segment->p_vaddr + 7) & ~(ElfW(Addr))7);
    void **end = (void **)(object->dlpi_addr + segment->p_vaddr + segment->p_memsz);
    for (; word + 1 <= end; word++)
        if (is_recorders(*word)) add(word, behind(*word));
}

static int is(const struct dl_phdr_info *object, const char *name) { return strstr(object->dlpi_name, name) != NULL; }

static int find_recorder(struct dl_phdr_info *object, size_t size, void *found) {
    if (!is(object, "libholdup_capture")) return 0;
    from = to = object->dlpi_addr;
    for (int at = 0; at < object->dlpi_phnum; at++) {
        const ElfW(Phdr) *segment = object->dlpi_phdr + at;
        ElfW(Addr) end = object->dlpi_addr + segment->p_vaddr + segment->p_memsz;
        if (segment->p_type == PT_LOAD && end > to) to = end;
    }
    return 1;
}

static int find_places(struct dl_phdr_info *object, size_t size, void *nothing) {
    if (is(object, "libholdup_capture") || is(object, "linux-vdso") || is(object, "ld-linux")) return 0;
    // The runtime: a library, or part of the program, which has no name.
    int runtime = is(object, "libcudart") || !*object->dlpi_name;
    for (int at = 0; at < object->dlpi_phnum; at++) {
        const ElfW(Phdr) *segment = object->dlpi_phdr + at;
        if (segment->p_type == PT_DYNAMIC) slots(object, segment);
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_W && runtime) data(object, segment);
    }
    return 0;
}

int turns_find(void) {
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    if (driver && library && dl_iterate_phdr(find_recorder, NULL)) dl_iterate_phdr(find_places, NULL);
    return count;
}

void turns_take(int without) {
    for (int at = 0; at < count; at++)
        __atomic_store_n(places[at].slot, without ? places[at].own : places[at].recorders, __ATOMIC_RELEASE);
}
