// SPDX-License-Identifier: Apache-2.0
// The ledger on SQLite. What the two databases have in common is in test_postgres.py, what survives
// in test_faults.py.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "ledger/inside.h"
#include "ledger/ledger.h"
#include "ledger/row.h"

static char home[256];

static int set_up(void **state)
{
    (void)state;
    const char *scratch = getenv("TMPDIR");
    snprintf(home, sizeof home, "%s/ledger-XXXXXX", scratch ? scratch : "/tmp");
    assert_non_null(mkdtemp(home));
    setenv("XDG_DATA_HOME", home, 1);
    unsetenv("FARE_LEDGER");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", home);
    return system(command);
}

static struct ledger *opened(void)
{
    struct ledger *ledger = NULL;
    struct err err = {0};
    assert_ok(ledger_new(&ledger, NULL, &err), &err);
    return ledger;
}

static void add(struct ledger *ledger, const char *text)
{
    struct err err = {0};
    bool added;
    assert_ok(ledger_import_begin(ledger, &err), &err);
    assert_ok(ledger_import_add(ledger, text, strlen(text), &added, &err), &err);
    assert_true(added);
    assert_ok(ledger_import_end(ledger, &err), &err);
}

// Three runs; the ids' dates are also their `started`.
static void add_three(struct ledger *ledger)
{
    add(ledger,
        "{\"id\":\"20260101T000000Z-aaaaaaaaaaaa\",\"started\":\"2026-01-01T00:00:00Z\","
        "\"name\":\"first\",\"workload\":\"mlp\",\"framework\":\"fare\",\"ended\":\"sampled\","
        "\"step_ms\":3,\"machine\":{\"gpu\":\"NVIDIA H100\"},"
        "\"labels\":[{\"key\":\"team\",\"value\":\"a\"}]}");
    add(ledger,
        "{\"id\":\"20260102T000000Z-abbbbbbbbbbb\",\"started\":\"2026-01-02T00:00:00+01:00\","
        "\"name\":\"second\",\"workload\":\"cnn\",\"ended\":\"finished\",\"full\":true,"
        "\"steady\":{\"step_ms\":1},\"phases\":{\"wall_ns\":5000000000},"
        "\"machine\":{\"cpu\":\"AMD EPYC 9654\"},\"labels\":[{\"key\":\"team\",\"value\":\"b\"},"
        "{\"key\":\"team\",\"value\":\"b\"}]}");
    add(ledger, "{\"id\":\"20260103T000000Z-cccccccccccc\",\"started\":\"2026-01-03\","
                "\"workload\":\"mlp\",\"step_ms\":2,\"projection\":{\"wall_s\":7.5},"
                "\"newer\":{\"key\":[1]}}");
}

static void expect(struct ledger *ledger, const struct ledger_filter *filter, const char *names)
{
    struct runs runs = {0};
    struct err err = {0};
    struct buf got = {0};
    assert_ok(ledger_list(ledger, filter, &runs, &err), &err);
    for (size_t i = 0; i < runs.runs.count; i++)
        buf_addc(&got, runs.runs.items[i].id[7]); // the day
    assert_string_equal(buf_str(&got), names);
    buf_release(&got);
    record_release(runs_fields, &runs);
}

TEST_WITH(reading_makes_nothing, set_up, tear_down)
{
    struct ledger *reader = opened(), *writer = opened(), *named = NULL;
    struct err err = {0};
    char path[300];
    snprintf(path, sizeof path, "%s/fare", home);
    expect(reader, &(struct ledger_filter){0}, "");
    assert_int_equal(access(path, F_OK), -1);
    add_three(writer);
    expect(reader, &(struct ledger_filter){0}, "321"); // it is there meanwhile
    snprintf(path, sizeof path, "%s/away/x.db", home);
    assert_ok(ledger_new(&named, path, &err), &err);
    assert_int_equal(ledger_connect(named, NULL, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "there is no ledger at"));
    *strrchr(path, '/') = '\0';
    assert_int_equal(access(path, F_OK), -1);
    ledger_free(named);
    ledger_free(writer);
    ledger_free(reader);
}

