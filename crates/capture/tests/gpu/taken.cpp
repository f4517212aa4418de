// Takes the addresses of the driver's functions before it initializes the driver, in the way that it is told to, and
// copies through them, ten times. JIT: by a few bytes of code made at run time.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string>
#include <sys/mman.h>

#define CHECK(condition)                                                                                         \
    do {                                                                                                         \
        if (!(condition)) {                                                                                      \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                              \
            exit(99);                                                                                            \
        }                                                                                                        \
    } while (0)

typedef void *(*LookUp)(void *, const char *);
static const char *const NAMES[] = {"cuInit", "cuMemcpyDtoH_v2"};

static void *driver() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(library);
    return library;
}

static void *libc_library() { return dlopen("libc.so.6", RTLD_NOW); }

static void *const table[] = {(void *)cuInit, (void *)cuMemcpyDtoH};
static void *constructed[2];
__attribute__((constructor)) static void construct() {
    constructed[0] = (void *)cuInit;
    constructed[1] = (void *)cuMemcpyDtoH;
}

static int walk(struct dl_phdr_info *info, size_t, void *data) {
    const char **sought = (const char **)data;
    if (!strstr(info->dlpi_name, "libcuda.so")) {
        return 0;
    }
    const ElfW(Dyn) *entry = nullptr;
    for (int at = 0; at < info->dlpi_phnum; at++) {
        if (info->dlpi_phdr[at].p_type == PT_DYNAMIC) {
            entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[at].p_vaddr);
        }
    }
    const ElfW(Sym) *symbols = nullptr;
    const char *strings = nullptr;
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        symbols = entry->d_tag == DT_SYMTAB ? (const ElfW(Sym) *)entry->d_un.d_ptr : symbols;
        strings = entry->d_tag == DT_STRTAB ? (const char *)entry->d_un.d_ptr : strings;
    }
    CHECK(symbols && strings);
    for (; (const char *)symbols < strings; symbols++) {
        if (symbols->st_shndx != SHN_UNDEF && strcmp(strings + symbols->st_name, sought[0]) == 0) {
            sought[1] = (const char *)(info->dlpi_addr + symbols->st_value);
            return 1;
        }
    }
    return 0;
}

static void *taken(const std::string &way, int which) {
    const char *name = NAMES[which];
    if (way == "name" || way == "jit") {
        return which ? (void *)cuMemcpyDtoH : (void *)cuInit;
    } else if (way == "table") {
        return table[which];
    } else if (way == "constructor") {
        return constructed[which];
    } else if (way == "dlsym") {
        return dlsym(driver(), name);
    } else if (way == "next") {
        return dlsym(RTLD_NEXT, name);
    } else if (way == "default") {
        return dlsym(RTLD_DEFAULT, name);
    } else if (way == "dlsym-of-libc") {
        return ((LookUp)dlsym(libc_library(), "dlsym"))(driver(), name);
    } else if (way == "dlvsym-of-libc") {
        void *found = dlvsym(libc_library(), "dlsym", "GLIBC_2.34");
        found = found ? found : dlvsym(libc_library(), "dlsym", "GLIBC_2.2.5");
        return ((LookUp)found)(driver(), name);
    } else if (way == "walking") {
        const char *sought[2] = {name, nullptr};
        dl_iterate_phdr(walk, sought);
        return (void *)sought[1];
    } else if (way == "address") {
        void *found = nullptr;
        CHECK(cuGetProcAddress(which ? "cuMemcpyDtoH" : name, &found, 12000, 0, nullptr) == CUDA_SUCCESS);
        return found;
    }
    CHECK(!"a way that is known");
    return nullptr;
}

typedef CUresult (*Copy)(void *, CUdeviceptr, size_t);
typedef CUresult (*Trampoline)(void *, CUdeviceptr, size_t, Copy);

// push %rbp; mov %rsp, %rbp; call *%rcx; pop %rbp; ret
static Trampoline trampoline() {
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3};
    void *made = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(made != MAP_FAILED);
    memcpy(made, code, sizeof code);
    CHECK(mprotect(made, 4096, PROT_READ | PROT_EXEC) == 0);
    return (Trampoline)made;
}

__attribute__((noinline)) static bool copy_by(Trampoline code, Copy copy, void *to, CUdeviceptr from, size_t bytes) {
    CUresult result = code ? code(to, from, bytes, copy) : copy(to, from, bytes);
    return result == CUDA_SUCCESS;
}

int main(int count, char **words) {
    CHECK(count == 2);
    const size_t bytes = 64 << 20;
    CUresult (*begin)(unsigned) = (CUresult(*)(unsigned))taken(words[1], 0);
    Copy copy = (Copy)taken(words[1], 1);
    Trampoline code = strcmp(words[1], "jit") == 0 ? trampoline() : nullptr;
    CHECK(begin && copy && begin(0) == CUDA_SUCCESS);
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    CHECK(cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS && cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CHECK(cuMemAlloc(&memory, bytes) == CUDA_SUCCESS && cuMemsetD32(memory, 7, bytes / 4) == CUDA_SUCCESS);
    int *values = (int *)malloc(bytes);
    long sum = 0;
    for (int copies = 0; copies < 10; copies++) {
        CHECK(copy_by(code, copy, values, memory, bytes));
        sum += values[copies];
    }
    printf("%ld\n", sum);
    return 0;
}
