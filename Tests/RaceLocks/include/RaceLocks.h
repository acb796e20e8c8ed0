#ifndef RACE_LOCKS_H
#define RACE_LOCKS_H

#include <stdbool.h>

/// Whether this program was built for the thread sanitizer, so that Swift's locks are the ones that it sees.
bool race_locks_are_seen(void);

#endif
