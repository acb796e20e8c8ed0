#include "counting.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

// One place for each thread: with one for all of them, threads that allocate would wait for each other's cache line,
// and a benchmark of several threads would measure that. A thread that has its place alone adds to it without a locked
// instruction, which would cost as much as the allocation; beyond this number of threads, some aren't counted.
#define PLACES 1024
typedef struct {
    _Alignas(64) _Atomic uint64_t allocations;
    _Atomic uint64_t bytes;
} Place;

static Place places[PLACES];
static _Atomic unsigned threads;
static _Thread_local unsigned mine;

uint64_t benchmark_allocations(void) {
    uint64_t sum = 0;
    for (int place = 0; place < PLACES; place++) {
        sum += atomic_load_explicit(&places[place].allocations, memory_order_relaxed);
    }
    return sum;
}

uint64_t benchmark_allocated_bytes(void) {
    uint64_t sum = 0;
    for (int place = 0; place < PLACES; place++) {
        sum += atomic_load_explicit(&places[place].bytes, memory_order_relaxed);
    }
    return sum;
}

#if defined(__linux__)
#include <malloc.h>

uint64_t benchmark_live_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// glibc keeps its own under these names, so that a program may stand in for the usual ones.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static void add(_Atomic uint64_t *sum, uint64_t number) {
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + number, memory_order_relaxed);
}

static void count(size_t size) {
    // Counted from one, because zero is a thread without a place.
    if (mine == 0) mine = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % PLACES;
    add(&places[mine - 1].allocations, 1);
    add(&places[mine - 1].bytes, size);
}

void *malloc(size_t size) {
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    count(size);
    return __libc_realloc(old, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    count(size);
    void *memory = __libc_memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *result = memory;
    return 0;
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}
#else
uint64_t benchmark_live_bytes(void) { return 0; }
#endif
