// SPDX-License-Identifier: Apache-2.0
// The ledger, the importers and the comparison with every allocation failing once, jansson's
// included. A run that was called safe is in the database or in the spool, whatever failed.
#include "oom.h"

#include <stdio.h>
#include <unistd.h>

#include "advise/comparable.h"
#include "base/fs.h"
#include "ledger/import.h"
#include "ledger/inside.h"
#include "ledger/journal.h"
#include "ledger/ledger.h"
#include "record/read.h"

// Long enough that a record with it has a head.
#define LINE "11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,"
#define PLOT                                                                                       \
    LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE \
        LINE LINE LINE LINE LINE LINE LINE

static char path[256];

static void reading(void **state)
{
    (void)state;
    static const char text[] =
        "{\"id\":\"a\\u0062\",\"labels\":[{\"key\":\"k\",\"value\":\"v\"}],\"command\":[\"x\","
        "\"y\"],"
        "\"step_plot_ms\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17],\"step_ms\":1.5e-3,"
        "\"machine\":{\"gpu\":\"g\"},\"taints\":[\"t\"],\"batch\":3}";
    OOM_EACH
    {
        struct err err = {0};
        struct run run = {0};
        struct buf line = {0};
        struct comparison comparison = {0};
        int rc = record_from_text(run_fields, text, strlen(text), &run, &err);
        if (rc == 0)
            rc = record_to_line(run_fields, &run, &line, &err);
        if (rc == 0)
            rc = comparison_make(&run, &run, COMPARISON_PAIR, &comparison, &err);
        record_release(run_fields, &run);
        comparison_release(&comparison);
        buf_release(&line);
        OOM_EXPECT(rc, &err);
    }
}

static void importing(void **state)
{
    (void)state;
    // Tokens of under 16 bytes: jansson itself goes wrong where it cannot grow its buffer for a
    // longer one (2.14, lex_save).
    static const struct {
        const struct importer *importer;
        const char *text;
    } logs[] = {
        {&importer_keras, "epoch,elapsed,loss,val_loss\n0,1,2,3\n1,1,2,3\n"},
        {&importer_dawnbench, "epoch\thours\ttop5Accuracy\n1\t0.5\t90\n"},
        {&importer_mllog,
         ":::MLLOG {\"key\":\"run_start\",\"time_ms\":1000}\n"
         ":::MLLOG {\"key\":\"eval_accuracy\",\"value\":0.5,\"metadata\":{\"epoch_num\":1}}\n"
         ":::MLLOG {\"key\":\"opt_name\",\"value\":\"x\"}\n"
         ":::MLLOG "
         "{\"key\":\"run_stop\",\"time_ms\":2000,\"metadata\":{\"status\":\"success\"}}\n"},
        {&importer_hyperfine,
         "{\"results\":[{\"command\":\"x\",\"mean\":1,\"stddev\":0.5,\"times\":[1,2]}]}"},
        {&importer_sacct, "JobID|User|State|Start|Elapsed|AllocTRES\n"
                          "1|ann|COMPLETED|2024-11-13T13:05:32|00:01:00|gres/gpu:a100=1,mem=1G\n"
                          "1.batch||COMPLETED|2024-11-13T13:05:32|00:01:00|\n"
                          "2|ben|RUNNING|2024-11-13T13:05:32|00:01:00|\n"},
    };
    static const char *labels[] = {"a=b"};
    const struct import_options options = {.machine = "m",
                                           .price_per_hour = "1",
                                           .started = "2017-01-01",
                                           .labels = labels,
                                           .label_count = 1};
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        OOM_EACH
        {
            struct err err = {0};
            struct runs runs = {0};
            int rc = import_log(logs[i].importer, "dir/a_cntk.csv", logs[i].text,
                                strlen(logs[i].text), &options, &runs, &err);
            record_release(runs_fields, &runs);
            // And where it has no memory for a string it says that none is there.
            if (oom_hit && rc == ERR_FORMAT && strstr(err.text, " near '"))
                continue;
            OOM_EXPECT(rc, &err);
        }
    }
}

static int add(struct ledger *ledger, const char *text, struct err *err)
{
    bool added;
    int rc = ledger_import_begin(ledger, err);
    if (rc != 0)
        return rc;
    rc = ledger_import_add(ledger, text, strlen(text), &added, err);
    if (rc == 0)
        return ledger_import_end(ledger, err);
    ledger_import_abandon(ledger);
    return rc;
}

static void asking(void **state)
{
    (void)state;
    static const char text[] = "{\"id\":\"abcdef\",\"name\":\"n\",\"started\":\"2026-01-01\","
                               "\"labels\":[{\"key\":\"k\",\"value\":\"v\"}],"
                               "\"step_plot_ms\":[" PLOT "18]}";
    static const char *labels[] = {"k=v"};
    const struct ledger_filter filter = {.gpu = "",
                                         .machine = "",
                                         .labels = labels,
                                         .label_count = 1,
                                         .since = "2025-01-01",
                                         .sort = LEDGER_STEP,
                                         .limit = 3};
    OOM_EACH
    {
        struct err err = {0};
        struct ledger *ledger = NULL;
        struct runs runs = {0};
        struct buf found = {0}, id = {0};
        int rc = ledger_new(&ledger, path, &err);
        if (rc == 0)
            rc = add(ledger, text, &err);
        if (rc == 0)
            rc = ledger_list(ledger, &filter, &runs, &err);
        if (rc == 0)
            rc = ledger_find(ledger, "abc", &found, &err);
        if (rc == 0)
            rc = ledger_delete(ledger, "abc", &id, &err);
        ledger_free(ledger);
        record_release(runs_fields, &runs);
        buf_release(&found);
        buf_release(&id);
        OOM_EXPECT(rc, &err);
    }
}

