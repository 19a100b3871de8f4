// SPDX-License-Identifier: Apache-2.0
// No writer stores what a reader refuses: a run with a fault is stored, without what is wrong, and
// what is stored can be exported, pushed and imported elsewhere.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "ledger/ledger.h"

static char home[256];
static struct ledger *ledger;
static int number;

static int set_up(void **state)
{
    (void)state;
    struct err err = {0};
    const char *scratch = getenv("TMPDIR");
    snprintf(home, sizeof home, "%s/storable-XXXXXX", scratch ? scratch : "/tmp");
    assert_non_null(mkdtemp(home));
    setenv("XDG_DATA_HOME", home, 1);
    unsetenv("FARE_LEDGER");
    assert_ok(ledger_new(&ledger, NULL, &err), &err);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[300];
    ledger_free(ledger);
    snprintf(command, sizeof command, "rm -rf '%s'", home);
    return system(command);
}

// Stores the run under a new id; what a reader gets is in `text`.
static void store(struct run *run, struct buf *text, struct buf *says)
{
    struct err err = {0};
    char id[32];
    snprintf(id, sizeof id, "run-%05d", ++number);
    assert_ok(text_set(&run->id, id, &err), &err);
    buf_reset(text);
    assert_ok(ledger_record(ledger, run, says, &err), &err);
    assert_ok(ledger_find(ledger, id, text, &err), &err);
    assert_int_equal(ledger_spooled(ledger, NULL), 0);
    assert_ok(ledger_check(buf_str(text), text->len, &err), &err); // the reader's own check
}

static struct run some_run(void)
{
    struct run run = {0};
    struct err err = {0};
    assert_ok(run_begin_record(&run, 1234567890, &err), &err);
    run.steps = some_int(100);
    run.phases.wall_ns = some_int(61000000000);
    run.projection = (struct run_projection){.after_s = some_real(61), .wall_s = some_real(70)};
    return run;
}

// The sample of the report: its time was above the upper end of its projection.
TEST_WITH(an_interval_that_ends_before_it_begins, set_up, tear_down)
{
    struct run run = some_run();
    struct buf text = {0}, says = {0};
    run.projection.low_s = some_real(61);
    run.projection.high_s = some_real(58);
    store(&run, &text, &says);
    assert_non_null(strstr(buf_str(&text), "\"steps\":100"));
    assert_non_null(strstr(buf_str(&text), "\"wall_ns\":61000000000"));
    assert_non_null(strstr(buf_str(&text), "\"corrected\":["));
    assert_non_null(strstr(buf_str(&says), run.id)); // and it is said
    buf_release(&text);
    buf_release(&says);
    record_release(run_fields, &run);
}

// A phase longer than the whole goes, the whole stays.
TEST_WITH(a_part_longer_than_the_whole, set_up, tear_down)
{
    struct run run = some_run();
    struct buf text = {0}, says = {0};
    run.phases.setup_ns = some_int(1000000000);
    run.phases.train_ns = some_int(62000000000);
    store(&run, &text, &says);
    assert_non_null(strstr(buf_str(&text), "\"wall_ns\":61000000000"));
    assert_non_null(strstr(buf_str(&text), "\"setup_ns\":1000000000"));
    assert_null(strstr(buf_str(&text), "\"train_ns\":"));
    assert_non_null(strstr(buf_str(&text), "phases.train_ns: left out"));
    buf_release(&text);
    buf_release(&says);
    record_release(run_fields, &run);
}

// Every number of the record outside of its range, one after the other.
static void each_number(const struct field *fields, struct run *run, char *part, struct buf *text,
                        int *count)
{
    struct buf says = {0};
    for (const struct field *f = fields; f->name; f++) {
        if (f->kind == FIELD_OBJECT)
            each_number(f->sub, run, part + f->at, text, count);
        if (!f->range)
            continue;
        struct maybe_int *whole = (void *)(part + f->at);
        struct maybe_real *real = (void *)(part + f->at);
        struct maybe_int old_whole = {0};
        struct maybe_real old_real = {0};
        if (f->kind == FIELD_INT) {
            old_whole = *whole;
            *whole = some_int(-5);
        } else if (f->kind == FIELD_REAL) {
            old_real = *real;
            *real = some_real(-5);
        } else {
            continue;
        }
        store(run, text, &says);
        assert_non_null(strstr(buf_str(text), "steps\":100")); // the others are there
        if (f->kind == FIELD_INT)
            *whole = old_whole;
        else
            *real = old_real;
        ++*count;
    }
    buf_release(&says);
}

TEST_WITH(every_number_out_of_range, set_up, tear_down)
{
    struct run run = some_run();
    struct buf text = {0};
    int count = 0;
    run.total_steps = some_int(100);
    each_number(run_fields, &run, (char *)&run, &text, &count);
    assert_true(count > 100);
    buf_release(&text);
    record_release(run_fields, &run);
}

// A record that is too long to be read loses its longest part.
TEST_WITH(a_record_too_long, set_up, tear_down)
{
    struct run run = some_run();
    struct buf text = {0}, says = {0};
    struct err err = {0};
    char word[1001];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    for (int i = 0; i < 5000; i++)
        assert_ok(texts_add(&run.command, word, &err), &err);
    store(&run, &text, &says);
    assert_true(text.len <= RUN_HEAD_BYTES_MOST);
    assert_non_null(strstr(buf_str(&text), "\"steps\":100"));
    assert_non_null(strstr(buf_str(&text), "command: left out"));
    buf_release(&text);
    buf_release(&says);
    record_release(run_fields, &run);
}

// What a killed process left in the spool, too; and what is not a run stays there and is named.
TEST_WITH(a_spooled_record, set_up, tear_down)
{
    struct err err = {0};
    struct buf text = {0}, says = {0};
    char path[400];
    static const char bad[] = "{\"id\":\"left\",\"steps\":7,\"batch\":-3,\"newer\":[1]}",
                      other[] = "{\"id\":5}";
    const char *dir;
    assert_int_equal(ledger_spooled(ledger, &dir), 0);
    assert_ok(fs_mkdirs_private(dir, &err), &err);
    snprintf(path, sizeof path, "%s/left.json", dir);
    assert_ok(fs_write_private(path, bad, strlen(bad), &err), &err);
    snprintf(path, sizeof path, "%s/other.json", dir);
    assert_ok(fs_write_private(path, other, strlen(other), &err), &err);
    assert_ok(ledger_make(ledger, &says, &err), &err);
    assert_ok(ledger_find(ledger, "left", &text, &err), &err);
    assert_ok(ledger_check(buf_str(&text), text.len, &err), &err);
    assert_non_null(strstr(buf_str(&text), "\"steps\":7"));
    assert_non_null(strstr(buf_str(&text), "\"newer\":[1]"));
    assert_null(strstr(buf_str(&text), "\"batch\""));
    assert_non_null(strstr(buf_str(&says), "other.json"));
    assert_int_equal(ledger_spooled(ledger, NULL), 1);
    buf_release(&text);
    buf_release(&says);
}
