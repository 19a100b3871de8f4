// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <stdlib.h>
#include <math.h>
#include <string.h>

#include "record/field.h"
#include "record/read.h"

struct part {
    char *name;
    struct maybe_int size_bytes;
};
struct thing {
    char *title;
    struct maybe_int count;
    struct maybe_real share;
    struct maybe_bool good;
    struct part inner;
    LIST_OF(struct part) parts;
    LIST_OF(char *) tags;
    LIST_OF(double) times;
    struct maybe_money price, limit;
};
static const struct field part_fields[] = {
    FIELD(FIELD_TEXT, struct part, name, "its name"),
    FIELD(FIELD_INT, struct part, size_bytes, "its size"),
    FIELD_END,
};
static const struct field thing_fields[] = {
    FIELD(FIELD_TEXT, struct thing, title, "the title"),
    FIELD(FIELD_INT, struct thing, count, "how many"),
    FIELD(FIELD_REAL, struct thing, share, "a share"),
    FIELD(FIELD_BOOL, struct thing, good, "whether"),
    FIELD_IN(struct thing, inner, part_fields, "one part"),
    FIELD_SUB(FIELD_LIST, struct thing, parts, part_fields, "parts"),
    FIELD(FIELD_TEXTS, struct thing, tags, "tags"),
    FIELD(FIELD_REALS, struct thing, times, "times"),
    FIELD(FIELD_AMOUNT, struct thing, price, "its price", .range = &range_money),
    FIELD(FIELD_AMOUNT, struct thing, limit, "its limit", .range = &range_amount),
    FIELD_END,
};

static char *compact(const struct thing *thing)
{
    struct err err = {0};
    struct buf text = {0};
    assert_ok(record_to_line(thing_fields, thing, &text, &err), &err);
    return buf_take(&text, &err);
}

static int parse(const char *text, struct thing *thing, struct err *err)
{
    return record_from_text(thing_fields, text, strlen(text), thing, err);
}

TEST(absent_values_are_absent)
{
    struct thing thing = {0};
    char *text = compact(&thing);
    assert_string_equal(text, "{}");
    free(text);
    thing.count = some_int(0); // a known zero is there
    thing.good = some_bool(false);
    text = compact(&thing);
    assert_string_equal(text, "{\"count\":0,\"good\":false}");
    free(text);
    record_release(thing_fields, &thing);
}

// Money is an integer in the record and a text in JSON; what is no amount, or out of range, is
// absent, which is not 0, nor "unknown".
TEST(amounts)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"{\"price\":\"0\"}", "{\"price\":\"0.00\"}"},
        {"{\"price\":\"-9223372036.854775808\"}", "{\"price\":\"-9223372036.854775808\"}"},
        {"{\"price\":\"9223372036.854775807\"}", "{\"price\":\"9223372036.854775807\"}"},
        {"{\"price\":\"9223372036.854775808\"}", "{}"},
        {"{\"price\":\"0.0000000001\"}", "{}"},
        {"{\"price\":\"1e3\"}", "{}"},
        {"{\"price\":\"\"}", "{}"},
        {"{\"price\":\"unknown\"}", "{\"price\":\"unknown\"}"},
        {"{\"limit\":\"unknown\"}", "{}"},
        {"{\"limit\":\"0.526\"}", "{\"limit\":\"0.526\"}"},
        {"{\"limit\":\"1000000000\"}", "{\"limit\":\"1000000000.00\"}"},
        {"{\"limit\":\"1000000000.01\"}", "{}"},
        {"{\"limit\":\"-0.01\"}", "{}"},
    };
    struct err err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct thing one = {0}, other = {0};
        assert_ok(parse(cases[i].from, &one, &err), &err);
        const char *from = cases[i].from;
        assert_ok(record_from_text(thing_fields, from, strlen(from), &other, &err), &err);
        char *text = compact(&one), *again = compact(&other);
        assert_string_equal(text, cases[i].to);
        assert_string_equal(again, cases[i].to);
        assert_true(one.price.known || one.price.nano == 0);
        free(text);
        free(again);
        record_release(thing_fields, &one);
        record_release(thing_fields, &other);
    }
    struct thing thing = {0};
    static const char number[] = "{\"price\":1}", no_amount[] = "{\"price\":\"one\"}";
    assert_int_equal(parse(number, &thing, &err), ERR_FORMAT);
    assert_string_equal(err.text, "price: expected a text");
    err = (struct err){0};
    assert_int_equal(record_judge_text(thing_fields, no_amount, strlen(no_amount), &err),
                     ERR_FORMAT);
    assert_string_equal(err.text, "price: 'one' is not an amount of money that fits");
}

TEST(copies)
{
    const char *text =
        "{\"title\":\"a\",\"count\":-3,\"share\":0.5,\"good\":true,"
        "\"inner\":{\"name\":\"x\"},\"parts\":[{\"name\":\"p\"},{}],\"tags\":[\"one\","
        "\"two\"],\"times\":[1.0,2.0],\"price\":\"0.00\"}";
    static const char *const others[] = {"{}", "{\"parts\":[],\"tags\":[],\"times\":[]}",
                                         "{\"price\":\"unknown\",\"limit\":\"3.50\"}"};
    struct err err = {0};
    for (size_t i = 0; i < 4; i++) {
        struct thing thing = {0}, copy = {0};
        const char *from = i < 3 ? others[i] : text;
        assert_ok(parse(from, &thing, &err), &err);
        assert_ok(record_copy(thing_fields, &thing, &copy, &err), &err);
        record_release(thing_fields, &thing); // the copy has its own texts
        char *got = compact(&copy);
        assert_string_equal(got, from);
        free(got);
        record_release(thing_fields, &copy);
    }
}

