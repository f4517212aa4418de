/*
 * Code made while the program runs: a few bytes that call the driver. What it makes of its frames is the
 * test's: with a frame pointer, registered with the unwinder, announced to debuggers, in a map for profilers.
 */
#include "program.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* GDB's JIT interface. */
struct jit_code_entry {
    struct jit_code_entry *next, *previous;
    const char *symfile;
    uint64_t size;
};
struct jit_descriptor {
    uint32_t version, action;
    struct jit_code_entry *relevant, *first;
};
struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};

static void announce(struct jit_code_entry *entry) {
    entry->next = __jit_debug_descriptor.first;
    __jit_debug_descriptor.first = entry;
}

typedef CUresult (*trampoline)(void *, CUdeviceptr, size_t, CUstream, __typeof__(&cuMemcpyDtoHAsync_v2));

/* Calls its fifth argument with the first four; keeps a frame pointer. */
#if defined __x86_64__
static const unsigned char with_frame[] = {0x55, 0x48, 0x89, 0xe5, 0x41, 0xff, 0xd0, 0x5d, 0xc3};
/* The same without: sub $24, %rsp; call *%r8; add $24, %rsp; ret */
static const unsigned char without[] = {0x48, 0x83, 0xec, 0x18, 0x41, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x18, 0xc3};
#elif defined __aarch64__
static const unsigned with_frame[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0080, 0xa8c17bfd, 0xd65f03c0};
#endif

static void *made;

/* In memory of its own. */
static trampoline make(const void *code, size_t bytes) {
    made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(made != MAP_FAILED);
    memcpy(made, code, bytes);
    CHECK(mprotect(made, 4096, PROT_READ | PROT_EXEC) == 0);
    __builtin___clear_cache((char *)made, (char *)made + bytes);
    fact("made", (unsigned long)(uintptr_t)made);
    return (trampoline)made;
}

/* A slow copy by the made code, from a function that is no tail call. */
__attribute__((noinline)) static int copy_by(trampoline code) {
    static long from, to;
    STANDIN(standin_plan)((struct standin_plan){.ms = 2});
    CUresult result = code(&to, (CUdeviceptr)(uintptr_t)&from, sizeof to, NULL, CU(cuMemcpyDtoHAsync_v2));
    CHECK(result == 0);
    return 1;
}

static void *in_thread(void *code) {
    CHECK(copy_by((trampoline)code));
    return NULL;
}

static void with_frame_pointer(void) { CHECK(copy_by(make(with_frame, sizeof with_frame))); }

static void in_another_thread(void) { joined(started(in_thread, make(with_frame, sizeof with_frame))); }

#ifdef __x86_64__
static void without_frame_pointer(void) { CHECK(copy_by(make(without, sizeof without))); }

/* One entry: the stack pointer is 8 bytes below what the caller had, and 32 from the fifth byte on. */
static void registered(void) {
    static struct __attribute__((packed, aligned(8))) {
        unsigned length, zero;
        unsigned char version, augmentation, code, data, address, rules[11];
        unsigned entry_length, back;
        unsigned long start, bytes;
        unsigned char entry_rules[8];
        unsigned end;
    } table = {20, 0, 1, 0, 1, 0x78, 16, {0x0c, 7, 8, 0x90, 1}, 28, 28, 0, sizeof without, {0x44, 0x0e, 32}, 0};
    void __register_frame(void *);
    trampoline code = make(without, sizeof without);
    table.start = (unsigned long)(uintptr_t)made;
    __register_frame(&table);
    CHECK(copy_by(code));
}
#endif

/* The object that the test's compiler made of jitted.c, with its code where the trampoline is. */
static trampoline load(void) {
    const char *path = getenv("STANDIN_OBJECT");
    int file = open(path, O_RDONLY);
    struct stat about;
    CHECK(file >= 0 && fstat(file, &about) == 0);
    char *image = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    CHECK(image != MAP_FAILED && close(file) == 0);
    Elf64_Ehdr *header = (Elf64_Ehdr *)image;
    Elf64_Shdr *sections = (Elf64_Shdr *)(image + header->e_shoff);
    for (int at = 0; at < header->e_shnum; at++) {
        if (sections[at].sh_flags & SHF_EXECINSTR && sections[at].sh_size) {
            trampoline code = make(image + sections[at].sh_offset, sections[at].sh_size);
            sections[at].sh_addr = (Elf64_Addr)(uintptr_t)made;
            static struct jit_code_entry junk, entry;
            entry.symfile = image;
            entry.size = (uint64_t)about.st_size;
            announce(&entry);
            /* What is no object, and what cannot be read, is passed over. */
            junk.symfile = (const char *)64;
            junk.size = 4096;
            announce(&junk);
            return code;
        }
    }
    CHECK(!"code");
    return NULL;
}

static void announced(void) { CHECK(copy_by(load())); }

static void mapped(void) {
    trampoline code = make(with_frame, sizeof with_frame);
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *file = fopen(path, "w");
    CHECK(file);
    fprintf(file, "1000 10 elsewhere\nnothing\n%lx %zx julia_step!_123\n", (unsigned long)(uintptr_t)made, sizeof with_frame);
    CHECK(fclose(file) == 0);
    CHECK(copy_by(code));
}

int main(int count, char **words) {
    static const struct scenario all[] = {
        {"with-frame-pointer", with_frame_pointer},
        {"in-another-thread", in_another_thread},
        {"announced", announced},
        {"mapped", mapped},
#ifdef __x86_64__
        {"without-frame-pointer", without_frame_pointer},
        {"registered", registered},
#endif
    };
    bind_driver();
    CHECK(CU(cuInit)(0) == 0);
    fact("caller", (unsigned long)(uintptr_t)copy_by);
    return RUN_SCENARIO(all);
}