// A ledger of the version before, brought forward: all of it, or nothing.
static void migrating(void **state)
{
    (void)state;
    static const char text[] = "{\"id\":\"a\",\"step_plot_ms\":[" PLOT "13]}";
    struct err ok = {0};
    struct ledger *ledger = NULL;
    assert_ok(ledger_new(&ledger, path, &ok), &ok);
    assert_ok(add(ledger, text, &ok), &ok);
    OOM_EACH
    {
        struct err err = {0};
        struct ledger *again = NULL;
        long counted = oom_countdown;
        oom_countdown = -1;
        static const char *const later[] = {
            "DROP TABLE IF EXISTS fare_head", "DROP TABLE IF EXISTS fare_spend",
            "DROP TABLE IF EXISTS fare_budget", "DROP TABLE IF EXISTS fare_charge"};
        for (size_t i = 0; i < sizeof later / sizeof *later; i++)
            assert_ok(ledger_sql(ledger, later[i], &ok), &ok);
        assert_ok(ledger_sql(ledger, "UPDATE fare_schema SET version = 3", &ok), &ok);
        oom_countdown = counted;
        int rc = ledger_new(&again, path, &err);
        if (rc == 0)
            rc = ledger_connect(again, NULL, &err);
        ledger_free(again);
        OOM_EXPECT(rc, &err);
        struct err why = {0}; // the table is there where the version says so, and nowhere else
        int there = ledger_sql(ledger, "SELECT run FROM fare_head", &why);
        assert_true((there == 0) == (rc == 0));
    }
    struct buf id = {0};
    assert_ok(ledger_delete(ledger, "a", &id, &ok), &ok);
    buf_release(&id);
    ledger_free(ledger);
}

static int count_going(void *arg, const char *id, const char *text, struct err *err)
{
    (void)err;
    *(int *)arg += strcmp(id, "on") == 0 && strcmp(text, "{\"id\":\"on\"}") == 0;
    return 0;
}

// A run that goes on, whose lock this process has.
static void going(void **state)
{
    (void)state;
    struct err ok = {0};
    struct ledger *ledger = NULL;
    struct journal *journal = NULL;
    struct buf text = {0};
    assert_ok(ledger_new(&ledger, path, &ok), &ok);
    assert_ok(ledger_connect(ledger, NULL, &ok), &ok);
    assert_ok(journal_open(&journal, ledger, "on", &ok), &ok);
    buf_adds(&text, "{\"id\":\"on\"}");
    journal_put(journal, &text);
    journal_rest(journal);
    OOM_EACH
    {
        struct err err = {0};
        int found = 0;
        int rc = ledger_running(ledger, NULL, count_going, &found, &err);
        if (rc == 0)
            rc = ledger_running(ledger, "other", count_going, &found, &err);
        OOM_EXPECT(rc, &err);
        assert_true(rc != 0 || found == 1);
    }
    journal_close(journal, false, &text);
    int found = 0;
    assert_ok(ledger_running(ledger, NULL, count_going, &found, &ok), &ok);
    assert_int_equal(found, 0);
    buf_release(&text);
    ledger_free(ledger);
}

static void recording(void **state)
{
    (void)state;
    OOM_EACH
    {
        struct err err = {0}, ok = {0};
        struct run run = {0};
        struct ledger *ledger = NULL;
        struct buf says = {0}, text = {0};
        char id[64];
        long counted = oom_countdown;
        oom_countdown = -1;
        assert_ok(run_begin_record(&run, 1000000000, &ok), &ok);
        snprintf(id, sizeof id, "%s", run.id);
        run.batch = some_int(-1); // it is left out
        oom_countdown = counted;
        int rc = ledger_new(&ledger, path, &err);
        if (rc == 0)
            rc = ledger_record(ledger, &run, &says, &err);
        oom_countdown = -1;
        ledger_free(ledger);
        record_release(run_fields, &run);
        assert_true(rc == 0 || rc == ERR_MEMORY);
        assert_true(rc == 0 || oom_hit);
        // The next start, with memory.
        assert_ok(ledger_new(&ledger, path, &ok), &ok);
        assert_ok(ledger_connect(ledger, NULL, &ok), &ok);
        assert_int_equal(ledger_spooled(ledger, NULL), 0);
        int found = ledger_find(ledger, id, &text, &ok);
        assert_true(found == 0 || (found == ERR_MISSING && rc != 0));
        ledger_free(ledger);
        buf_release(&says);
        buf_release(&text);
    }
}

int main(void)
{
    json_set_alloc_funcs(malloc, free); // through the wrappers
    char home[200];
    const char *scratch = getenv("TMPDIR");
    snprintf(home, sizeof home, "%s/ledger-oom-XXXXXX", scratch ? scratch : "/tmp");
    if (!mkdtemp(home))
        return 1;
    setenv("XDG_DATA_HOME", home, 1);
    setenv("TMPDIR", home, 1);
    snprintf(path, sizeof path, "%s/l.db", home);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading),   cmocka_unit_test(importing), cmocka_unit_test(asking),
        cmocka_unit_test(migrating), cmocka_unit_test(recording), cmocka_unit_test(going),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
