// SPDX-License-Identifier: Apache-2.0
// Reading records in one pass: the same as by jansson's tree.
#include "test.h"

#include <float.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "record/read.h"
#include "record/run.h"
#include "record/by_jansson.h"

static int read_text(const char *text, struct run *run, struct err *err)
{
    // An exact copy, so that a sanitizer sees a read past the end.
    size_t len = strlen(text);
    char *exact = malloc(len ? len : 1);
    memcpy(exact, text, len);
    int rc = record_from_text(run_fields, exact, len, run, err);
    struct err again = {0};
    assert_int_equal(record_from_text(run_fields, exact, len, NULL, &again), rc);
    assert_string_equal(again.text, err->text);
    free(exact);
    return rc;
}

static void check_same(const char *text)
{
    struct run ours = {0}, theirs = {0};
    struct err err = {0};
    struct buf a = {0}, b = {0};
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_ok(record_from_json(run_fields, json, &theirs, &err), &err);
    assert_ok(read_text(text, &ours, &err), &err);
    assert_ok(record_to_text(run_fields, &ours, &a, &err), &err);
    assert_ok(record_to_text(run_fields, &theirs, &b, &err), &err);
    assert_string_equal(buf_str(&a), buf_str(&b));
    json_decref(json);
    buf_release(&a);
    buf_release(&b);
    record_release(run_fields, &ours);
    record_release(run_fields, &theirs);
}

TEST(same_as_the_library)
{
    check_same("{}");
    check_same(" \t\r\n{ } \n");
    check_same("{\"id\":\"a\",\"seed\":-3,\"step_ms\":1e-3,\"full\":true,\"reached\":false}");
    check_same("{\"full\":true,\"id\":\"behind\"}");
    check_same("{\"name\":\"q\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\ud83d\\ude00 ä😀\"}");
    check_same("{\"n\\u0061me\":\"an escaped key\"}");
    check_same("{\"seed\":9223372036854775807,\"batch\":-9223372036854775808,\"steps\":-0}");
    check_same("{\"unknown\":{\"a\":[1,2.5e10,null,true,false,\"x\",{\"b\":[]}]},\"name\":\"n\"}");
    check_same("{\"labels\":[],\"command\":[\"a\",\"\",\"b\"],\"step_plot_ms\":[1,2.5,-3e2]}");
    check_same("{\"labels\":[{\"key\":\"k\",\"value\":\"v\"},{},{\"key\":\"z\"}]}");
    check_same("{\"machine\":{\"gpu\":\"X\",\"new\":1},\"data\":{}}");
    check_same("{\"use\":{\"gpu_list\":[{\"index\":0,\"throttling\":[\"heat\"]}]}}");
    check_same("{\"name\":\"\"}");
    check_same("{\"name\":\"01234567890123456789\\n\"}");
}

// Doubles are those of strtod(), to the last bit.
TEST(numbers_are_exact)
{
    static const char *const texts[] = {"0.1",
                                        "3.141592653589793",
                                        "9007199254740991.5",
                                        "9007199254740993.0",
                                        "1e22",
                                        "5e-324",
                                        "1.7976931348623157e308",
                                        "0.30000000000000004",
                                        "123456789012345678.5",
                                        "-0.0",
                                        "1e-400",
                                        "2.2250738585072011e-308",
                                        "0.000000000000000000000001",
                                        "179769313486231570000000000000000000000000.25"};
    static const struct field any[] = {FIELD(FIELD_REAL, struct run, step_ms, ""), FIELD_END};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[128];
        struct run run = {0};
        struct err err = {0};
        snprintf(text, sizeof text, "{\"step_ms\":%s}", texts[i]);
        assert_ok(record_from_text(any, text, strlen(text), &run, &err), &err);
        double expected = strtod(texts[i], NULL);
        assert_memory_equal(&run.step_ms.v, &expected, sizeof expected);
    }
}

