// SPDX-License-Identifier: Apache-2.0
// What every unit test includes: cmocka, with the headers it wants before it.
#ifndef FARE_TESTS_TEST_H
#define FARE_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

// A call that must succeed; its error text is printed where it does not.
#define assert_ok(call, err)                                                                       \
    do {                                                                                           \
        int assert_ok_rc = (call);                                                                 \
        if (assert_ok_rc != 0)                                                                     \
            fail_msg("%s: %s", #call, (err)->text);                                                \
    } while (0)

#endif
