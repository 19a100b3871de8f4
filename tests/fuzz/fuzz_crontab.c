// SPDX-License-Identifier: Apache-2.0
// Any text as a schedule: what is accepted starts at most once a minute, and its counts agree.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bill/crontab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[1024];
    struct crontab tab;
    struct err err = {0};
    if (size >= sizeof text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    int rc = crontab_parse(&tab, text, &err);
    assert(rc == err.code && (rc == 0 || rc == ERR_FORMAT));
    if (rc != 0)
        return 0;
    // 2024 is a leap year and has every date; in two parts it is the same.
    int64_t year = crontab_count(&tab, 19723, 20089);
    assert(year >= 0 && year <= 366 * 1440);
    assert(year == crontab_count(&tab, 19723, 19900) + crontab_count(&tab, 19900, 20089));
    assert(tab.minutes != 0 && tab.hours != 0 && tab.days != 0 && tab.months != 0 &&
           tab.weekdays != 0);
    return 0;
}
