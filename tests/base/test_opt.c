// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <string.h>

#include "base/opt.h"

struct values {
    bool all, brief;
    const char *out;
    const char *kind;
    int64_t count, time_ns, size;
    struct opt_texts labels;
};

#define DAY_NS INT64_C(86400000000000)

static const char *shape(size_t i)
{
    static const char *const shapes[] = {"round", "square", NULL};
    return shapes[i];
}

static const char *const kinds[] = {"table", "json", "csv", NULL};
#define AT(m) offsetof(struct values, m)
static const struct opt table[] = {
    {"all", 'a', OPT_FLAG, NULL, NULL, AT(all), NULL, ""},
    {"brief", 'b', OPT_FLAG, NULL, NULL, AT(brief), NULL, ""},
    {"out", 'o', OPT_TEXT, "FILE", NULL, AT(out), NULL, ""},
    {"format", 0, OPT_CHOICE, "KIND", kinds, AT(kind), NULL, ""},
    {NULL},
};
static const struct opt second[] = {
    {"count", 'n', OPT_COUNT, "N", NULL, AT(count), NULL, ""},
    {"max-time", 0, OPT_DURATION, "TIME", NULL, AT(time_ns), NULL, ""},
    {"storage", 0, OPT_BYTES, "SIZE", NULL, AT(size), NULL, ""},
    {"label", 0, OPT_TEXTS, "KEY=VALUE", NULL, AT(labels), NULL, ""},
    {"steps", 0, OPT_COUNT, "N", NULL, AT(count), NULL, "", .least = 1},
    {"limit", 0, OPT_DURATION, "TIME", NULL, AT(time_ns), NULL, "", .least = 1},
    {"age", 0, OPT_DURATION, "TIME", NULL, AT(time_ns), NULL, "", .bare_ns = DAY_NS},
    {"shape", 0, OPT_CHOICE, "SHAPE", NULL, AT(kind), NULL, "", .choice = shape},
    {"room", 0, OPT_BYTES, "SIZE", NULL, AT(size), NULL, "", .least = 1},
    {"wall-time", 0, OPT_DURATION, "TIME", NULL, AT(time_ns), NULL, "", .was = "wall"},
    {"total", 0, OPT_COUNT, "N", NULL, AT(count), NULL, "", .was = "limit"},
    {NULL},
};
static const struct opt *const tables[] = {table, second, NULL};

// Splits a line at spaces and parses it.
struct parsed {
    int rc, used;
    struct values v;
    struct opt_rest rest;
    struct err err;
    char line[256];
};
static void parse(struct parsed *p, const char *line, bool leading)
{
    char *argv[32];
    int argc = 0;
    memset(p, 0, sizeof *p);
    strncpy(p->line, line, sizeof p->line - 1);
    for (char *word = p->line; *word;) {
        argv[argc++] = word;
        word += strcspn(word, " ");
        if (*word)
            *word++ = '\0';
    }
    argv[argc] = NULL;
    // The "--" part points into argv: keep it alive past this call.
    static char *kept[32];
    memcpy(kept, argv, sizeof kept);
    p->rc = opt_parse(tables, argc, kept, &p->v, leading, &p->rest, &p->used, &p->err);
}
static void done(struct parsed *p)
{
    opt_release(tables, &p->v, &p->rest);
}

