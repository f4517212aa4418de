/*
 * Code made while the program runs: a few bytes that call the driver. What it makes of its frames is the
 * test's: with a frame pointer, registered with the unwinder, announced to debuggers, in a map for profilers.
 */
#include "program.h"

#include <sys/mman.h>

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

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {
        {"with-frame-pointer", with_frame_pointer},
        {"in-another-thread", in_another_thread},
#ifdef __x86_64__
        {"without-frame-pointer", without_frame_pointer},
        {"registered", registered},
#endif
    };
    for (size_t at = 0; at < sizeof all / sizeof *all; at++) {
        if (count == 2 && strcmp(words[1], all[at].name) == 0) {
            bind_driver();
            CHECK(CU(cuInit)(0) == 0);
            fact("caller", (unsigned long)(uintptr_t)copy_by);
            all[at].run();
            printf("done\n");
            return 0;
        }
    }
    return 98;
}
