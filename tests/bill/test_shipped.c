// SPDX-License-Identifier: Apache-2.0
// The rules that fare ships, by date, against sums worked out by hand.
#include "charging.h"

#include "book/tariffs.h"

static struct tariff_book *book;

static int open_book(void **state)
{
    (void)state;
    struct err err = {0};
    return tariff_book_read(&book, TESTS_DIR "/../share/providers", NULL, &err);
}

static int close_book(void **state)
{
    (void)state;
    tariff_book_close(book);
    return 0;
}

struct bill_case {
    const char *provider;
    enum offer_kind kind;
    const char *name, *start, *rate;
    int64_t length_ns;
    bool interrupted;
    const char *cost;
};

// The rule that holds when the use starts.
static struct charge charge_case(const struct bill_case *c, const char *monthly_cap)
{
    const struct offer offer = {.provider = c->provider, .name = c->name, .kind = c->kind};
    const struct charge_use use = {
        .start_s = date(c->start), .length_ns = c->length_ns, .interrupted = c->interrupted};
    struct rule rule;
    struct charge charge;
    struct err err = {0};
    const struct tariff *t = tariff_for(book, &offer, (int)(use.start_s / 86400), NULL);
    assert_string_not_equal(t->id, "default");
    struct maybe_money rate = {.known = c->rate != NULL};
    if (c->rate)
        assert_ok(money_parse(c->rate, &rate.nano, &err), &err);
    assert_ok(rule_read(&rule, t, rate, &err), &err);
    if (monthly_cap)
        rule.monthly_cap = nano(monthly_cap);
    assert_ok(charge_use(&rule, &use, &charge, &err), &err);
    return charge;
}

static void check(const struct bill_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t got = charge_case(&cases[i], NULL).total;
        if (got != nano(cases[i].cost)) {
            char text[MONEY_BYTES];
            money_text(got, text);
            fail_msg("%s %s, %lld ns: %s, not %s", cases[i].provider, cases[i].start,
                     (long long)cases[i].length_ns, text, cases[i].cost);
        }
    }
}
#define CHECK(cases) check(cases, sizeof(cases) / sizeof *(cases))

#define AWS "aws", OFFER_ON_DEMAND, "p2.xlarge"
TEST(aws)
{
    static const struct bill_case cases[] = {
        {AWS, "2017-10-01", "0.90", 1, false, "0.90"},
        {AWS, "2017-10-01", "0.90", H, false, "0.90"},
        {AWS, "2017-10-01", "0.90", H + 1, false, "1.80"},
        {AWS, "2017-10-01", "0.90", 13032 * S, false, "3.60"}, // 3.62 h: four started hours
        {AWS, "2017-10-02", "0.90", 1, false, "0.015"},        // 60 s
        {AWS, "2017-10-02", "0.90", 13032 * S, false, "3.258"},
        {AWS, "2026-11-15", "0.90", 0, false, "0.015"},
        {AWS, "2026-11-01", "0.90", 30 * 24 * H, false, "648"},
    };
    CHECK(cases);
}

#define SPOT "aws", OFFER_SPOT, "p2.xlarge"
TEST(aws_spot)
{
    static const struct bill_case cases[] = {
        // Now: the first hour is free where the provider ends it; otherwise the seconds.
        {SPOT, "2026-11-15", "0.36", H - 1, true, "0"},
        {SPOT, "2026-11-15", "0.36", H, true, "0.36"},
        {SPOT, "2026-11-15", "0.36", 5400 * S, true, "0.54"},
        {SPOT, "2026-11-15", "0.36", 1800 * S, false, "0.18"},
        {SPOT, "2026-11-15", "0.36", 1, false, "0.006"},
        // Until October 2017: the partial hour is free where the provider ends it, full otherwise.
        {SPOT, "2017-09-30", "0.36", H - 1, true, "0"},
        {SPOT, "2017-09-30", "0.36", 5400 * S, true, "0.36"},
        {SPOT, "2017-09-30", "0.36", 5400 * S, false, "0.72"},
        {SPOT, "2017-09-30", "0.36", 1, false, "0.36"},
    };
    CHECK(cases);
}

