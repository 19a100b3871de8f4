// SPDX-License-Identifier: Apache-2.0
// What the importers' fuzz targets share: any bytes as a log, and what must hold for its runs.
#ifndef FARE_TESTS_FUZZ_IMPORT_INPUT_H
#define FARE_TESTS_FUZZ_IMPORT_INPUT_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "ledger/import.h"
#include "record/read.h"

static inline int import_input(const struct importer *importer, const uint8_t *data, size_t size)
{
    static const char *labels[] = {"a=b"};
    static const struct import_options options = {.workload = "mlp",
                                                  .machine = "m",
                                                  .price_per_hour = "0.9",
                                                  .started = "2017-11-14",
                                                  .labels = labels,
                                                  .label_count = 1};
    struct runs runs = {0}, again = {0};
    struct err err = {0}, second = {0};
    const char *text = (const char *)data;
    importer->knows(text, size);
    int rc = import_log(importer, "dir/a_cntk.log", text, size, &options, &runs, &err);
    assert(rc == err.code && (rc == 0 || err.text[0]));
    // The same log is the same runs, and each is a record that can be read.
    assert(import_log(importer, "dir/a_cntk.log", text, size, &options, &again, &second) == rc);
    for (size_t i = 0; i < runs.runs.count && rc == 0; i++) {
        struct buf line = {0};
        struct run read = {0};
        assert(strcmp(runs.runs.items[i].id, again.runs.items[i].id) == 0);
        assert(record_to_line(run_fields, &runs.runs.items[i], &line, &err) == 0);
        assert(record_from_text(run_fields, buf_str(&line), line.len, &read, &err) == 0);
        assert(!read.phases.wall_ns.known || read.phases.wall_ns.v >= 0);
        record_release(run_fields, &read);
        buf_release(&line);
    }
    record_release(runs_fields, &runs);
    record_release(runs_fields, &again);
    return 0;
}

#endif
