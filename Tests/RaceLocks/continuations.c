// A task that awaits a continuation acquires what the resuming thread wrote, but the standard library, which isn't built for
// the thread sanitizer, tells it so only for a task that was suspended. What a task reads that found its continuation resumed
// looks like a race. Here, awaiting and resuming mark the continuation first, with atomics that the sanitizer sees.

#include "RaceLocks.h"

#if __has_feature(thread_sanitizer) && defined(__linux__)

#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define ASYNC __attribute__((swiftasynccall))

// The parts of the library's own types that are used here, at their places in the stable interface.
typedef struct {
  void *parent, *resumeParent;
  // The library uses the lowest bits.
  _Atomic(size_t) flags;
  _Atomic(size_t) status;
} Continuation;

typedef struct {
  void *header[8];
  Continuation *continuation;
} Task;

static const size_t awaiting = (size_t)1 << 62, resuming = (size_t)1 << 63, suspended = 1;

typedef ASYNC void Await(Continuation *continuation);
typedef SWIFT void Resume(Task *task);
typedef SWIFT void ResumeThrowing(Task *task, void *error);

static Await *await;
static Resume *resume, *resumeThrowing;
static ResumeThrowing *throwError;

__attribute__((constructor)) static void find(void) {
  await = (Await *)dlsym(RTLD_NEXT, "swift_continuation_await");
  resume = (Resume *)dlsym(RTLD_NEXT, "swift_continuation_resume");
  resumeThrowing = (Resume *)dlsym(RTLD_NEXT, "swift_continuation_throwingResume");
  throwError = (ResumeThrowing *)dlsym(RTLD_NEXT, "swift_continuation_throwingResumeWithError");
}

// Makes what this thread wrote visible to the task. A task that is about to be suspended is let finish with that: if it were
// resumed meanwhile, it would go on without being told.
static void mark(Task *task) {
  Continuation *continuation = task->continuation;
  if (!(atomic_fetch_or(&continuation->flags, resuming) & awaiting)) return;
  while (atomic_load(&continuation->status) != suspended) sched_yield();
}

ASYNC void race_await(Continuation *continuation) __asm__("swift_continuation_await");
SWIFT void race_resume(Task *task) __asm__("swift_continuation_resume");
SWIFT void race_resume_throwing(Task *task) __asm__("swift_continuation_throwingResume");
SWIFT void race_throw(Task *task, void *error) __asm__("swift_continuation_throwingResumeWithError");

ASYNC void race_await(Continuation *continuation) {
  atomic_fetch_or(&continuation->flags, awaiting);
  __attribute__((musttail)) return await(continuation);
}

SWIFT void race_resume(Task *task) {
  mark(task);
  resume(task);
}

SWIFT void race_resume_throwing(Task *task) {
  mark(task);
  resumeThrowing(task);
}

SWIFT void race_throw(Task *task, void *error) {
  mark(task);
  throwError(task, error);
}

#endif
