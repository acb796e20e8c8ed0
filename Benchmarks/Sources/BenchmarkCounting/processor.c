#include "counting.h"

#include <sys/resource.h>

static double seconds(int who) {
    struct rusage usage;
    if (getrusage(who, &usage) != 0) { return 0; }
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

double benchmark_children_seconds(void) { return seconds(RUSAGE_CHILDREN); }

double benchmark_own_seconds(void) { return seconds(RUSAGE_SELF); }
