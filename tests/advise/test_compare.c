// SPDX-License-Identifier: Apache-2.0
// Rows, base, verdicts and what stands apart. The statistics are tested in test_difference.c; costs
// are by hand: 3.60 an hour is a thousandth a second.
#include "advise/compare_cases.h"

#include <math.h>

static const struct compare_options prorated = {.pricing = {.prorated = true}};
static const struct compare_options paid = {0};

static const struct compare_row *row_of(const struct compare *c, const char *machine)
{
    for (size_t i = 0; i < c->workloads.count; i++)
        for (size_t j = 0; j < c->workloads.items[i].rows.count; j++)
            if (strcmp(c->workloads.items[i].rows.items[j].machine, machine) == 0)
                return &c->workloads.items[i].rows.items[j];
    fail_msg("no row of %s", machine);
    return NULL;
}

static void good(const struct compare_options *options, const char *const *texts,
                 struct compare *out)
{
    struct err err = {0};
    memset(out, 0, sizeof *out);
    assert_ok(compare_texts(options, texts, out, &err), &err);
}

static bool near(struct maybe_real x, double y)
{
    return x.known && fabs(x.v - y) < 1e-9 * fabs(y);
}

static bool says(char *const *items, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(items[i], text))
            return true;
    return false;
}

// The accuracy of several runs: 0.5 and 0.7 are 0.6 ± 12.706 × 0.1, cut at 0 and 1. A sample's is
// its own, and that is said.
TEST(accuracy)
{
    const char *const texts[] = {
        RUN("1-a", "A", "fare", "\"test_accuracy\":0.5,\"use\":{\"gpu_percent\":80}," FULL("1000")),
        RUN("2-a", "A", "fare", "\"test_accuracy\":0.7,\"use\":{\"gpu_percent\":80}," FULL("1000")),
        RUN("1-b", "B", "fare", "\"test_accuracy\":0.4," SAMPLED("\"wall_s\":5")),
        RUN("1-c", "C", "fare", SAMPLED("\"wall_s\":5")),
        RUN("1-d", "D", "fare",
            "\"test_accuracy\":0.3,\"steps\":9,\"total_steps\":9," SAMPLED("\"wall_s\":5")),
        NULL};
    struct compare c;
    good(&prorated, texts, &c);
    const struct compare_row *a = row_of(&c, "A");
    assert_true(near(a->accuracy.value, 0.6) && near(a->accuracy.high, 1));
    assert_true(a->accuracy.low.known && a->accuracy.low.v <= 0);
    assert_true(near(a->gpu_percent.value, 80) && near(a->gpu_percent.low, 80));
    const struct compare_row *b = row_of(&c, "B"), *blind = row_of(&c, "C");
    assert_true(near(b->accuracy.value, 0.4) &&
                says(b->notes.items, b->notes.count, "after the sample"));
    assert_false(blind->accuracy.value.known ||
                 says(blind->notes.items, blind->notes.count, "after the sample"));
    assert_false(says(a->notes.items, a->notes.count, "after the sample"));
    const struct compare_row *d = row_of(&c, "D"); // a sample of all its steps
    assert_true(near(d->accuracy.value, 0.3));
    assert_false(says(d->notes.items, d->notes.count, "after the sample"));
    record_release(compare_fields, &c);
}

