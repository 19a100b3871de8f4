// SPDX-License-Identifier: Apache-2.0
// Fails the Nth allocation. Included by test_*_oom.c, which are linked with --wrap for malloc and
// its like (tests/CMakeLists.txt), and by one file per program only: it defines the wrappers.
//
//     OOM_EACH { struct err err = {0}; rc = thing(&err); release; OOM_EXPECT(rc, &err); }
//
// runs the body with the 1st, 2nd, ... allocation failing, until one run in which none did.
// Leaks show under the address sanitizer, which runs the same programs.
#ifndef FARE_TESTS_OOM_H
#define FARE_TESTS_OOM_H

#include <stdbool.h>
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

static bool oom_now(void)
{
    if (oom_countdown < 0)
        return false;
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
    for (long oom_n = 0; oom_n < 100000 && (oom_n == 0 || oom_hit || (oom_countdown = -1, 0));     \
         oom_n++)                                                                                  \
        for (int oom_once = (oom_hit = false, oom_countdown = oom_n, 1); oom_once;                 \
             oom_once = 0, oom_countdown = -1)

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
