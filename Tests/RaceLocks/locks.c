// Swift's Mutex, on Linux, tries its lock once where it is used and leaves the rest to the standard library. That isn't
// built for the thread sanitizer: a lock that was taken there looks as if it hadn't been taken at all, and everything that it
// guards looks like a race. Here is the rest once more, with atomics that the sanitizer sees. The program's own definitions
// come before those of the library, so that no source needs to know of them.
//
// The lock is a word that holds its owner's number, or 0. Only the library's waiting, which this file
// replaces, sets its highest bit ("a thread waits"), so that unlocking never leaves its fast path, which is inlined and
// therefore seen.

#include "RaceLocks.h"

#if __has_feature(thread_sanitizer) && defined(__linux__)

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

typedef _Atomic(uint32_t) Word;

SWIFT void race_lock(uint32_t thread, SELF Word *word)
    __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT bool race_try_lock(SELF Word *word) __asm__("$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
SWIFT void race_unlock(SELF Word *word) __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");

SWIFT void race_lock(uint32_t thread, SELF Word *word) {
  while (1) {
    uint32_t owner = 0;
    if (atomic_compare_exchange_strong_explicit(word, &owner, thread, memory_order_acquire, memory_order_relaxed)) return;
    // As the library has it: who takes a lock twice would wait for ever.
    if (owner == thread) abort();
    sched_yield();
  }
}

SWIFT bool race_try_lock(SELF Word *word) {
  (void)word;
  return false;
}

SWIFT void race_unlock(SELF Word *word) {
  // Somebody unlocks who doesn't hold the lock.
  (void)word;
  abort();
}

bool race_locks_are_seen(void) { return true; }

#else

bool race_locks_are_seen(void) { return false; }

#endif