// The runs of test_difference.c, as seconds.
TEST(several_runs)
{
    const char *const texts[] = {RUN("a1", "A", "fare", FULL("10000000000") "," PRICE),
                                 RUN("a2", "A", "fare", FULL("10400000000") "," PRICE),
                                 RUN("b1", "B", "fare", FULL("11000000000") "," PRICE),
                                 RUN("a3", "A", "fare", FULL("9800000000") "," PRICE),
                                 RUN("b2", "B", "fare", FULL("11900000000") "," PRICE),
                                 RUN("c1", "C", "fare", FULL("10200000000") "," PRICE),
                                 RUN("a4", "A", "fare", FULL("10100000000") "," PRICE),
                                 RUN("b3", "B", "fare", FULL("11200000000") "," PRICE),
                                 RUN("c2", "C", "fare", FULL("9900000000") "," PRICE),
                                 RUN("c3", "C", "fare", FULL("10300000000") "," PRICE),
                                 NULL};
    struct compare_options options = prorated;
    struct compare c;
    options.base = "b";
    good(&options, texts, &c);
    assert_int_equal(c.workloads.count, 1);
    assert_int_equal(c.workloads.items[0].rows.count, 3);
    assert_string_equal(c.workloads.items[0].rows.items[0].machine, "B"); // the base first
    const struct compare_row *a = row_of(&c, "A");
    assert_int_equal(a->runs.v, 4);
    assert_int_equal(a->ids.count, 4);
    assert_true(near(a->time_s.value, 10.075));
    assert_true(fabs(a->time_s.low.v - 9.68494543001) < 1e-9);
    assert_true(fabs(a->time.low.v - 0.814166852314) < 1e-9);
    assert_true(fabs(a->time.confidence.v - (2 * 0.990001460609 - 1)) < 1e-8);
    assert_string_equal(a->time.verdict, "faster with 98 % confidence");
    assert_string_equal(a->money.verdict, "cheaper with 98 % confidence");
    assert_string_equal(money_exact(a->cost.usd).s, "0.010075");
    assert_string_equal(money_exact(a->cost.low_usd).s, "0.009684945"); // 0.00968494543
    assert_true(near(a->trainings_per_usd.value, 1 / 0.010075));
    assert_string_equal(a->kind, "measured");
    record_release(compare_fields, &c);
    options.base = "c";
    good(&options, texts, &c);
    assert_string_equal(row_of(&c, "A")->time.verdict, "no difference shown");
    assert_string_equal(row_of(&c, "B")->time.verdict, "slower with 97 % confidence");
    record_release(compare_fields, &c);
}

TEST(one_projection)
{
    const char *const texts[] = {
        RUN("p", "P", "fare", SAMPLED("\"wall_s\":100,\"low_s\":95,\"high_s\":106") "," PRICE),
        RUN("q", "Q", "fare", SAMPLED("\"wall_s\":120,\"low_s\":114,\"high_s\":126") "," PRICE),
        RUN("r", "R", "fare", FULL("100000000000") "," PRICE),
        RUN("s", "S", "fare", SAMPLED("\"wall_s\":100,\"low_s\":110,\"high_s\":120") "," PRICE),
        NULL};
    struct compare_options options = prorated;
    struct compare c;
    options.base = "q";
    good(&options, texts, &c);
    const struct compare_row *p = row_of(&c, "P"), *r = row_of(&c, "R"), *s = row_of(&c, "S");
    assert_string_equal(p->kind, "projected");
    assert_string_equal(money_exact(p->cost.usd).s, "0.10");
    assert_string_equal(money_exact(p->cost.low_usd).s, "0.095");
    assert_string_equal(money_exact(p->cost.high_usd).s, "0.106");
    assert_true(near(p->time_s.low, 95) && near(p->time_s.high, 106));
    assert_string_equal(p->money.verdict, "cheaper with over 99 % confidence");
    // One run to the end: nothing tells how much it would vary.
    assert_string_equal(r->time.verdict, "only one run: could be chance");
    assert_true(near(r->time.ratio, 100.0 / 120) && !r->time.low.known);
    assert_true(says(r->notes.items, r->notes.count, "projected from a sample"));
    // An interval without its own middle is none.
    assert_string_equal(s->time.verdict, "only one run: could be chance");
    assert_false(s->time_s.low.known);
    record_release(compare_fields, &c);
}

#define AT(provider)                                                                               \
    "\"machine\":{\"name\":\"" provider "\",\"provider\":\"" provider "\"},\"workload\":\"mlp\","  \
    "\"framework\":\"x\",\"full\":true,\"phases\":{\"wall_ns\":41500000000}"

