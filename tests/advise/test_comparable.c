// SPDX-License-Identifier: Apache-2.0
// Which runs may stand side by side: one difference at a time, against a run like any other.
#include "test.h"

#include <string.h>

#include "advise/comparable.h"
#include "record/read.h"

#define BASE                                                                                       \
    "\"workload\":\"mlp\",\"net\":\"n\",\"recipe\":\"r\",\"parameters\":10,\"precision\":\"f32\"," \
    "\"batch\":128,\"epochs\":20,\"full\":true,\"ended\":\"finished\","                            \
    "\"data\":{\"name\":\"mnist\",\"identity\":\"abc\",\"made\":false}"

static void read_run(const char *members, struct run *run)
{
    struct buf text = {0};
    struct err err = {0};
    buf_printf(&text, "{%s}", members);
    assert_ok(record_from_text(run_fields, buf_str(&text), text.len, run, &err), &err);
    buf_release(&text);
}

static void check(const char *first, const char *second, enum comparable verdict, const char *says)
{
    struct run a = {0}, b = {0};
    struct comparison c;
    struct err err = {0};
    read_run(first, &a);
    read_run(second, &b);
    // Which is named first does not matter to the verdict.
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(comparison_make(turn ? &b : &a, turn ? &a : &b, COMPARISON_PAIR, &c, &err), &err);
        if (c.verdict != verdict)
            fail_msg("%s: %s", second, c.words);
        if (verdict == COMPARABLE_SAME)
            assert_int_equal(c.reasons.count, 0);
        else if (!strstr(c.reasons.items[0], says))
            fail_msg("%s: '%s' does not say '%s'", second, c.reasons.items[0], says);
        comparison_release(&c);
    }
    record_release(run_fields, &a);
    record_release(run_fields, &b);
}

