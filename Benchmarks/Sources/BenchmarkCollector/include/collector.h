#ifndef BENCHMARK_COLLECTOR_H
#define BENCHMARK_COLLECTOR_H

#include <stdint.h>

/// Starts a server in a process of its own, which answers every request on 127.0.0.1 with an empty 200.
///
/// The process ends with the one that started it.
///
/// Returns the port, or 0 if it can't be started.
uint16_t collector_start(void);

#endif
