// Loaded before everything else (LD_PRELOAD): allocations of chosen libraries are counted while armed, and the n-th fails.
//
// A call belongs to the library that its return address lies in. Python's raw allocator, which kernels call too, jumps to
// the hooks at the end, so that theirs is the kernel's, too.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace {

enum { LIBRARIES = 256 };
uintptr_t starts[LIBRARIES], ends[LIBRARIES];
long counts[LIBRARIES];
int libraries = 0;
bool armed = false;
long seen = 0, failing = 0;

bool fails_in(int library) {
    __atomic_fetch_add(&counts[library], 1, __ATOMIC_RELAXED);
    return __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED) == failing;
}

bool fails(void* caller) {
    if (!armed) return false;
    uintptr_t address = (uintptr_t)caller;
    for (int i = 0; i < libraries; i++)
        if (starts[i] <= address && address < ends[i]) return fails_in(i);
    return false;
}

void* made(size_t size, size_t alignment, void* caller) {
    void* memory = fails(caller) ? nullptr : alignment ? __libc_memalign(alignment, size) : __libc_malloc(size);
    if (!memory) throw std::bad_alloc();
    return memory;
}

}

extern "C" {

void allocations_of(uintptr_t start, uintptr_t end) {
    starts[libraries] = start;
    ends[libraries++] = end;
}

void arm(long n) {
    seen = 0;
    failing = n;
    armed = true;
}

long disarm() {
    armed = false;
    return seen;
}

long count_of(int library) { return counts[library]; }

void* malloc(size_t size) {
    if (!fails(__builtin_return_address(0))) return __libc_malloc(size);
    errno = ENOMEM;
    return nullptr;
}

void* calloc(size_t count, size_t size) {
    if (!fails(__builtin_return_address(0))) return __libc_calloc(count, size);
    errno = ENOMEM;
    return nullptr;
}

void* realloc(void* memory, size_t size) {
    if (!fails(__builtin_return_address(0))) return __libc_realloc(memory, size);
    errno = ENOMEM;
    return nullptr;
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
    void* found = fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
    if (!found) return ENOMEM;
    *memory = found;
    return 0;
}

void* aligned_alloc(size_t alignment, size_t size) {
    return fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}

void* raw_malloc(void*, size_t size) { return fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(size ? size : 1); }
void* raw_calloc(void*, size_t n, size_t size) { return fails(__builtin_return_address(0)) ? nullptr : __libc_calloc(n ? n : 1, size ? size : 1); }
void* raw_realloc(void*, void* old, size_t size) { return fails(__builtin_return_address(0)) ? nullptr : __libc_realloc(old, size ? size : 1); }
void raw_free(void*, void* memory) { __libc_free(memory); }

}

void* operator new(size_t size) { return made(size, 0, __builtin_return_address(0)); }
void* operator new[](size_t size) { return made(size, 0, __builtin_return_address(0)); }
void* operator new(size_t size, std::align_val_t to) { return made(size, (size_t)to, __builtin_return_address(0)); }
void* operator new[](size_t size, std::align_val_t to) { return made(size, (size_t)to, __builtin_return_address(0)); }
