// SPDX-License-Identifier: Apache-2.0
// Any text that the ledger takes as a run: its head is one too, and the same but for the long
// lists. And whether what it says can be is always decided.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/row.h"
#include "record/read.h"

// The record without the lists that a head leaves out, as text.
static void to_text(const char *text, size_t len, bool epochs, struct buf *out)
{
    struct run run = {0};
    struct err err = {0};
    assert(record_from_text(run_fields, text, len, &run, &err) == 0);
    struct field table[2] = {{0}, {0}};
    static const char *const lists[] = {"step_plot_ms", "samples", "stages",
                                        "checks",       "drift",   "epoch_list"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists - epochs; i++)
        for (const struct field *f = run_fields; f->name; f++)
            if (strcmp(f->name, lists[i]) == 0) {
                table[0] = *f;
                record_release(table, &run);
            }
    assert(record_to_text(run_fields, &run, out, &err) == 0);
    record_release(run_fields, &run);
}

// Whether the epochs tell the time of the training.
static bool is_timed(const char *text, size_t len)
{
    struct run run = {0};
    struct err err = {0};
    bool timed = false;
    assert(record_from_text(run_fields, text, len, &run, &err) == 0);
    for (size_t i = 0; i < run.epoch_list.count; i++)
        timed |= run.epoch_list.items[i].train_ns.known;
    timed &= run.full.known && run.full.v && !run.phases.wall_ns.known;
    record_release(run_fields, &run);
    return timed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run row, again;
    struct err err = {0}, ignored = {0};
    struct buf head = {0}, a = {0}, b = {0};
    char *text = strndup((const char *)data, size);
    size_t len = text ? strlen(text) : 0;
    if (!text || row_read(text, len, &row, &err) != 0) {
        free(text);
        return 0;
    }
    int rc = row_judge(text, len, &again, &ignored);
    assert(rc == 0 || rc == ERR_FORMAT);
    if (rc == 0)
        row_release(&again);
    if (row_head(&row, text, len, &head)) {
        assert(row_read(buf_str(&head), head.len, &again, &err) == 0);
        assert(strcmp(again.id, row.id) == 0);
        bool epochs = is_timed(text, len);
        to_text(text, len, epochs, &a);
        to_text(buf_str(&head), head.len, epochs, &b);
        assert(strcmp(buf_str(&a), buf_str(&b)) == 0);
        row_release(&again);
    }
    buf_release(&head);
    buf_release(&a);
    buf_release(&b);
    row_release(&row);
    free(text);
    return 0;
}