// What is out of range is absent, by both readers, and refused where a record is judged.
TEST(out_of_range_is_absent)
{
    static const char *const texts[] = {
        "{\"steps\":-1}",
        "{\"steps\":1000000000000000200}",
        "{\"ranks\":10000001}",
        "{\"samples_per_s\":1.1e30}",
        "{\"last_loss\":-1e308}",
        "{\"phases\":{\"wall_ns\":9223372036854775807}}",
        "{\"spent\":{\"usd\":\"1000000000.01\"}}",
        "{\"spent\":{\"usd\":\"-1\"}}",
        "{\"spent\":{\"usd\":\"1e308\"}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct run run = {0};
        struct buf line = {0};
        struct err err = {0};
        check_same(texts[i]);
        assert_int_equal(record_judge_text(run_fields, texts[i], strlen(texts[i]), &err),
                         ERR_FORMAT);
        assert_non_null(strstr(err.text, "is out of range: expected "));
        err = (struct err){0};
        assert_ok(read_text(texts[i], &run, &err), &err);
        assert_ok(record_to_line(run_fields, &run, &line, &err), &err);
        assert_string_equal(buf_str(&line), "{}");
        record_release(run_fields, &run);
        buf_release(&line);
    }
    static const char within[] =
        "{\"spent\":{\"usd\":\"1000000000\"},\"steps\":1000000000000000000}";
    struct err err = {0};
    assert_ok(record_judge_text(run_fields, within, strlen(within), &err), &err);
}

TEST(faults)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "expected an object"},
        {"[]", "expected an object"},
        {"{\"id\":\"x\"", "byte 10: expected ',' or '}'"},
        {"{\"id\":\"x\"} x", "nothing after"},
        {"{\"id\" \"x\"}", "expected ':'"},
        {"{\"id\":\"x\",}", "a string"},
        {"{\"id\":3}", "id: expected a text"},
        {"{\"id\":null}", "id: expected a text"},
        {"{\"id\":\"x\",\"id\":\"y\"}", "id: duplicate key"},
        {"{\"seed\":1.0}", "seed: expected an integer"},
        {"{\"seed\":9223372036854775808}", "64 bits"},
        {"{\"step_ms\":1e400}", "the range of a double"},
        {"{\"unknown\":1e400}", "the range of a double"},
        {"{\"unknown\":123456789012345678901}", "64 bits"},
        {"{\"step_ms\":01}", "a number"},
        {"{\"step_ms\":1.}", "digits"},
        {"{\"step_ms\":+1}", "step_ms: expected a number"},
        {"{\"step_ms\":1e}", "digits"},
        {"{\"full\":yes}", "full: expected true or false"},
        {"{\"machine\":{\"gpus\":\"x\"}}", "machine: gpus: expected an integer"},
        {"{\"labels\":[{},{\"key\":1}]}", "labels[1]: key: expected a text"},
        {"{\"labels\":{}}", "labels: expected a list"},
        {"{\"step_plot_ms\":[1,\"x\"]}", "step_plot_ms: expected a list of numbers"},
        {"{\"command\":[1]}", "command: expected a list of texts"},
        {"{\"name\":\"\\ud800\"}", "a valid escape"},
        {"{\"name\":\"\\ud800\\u0041\"}", "a valid escape"},
        {"{\"name\":\"\\u0000\"}", "a valid escape"},
        {"{\"name\":\"\\u12g4\"}", "a valid escape"},
        {"{\"name\":\"\\x\"}", "a valid escape"},
        {"{\"name\":\"a\nb\"}", "the closing quote"},
        {"{\"name\":\"\xff\"}", "UTF-8"},
        {"{\"name\":\"\xed\xa0\x80\"}", "UTF-8"},
        {"{\"name\":\"\xc0\x80\"}", "UTF-8"},
        {"{\"unknown\":tru}", "a value"},
        {"{\"name\":\"open", "the closing quote"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run = {0};
        struct err err = {0};
        assert_int_equal(read_text(cases[i].text, &run, &err), ERR_FORMAT);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: '%s' does not say '%s'", cases[i].text, err.text, cases[i].says);
        record_release(run_fields, &run);
    }
}

TEST(depth_is_limited)
{
    for (size_t depth = 1000; depth <= 100000; depth *= 100) {
        struct buf text = {0};
        struct err err = {0};
        buf_adds(&text, "{\"u\":");
        buf_fill(&text, '[', depth);
        buf_fill(&text, ']', depth);
        buf_adds(&text, "}");
        assert_int_equal(record_from_text(run_fields, buf_str(&text), text.len, NULL, &err),
                         depth < 2048 ? 0 : ERR_FORMAT);
        buf_release(&text);
    }
}

