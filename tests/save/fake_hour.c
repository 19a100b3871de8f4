// SPDX-License-Identifier: Apache-2.0
// A clock that is an hour ahead, preloaded: dates only, time that passes is right.
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

int clock_gettime(clockid_t clock, struct timespec *at)
{
    long rc = syscall(SYS_clock_gettime, clock, at);
    if (rc == 0 && clock == CLOCK_REALTIME)
        at->tv_sec += 3600;
    return (int)rc;
}

time_t time(time_t *out)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (out)
        *out = at.tv_sec;
    return at.tv_sec;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}
