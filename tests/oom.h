// SPDX-License-Identifier: Apache-2.0
// Fails the Nth allocation. Included by test_*_oom.c, which are linked with --wrap for malloc and
// its like (tests/CMakeLists.txt), and by one file per program only: it defines the wrappers.
//
//     OOM_EACH { struct err err = {0}; rc = thing(&err); release; OOM_EXPECT(rc, &err); }
//
// runs the body with the 1st, 2nd, ... allocation failing, until one run in which none did.
// Leaks show under the address sanitizer, which runs the same programs. There, frame pointers tell
// where a call comes from: of the allocations with the same callers, all the way up, the first and
// the second fail, one after the other; the hundredth would take the same path once more.
#ifndef FARE_TESTS_OOM_H
#define FARE_TESTS_OOM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static long oom_countdown = -1; // -1: off
static bool oom_hit;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t len);

#ifdef __SANITIZE_ADDRESS__
#define OOM_BY_CALLERS 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define OOM_BY_CALLERS 1
#endif
#endif
#ifndef OOM_BY_CALLERS
#define OOM_BY_CALLERS 0
#endif

#define OOM_PLACES 65536
static struct {
    uint64_t callers; // 0: free
    long run;         // the last one that came here,
    int times;        // how often it did,
    int failed;       // and how many of the first calls have failed, in any run
} oom_places[OOM_PLACES];
static const void *oom_top; // the body's frame; null: outside OOM_EACH
static long oom_run;

extern char __executable_start[], etext[];

static uint64_t oom_callers(void)
{
    uint64_t hash = 14695981039346656037u;
    for (void *const *frame = __builtin_frame_address(0); (const void *)frame < oom_top;) {
        void *const *next = frame[0];
        if ((char *)frame[1] < __executable_start || (char *)frame[1] >= etext)
            break; // a library's, without a frame pointer
        hash = (hash ^ (uintptr_t)frame[1]) * 1099511628211u;
        if (next <= frame)
            break;
        frame = next;
    }
    return hash ? hash : 1;
}

// Whether this call is one of the two that fail, and has not yet.
static bool oom_new_place(void)
{
    uint64_t callers = oom_callers();
    size_t at = callers % OOM_PLACES;
    for (size_t tried = 0; oom_places[at].callers && oom_places[at].callers != callers; tried++) {
        assert_true(tried < OOM_PLACES);
        at = (at + 1) % OOM_PLACES;
    }
    if (oom_places[at].run != oom_run)
        oom_places[at].times = 0;
    oom_places[at].callers = callers;
    oom_places[at].run = oom_run;
    if (++oom_places[at].times > 2 || oom_places[at].times <= oom_places[at].failed)
        return false;
    oom_places[at].failed++;
    return true;
}

// A body begins; false: the one before had no failure, so this was all.
__attribute__((unused)) static bool oom_begin(long n, const void *top)
{
    if (n == 0)
        memset(oom_places, 0, sizeof oom_places);
    bool go = n == 0 || oom_hit;
    oom_run = n + 1;
    oom_top = go && OOM_BY_CALLERS ? top : NULL;
    oom_hit = false;
    oom_countdown = go ? n : -1;
    return go;
}

static bool oom_now(void)
{
    if (oom_countdown < 0)
        return false;
    if (oom_top) {
        bool fails = oom_new_place();
        oom_hit |= fails;
        oom_countdown = fails ? -1 : oom_countdown;
        return fails;
    }
    oom_hit |= oom_countdown == 0;
    return oom_countdown-- == 0; // just this one: whoever goes on as if nothing was is found out
}

void *__wrap_malloc(size_t size)
{
    return oom_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return oom_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return oom_now() ? NULL : __real_realloc(old, size);
}

char *__wrap_strndup(const char *text, size_t len)
{
    size_t have = strnlen(text, len);
    char *copy = __wrap_malloc(have + 1);
    if (copy) {
        memcpy(copy, text, have);
        copy[have] = '\0';
    }
    return copy;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, strlen(text));
}

// The bound only stops a body that can never get through.
#define OOM_EACH                                                                                   \
    for (long oom_n = 0; oom_n < 100000 && oom_begin(oom_n, __builtin_frame_address(0)); oom_n++)  \
        for (int oom_once = 1; oom_once; oom_once = 0, oom_countdown = -1)

// An injected failure must come back as an error; without one the call must succeed.
#define OOM_EXPECT(rc, err)                                                                        \
    do {                                                                                           \
        int oom_rc = (rc);                                                                         \
        oom_countdown = -1;                                                                        \
        if (oom_hit) {                                                                             \
            assert_int_equal(oom_rc, ERR_MEMORY);                                                  \
            assert_non_null(strstr((err)->text, "out of memory"));                                 \
        } else {                                                                                   \
            assert_int_equal(oom_rc, 0);                                                           \
        }                                                                                          \
    } while (0)

#endif