TEST_WITH(lists, set_up, tear_down)
{
    struct ledger *ledger = opened();
    add_three(ledger);
    static const char *label[] = {"team=b"}, *both[] = {"team=a", "team=b"};
    const struct {
        struct ledger_filter filter;
        const char *days;
    } cases[] = {
        {{0}, "321"},
        {{.limit = 2}, "32"},
        {{.workload = "mlp"}, "31"},
        {{.workload = "ml"}, ""},
        {{.framework = "fare"}, "1"},
        {{.name = "mlp"}, "3"}, // what has no name is called by its workload
        {{.name = "first"}, "1"},
        {{.ended = "finished"}, "2"},
        {{.gpu = "h100"}, "1"},
        {{.gpu = "%"}, ""},
        {{.machine = "epyc"}, "2"},
        {{.since = "2026-01-02"}, "3"}, // the second started an hour before that, in UTC
        {{.since = "2026-01-01T23:00:00Z"}, "32"},
        {{.labels = label, .label_count = 1}, "2"},
        {{.labels = both, .label_count = 2}, ""},
        {{.labels = label, .label_count = 1, .limit = 5}, "2"},
        {{.labels = both, .label_count = 2, .limit = 5}, ""},
        {{.labels = label, .label_count = 1, .sort = LEDGER_NAME, .limit = 5}, "2"},
        {{.sort = LEDGER_STEP}, "231"},
        {{.sort = LEDGER_STEP, .limit = 2}, "23"}, // of the newest two
        {{.sort = LEDGER_WALL}, "231"},
        {{.sort = LEDGER_NAME}, "132"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(ledger, &cases[i].filter, cases[i].days);
    struct err err = {0};
    struct runs runs = {0};
    assert_int_equal(ledger_list(ledger, &(struct ledger_filter){.since = "x"}, &runs, &err),
                     ERR_USAGE);
    static const char *bad[] = {"team"};
    err = (struct err){0};
    assert_int_equal(
        ledger_list(ledger, &(struct ledger_filter){.labels = bad, .label_count = 1}, &runs, &err),
        ERR_USAGE);
    record_release(runs_fields, &runs);
    ledger_free(ledger);
}

TEST_WITH(finds, set_up, tear_down)
{
    struct ledger *ledger = opened();
    struct buf text = {0};
    struct err err = {0};
    assert_int_equal(ledger_find(ledger, "last", &text, &err), ERR_MISSING);
    add_three(ledger);
    static const struct {
        const char *word, *day; // null: not found; "": several
    } cases[] = {
        {"20260102T000000Z-abbbbbbbbbbb", "02"},
        {"20260103", "03"},
        {"2026", ""},
        {"last", "03"},
        {"first", "01"},
        {"mlp", "03"},
        {"aaaa", "01"},
        {"abbbbb", "02"},
        {"aaa", NULL},
        {"bbbb", NULL},
        {"%", NULL},
        {"", ""},
        {"202601__", NULL},
        {"zzzz", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[32];
        err = (struct err){0};
        buf_reset(&text);
        int rc = ledger_find(ledger, cases[i].word, &text, &err);
        int wanted = !cases[i].day ? ERR_MISSING : !*cases[i].day ? ERR_USAGE : 0;
        if (rc != wanted)
            fail_msg("'%s': %d, not %d: %s", cases[i].word, rc, wanted, err.text);
        snprintf(expected, sizeof expected, "{\"id\":\"202601%s", cases[i].day ? cases[i].day : "");
        if (rc == 0)
            assert_non_null(strstr(buf_str(&text), expected));
    }
    // The text is what came in, to the byte.
    buf_reset(&text);
    assert_ok(ledger_find(ledger, "last", &text, &err), &err);
    assert_non_null(strstr(buf_str(&text), "\"newer\":{\"key\":[1]}}"));

    buf_reset(&text);
    assert_int_equal(ledger_delete(ledger, "first", &text, &err), ERR_MISSING); // ids only
    err = (struct err){0};
    assert_ok(ledger_delete(ledger, "aaaa", &text, &err), &err);
    assert_string_equal(buf_str(&text), "20260101T000000Z-aaaaaaaaaaaa");
    static const char *label[] = {"team=a"};
    expect(ledger, &(struct ledger_filter){.labels = label, .label_count = 1}, "");
    expect(ledger, &(struct ledger_filter){0}, "32");
    buf_release(&text);
    ledger_free(ledger);
}

static void stamp(struct ledger *ledger, struct buf *out)
{
    struct err err = {0};
    buf_reset(out);
    assert_ok(ledger_stamp(ledger, out, &err), &err);
}

TEST_WITH(stamps, set_up, tear_down)
{
    struct ledger *ledger = opened();
    struct buf empty = {0}, three = {0}, again = {0}, two = {0};
    struct err err = {0};
    stamp(ledger, &empty);
    add_three(ledger);
    stamp(ledger, &three);
    stamp(ledger, &again);
    assert_string_equal(buf_str(&three), buf_str(&again));
    assert_string_not_equal(buf_str(&three), buf_str(&empty));
    assert_ok(ledger_delete(ledger, "aaaa", NULL, &err), &err);
    stamp(ledger, &two);
    assert_string_not_equal(buf_str(&two), buf_str(&three));
    buf_release(&empty);
    buf_release(&three);
    buf_release(&again);
    buf_release(&two);
    ledger_free(ledger);
}

TEST_WITH(imports, set_up, tear_down)
{
    struct ledger *ledger = opened();
    struct err err = {0};
    bool added;
    static const char good[] = "{\"id\":\"a\"}";
    static const char *const bad[] = {"{}",
                                      "{\"id\":\"\"}",
                                      "{\"id\":\"a/b\"}",
                                      "{\"id\":\".a\"}",
                                      "{\"id\":\"a b\"}",
                                      "x",
                                      "{\"id\":\"a\",\"seed\":\"x\"}",
                                      "{\"id\":\"a\",\"schema\":\"fare.machine/1\"}"};
    add_three(ledger);
    assert_ok(ledger_import_begin(ledger, &err), &err);
    assert_ok(ledger_import_add(ledger, good, strlen(good), &added, &err), &err);
    assert_true(added);
    assert_ok(ledger_import_add(ledger, good, strlen(good), &added, &err), &err);
    assert_false(added);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (struct err){0};
        assert_int_equal(ledger_import_add(ledger, bad[i], strlen(bad[i]), &added, &err),
                         ERR_FORMAT);
    }
    ledger_import_abandon(ledger);
    expect(ledger, &(struct ledger_filter){0}, "321");
    ledger_free(ledger);
}

TEST_WITH(records_a_run, set_up, tear_down)
{
    struct ledger *ledger = opened();
    struct err err = {0};
    struct run run = {0};
    struct buf says = {0}, text = {0};
    assert_ok(run_begin_record(&run, 1234567890, &err), &err);
    assert_ok(ledger_record(ledger, &run, &says, &err), &err);
    assert_string_equal(buf_str(&says), "");
    assert_ok(ledger_record(ledger, &run, &says, &err), &err); // the same again adds nothing
    expect(ledger, &(struct ledger_filter){0}, "3");           // of 13 February
    assert_ok(ledger_find(ledger, "20090213T233130Z", &text, &err), &err);
    const char *dir;
    assert_int_equal(ledger_spooled(ledger, &dir), 0);
    free(run.id);
    run.id = NULL; // a run without an id cannot be kept, and lands in no file
    assert_int_equal(ledger_record(ledger, &run, &says, &err), ERR_FORMAT);
    record_release(run_fields, &run);
    buf_release(&says);
    buf_release(&text);
    ledger_free(ledger);
}

TEST_WITH(not_a_ledger, set_up, tear_down)
{
    char path[300];
    struct ledger *ledger = NULL;
    struct err err = {0};
    snprintf(path, sizeof path, "%s/notes.txt", home);
    assert_ok(fs_write(path, "these are not pages of a database, but notes\n", 45, &err), &err);
    assert_ok(ledger_new(&ledger, path, &err), &err);
    assert_int_equal(ledger_connect(ledger, NULL, &err), ERR_IO);
    assert_non_null(strstr(err.text, "notes.txt"));
    struct buf text = {0};
    assert_ok(fs_read(path, 100, &text, &err), &err);
    assert_int_equal(text.len, 45); // untouched
    buf_release(&text);
    ledger_free(ledger);

    err = (struct err){0};
    assert_ok(ledger_new(&ledger, home, &err), &err); // a folder
    assert_true(ledger_connect(ledger, NULL, &err) < 0);
    ledger_free(ledger);
}

TEST(names_no_password)
{
    static const char *const cases[][2] = {
        {"postgresql://u:secret@host:5432/db", "postgresql://u@host:5432/db"},
        {"postgres://u@host/db", "postgres://u@host/db"},
        {"postgresql://host/db?sslmode=require", "postgresql://host/db?sslmode=require"},
        {"postgresql://u@host/db?password=secret", "postgresql://u@host/db"},
        {"postgresql://u:se@cret@host/db", "postgresql://u@host/db"},
        {"postgresql://u:sec/ret@host/db", "postgresql://..."},
        {"postgresql://:secret@/db", "postgresql://@/db"},
        {"postgresql://u:sec?ret@host/db", "postgresql://..."},
        {"postgresql:///db?host=/tmp&passfile=x", "postgresql:///db"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf name = {0};
        place_public(cases[i][0], &name);
        assert_string_equal(buf_str(&name), cases[i][1]);
        buf_release(&name);
    }
}

TEST_WITH(places, set_up, tear_down)
{
    struct ledger_place a, b;
    struct err err = {0};
    char expected[300];
    assert_ok(place_find(&a, NULL, &err), &err);
    snprintf(expected, sizeof expected, "%s/fare/ledger.db", home);
    assert_string_equal(a.where, expected);
    setenv("FARE_LEDGER", "postgresql://u:p@h/d", 1);
    assert_ok(place_find(&b, NULL, &err), &err);
    assert_ptr_equal(b.backend, &backend_postgres);
    assert_string_equal(b.name, "postgresql://u@h/d");
    assert_string_not_equal(a.spools[0], b.spools[0]);
    place_release(&b);
    assert_ok(place_find(&b, a.where, &err), &err); // an option wins over the variable
    assert_string_equal(a.spools[0], b.spools[0]);
    place_release(&a);
    place_release(&b);
    unsetenv("FARE_LEDGER");
    assert_int_equal(place_find(&a, "mysql://h/d", &err), ERR_USAGE);
    err = (struct err){0};
    char old_home[256];
    snprintf(old_home, sizeof old_home, "%s", getenv("HOME") ? getenv("HOME") : "/");
    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    assert_int_equal(place_find(&a, NULL, &err), ERR_MISSING);
    setenv("HOME", old_home, 1);
}

static int count_one(void *arg, const char *id, const char *text, struct err *err)
{
    (void)err;
    assert_true(strncmp(id, "published-", 10) == 0);
    assert_non_null(strstr(text, "\"source\":"));
    ++*(int *)arg;
    return 0;
}

TEST(published)
{
    struct err err = {0};
    struct buf text = {0};
    int count = 0;
    assert_ok(published_each(TESTS_DIR "/../share/published", count_one, &count, &err), &err);
    // Five workloads on six configurations (2017), thirteen rows (2018), five and three machines,
    // eight workloads on an H200 and on its CPUs, native and with PyTorch, and GPT-2 in four ways
    // on an H200 and in two on its CPUs; three nets with an LSTM, fused or plain, on both.
    assert_int_equal(count, 5 * 6 + 13 + 5 + 3 + 4 * 8 + 4 + 2 + 3 * 2 * 2);
    struct published *all;
    assert_ok(published_open(&all, TESTS_DIR "/../share/published", &err), &err);
    assert_int_equal(published_count(all), count);
    assert_ok(published_find(all, "published-2018-tweets-aws-p3", &text, &err), &err);
    assert_non_null(strstr(buf_str(&text), "\"wall_ns\":3816000000000")); // 1.06 h
    size_t same = 0;
    for (size_t i = 0; i < published_count(all); i++)
        if (strcmp(published_run(all, i)->id, "published-2018-tweets-aws-p3-2xlarge") == 0)
            same += published_run(all, i)->phases.wall_ns.v == INT64_C(3816000000000);
    assert_int_equal(same, 1);
    assert_int_equal(published_find(all, "published-2018-tweets-aws", &text, &err), ERR_USAGE);
    err = (struct err){0};
    assert_int_equal(published_find(all, "published-2019", &text, &err), ERR_MISSING);
    err = (struct err){0};
    published_close(all);
    assert_int_equal(published_each("/nonexistent", count_one, &count, &err), ERR_MISSING);
    err = (struct err){0};
    assert_int_equal(published_open(&all, "/nonexistent", &err), ERR_MISSING);
    assert_null(all);
    buf_release(&text);
}

// Plots and samples, and what a careless scan would trip over: brackets and quotes in texts, a
// long list's name as a value and inside another member, white space.
#define HUNDRED                                                                                    \
    "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,"   \
    "34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,"
#define LONG                                                                                       \
    "[" HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED    \
        HUNDRED "0]"
// Every 24th of them, so that there are at most 32.
#define FEW                                                                                        \
    "["                                                                                            \
    "1,25,49,10,34,58,19,43,4,28,52,13,37,61,22,46,7,31,55,16,40,1,25,49,10,34,58,19,"             \
    "43,4,28,52"                                                                                   \
    "]"
#define SAMPLES "{\"at_s\":2},{\"at_s\":3},{\"at_s\":4},{\"at_s\":5},{\"at_s\":6},{\"at_s\":7},"
#define MORE    SAMPLES SAMPLES SAMPLES SAMPLES SAMPLES SAMPLES SAMPLES
#define MANY    MORE MORE MORE MORE MORE
#define EPOCHS  "{\"train_ns\":2},{\"train_ns\":3},{\"train_ns\":4},{\"train_ns\":5},"
#define TRAINED EPOCHS EPOCHS EPOCHS EPOCHS EPOCHS EPOCHS EPOCHS EPOCHS EPOCHS EPOCHS

TEST(makes_heads)
{
    static const struct {
        const char *text, *head; // null: the record is its own head
    } cases[] = {
        {"{\"id\":\"a\",\"step_plot_ms\":" LONG ",\"batch\":3}",
         "{\"id\":\"a\",\"step_plot_ms\":" FEW ",\"batch\":3}"},
        {"{\"step_plot_ms\":" LONG ",\"id\":\"a\"}", "{\"step_plot_ms\":" FEW ",\"id\":\"a\"}"},
        {" { \"id\" : \"a\" ,\n\"step_plot_ms\" : " LONG " } ",
         "{\"id\" : \"a\",\"step_plot_ms\":" FEW "}"},
        {"{\"id\":\"a\",\"name\":\"x]}\\\"{[\\\\\",\"samples\":[" MANY "{\"at_s\":5}],\"seed\":1}",
         "{\"id\":\"a\",\"name\":\"x]}\\\"{[\\\\\",\"seed\":1}"},
        {"{\"id\":\"a\",\"new\":{\"samples\":1},\"name\":\"samples\",\"step_plot_ms\":" LONG "}",
         "{\"id\":\"a\",\"new\":{\"samples\":1},\"name\":\"samples\",\"step_plot_ms\":" FEW "}"},
        // The epochs go where the whole time is known, and stay where it is their sum.
        {"{\"id\":\"a\",\"full\":true,\"phases\":{\"wall_ns\":5},\"epoch_list\":[" TRAINED TRAINED
             TRAINED TRAINED "{\"train_ns\":4}]}",
         "{\"id\":\"a\",\"full\":true,\"phases\":{\"wall_ns\":5}}"},
        {"{\"id\":\"a\",\"full\":true,\"epoch_list\":[{\"train_ns\":7}],\"step_plot_ms\":" LONG "}",
         "{\"id\":\"a\",\"full\":true,\"epoch_list\":[{\"train_ns\":7}],\"step_plot_ms\":" FEW "}"},
        // Epochs without times tell none.
        {"{\"id\":\"a\",\"full\":true,\"epoch_list\":[{\"steps\":7}],\"step_plot_ms\":" LONG "}",
         "{\"id\":\"a\",\"full\":true,\"step_plot_ms\":" FEW "}"},
        {"{\"id\":\"a\",\"framework\":\"pytorch\",\"step_plot_ms\":[1]}", NULL}, // little to save
        {"{\"id\":\"a\",\"step_plot_ms\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}",
         NULL}, // a short record
        {"{\"id\":\"a\"}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run row;
        struct buf head = {0};
        struct err err = {0};
        const char *text = cases[i].text;
        assert_ok(row_read(text, strlen(text), &row, &err), &err);
        bool made = row_head(&row, text, strlen(text), &head);
        assert_string_equal(made ? buf_str(&head) : "own", cases[i].head ? cases[i].head : "own");
        buf_release(&head);
        row_release(&row);
    }
}

static int join(void *arg, const char *id, const char *text, struct err *err)
{
    (void)id;
    (void)err;
    buf_printf(arg, "%s\n", text);
    return 0;
}

TEST_WITH(gives_heads, set_up, tear_down)
{
    struct ledger *ledger = opened();
    struct err err = {0};
    struct buf got = {0}, id = {0};
    static const char one[] = "{\"id\":\"aaaa\",\"started\":\"2026-01-01\",\"name\":\"n\","
                              "\"step_plot_ms\":" LONG "}";
    add(ledger, one);
    add(ledger, "{\"id\":\"bbbb\",\"name\":\"m\"}");
    static const enum ledger_sort sorts[] = {LEDGER_STARTED, LEDGER_WALL};
    for (size_t i = 0; i < 2; i++) {
        struct ledger_filter filter = {.heads = true, .sort = sorts[i]};
        buf_reset(&got);
        assert_ok(ledger_each(ledger, &filter, join, &got, &err), &err);
        assert_string_equal(buf_str(&got),
                            "{\"id\":\"aaaa\",\"started\":\"2026-01-01\",\"name\":\"n\","
                            "\"step_plot_ms\":" FEW "}\n"
                            "{\"id\":\"bbbb\",\"name\":\"m\"}\n");
    }
    buf_reset(&got);
    assert_ok(ledger_find(ledger, "aaaa", &got, &err), &err); // the whole is still there
    assert_string_equal(buf_str(&got), one);
    // A run that is deleted takes its head along: one with the same id is another run.
    assert_ok(ledger_delete(ledger, "aaaa", &id, &err), &err);
    add(ledger, "{\"id\":\"aaaa\",\"name\":\"other\"}");
    buf_reset(&got);
    assert_ok(ledger_each(ledger, &(struct ledger_filter){.heads = true, .name = "other"}, join,
                          &got, &err),
              &err);
    assert_string_equal(buf_str(&got), "{\"id\":\"aaaa\",\"name\":\"other\"}\n");
    buf_release(&got);
    buf_release(&id);
    ledger_free(ledger);
}

// ---- a file that is removed, moved or replaced while several have it open, as threads of a server

static char file[300], other[300], backup[300];

static struct ledger *open_file(const char *path)
{
    struct ledger *ledger = NULL;
    struct err err = {0};
    assert_ok(ledger_new(&ledger, path, &err), &err);
    return ledger;
}

static void add_day(struct ledger *ledger, int day)
{
    char text[200];
    snprintf(text, sizeof text,
             "{\"id\":\"2026010%dT000000Z-aaaaaaaaaaaa\",\"started\":\"2026-01-0%dT00:00:00Z\","
             "\"workload\":\"mlp\"}",
             day, day);
    add(ledger, text);
}

// Of one that just opens it, and once more when nobody has it open but those who look.
static void expect_file(const char *path, const char *days)
{
    struct ledger *ledger = open_file(path);
    expect(ledger, &(struct ledger_filter){.limit = 20}, days);
    ledger_free(ledger);
}

static void expect_gone(struct ledger *ledger)
{
    struct err err = {0};
    assert_int_equal(ledger_connect(ledger, NULL, &err), ERR_MISSING);
}

// Both have run 1, which is in the log alone; the backup is without it, and has run 9.
static void open_both(struct ledger **one, struct ledger **two)
{
    snprintf(file, sizeof file, "%s/l.db", home);
    snprintf(other, sizeof other, "%s/other.db", home);
    snprintf(backup, sizeof backup, "%s/backup.db", home);
    struct ledger *ledger = open_file(backup);
    add_day(ledger, 9);
    ledger_free(ledger);
    *one = open_file(file);
    *two = open_file(file);
    add_day(*one, 1);
    expect(*two, &(struct ledger_filter){.limit = 20}, "1");
}

static void free_both(struct ledger *one, struct ledger *two, const char *days)
{
    expect(one, &(struct ledger_filter){.limit = 20}, days);
    expect(two, &(struct ledger_filter){.limit = 20}, days);
    expect_file(file, days);
    ledger_free(one);
    expect_file(file, days);
    ledger_free(two);
    expect_file(file, days);
}

TEST_WITH(removed_file, set_up, tear_down)
{
    struct ledger *one, *two;
    open_both(&one, &two);
    assert_int_equal(unlink(file), 0);
    expect_gone(one);
    add_day(one, 2); // makes a new one, while the other has the old one open
    expect_file(file, "2");
    add_day(two, 3);
    free_both(one, two, "32");
}

// The one who opens the restored file has never seen the log beside it.
TEST_WITH(restored_file, set_up, tear_down)
{
    struct ledger *one, *two;
    open_both(&one, &two);
    assert_int_equal(unlink(file), 0);
    add_day(one, 2);
    assert_int_equal(rename(backup, file), 0);
    add_day(two, 3);
    free_both(one, two, "93");
}

// Nothing of the removed file is left for one that comes later.
TEST_WITH(emptied_log, set_up, tear_down)
{
    struct ledger *one, *two;
    open_both(&one, &two);
    assert_int_equal(unlink(file), 0);
    expect_gone(one);
    expect_gone(two);
    assert_int_equal(rename(backup, file), 0);
    free_both(one, two, "9");
}

TEST_WITH(moved_file, set_up, tear_down)
{
    struct ledger *one, *two;
    open_both(&one, &two);
    assert_int_equal(rename(file, other), 0);
    expect_gone(one);
    expect_file(other, "1");
    assert_int_equal(rename(other, file), 0);
    add_day(two, 3);
    free_both(one, two, "31");
}

// Back over the one that was made meanwhile.
TEST_WITH(moved_back, set_up, tear_down)
{
    struct ledger *one, *two;
    open_both(&one, &two);
    assert_int_equal(rename(file, other), 0);
    add_day(one, 2);
    expect_file(other, "1");
    assert_int_equal(rename(other, file), 0);
    add_day(two, 3);
    free_both(one, two, "31");
}