TEST(a_bare_number_has_its_unit)
{
    static const struct {
        const char *line;
        int64_t ns;
    } cases[] = {{"--age 30", 30 * DAY_NS},
                 {"--age 30d", 30 * DAY_NS},
                 {"--age 3w", 21 * DAY_NS},
                 {"--age 90s", INT64_C(90000000000)},
                 {"--max-time 30", INT64_C(30000000000)},
                 {"--age 0", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parsed p;
        parse(&p, cases[i].line, false);
        assert_ok(p.rc, &p.err);
        assert_int_equal(p.v.time_ns, cases[i].ns);
        done(&p);
    }
    struct parsed p;
    parse(&p, "--age 9223372036854775807", false);
    assert_int_equal(p.rc, ERR_USAGE);
    done(&p);
}

TEST(choices_of_a_registry)
{
    struct parsed p;
    parse(&p, "--shape square", false);
    assert_ok(p.rc, &p.err);
    assert_string_equal(p.v.kind, "square");
    done(&p);
    parse(&p, "--shape squre", false);
    assert_int_equal(p.rc, ERR_USAGE);
    assert_string_equal(p.err.text, "'--shape' takes one of round, square, not 'squre'");
    assert_string_equal(p.err.hint, "did you mean 'square'?");
    done(&p);
}

TEST(all_forms)
{
    struct parsed p;
    parse(&p, "x --all --out=f -n 3 --format json y --max-time 1.5h --storage 2GiB -- z -q", false);
    assert_ok(p.rc, &p.err);
    assert_true(p.v.all);
    assert_false(p.v.brief);
    assert_string_equal(p.v.out, "f");
    assert_int_equal(p.v.count, 3);
    assert_string_equal(p.v.kind, "json");
    assert_int_equal(p.v.time_ns, INT64_C(5400) * 1000000000);
    assert_int_equal(p.v.size, INT64_C(2) << 30);
    assert_int_equal(p.rest.count, 2);
    assert_string_equal(p.rest.args[0], "x");
    assert_string_equal(p.rest.args[1], "y");
    assert_string_equal(p.rest.command[0], "z");
    assert_string_equal(p.rest.command[1], "-q");
    assert_null(p.rest.command[2]);
    done(&p);

    parse(&p, "-abofile -n0x10 --label a=1 --label=b=2 -", false);
    assert_ok(p.rc, &p.err);
    assert_true(p.v.all && p.v.brief);
    assert_string_equal(p.v.out, "file");
    assert_int_equal(p.v.count, 16);
    assert_int_equal(p.v.labels.count, 2);
    assert_string_equal(p.v.labels.items[1], "b=2");
    assert_string_equal(p.rest.args[0], "-"); // a lone dash is an argument
    done(&p);

    parse(&p, "--count 0 --max-time 0s --storage 0", false); // a value where the table says so
    assert_ok(p.rc, &p.err);
    done(&p);

    parse(&p, "--steps 1 --limit 1ms --room 1", false);
    assert_ok(p.rc, &p.err);
    assert_true(p.v.count == 1 && p.v.time_ns == 1000000 && p.v.size == 1);
    done(&p);

    parse(&p, "", false);
    assert_ok(p.rc, &p.err);
    assert_null(p.rest.command);
    done(&p);

    parse(&p, "--", false); // nothing after it is still a command line, an empty one
    assert_ok(p.rc, &p.err);
    assert_non_null(p.rest.command);
    assert_null(p.rest.command[0]);
    done(&p);
}

// A name that is in use again means what it means now.
TEST(an_earlier_name_still_works)
{
    struct parsed p;
    parse(&p, "--wall 3s", false);
    assert_int_equal(p.v.time_ns, 3 * DAY_NS / 86400);
    assert_string_equal(p.rest.renamed->name, "wall-time");
    assert_string_equal(p.rest.renamed->was, "wall");
    done(&p);
    parse(&p, "--wall=4s", false);
    assert_int_equal(p.v.time_ns, 4 * DAY_NS / 86400);
    done(&p);
    parse(&p, "--wall-time 5s --limit 6s", false);
    assert_int_equal(p.v.time_ns, 6 * DAY_NS / 86400);
    assert_int_equal(p.v.count, 0);
    assert_null(p.rest.renamed);
    done(&p);
    parse(&p, "--wall", false);
    assert_int_equal(p.rc, ERR_USAGE);
    assert_non_null(strstr(p.err.text, "--wall-time"));
    done(&p);
}

TEST(leading_stops_at_the_first_argument)
{
    struct parsed p;
    parse(&p, "-a --out x cmd --brief", true);
    assert_ok(p.rc, &p.err);
    assert_int_equal(p.used, 3);
    assert_false(p.v.brief);
    done(&p);
}

TEST(wrong_use_is_explained)
{
    static const struct {
        const char *line, *text, *hint;
    } cases[] = {
        {"--al", "unknown option '--al'", "did you mean '--all'?"},
        {"--fromat csv", "unknown option '--fromat'", "did you mean '--format'?"},
        {"--maxtime 1", "unknown option '--maxtime'", "did you mean '--max-time'?"},
        {"--zzzzzz", "unknown option '--zzzzzz'", ""},
        {"-z", "unknown option '-z'", ""},
        {"-format csv", "unknown option '-format'", "did you mean '--format'?"},
        {"--out", "'--out' needs a value: --out FILE", ""},
        {"-o", "'--out' needs a value: --out FILE", ""},
        {"--all=yes", "'--all' takes no value", ""},
        {"--format jsn", "'--format' takes one of table, json, csv, not 'jsn'",
         "did you mean 'json'?"},
        {"--count -1", "'--count' takes a whole number, 0 or more, not '-1'", ""},
        {"--count 1x", "'--count' takes a whole number, 0 or more, not '1x'", ""},
        {"--steps 0", "'--steps' takes a whole number, 1 or more, not '0'", ""},
        {"--limit 0s", "'--limit' takes a time above 0 such as 90s, 1h30m or 3d, not '0s'", ""},
        {"--room 0", "'--room' takes a size above 0 such as 512M, 100GB or 16GiB, not '0'", ""},
        {"--max-time soon", "'--max-time' takes a time such as 90s, 1h30m or 3d, not 'soon'", ""},
        {"--storage lots", "'--storage' takes a size such as 512M, 100GB or 16GiB, not 'lots'", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parsed p;
        parse(&p, cases[i].line, false);
        assert_int_equal(p.rc, ERR_USAGE);
        assert_string_equal(p.err.text, cases[i].text);
        assert_string_equal(p.err.hint, cases[i].hint);
        done(&p);
    }
}

TEST(nearest_word)
{
    const char *const words[] = {"check", "run", "runs", "quote", "compare", "prices", NULL};
    assert_string_equal(opt_nearest("chekc", words), "check"); // two neighbours swapped
    assert_string_equal(opt_nearest("price", words), "prices");
    assert_string_equal(opt_nearest("comp", words), "compare"); // a beginning
    assert_string_equal(opt_nearest("qoute", words), "quote");
    assert_null(opt_nearest("banana", words));
    assert_null(opt_nearest("", words));
    assert_null(opt_nearest("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", words));
}