// What the table does not know is passed over by brackets and quotes.
TEST(kept)
{
    const char *good[] = {"{\"x\":[1,{\"y\":\"]}\\\"\"}],\"id\":\"a\"}",
                          "{\"id\":\"a\",\"x\":{\"[\":[[],{}],\"\\\\\":2}}",
                          "{\"x\":[],\"id\":\"a\",\"y\":\"[\",\"z\":-1.5e3}"};
    const char *bad[] = {"{\"x\":[",       "{\"x\":[}", "{\"x\":[\"",       "{\"x\":[\"\\",
                         "{\"x\":[\"\\\"", "{\"x\":[]", "{\"x\":{\"a\":[1}"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct run run = {0};
        struct err err = {0};
        assert_ok(record_from_checked(run_fields, good[i], strlen(good[i]), &run, &err), &err);
        assert_string_equal(run.id, "a");
        record_release(run_fields, &run);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        // Each in memory of just its size, for the sanitizer to watch its end.
        size_t len = strlen(bad[i]);
        char *text = malloc(len);
        struct run run = {0};
        memcpy(text, bad[i], len);
        assert_int_equal(record_from_checked(run_fields, text, len, &run, NULL), ERR_FORMAT);
        record_release(run_fields, &run);
        free(text);
    }
}

// ---- bounds, as docs/ledger.md has them

static void fill(struct buf *text, const char *before, const char *item, size_t count,
                 const char *after)
{
    buf_reset(text);
    buf_adds(text, before);
    for (size_t i = 0; i < count; i++)
        buf_printf(text, "%s%s", i && *after == ']' ? "," : "", item);
    buf_adds(text, after);
}

TEST(keeps_to_bounds)
{
    static const struct {
        const char *before, *item, *after, *says;
        size_t most;
    } cases[] = {
        {"{\"name\":\"", "x", "\"}", "name: more than 1024 bytes", 1024},
        {"{\"name\":\"", "\\u00e4", "\"}", "name: more than 1024 bytes", 512},
        {"{\"problem\":\"", "x", "\"}", "problem: more than 131072 bytes", 131072},
        {"{\"epoch_list\":[", "{}", "]}", "epoch_list: more than 10000 items", 10000},
        {"{\"samples\":[", "{}", "]}", "samples: more than 1000 items", 1000},
        {"{\"step_plot_ms\":[", "1", "]}", "step_plot_ms: more than 1000 items", 1000},
        {"{\"command\":[", "\"x\"", "]}", "command: more than 100000 items", 100000},
        {"{\"use\":{\"gpu_list\":[", "{}", "]}}", "use: gpu_list: more than 1000 items", 1000},
    };
    struct buf text = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run = {0}, theirs = {0};
        struct err err = {0}, their_err = {0};
        fill(&text, cases[i].before, cases[i].item, cases[i].most, cases[i].after);
        check_same(buf_str(&text));
        fill(&text, cases[i].before, cases[i].item, cases[i].most + 1, cases[i].after);
        assert_int_equal(read_text(buf_str(&text), &run, &err), ERR_FORMAT);
        assert_string_equal(err.text, cases[i].says);
        json_t *json = json_loads(buf_str(&text), 0, NULL);
        assert_int_equal(record_from_json(run_fields, json, &theirs, &their_err), ERR_FORMAT);
        assert_string_equal(their_err.text, cases[i].says);
        json_decref(json);
        record_release(run_fields, &run);
        record_release(run_fields, &theirs);
    }
    buf_release(&text);
}

// What fare writes, it can read: a text is cut between characters, step times are thinned.
TEST(writes_within_bounds)
{
    struct run run = {0}, again = {0};
    struct err err = {0};
    struct buf text = {0}, name = {0};
    double ms[2500];
    fill(&name, "", "\xc3\xa4", 2000, "");
    assert_ok(text_set(&run.name, buf_str(&name), &err), &err);
    for (size_t i = 0; i < 2500; i++)
        ms[i] = (double)i;
    assert_ok(reals_set(&run.step_plot_ms, ms, 2500, &err), &err);
    assert_ok(record_to_line(run_fields, &run, &text, &err), &err);
    assert_ok(read_text(buf_str(&text), &again, &err), &err);
    assert_int_equal(strlen(again.name), 1023); // 510 characters of two bytes, and the dots
    assert_string_equal(again.name + 1018, "\xc3\xa4...");
    assert_int_equal(again.step_plot_ms.count, 1000);
    for (size_t i = 0; i < 1000; i++) // every 2.5th
        assert_true(again.step_plot_ms.items[i] == (double)(i * 5 / 2));
    record_release(run_fields, &run);
    record_release(run_fields, &again);
    buf_release(&text);
    buf_release(&name);
}
