#ifndef BENCHMARK_COUNTING_H
#define BENCHMARK_COUNTING_H

#include <stdint.h>

/// How often memory has been allocated since the process began, by any thread.
uint64_t benchmark_allocations(void);

/// How many bytes have been asked for since the process began, by any thread.
uint64_t benchmark_allocated_bytes(void);

/// How many bytes are in use now, by any thread; 0 where that can't be told.
uint64_t benchmark_live_bytes(void);

/// The seconds of processor time that all child processes have taken that have ended and been waited for.
double benchmark_children_seconds(void);

/// The seconds of processor time that this process has taken.
double benchmark_own_seconds(void);

#endif
