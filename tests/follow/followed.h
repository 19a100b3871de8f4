// SPDX-License-Identifier: Apache-2.0
// A command that prints lines, followed on a virtual clock (-Wl,--wrap=clock_now_ns).
#ifndef TESTS_RUN_FOLLOWED_H
#define TESTS_RUN_FOLLOWED_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "follow/follow.h"
#include "test.h"

static int64_t clock_ns = 1000 * NS_PER_S;

int64_t __wrap_clock_now_ns(void);
int64_t __wrap_clock_now_ns(void)
{
    return clock_ns;
}

#define SAMPLE .sample = true, .within = 0.05, .max_s = 60 // of struct follow_options

struct fixture {
    struct meter *meter;
    struct follow *follow;
    struct run run;
    struct buf says;
    int64_t start_ns;
    double stop_s; // when the command would be stopped; 0: never
    bool samples;  // stop then
};

static inline void begin(struct fixture *x, const struct follow_options *options)
{
    static const struct follow_options none;
    struct err err = {0};
    memset(x, 0, sizeof *x);
    x->start_ns = clock_ns;
    x->samples = options && options->sample;
    assert_ok(meter_new(&x->meter, clock_now_ns(), &err), &err);
    assert_ok(follow_new(&x->follow, options ? options : &none, x->meter, &x->run, &err), &err);
}

static inline void look(struct fixture *x)
{
    if (x->stop_s > 0 || !follow_enough(x->follow))
        return;
    x->stop_s = (double)(clock_ns - x->start_ns) / 1e9;
    if (x->samples)
        follow_stop(x->follow);
}

// Time passes, in the ticks of the command's loop.
static inline void wait_s(struct fixture *x, double s)
{
    int64_t to_ns = clock_ns + (int64_t)(s * 1e9);
    while (clock_ns < to_ns) {
        int64_t next_ns = clock_ns + 50 * NS_PER_MS;
        clock_ns = next_ns < to_ns ? next_ns : to_ns;
        look(x);
    }
}

// Each line comes at a time of its own.
static inline void tell(struct fixture *x, bool event, const char *format, va_list args)
    PRINTF_LIKE(3, 0);
static inline void tell(struct fixture *x, bool event, const char *format, va_list args)
{
    char line[1024];
    int len = vsnprintf(line, sizeof line, format, args);
    if (event)
        follow_event(x->follow, line, (size_t)len);
    else
        follow_output(x->follow, line, (size_t)len, true);
    clock_ns += 20000;
    look(x);
}

static inline void event(struct fixture *x, const char *format, ...) PRINTF_LIKE(2, 3);
static inline void event(struct fixture *x, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(x, true, format, args);
    va_end(args);
}

static inline void print(struct fixture *x, const char *format, ...) PRINTF_LIKE(2, 3);
static inline void print(struct fixture *x, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(x, false, format, args);
    va_end(args);
}

// A bar of tqdm with n of total; the label has its colon.
static inline void bar(struct fixture *x, const char *label, int n, int total)
{
    print(x, "%s%3d%%|####      | %d/%d [00:01<00:01, 9.9it/s]", label, 100 * n / total, n, total);
}

static inline void finish(struct fixture *x)
{
    struct err err = {0};
    assert_ok(follow_finish(x->follow, !(x->samples && x->stop_s > 0), &x->says, &err), &err);
    follow_free(x->follow);
    meter_free(x->meter);
}

static inline void end(struct fixture *x)
{
    record_release(run_fields, &x->run);
    buf_release(&x->says);
}

#endif