TEST(one_difference)
{
    check(BASE, BASE, COMPARABLE_SAME, "");
    check(BASE, BASE ",\"machine\":{\"gpu\":\"other\"},\"framework\":\"pytorch\",\"seed\":2",
          COMPARABLE_SAME, "");
    check(BASE, "\"workload\":\"cnn\"", COMPARABLE_NOT, "different trainings");
    check(BASE, "\"name\":\"x\"", COMPARABLE_NOT, "different trainings");
    const struct {
        const char *from, *to;
        enum comparable verdict;
        const char *says;
    } cases[] = {
        {"\"net\":\"n\"", "\"net\":\"m\"", COMPARABLE_NOT, "nets differ"},
        {"\"parameters\":10", "\"parameters\":11", COMPARABLE_NOT, "nets differ"},
        {"\"recipe\":\"r\"", "\"recipe\":\"s\"", COMPARABLE_NOT, "recipes differ"},
        {"\"epochs\":20", "\"epochs\":2", COMPARABLE_NOTED, "compare steps"},
        {"\"precision\":\"f32\"", "\"precision\":\"bf16\"", COMPARABLE_NOTED, "precision"},
        {"\"precision\":\"f32\"", "\"threads\":1", COMPARABLE_NOTED, "is unknown"},
        {"\"batch\":128", "\"batch\":64", COMPARABLE_NOTED, "samples per second"},
        {"\"full\":true", "\"full\":false", COMPARABLE_NOTED, "projected from a sample"},
        {"\"finished\"", "\"stopped\"", COMPARABLE_NOTED, "was stopped early"},
        {"\"finished\"", "\"killed\"", COMPARABLE_NOTED, "was stopped early"},
        {"\"finished\"", "\"failed\",\"problem\":\"no memory\"", COMPARABLE_NOT, "no memory"},
        // A checksum counts more than a name or a size, and a name more than its spelling.
        {"\"mnist\"", "\"MNIST (idx)\"", COMPARABLE_SAME, ""},
        {"\"abc\"", "\"abd\"", COMPARABLE_NOT, "the data differ, though both are called mnist"},
        {"\"mnist\",\"identity\":\"abc\"", "\"cifar10\",\"identity\":\"abd\"", COMPARABLE_NOT,
         "different data"},
        {"\"mnist\",\"identity\":\"abc\",", "\"cifar10\",", COMPARABLE_NOT, "different data"},
        {"\"mnist\",\"identity\":\"abc\",", "\"MNIST (idx)\",", COMPARABLE_NOTED, "checksum"},
        {"\"mnist\",\"identity\":\"abc\",", "\"(mnist)\",", COMPARABLE_NOT, "different data"},
        {"\"identity\":\"abc\",", "", COMPARABLE_NOTED, "only one run recorded a checksum"},
        {"\"made\":false", "\"made\":true", COMPARABLE_NOT, "generated data"},
        {"\"full\":true", "\"full\":true,\"taints\":[\"others used the CPU\"]", COMPARABLE_NOISY,
         "is noisy: others used the CPU"},
        {"\"full\":true",
         "\"full\":true,\"phases\":{\"wall_ns\":100000},\"use\":{\"throttled_ns\":1001}",
         COMPARABLE_NOTED, "quota"},
        {"\"full\":true",
         "\"full\":true,\"phases\":{\"wall_ns\":100000},\"use\":{\"throttled_ns\":1000}",
         COMPARABLE_SAME, ""},
        {"\"full\":true", "\"full\":true,\"use\":{\"gpu_list\":[{\"throttling\":[\"heat\"]}]}",
         COMPARABLE_NOTED, "heat"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = strstr(BASE, cases[i].from);
        struct buf other = {0};
        assert_non_null(at);
        buf_add(&other, BASE, (size_t)(at - BASE));
        buf_adds(&other, cases[i].to);
        buf_adds(&other, at + strlen(cases[i].from));
        check(BASE, buf_str(&other), cases[i].verdict, cases[i].says);
        buf_release(&other);
    }
}

// Of two recipes only what differs is said.
TEST(recipes)
{
    const char *rest = "rho=0.9 decay=0";
    const struct {
        const char *a, *b, *says;
    } cases[] = {
        {"batch=128", "batch=64", "the recipes differ: batch=128 and batch=64"},
        {"batch=128 rate=0.1", "batch=128 rate=0.10", "the recipes differ: rate=0.1 and rate=0.10"},
        {"batch=128 momentum=0.9", "batch=128", "the recipes differ: only one has momentum=0.9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run a = {0}, b = {0};
        struct comparison c;
        struct err err = {0};
        struct buf text[2] = {{0}, {0}};
        buf_printf(&text[0], "{\"workload\":\"mlp\",\"recipe\":\"%s %s\"}", rest, cases[i].a);
        buf_printf(&text[1], "{\"workload\":\"mlp\",\"recipe\":\"%s %s\"}", rest, cases[i].b);
        assert_ok(record_from_text(run_fields, buf_str(&text[0]), text[0].len, &a, &err), &err);
        assert_ok(record_from_text(run_fields, buf_str(&text[1]), text[1].len, &b, &err), &err);
        assert_ok(comparison_make(&a, &b, COMPARISON_PAIR, &c, &err), &err);
        assert_int_equal(c.verdict, COMPARABLE_NOT);
        assert_string_equal(c.reasons.items[0], cases[i].says);
        comparison_release(&c);
        record_release(run_fields, &a);
        record_release(run_fields, &b);
        buf_release(&text[0]);
        buf_release(&text[1]);
    }
}

// The published comparison of 2017: CuDNNLSTM against plain LSTMs with hard-sigmoid gates is not
// the same computation, "and a comparison has to say so".
TEST(gates)
{
    const char *cudnn = BASE ",\"labels\":[{\"key\":\"gates\",\"value\":\"sigmoid\"}]";
    const char *plain = BASE ",\"labels\":[{\"key\":\"gates\",\"value\":\"hard sigmoid\"}]";
    check(cudnn, plain, COMPARABLE_NOTED, "not the same computation");
    check(cudnn, cudnn, COMPARABLE_SAME, "");
    check(BASE, plain, COMPARABLE_SAME, ""); // a net without gates, or one that does not say
}

#define TWEETS(rest)    "\"workload\":\"tweets\"," rest
#define SUM(sum, count) "\"data\":{\"identity\":\"" sum "\",\"train_samples\":" count "}"
#define ROWS(n)         "\"labels\":[{\"key\":\"data_rows\",\"value\":\"" n "\"}]"

// The published set has 1,578,627 tweets, of which a script may have held out some.
TEST(amounts)
{
    check(TWEETS(ROWS("1578627")), TWEETS("\"data\":{\"train_samples\":100000}"), COMPARABLE_NOT,
          "different amounts of data");
    check(TWEETS(ROWS("1578627")), TWEETS("\"data\":{\"train_samples\":1578627}"), COMPARABLE_SAME,
          "");
    check(TWEETS(ROWS("1578627")),
          TWEETS("\"data\":{\"train_samples\":1262902,\"test_samples\":315725}"), COMPARABLE_SAME,
          "");
    check(TWEETS("\"data\":{\"train_samples\":60000,\"test_samples\":10000}"),
          TWEETS("\"data\":{\"train_samples\":50000,\"test_samples\":10000}"), COMPARABLE_NOT,
          "60000");
    // A checksum decides before the number of rows; of one set, fewer samples are a part of it.
    check(TWEETS(SUM("abc", "60000")), TWEETS(SUM("abc", "1000")), COMPARABLE_NOT,
          "one trained on a part of the data: ");
    check(TWEETS(SUM("abc", "60000")), TWEETS(SUM("abd", "1000")), COMPARABLE_NOT,
          "the data differ, by their checksums");
    check(TWEETS(SUM("abc", "60000")), TWEETS(SUM("abc", "60000")), COMPARABLE_SAME, "");
    check(TWEETS(ROWS("1578627") ",\"data\":{\"identity\":\"abc\"}"), TWEETS(SUM("abc", "1262902")),
          COMPARABLE_SAME, "");
    check(TWEETS(ROWS("many")), TWEETS("\"data\":{\"train_samples\":100000}"), COMPARABLE_SAME, "");
}

TEST(commands)
{
    check("\"command\":[\"a\",\"b\"]", "\"command\":[\"a\",\"b\"]", COMPARABLE_SAME, "");
    check("\"command\":[\"a\",\"b\"]", "\"command\":[\"a\"]", COMPARABLE_NOT, "commands differ");
    // The interpreter may lie elsewhere and be another version; the script and its arguments not.
    check("\"command\":[\"python\",\"b.py\"]", "\"command\":[\"/opt/env/bin/python3.11\",\"b.py\"]",
          COMPARABLE_SAME, "");
    check("\"command\":[\"python\",\"b.py\"]", "\"command\":[\"python\",\"a/b.py\"]",
          COMPARABLE_NOT, "commands differ");
    check("\"command\":[\"python\",\"b\"]", "\"command\":[\"pythonw\",\"b\"]", COMPARABLE_NOT,
          "commands differ");
    check("\"command\":[\"/a/1\",\"b\"]", "\"command\":[\"/a/2\",\"b\"]", COMPARABLE_NOT,
          "commands differ");
    check("", "", COMPARABLE_NOT, "neither run records");
    check("\"seed\":1", "\"seed\":1", COMPARABLE_NOT, "neither run records what was trained");
}

// What speaks against it comes before the notes, however they were found.
TEST(order)
{
    check(BASE, "\"workload\":\"mlp\",\"batch\":3,\"data\":{\"made\":true}", COMPARABLE_NOT,
          "generated data");
}