TEST(rules)
{
    const char *const texts[] = {
        "{\"id\":\"1\"," AT("gcp") "," PRICE ",\"started\":\"2017-11-14T00:00:00Z\"}",
        "{\"id\":\"2\"," AT("softlayer") "," PRICE ",\"started\":\"2017-11-14T00:00:00Z\"}",
        "{\"id\":\"3\"," AT("nobody") "," PRICE ",\"started\":\"2017-11-14T00:00:00Z\"}",
        "{\"id\":\"4\"," AT("paperspace") "," PRICE ",\"started\":\"2018-02-01T00:00:00Z\"}", NULL};
    struct compare c;
    struct compare_options options = paid;
    good(&options, texts, &c);
    assert_string_equal(c.rule, "paid");
    assert_string_equal(money_exact(row_of(&c, "gcp")->cost.usd).s, "0.06"); // at least a minute
    assert_string_equal(money_exact(row_of(&c, "softlayer")->cost.usd).s, "3.60"); // a whole hour
    assert_string_equal(money_exact(row_of(&c, "nobody")->cost.usd).s, "0.042");   // whole seconds
    assert_true(row_of(&c, "nobody")->price.assumed.v);
    assert_true(
        says(row_of(&c, "nobody")->notes.items, 1, "the billing rule of nobody is unknown"));
    // By the millisecond, and 5 dollars for the month: what a quote says too.
    assert_string_equal(money_exact(row_of(&c, "paperspace")->cost.usd).s, "5.0415");
    record_release(compare_fields, &c);
    // On another date another rule: Compute Engine's ten minutes.
    options.pricing.date = "2017-01-01";
    good(&options, texts, &c);
    assert_string_equal(money_exact(row_of(&c, "gcp")->cost.usd).s, "0.60");
    assert_string_equal(c.date, "2017-01-01");
    record_release(compare_fields, &c);
    good(&prorated, texts, &c);
    assert_string_equal(money_exact(row_of(&c, "softlayer")->cost.usd).s, "0.0415");
    record_release(compare_fields, &c);
}

TEST(prices)
{
    const char *const texts[] = {
        RUN("1-a", "A", "x", FULL("10000000000") "," PRICE),
        RUN("1-b", "B", "x", FULL("10000000000") "," PRICE),
        RUN("1-c", "C", "x", FULL("10000000000")), // no price at all
        RUN("1-d", "D", "x",
            FULL("10000000000") ",\"labels\":[{\"key\":\"price_per_hour_usd\",\"value\":\"1e400\"}"
                                "]"),
        RUN("1-e", "E", "x",
            FULL("10000000000") ",\"labels\":[{\"key\":\"price_per_hour_usd\",\"value\":\"-1\"}]"),
        RUN("1-f", "F", "x",
            FULL("10000000000") ",\"labels\":[{\"key\":\"price_per_hour_usd\",\"value\":\"0\"}]"),
        NULL};
    const char *said[] = {"x=7.2", "b=36", "b+x=1.8"};
    struct compare c;
    struct compare_options options = prorated;
    good(&options, texts, &c);
    const struct compare_row *none = row_of(&c, "C");
    assert_true(!none->cost.usd.known && !none->cost.nano_usd.known && !none->money.ratio.known &&
                !none->trainings_per_usd.value.known);
    assert_true(says(none->notes.items, none->notes.count, "its cost is unknown"));
    assert_false(row_of(&c, "D")->cost.usd.known);
    assert_false(row_of(&c, "E")->cost.usd.known);
    assert_true(says(row_of(&c, "E")->notes.items, 1, "is not a price"));
    // Free is a price; what it is relative to others is not a number.
    assert_string_equal(money_exact(row_of(&c, "F")->cost.usd).s, "0.00");
    assert_false(row_of(&c, "F")->money.ratio.known);
    record_release(compare_fields, &c);
    // The selector that fits best wins, of equals the last.
    options.pricing.prices = said;
    options.pricing.price_count = 3;
    good(&options, texts, &c);
    assert_string_equal(money_exact(row_of(&c, "A")->cost.usd).s, "0.02");
    assert_string_equal(money_exact(row_of(&c, "B")->price.usd_per_hour).s, "1.80");
    assert_string_equal(row_of(&c, "B")->price.from, "--price b+x");
    assert_string_equal(money_exact(row_of(&c, "C")->cost.usd).s, "0.02");
    record_release(compare_fields, &c);
    const char *const bad[] = {"a=", "a=-1", "=1", "a=1e3", "a=1,5", "a=99999999999999999999", "a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct comparing *comparing = NULL;
        struct err err = {0};
        const char *one = bad[i];
        options.pricing.prices = &one;
        options.pricing.price_count = 1;
        assert_int_equal(comparing_new(&comparing, &options, &err), ERR_USAGE);
        assert_int_equal(err.code, ERR_USAGE);
        assert_non_null(strstr(err.text, "--price"));
    }
}

