// SPDX-License-Identifier: Apache-2.0
// Members of a record as the fields of a CSV line.
#include "test.h"

#include <math.h>

#include "record/compare.h"
#include "record/flat.h"

TEST(line)
{
    static const struct flat_column columns[] = {
        {"machine", "machine"}, {"base", "base"},    {"runs", "runs"},   {"time", "time_s.value"},
        {"low", "time_s.low"},  {"usd", "cost.usd"}, {"notes", "notes"}, {"detail", "detail"}};
    enum { COLUMNS = sizeof columns / sizeof *columns };
    char machine[] = "=1+1", note[] = "-a, \"b\"", more[] = "c";
    char *notes[] = {note, more};
    struct compare_row row = {.machine = machine,
                              .base = some_bool(true),
                              .runs = some_int(3),
                              .time_s = {some_real(0.1), {(double)NAN, true}},
                              .cost.usd = some_money(1),
                              .notes = {notes, 2, true}};
    struct buf out = {0};
    struct csv_writer w = {.out = &out};
    flat_heads(&w, columns, COLUMNS);
    csv_end(&w);
    flat_put(&w, flat_part(compare_fields, "workloads.rows"), &row, columns, COLUMNS);
    csv_end(&w);
    assert_string_equal(buf_str(&out), "machine,base,runs,time,low,usd,notes,detail\n"
                                       "'=1+1,true,3,0.1,,0.000000001,\"'-a, \"\"b\"\"; c\",\n");
    buf_release(&out);
}
