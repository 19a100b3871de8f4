// SPDX-License-Identifier: Apache-2.0
// Any text as a date and as a duration: an accepted date can be written and read back.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';

    int64_t date_s, again, ns;
    char iso[CLOCK_ISO_BYTES], words[64];
    if (clock_parse(text, &date_s)) {
        clock_iso(date_s, iso);
        assert(clock_parse(iso, &again) && again == date_s);
        if (strlen(text) == 20 && text[19] == 'Z')
            assert(strcmp(text, iso) == 0); // already in the form we write
    }
    if (clock_parse_duration(text, &ns)) {
        assert(ns >= 0 && ns <= INT64_C(3155760000000000000));
        clock_words(ns, words, sizeof words);
        assert(strlen(words) >= strlen("0 s"));
    }
    if (size >= sizeof ns) { // any number of seconds or nanoseconds, too
        memcpy(&ns, data, sizeof ns);
        clock_iso(ns, iso);
        assert(iso[0] == '\0' || (clock_parse(iso, &again) && again == ns));
        clock_words(ns, words, sizeof words);
    }
    free(text);
    return 0;
}