TEST(odd_times)
{
    const char *const texts[] = {
        RUN("1-a", "base", "x", FULL("10000000000") "," PRICE),
        RUN("1-b", "zero", "x", FULL("0") "," PRICE),
        RUN("1-c", "negative", "x", FULL("-5") "," PRICE),
        RUN("1-d", "long", "x", SAMPLED("\"wall_s\":1e300") "," PRICE),
        RUN("1-e", "century", "x",
            SAMPLED(
                "\"wall_s\":3e9,\"low_s\":2.9e9,\"high_s\":3.1e9") ",\"labels\":[{\"key\":"
                                                                   "\"price_per_hour_usd\","
                                                                   "\"value\":\"1000000000\"}]"),
        RUN("1-f", "epochs", "x",
            "\"full\":true,\"epoch_list\":[{\"train_ns\":2000000000,\"test_ns\":500000000},"
            "{\"train_ns\":1500000000}]," PRICE),
        RUN("g", "half", "x", "\"full\":true,\"epoch_list\":[{\"train_ns\":1},{}]," PRICE),
        RUN("h", "stopped", "x", "\"full\":false,\"ended\":\"stopped\"," PRICE),
        NULL};
    struct compare c;
    struct compare_options options = prorated;
    options.base = "base";
    good(&options, texts, &c);
    const struct compare_row *zero = row_of(&c, "zero");
    assert_true(near(zero->time_s.value, 0) || zero->time_s.value.v < 1e-300);
    assert_false(zero->time.ratio.known || zero->money.ratio.known || zero->time.low.known);
    assert_true(near(row_of(&c, "epochs")->time_s.value, 4));
    assert_false(row_of(&c, "century")->cost.usd.known); // more than money holds
    assert_true(near(row_of(&c, "century")->time.ratio, 3e8));
    const struct compare_workload *w = &c.workloads.items[0];
    assert_int_equal(w->rows.count, 4);
    assert_int_equal(w->apart.count, 4);
    for (size_t i = 0; i < w->apart.count; i++)
        assert_true(says(w->apart.items[i].reasons.items, w->apart.items[i].reasons.count,
                         "time is not known"));
    record_release(compare_fields, &c);
    // Relative to a time of zero there is nothing.
    options.base = "zero";
    good(&options, texts, &c);
    assert_false(row_of(&c, "base")->time.ratio.known);
    record_release(compare_fields, &c);
}

