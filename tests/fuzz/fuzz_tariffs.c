// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of tariffs: every tariff that is accepted has words and can charge.
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "bill/charge.h"
#include "book/tariffs.h"

static void charge(const struct tariff *t)
{
    struct rule rule;
    struct charge c;
    struct err err = {0};
    const struct charge_use use = {.start_s = 1520208000,
                                   .length_ns = INT64_C(5400000000001),
                                   .storage_gb = 100,
                                   .storage_ns = INT64_C(86400000000000),
                                   .stopped_ns = INT64_C(7200000000001),
                                   .egress_used_bytes = INT64_C(50000000000),
                                   .egress_bytes = INT64_C(200000000000)};
    assert(rule_read(&rule, t, some_money(900000000), &err) ==
           0); // nothing is left to complain about
    int rc = rule_in_region(&rule, t, "eu-west", &err);
    if (rc == 0)
        rc = charge_use(&rule, &use, &c, &err);
    assert(rc == 0 || rc == ERR_OVERFLOW);
    assert(rc != 0 || (c.total >= 0 && c.time >= 0 && c.stopped >= 0 && c.storage_stopped >= 0 &&
                       c.egress >= 0));
}

static char dir[] = "/dev/shm/fare-fuzz-XXXXXX";

static void remove_dir(void)
{
    rmdir(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[64];
    struct tariff_book *book = NULL;
    struct err err = {0};
    if (!path[0]) {
        if (!mkdtemp(dir) || atexit(remove_dir) != 0)
            abort();
        snprintf(path, sizeof path, "%s/a.json", dir);
    }
    FILE *f = fopen(path, "w");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0)
        abort();
    int rc = tariff_book_read(&book, dir, NULL, &err);
    assert(rc == err.code && (rc == 0) == (book != NULL));
    assert(rc == 0 || strstr(err.text, "a.json") || rc == ERR_MEMORY);
    const struct tariff *t;
    for (size_t i = 0; book && (t = tariff_at(book, i)); i++) {
        struct buf words = {0};
        tariff_words(t, NULL, 0, &words);
        assert(!words.failed && words.len > 0);
        buf_release(&words);
        charge(t);
    }
    tariff_book_close(book);
    unlink(path);
    return 0;
}
