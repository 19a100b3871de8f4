// SPDX-License-Identifier: Apache-2.0
// Any bytes, under every set of options, in reads of odd sizes. What was read is written and read
// again: the second table must be the first.
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/csv.h"

struct source {
    const uint8_t *bytes;
    size_t len, at, step;
};

static ptrdiff_t source_read(void *arg, void *into, size_t room, struct err *err)
{
    (void)err;
    struct source *s = arg;
    size_t n = s->len - s->at;
    n = n < s->step ? n : s->step;
    n = n < room ? n : room;
    if (n > 0)
        memcpy(into, s->bytes + s->at, n);
    s->at += n;
    return (ptrdiff_t)n;
}

// Reads a table and writes it to `out`; absent fields become empty ones. The number of records,
// or -1 where it has a fault.
static int copy(const uint8_t *bytes, size_t len, const struct csv_options *options,
                struct buf *out)
{
    struct source source = {bytes, len, 0, len % 13 + 1};
    struct csv csv;
    struct err err = {0};
    if (csv_init(&csv, "fuzz.csv", source_read, &source, options, &err) != 0) {
        assert(err.code == ERR_FORMAT && err.text[0] != '\0');
        return -1;
    }
    struct csv_writer w = {.out = out, .separator = options->separator};
    for (size_t i = 0; i < csv.header.count; i++) {
        csv_put(&w, csv_name(&csv, i));
        assert(csv_column(&csv, csv_name(&csv, i)) == (int)i);
    }
    csv_end(&w);
    int records = 0, rc;
    size_t line = 0;
    while ((rc = csv_next(&csv, &err)) > 0) {
        records++;
        assert(csv_line(&csv) > line);
        line = csv_line(&csv);
        for (size_t i = 0; i < csv.header.count; i++)
            csv_put(&w, csv_text(&csv, (int)i));
        csv_end(&w);
    }
    assert(rc == err.code);
    csv_release(&csv);
    return rc < 0 ? -1 : records;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int set = 0; set < 16; set++) {
        struct csv_options options = {
            .separator = set & 1 ? '\t' : 0,
            .no_quotes = set & 2,
            .short_rows = set & 4,
            .stray_quotes = set & 8,
            .max_field = 64,
            .max_record = 256,
        };
        struct buf first = {0}, second = {0};
        int records = copy(data, size, &options, &first);
        if (records >= 0) {
            struct csv_options strict = {.separator = options.separator};
            int again = copy((const uint8_t *)first.data, first.len, &strict, &second);
            assert(again == records);
            assert(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
        }
        buf_release(&first);
        buf_release(&second);
    }
    return 0;
}