TEST(apart_and_notes)
{
    const char *const texts[] = {
        RUN("1-a", "A", "x", "\"parameters\":10," FULL("1000")),
        RUN("1-b", "B", "x", "\"parameters\":11," FULL("1000")),
        RUN("1-c", "C", "x",
            "\"parameters\":10,\"ended\":\"failed\",\"problem\":\"no memory\"," FULL("1")),
        RUN("1-d", "D", "x",
            "\"parameters\":10,\"taints\":[\"others used the CPU\"]," FULL("1000")),
        RUN("1-e", "A", "x", "\"parameters\":10,\"taints\":[\"heat\"]," FULL("900")),
        RUN("1-f", "F", "x",
            "\"parameters\":10," FULL(
                "900") ",\"labels\":[{\"key\":\"gates\",\"value\":\"hard\"}]"),
        NULL};
    struct compare c;
    struct compare_options options = prorated;
    options.base = "a";
    good(&options, texts, &c);
    const struct compare_workload *w = &c.workloads.items[0];
    assert_int_equal(w->apart.count, 2);
    assert_true(says(w->apart.items[0].reasons.items, 1, "nets differ") ||
                says(w->apart.items[1].reasons.items, 1, "nets differ"));
    assert_true(says(w->apart.items[0].reasons.items, 1, "no memory") ||
                says(w->apart.items[1].reasons.items, 1, "no memory"));
    const struct compare_row *d = row_of(&c, "D");
    assert_true(says(d->notes.items, d->notes.count, "it is noisy: others used the CPU"));
    // The base is the clean one of the two rows that are called A, and they are told apart.
    size_t named_a = 0;
    for (size_t i = 0; i < w->rows.count; i++) {
        const struct compare_row *row = &w->rows.items[i];
        if (strcmp(row->machine, "A") != 0)
            continue;
        named_a++;
        assert_int_equal(row->base.known, row->detail == NULL);
        if (row->detail)
            assert_string_equal(row->detail, "noisy");
    }
    assert_int_equal(named_a, 2);
    record_release(compare_fields, &c);
}

#define BETWEEN(low, middle, high)                                                                 \
    SAMPLED("\"wall_s\":" middle ",\"low_s\":" low ",\"high_s\":" high) "," PRICE
#define NOISE "\"taints\":[\"another program used 40 % of the CPU\"],"

// 195 to 205 s against 114 to 126 s would be slower with over 99 % confidence, but something else
// ran on that machine. Nothing that is noisy or stopped is the fastest or cheapest.
TEST(noisy_and_stopped)
{
    const char *const texts[] = {
        RUN("1-p", "P", "fare", BETWEEN("95", "100", "106")),
        RUN("1-q", "Q", "fare", BETWEEN("114", "120", "126")),
        RUN("1-n", "N", "fare", NOISE BETWEEN("195", "200", "205")),
        RUN("1-m", "M", "fare", NOISE BETWEEN("49", "50", "51")),
        RUN("1-s", "S", "fare", "\"ended\":\"stopped\"," BETWEEN("9", "10", "11")),
        NULL};
    struct compare_options options = prorated;
    struct compare c;
    options.base = "q";
    good(&options, texts, &c);
    const struct compare_row *n = row_of(&c, "N"), *s = row_of(&c, "S");
    assert_true(n->noisy.v && !n->stopped.known && s->stopped.v && !s->noisy.known);
    assert_string_equal(n->time.verdict, "no verdict: noisy");
    assert_string_equal(n->money.verdict, "no verdict: noisy");
    assert_false(n->time.confidence.known || n->time.low.known || n->money.confidence.known);
    assert_true(near(n->time.ratio, 200.0 / 120));
    const struct compare_workload *w = &c.workloads.items[0];
    assert_int_equal(w->sentences.count, 2);
    assert_true(says(w->sentences.items, 1, "Cheapest: P + fare, $0.10 a training"));
    assert_true(says(w->sentences.items + 1, 1, "Fastest: P + fare, about 1 min 40 s"));
    record_release(compare_fields, &c);
    options.base = "n"; // a noisy base: nobody is judged
    good(&options, texts, &c);
    assert_string_equal(row_of(&c, "P")->time.verdict, "no verdict: noisy");
    record_release(compare_fields, &c);
    options.base = NULL;
    good(&options, texts + 1, &c); // of two to choose from, one is clean
    assert_true(says(c.workloads.items[0].sentences.items, c.workloads.items[0].sentences.count,
                     "No verdict: all rows but one are noisy or stopped."));
    record_release(compare_fields, &c);
    good(&options, texts + 2, &c);
    assert_true(says(c.workloads.items[0].sentences.items, c.workloads.items[0].sentences.count,
                     "No verdict: all rows are noisy or stopped."));
    record_release(compare_fields, &c);
}

