// SPDX-License-Identifier: Apache-2.0
// Any text: what money_parse() accepts must print as the same decimal and read back.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/money.h"

// The number in its one shortest spelling: no plus, no zeros at either end.
static char *shortest(const char *text)
{
    char *out = malloc(strlen(text) + 3), *o = out;
    if (!out)
        abort();
    const char *point = strchr(text, '.');
    const char *end = text + strlen(text);
    while (point && end[-1] == '0')
        end--;
    if (end - 1 == point)
        end--;
    const char *p = text + (*text == '-' || *text == '+');
    while (*p == '0')
        p++;
    if (p >= end)
        p = end;
    if (*text == '-' && p < end)
        *o++ = '-';
    if (p == end || *p == '.')
        *o++ = '0';
    memcpy(o, p, (size_t)(end - p));
    o[end - p] = '\0';
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';

    struct err err = {0};
    int64_t nano, again, sum, part;
    if (money_parse(text, &nano, &err) != 0) {
        assert(err.code == ERR_FORMAT || err.code == ERR_OVERFLOW);
        goto out;
    }
    char exact[MONEY_BYTES], rounded[MONEY_BYTES];
    money_text(nano, exact);
    assert(money_parse(exact, &again, &err) == 0 && again == nano);
    char *given = shortest(text), *printed = shortest(exact);
    assert(strcmp(given, printed) == 0);
    free(given);
    free(printed);

    for (int mode = MONEY_DOWN; mode <= MONEY_HALF_EVEN; mode++) {
        for (int decimals = 0; decimals <= 9; decimals++)
            money_rounded(nano, decimals, (enum money_rounding)mode, rounded);
        assert(strncmp(rounded, exact, strlen(exact)) == 0); // nine decimals are exact
        // A third and the two thirds that are left make the whole again.
        assert(money_scale(nano, 1, 3, (enum money_rounding)mode, &part, &err) == 0);
        assert(money_sub(nano, part, &again, &err) == 0);
        assert(money_add(again, part, &sum, &err) == 0 && sum == nano);
    }
    money_short(nano, rounded);
out:
    free(text);
    return 0;
}