#define N1    "gcp", OFFER_ON_DEMAND, "n1-standard-4"
#define A3    "gcp", OFFER_ON_DEMAND, "a3-highgpu-8g"
#define N2    "gcp", OFFER_ON_DEMAND, "n2-standard-4"
#define GSPOT "gcp", OFFER_SPOT, "n1-standard-1"
TEST(gcp)
{
    static const struct bill_case cases[] = {
        {GSPOT, "2017-09-25", "0.60", 120 * S, false, "0.10"}, // ten minutes
        {GSPOT, "2017-09-25", "0.60", 600 * S + 1, false, "0.11"},
        {GSPOT, "2017-09-26", "0.60", 120 * S, false, "0.02"},
        {GSPOT, "2017-09-26", "0.60", 120 * S + 1, false, "0.020166667"},
        {GSPOT, "2017-09-26", "0.60", 1, false, "0.01"},
        // A quarter, a half, three quarters and the whole of a June of 720 h.
        {N1, "2018-06-01", "1", 180 * H, false, "180"},
        {N1, "2018-06-01", "1", 360 * H, false, "324"},
        {N1, "2018-06-01", "1", 540 * H, false, "432"},
        {N1, "2018-06-01", "1", 720 * H, false, "504"},
        {N1, "2017-06-01", "1", 720 * H, false, "504"},
        {A3, "2026-06-01", "1", 720 * H, false, "720"}, // no sustained use
        {N2, "2026-06-01", "1", 720 * H, false, "576"}, // 20 % off
        {GSPOT, "2018-06-01", "1", 720 * H, false, "720"},
    };
    CHECK(cases);
}

TEST(others)
{
    static const struct bill_case cases[] = {
        {"azure", OFFER_ON_DEMAND, "x", "2018-02-15", "0.60", 61 * S, false, "0.01"},
        {"azure", OFFER_ON_DEMAND, "x", "2018-02-15", "0.60", 405 * S, false, "0.06"}, // 6 min 45 s
        {"azure", OFFER_SPOT, "x", "2018-02-15", "0.60", 405 * S, false, "0.06"},
        {"azure", OFFER_ON_DEMAND, "x", "2018-02-15", "0.60", 59 * S, false, "0"},
        {"azure", OFFER_ON_DEMAND, "x", "2025-05-31", "0.36", 61 * S, false, "0.0061"},
        {"azure", OFFER_ON_DEMAND, "x", "2025-05-31", "0.36", S, false, "0.006"}, // 60 s
        {"azure", OFFER_ON_DEMAND, "x", "2025-06-01", "0.36", S, false, "0.03"},  // 300 s
        {"azure", OFFER_SPOT, "x", "2025-06-01", "0.36", 299 * S, false, "0.03"},
        {"azure", OFFER_ON_DEMAND, "x", "2025-06-01", "0.36", 301 * S, false, "0.0301"},
        {"lambda", OFFER_ON_DEMAND, "x", "2026-02-15", "0.60", 60 * S + 1, false, "0.02"},
        {"runpod", OFFER_ON_DEMAND, "x", "2026-02-15", "0.36", S + 1, false, "0.0002"},
        {"vast", OFFER_ON_DEMAND, "x", "2026-02-15", "0.36", S, false, "0.0001"},
        {"paperspace", OFFER_ON_DEMAND, "x", "2018-02-15", "3.6", 1000001, false, "5.000002"},
        {"softlayer", OFFER_ON_DEMAND, "x", "2018-02-15", "2.80", 11376 * S, false, "11.2"},
        {"softlayer", OFFER_ON_DEMAND, "x", "2018-02-15", "4.02", 14760 * S, false, "20.1"},
        {"softlayer", OFFER_ON_DEMAND, "x", "2019-02-15", "0.60", 61 * S, false, "0.02"},
        {"leadergpu", OFFER_ON_DEMAND, "x", "2018-02-15", "0.02", 7632 * S, false, "2.544"},
        {"nimbix", OFFER_ON_DEMAND, "x", "2015-05-15", "5", 1800 * S, false, "2.5"},
        {"own", OFFER_ON_DEMAND, "x", "2026-02-15", "3.6", 1500000000, false, "0.0015"},
        {"hetzner", OFFER_MONTHLY, "ex51", "2018-02-15", "100", 8172 * S, false, "100"},
        {"hetzner", OFFER_MONTHLY, "ex51", "2018-02-15", "100", 30 * 24 * H + 1, false, "200"},
        {"hetzner", OFFER_MONTHLY, "ex51", "2024-02-29", "100", 8172 * S, false, "100"},
    };
    CHECK(cases);
}