TEST(both_ways)
{
    const char *text =
        "{\"title\":\"a \\\"b\\\" \\u00e9\",\"count\":-3,\"share\":0.5,\"good\":true,"
        "\"inner\":{\"name\":\"x\"},\"parts\":[{\"name\":\"p\",\"size_bytes\":"
        "9223372036854775807},{}],\"tags\":[\"one\",\"two\"]}";
    struct err err = {0};
    struct thing thing = {0};
    assert_ok(parse(text, &thing, &err), &err);
    assert_string_equal(thing.title, "a \"b\" \xc3\xa9");
    assert_int_equal(thing.parts.count, 2);
    assert_int_equal(thing.parts.items[0].size_bytes.v, INT64_MAX);
    assert_string_equal(thing.tags.items[1], "two");
    char *again = compact(&thing);
    json_t *a = json_loads(text, 0, NULL), *b = json_loads(again, 0, NULL);
    assert_true(json_equal(a, b));
    json_decref(a);
    json_decref(b);
    free(again);
    record_release(thing_fields, &thing);
    again = compact(&thing);
    assert_string_equal(again, "{}");
    free(again);
    record_release(thing_fields, &thing);
}

TEST(wrong_types_name_their_path)
{
    static const struct {
        const char *json, *text;
    } cases[] = {
        {"[]", "expected an object"},
        {"{\"title\":1}", "title: expected a text"},
        {"{\"count\":\"1\"}", "count: expected an integer"},
        {"{\"count\":1.5}", "count: expected an integer"},
        {"{\"count\":null}", "count: expected an integer"},
        {"{\"share\":\"x\"}", "share: expected a number"},
        {"{\"good\":1}", "good: expected true or false"},
        {"{\"inner\":[]}", "inner: expected an object"},
        {"{\"inner\":{\"name\":2}}", "inner: name: expected a text"},
        {"{\"parts\":{}}", "parts: expected a list"},
        {"{\"parts\":[{},{\"size_bytes\":true}]}", "parts[1]: size_bytes: expected an integer"},
        {"{\"tags\":[\"a\",2]}", "tags: expected a list of texts"},
        {"{\"times\":[1,\"a\"]}", "times: expected a list of numbers"},
        {"{\"times\":1}", "times: expected a list"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        struct thing thing = {0};
        assert_int_equal(parse(cases[i].json, &thing, &err), ERR_FORMAT);
        assert_string_equal(err.text, cases[i].text);
        record_release(thing_fields, &thing);
    }
    struct err err = {0};
    struct thing thing = {0};
    assert_ok(parse("{\"from_the_future\":{},\"count\":1}", &thing, &err), &err);
    assert_int_equal(thing.count.v, 1);
    record_release(thing_fields, &thing);
}

// JSON has no word for a loss that ran away: it is absent, not an error.
TEST(numbers_that_are_not_finite_are_absent)
{
    struct err err = {0};
    struct thing thing = {.share = some_real((double)NAN)};
    const double times[] = {1.5, (double)INFINITY, 2.5};
    assert_ok(reals_set(&thing.times, times, 3, &err), &err);
    char *text = compact(&thing);
    assert_string_equal(text, "{\"times\":[1.5,2.5]}");
    struct thing back = {0};
    assert_ok(parse(text, &back, &err), &err);
    assert_int_equal(back.times.count, 2);
    assert_true(back.times.items[1] == 2.5);
    free(text);
    record_release(thing_fields, &thing);
    record_release(thing_fields, &back);
}

// Device names and metadata can hold anything: what reaches a terminal or JSON is clean UTF-8.
TEST(texts_are_cleaned)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"plain", "plain"},
        {"  both ends \n", "both ends"},
        {"\033[31mred\033[0m", "?[31mred?[0m"},
        {"a\tb\nc", "a b c"},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x80"},
        {"\xff\xfe", "??"},
        {"\xc3", "?"},                // cut in the middle
        {"\xc0\xaf", "??"},           // overlong
        {"\xed\xa0\x80", "???"},      // a surrogate
        {"\xf4\x90\x80\x80", "????"}, // past U+10FFFF
        {"\xc2\x9b"
         "31m",
         "?31m"}, // C1 control: some terminals obey it
        {"\x7f", "?"},
        {"box\u202egpj.exe\u202c", "box?gpj.exe?"}, // would read "boxexe.jpg"
        {"\u2066a\u2069\u200e\u200f\u061c", "?a????"},
        {"\u05d0\u05d1 \u0639", "\u05d0\u05d1 \u0639"}, // letters from right to left stay
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        char *text = NULL;
        assert_ok(text_set(&text, cases[i].in, &err), &err);
        assert_string_equal(text, cases[i].out);
        free(text);
    }
    struct err err = {0};
    char *text = text_copy("old", &err);
    assert_ok(text_set(&text, " \n", &err), &err);
    assert_null(text);
}

TEST(documents_itself)
{
    struct buf b = {0};
    record_document(thing_fields, "", &b);
    assert_non_null(strstr(buf_str(&b), "| `title` | text | the title |\n"));
    assert_non_null(strstr(buf_str(&b), "| `inner.size_bytes` | integer | its size |\n"));
    assert_non_null(strstr(buf_str(&b), "| `parts[].name` | text | its name |\n"));
    buf_release(&b);
}