// One set under two names is one row; another set under the same name is not beside it.
TEST(data_by_checksum)
{
#define ON_DATA(id, name, sha)                                                                     \
    RUN(id, "A", "fare", "\"data\":{\"name\":\"" name "\",\"identity\":\"" sha "\"}," FULL("1000"))
    const char *const texts[] = {ON_DATA("1-a", "mnist", "440f"),
                                 ON_DATA("2-a", "MNIST (idx)", "440f"),
                                 ON_DATA("3-a", "mnist", "0000"), NULL};
    struct compare c;
    good(&prorated, texts, &c);
    const struct compare_workload *w = &c.workloads.items[0];
    assert_int_equal(w->rows.count, 1);
    assert_int_equal(w->rows.items[0].runs.v, 2);
    assert_int_equal(w->apart.count, 1);
    assert_true(
        says(w->apart.items[0].reasons.items, 1, "the data differ, though both are called"));
    record_release(compare_fields, &c);
}

TEST(base_errors)
{
    const char *const texts[] = {RUN("1111-a", "k80", "tensorflow", FULL("1000")),
                                 RUN("1111-b", "k80", "cntk", FULL("1000")),
                                 RUN("2222-c", "p100 (new)", "cntk", FULL("1000")), NULL};
    struct compare_options options = prorated;
    struct compare c = {0};
    struct err err = {0};
    options.base = "v100";
    assert_int_equal(compare_texts(&options, texts, &c, &err), ERR_USAGE);
    assert_string_equal(err.text, "no run that can be compared fits --base 'v100'");
    assert_non_null(strstr(err.hint, "k80+tensorflow, k80+cntk, p100 (new)+cntk"));
    record_release(compare_fields, &c);
    memset(&c, 0, sizeof c);
    const char *const several[] = {"k80", "cntk", "1111"};
    for (size_t i = 0; i < 3; i++) {
        struct err why = {0};
        options.base = several[i];
        assert_int_equal(compare_texts(&options, texts, &c, &why), ERR_USAGE);
        assert_non_null(strstr(why.text, "fits several rows of mlp"));
        record_release(compare_fields, &c);
        memset(&c, 0, sizeof c);
    }
    const char *const one[] = {"k80+cntk", "p100", "1111-a", "P100 (NEW)"};
    for (size_t i = 0; i < 4; i++) {
        options.base = one[i];
        good(&options, texts, &c);
        record_release(compare_fields, &c);
    }
    // Nothing to compare is no error.
    good(&options, (const char *const[]){NULL}, &c);
    assert_int_equal(c.workloads.count, 0);
    record_release(compare_fields, &c);
    struct comparing *comparing = NULL;
    struct err blank = {0}, date = {0};
    options.base = " ";
    assert_int_equal(comparing_new(&comparing, &options, &blank), ERR_USAGE);
    options.base = NULL;
    options.pricing.date = "yesterday";
    assert_int_equal(comparing_new(&comparing, &options, &date), ERR_USAGE);
    assert_string_equal(date.text, "--date: 'yesterday' is not a date");
}