// Hetzner's dedicated servers by the hour since March 2024: 3 started hours of 72.00 / 720 h, and
// at most the month's price in a March of 744 h.
TEST(hourly_capped_by_month)
{
#define EX51 "hetzner", OFFER_MONTHLY, "ex51"
    static const struct bill_case cases[] = {
        {EX51, "2024-03-01", "72", 8172 * S, false, "0.30"},
        {EX51, "2024-03-01", "72", 719 * H, false, "71.90"},
        {EX51, "2024-03-01", "72", 744 * H, false, "72"},
        {EX51, "2024-03-01", "72", 744 * H + 1, false, "72.10"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(charge_case(&cases[i], "72").total, nano(cases[i].cost));
}

// Rates are by the hour; each tariff names the source of its rule.
TEST(others_of_2026)
{
#define ON OFFER_ON_DEMAND
    static const struct bill_case cases[] = {
        // The clock hours from 09:00 to 17:00 eight days later: OVHcloud's own example, 200 h.
        {"ovhcloud", ON, "a100-180", "2026-03-04T09:40:00Z", "1", 198 * H + 3000 * S, false, "200"},
        // Whole hours until 2026; then 60 s at least, and a cent: 60 s of 0.09375 are 0.0015625.
        {"do", ON, "g-2vcpu-8gb", "2025-12-31", "0.09375", S, false, "0.09375"},
        {"do", ON, "g-2vcpu-8gb", "2026-01-01", "0.09375", S, false, "0.01"},
        {"digitalocean", ON, "gpu", "2026-01-01", "3.60", S, false, "0.06"},
        {"digitalocean", ON, "gpu", "2026-01-01", "3.60", 61 * S, false, "0.061"},
        {"scaleway", ON, "L4-1-24G", "2026-09-01", "0.60", 61 * S, false, "0.02"},
        {"scaleway", ON, "RENDER-S", "2026-09-01", "1.20", 61 * S, false, "1.20"},
        {"nebius", ON, "x", "2026-09-01", "3.60", S, false, "0.001"},
        {"oci", ON, "VM.GPU.A10.1", "2026-09-01", "3.60", S, false, "0.06"},
        {"oci", ON, "BM.GPU.H100.8", "2026-09-01", "80", S, false, "80"},
        {"oci", ON, "BM.GPU.H100.8", "2026-09-01", "80", 5400 * S, false, "120"},
        {"oci", OFFER_SPOT, "VM.GPU.A10.1", "2026-09-01", "3.60", S, false, "0.06"},
        {"ibm", ON, "gx2-8x64x1v100", "2026-09-01", "3.60", S, false, "0.001"},
        {"coreweave", ON, "gd-8xh100", "2026-09-01", "0.60", 61 * S, false, "0.02"},
        {"hyperstack", ON, "n3-A100x1", "2026-09-01", "0.60", 61 * S, false, "0.02"},
        {"verda", ON, "1B200.30V", "2026-09-01", "3.60", 61 * S, false, "0.061"},
        {"datacrunch", ON, "1B200.30V", "2026-09-01", "3.60", 61 * S, false, "0.061"},
        {"shadeform", ON, "scaleway_L4", "2026-09-01", "3.60", S, false, "0.001"},
        {"modal", ON, "H100", "2026-09-01", "3.60", S, false, "0.001"},
        {"sagemaker", ON, "ml.p4d.24xlarge", "2026-09-01", "3.60", S, false, "0.001"},
        {"jarvislabs", ON, "H100", "2026-09-01", "0.60", 61 * S, false, "0.02"},
        {"lambdalabs", ON, "gpu_1x_h100", "2026-09-01", "0.60", 61 * S, false, "0.02"},
        {"mithril", ON, "h100-80gb.sxm.8x", "2026-09-01", "8", 600 * S, false, "24"}, // 3 h
        {"mithril", ON, "h100-80gb.sxm.8x", "2026-09-01", "8", 3 * H + 1, false, "32"},
        {"vastai", ON, "123", "2026-09-01", "3.60", S, false, "0.001"},
    };
    CHECK(cases);
}

// What a use costs beside its time.
struct line_case {
    const char *provider, *name;
    struct charge_use use;
    const char *stopped, *storage, *storage_stopped, *egress;
};

#define GB     INT64_C(1000000000)
#define GIB    (INT64_C(1) << 30)
#define SEP_S  1788220800 // 2026-09-01
#define DAY_NS (24 * H)
#define KEPT(gb, run, stop)                                                                        \
    {                                                                                              \
        .start_s = SEP_S, .length_ns = run, .storage_gb = gb, .storage_ns = run,                   \
        .stopped_ns = stop                                                                         \
    }
#define OUT(bytes)                                                                                 \
    {                                                                                              \
        .start_s = SEP_S, .length_ns = H, .egress_bytes = bytes                                    \
    }
TEST(storage_and_traffic)
{
    static const struct line_case cases[] = {
        // 100 GB × 0.10 / 30 for a day running, 100 × 0.20 / 30 for each day stopped.
        {"runpod", "x", KEPT(100, DAY_NS, DAY_NS), "0", "0.333333333", "0.666666667", "0"},
        // The hosts' default, running or not; gpuhunt's price has the disk in it.
        {"vast", "x", KEPT(100, DAY_NS, DAY_NS), "0", "0.333333333", "0.333333333", "0"},
        {"vastai", "x", KEPT(100, DAY_NS, 0), "0", "0", "0", "0"},
        // 100 GB at 5 USD for 50: ten days of $10 are $3.33; a day more when it has started.
        {"paperspace", "x", KEPT(100, H, 10 * DAY_NS - H), "0", "0.333333333", "3", "0"},
        {"paperspace", "x", KEPT(100, 10 * DAY_NS, 0), "0", "3.333333333", "0", "0"},
        {"paperspace", "x", KEPT(100, 10 * DAY_NS + 1, 0), "0", "3.666666667", "0", "0"},
        // 1 USD an hour while it is off, too.
        {"hyperstack", "x", KEPT(0, H, 5 * H), "5", "0", "0", "0"},
        {"verda", "x", KEPT(0, H, 5 * H), "5", "0", "0", "0"},
        {"do", "x", KEPT(0, H, 5 * H), "5", "0", "0", "0"},
        {"hetzner", "x", KEPT(0, H, 5 * H), "5", "0", "0", "0"},
        {"ovhcloud", "x", KEPT(0, H, 5 * H), "5", "0", "0", "0"},
        {"ibm", "bx2-metal-96x384", KEPT(0, H, 5 * H), "5", "0", "0", "0"},
        {"ibm", "gx2-8x64x1v100", KEPT(0, H, 5 * H), "0", "0", "0", "0"},
        {"aws", "x", KEPT(0, H, 5 * H), "0", "0", "0", "0"},
        // Lambda: 100 GiB × 0.20 / 720 for every started hour. CoreWeave: 100 × 0.07 / 730.
        {"lambda", "x", KEPT(100, H + 1, 0), "0", "0.055555556", "0", "0"},
        {"coreweave", "x", KEPT(100, H, 0), "0", "0.009589041", "0", "0"},
        // 100 GB free, 10140 at 0.09, 40960 at 0.085, 102400 at 0.07 and 6400 at 0.05:
        // 912.60 + 3481.60 + 7168 + 320.
        {"aws", "x", OUT(160000 * GB), "0", "0", "0", "11882.20"},
        // 10140 at 0.087, 40960 at 0.083, 102400 at 0.07, 6400 at 0.05: 882.18 + 3399.68 + …
        {"azure", "x", OUT(160000 * GB), "0", "0", "0", "11769.86"},
        // By the GiB: 1024 at 0.12, 9216 at 0.11 and 1000 at 0.08: 122.88 + 1013.76 + 80.
        {"gcp", "a3-highgpu-8g", OUT(11240 * GIB), "0", "0", "0", "1216.64"},
        {"oci", "x", OUT(11240 * GB), "0", "0", "0", "8.50"}, // 1000 past 10 TB
        {"ovhcloud", "x", OUT(11240 * GB), "0", "0", "0", "0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct line_case *c = &cases[i];
        const struct offer offer = {.provider = c->provider, .name = c->name};
        struct rule rule;
        struct charge charge;
        struct err err = {0};
        const struct tariff *t = tariff_for(book, &offer, SEP_S / 86400, NULL);
        assert_ok(rule_read(&rule, t, some_money(MONEY_UNIT), &err), &err);
        assert_ok(charge_use(&rule, &c->use, &charge, &err), &err);
        const int64_t got[] = {charge.stopped, charge.storage, charge.storage_stopped,
                               charge.egress},
                      expected[] = {nano(c->stopped), nano(c->storage), nano(c->storage_stopped),
                                    nano(c->egress)};
        for (size_t j = 0; j < 4; j++)
            if (got[j] != expected[j])
                fail_msg("%s, case %zu, line %zu: %lld, not %lld", t->id, i, j, (long long)got[j],
                         (long long)expected[j]);
    }
}

// Hetzner's cloud: started hours, and at most the offer's monthly price in a calendar month.
TEST(monthly_cap)
{
#define CLOUD "hetzner", OFFER_ON_DEMAND, "cx11"
    static const struct bill_case cases[] = {
        {CLOUD, "2026-06-01", "0.01", 1, false, "0.01"},
        {CLOUD, "2026-06-01", "0.01", 499 * H, false, "4.99"},
        {CLOUD, "2026-06-01", "0.01", 499 * H + 1, false, "5"},
        {CLOUD, "2026-06-01", "0.01", 720 * H, false, "5"},
        {CLOUD, "2026-06-01", "0.01", 720 * H + 1, false, "5.01"}, // and an hour of July
        {CLOUD, "2026-06-16", "0.01", 720 * H, false, "7.20"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(charge_case(&cases[i], "5").total, nano(cases[i].cost));
}

int main(void)
{
    return run_all_tests(open_book, close_book);
}