TEST(chosen_base)
{
#define ON(id, workload, machine, started)                                                         \
    "{\"id\":\"" id "\",\"workload\":\"" workload                                                  \
    "\",\"framework\":\"x\",\"machine\":{\"name\":\"" machine "\"},\"started\":\"" started         \
    "\"," FULL("1000") "}"
    const char *const texts[] = {
        ON("1", "mlp", "B", "2026-02-01T00:00:00Z"),  ON("2", "cnn", "B", "2026-02-01T00:00:00Z"),
        ON("3", "mlp", "A", "2026-03-01T00:00:00Z"),  ON("4", "cnn", "A", "2026-01-01T00:00:00Z"),
        ON("5", "imdb", "Z", "2020-01-01T00:00:00Z"), NULL};
    struct compare c;
    good(&prorated, texts, &c);
    assert_string_equal(c.base, "A+x"); // in two workloads, as B is, and older; Z is in one
    assert_string_equal(c.workloads.items[0].workload, "cnn");
    assert_string_equal(c.workloads.items[0].base, "A + x");
    assert_string_equal(c.workloads.items[1].base, "Z + x");
    assert_string_equal(c.workloads.items[2].base, "A + x");
    assert_int_equal(c.sentences.count, 1); // prices are not known
    record_release(compare_fields, &c);
    // One that was asked for and is not there is not replaced.
    struct compare_options options = prorated;
    options.base = "b";
    good(&options, texts, &c);
    assert_null(c.workloads.items[1].base);
    assert_false(row_of(&c, "Z")->time.ratio.known);
    record_release(compare_fields, &c);
}

TEST(words)
{
    const char *const texts[] = {
        RUN("1111-a", "k80", "x", FULL("1000") ",\"labels\":[{\"key\":\"v\",\"value\":\"1\"}]"),
        RUN("2222-b", "k80", "x", FULL("1100") ",\"labels\":[{\"key\":\"v\",\"value\":\"2\"}]"),
        RUN("3333-c", "k80", "x", FULL("1200") ",\"labels\":[{\"key\":\"v\",\"value\":\"2\"}]"),
        RUN("4444-d", "p100", "x", FULL("1200")), NULL};
    struct compare_options options = prorated;
    struct compare c;
    const char *ids[] = {"1111", "2222-b"}, *labels[] = {"v=1", "v=2"}, *machine[] = {"k80"};
    const char *missing[] = {"k80", "v=3"}, *workload[] = {"mlp"};
    const struct {
        const char **words;
        size_t count, rows;
    } cases[] = {{ids, 2, 2}, {labels, 2, 2}, {machine, 1, 1}, {workload, 1, 2}, {NULL, 0, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        options.words = cases[i].words;
        options.word_count = cases[i].count;
        good(&options, texts, &c);
        assert_int_equal(c.workloads.items[0].rows.count, cases[i].rows);
        record_release(compare_fields, &c);
    }
    options.words = missing;
    options.word_count = 2;
    struct err err = {0};
    memset(&c, 0, sizeof c);
    assert_int_equal(compare_texts(&options, texts, &c, &err), ERR_MISSING);
    assert_string_equal(err.text, "no run fits 'v=3'");
    record_release(compare_fields, &c);
    // A base by label is a row of its own.
    options.word_count = 0;
    options.base = "v=1";
    good(&options, texts, &c);
    assert_int_equal(c.workloads.items[0].rows.count, 3);
    assert_int_equal(c.workloads.items[0].rows.items[0].runs.v, 1);
    record_release(compare_fields, &c);
    options.workload = "cnn";
    good(&options, texts, &c);
    assert_int_equal(c.runs.v, 0);
    record_release(compare_fields, &c);
}

TEST(bad_record)
{
    struct err err = {0};
    struct compare c = {0};
    const char *const texts[] = {"{\"id\":1}", NULL};
    assert_int_equal(compare_texts(&prorated, texts, &c, &err), ERR_FORMAT);
    // One that says nothing at all.
    good(&prorated, (const char *const[]){"{}", "{\"name\":\"n\"}", NULL}, &c);
    assert_int_equal(c.workloads.count, 2);
    record_release(compare_fields, &c);
}
