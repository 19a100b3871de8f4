// SPDX-License-Identifier: Apache-2.0
// Which tariff holds when and for what, whose comes first, what a bad file says.
#include "folder.h"

#include "amounts.h"
#include "base/buf.h"
#include "tables/files.h"
#include "book/tariffs.h"

static struct tariff_book *shipped(const char *own)
{
    struct tariff_book *book;
    struct err err = {0};
    assert_ok(tariff_book_read(&book, SHARE "/providers", own, &err), &err);
    return book;
}

static const struct tariff *find(const struct tariff_book *book, const char *provider,
                                 enum offer_kind kind, int on)
{
    const struct offer offer = {.provider = provider, .kind = kind};
    return tariff_for(book, &offer, on, NULL);
}

static const struct tariff *by_id(const struct tariff_book *book, const char *id)
{
    const struct tariff *t = NULL;
    for (size_t i = 0; (t = tariff_at(book, i)) && strcmp(t->id, id) != 0; i++)
        ;
    return t ? t : find(book, "nobody", OFFER_ON_DEMAND, 0);
}

static bool is_one_of(const char *text, const char *const *list)
{
    while (*list && strcmp(*list, text) != 0)
        list++;
    return *list;
}

TEST(by_date)
{
    // No source gives their unit of time.
    static const char *const guesses[] = {
        "default",        "nimbix-on-demand", "paperspace-on-demand",
        "cudo-on-demand", "verda-on-demand",  NULL};
    struct tariff_book *book = shipped(NULL);
    static const struct {
        const char *provider;
        enum offer_kind kind;
        const char *name, *date, *id;
    } cases[] = {
        {"aws", OFFER_ON_DEMAND, "p2.xlarge", "2017-10-01", "aws-on-demand-hourly"},
        {"aws", OFFER_ON_DEMAND, "p2.xlarge", "2017-10-02", "aws-on-demand-2017"},
        {"aws", OFFER_ON_DEMAND, "p2.xlarge", "2021-12-01", "aws-on-demand"},
        {"aws", OFFER_SPOT, "p2.xlarge", "2017-10-01", "aws-spot-hourly"},
        {"aws", OFFER_SPOT, "p2.xlarge", "2026-11-15", "aws-spot"},
        {"gcp", OFFER_ON_DEMAND, "n1-standard-4", "2017-09-25", "gcp-n1-10-minutes"},
        {"gcp", OFFER_ON_DEMAND, "n1-standard-4", "2017-09-26", "gcp-n1"},
        {"gcp", OFFER_ON_DEMAND, "n2d-standard-4", "2026-11-15", "gcp-n2"},
        {"gcp", OFFER_ON_DEMAND, "a3-highgpu-8g", "2026-11-15", "gcp-on-demand"},
        {"gcp", OFFER_ON_DEMAND, NULL, "2026-11-15", "gcp-on-demand"},
        {"gcp", OFFER_SPOT, "n1-standard-1", "2017-09-25", "gcp-spot-10-minutes"},
        {"gcp", OFFER_SPOT, "n1-standard-1", "2018-11-01", "gcp-preemptible"},
        {"gcp", OFFER_SPOT, "n1-standard-1", "2021-10-12", "gcp-spot"},
        {"azure", OFFER_ON_DEMAND, "x", "2018-02-15", "azure-on-demand-minute"},
        {"azure", OFFER_ON_DEMAND, "x", "2025-05-31", "azure-on-demand-2019"},
        {"azure", OFFER_ON_DEMAND, "x", "2025-06-01", "azure-on-demand"},
        {"lambda", OFFER_ON_DEMAND, "x", "2026-11-15", "lambda-on-demand"},
        {"runpod", OFFER_SPOT, "x", "2026-04-12", "runpod-spot"},
        {"runpod", OFFER_SPOT, "x", "2026-04-13", "default"}, // withdrawn
        {"vast", OFFER_ON_DEMAND, "x", "2026-11-15", "vast-on-demand"},
        {"paperspace", OFFER_ON_DEMAND, "P6000", "2018-02-15", "paperspace-on-demand-2018"},
        {"paperspace", OFFER_ON_DEMAND, "P6000", "2026-11-15", "paperspace-on-demand"},
        {"hetzner", OFFER_ON_DEMAND, "cx11", "2026-11-15", "hetzner-cloud"},
        {"hetzner", OFFER_MONTHLY, "ex51", "2024-02-29", "hetzner-dedicated-monthly"},
        {"hetzner", OFFER_MONTHLY, "ex51", "2024-03-01", "hetzner-dedicated"},
        {"do", OFFER_ON_DEMAND, "x", "2025-12-31", "do-on-demand-hourly"},
        {"digitalocean", OFFER_ON_DEMAND, "x", "2026-01-01", "do-on-demand"}, // gpuhunt's name
        {"lambdalabs", OFFER_ON_DEMAND, "x", "2026-11-15", "lambda-on-demand"},
        {"datacrunch", OFFER_ON_DEMAND, "x", "2026-11-15", "verda-on-demand"},
        {"vastai", OFFER_ON_DEMAND, "x", "2026-11-15", "vastai-on-demand"},
        {"oci", OFFER_ON_DEMAND, "VM.GPU.A10.1", "2026-11-15", "oci-on-demand"},
        {"oci", OFFER_ON_DEMAND, "BM.GPU.H100.8", "2026-11-15", "oci-bare-metal"},
        {"scaleway", OFFER_ON_DEMAND, "RENDER-S", "2026-11-15", "scaleway-render-s"},
        {"scaleway", OFFER_ON_DEMAND, "L4-1-24G", "2026-11-15", "scaleway-on-demand"},
        {"cudo", OFFER_ON_DEMAND, "x", "2026-11-15", "cudo-on-demand"},
        {"softlayer", OFFER_ON_DEMAND, "x", "2018-02-15", "softlayer-hourly"},
        {"softlayer", OFFER_ON_DEMAND, "x", "2019-02-15", "softlayer-minute"},
        {"leadergpu", OFFER_ON_DEMAND, "x", "2018-02-15", "leadergpu-on-demand"},
        {"nimbix", OFFER_ON_DEMAND, "x", "2015-05-01", "nimbix-on-demand"},
        {"own", OFFER_ON_DEMAND, "desk", "2026-11-15", "own"},
        {"nobody", OFFER_ON_DEMAND, "x", "2026-11-15", "default"},
        {"lambda", OFFER_SPOT, "x", "2026-11-15", "default"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct offer offer = {
            .provider = cases[i].provider, .name = cases[i].name, .kind = cases[i].kind};
        bool assumed;
        const struct tariff *t = tariff_for(book, &offer, day(cases[i].date), &assumed);
        assert_string_equal(t->id, cases[i].id);
        assert_int_equal(assumed, is_one_of(t->id, guesses));
        assert_ptr_equal(by_id(book, t->id), t);
    }
    // Without a name, tariffs for some names do not count.
    assert_string_equal(find(book, "gcp", OFFER_ON_DEMAND, day("2018-01-01"))->id, "gcp-on-demand");
    assert_string_equal(find(book, "aws", OFFER_ON_DEMAND, 0)->id, "aws-on-demand");
    tariff_book_close(book);
    tariff_book_close(NULL);
}

// A sentence for each, and the exact words of some.
TEST(words)
{
    struct tariff_book *book = shipped(NULL);
    static const struct {
        const char *id, *begins;
    } cases[] = {
        {"aws-on-demand-hourly",
         "per started hour; storage 0.10 USD per GB and month of 30 days, "
         "per started hour, at least 1 h; traffic out 0.09 USD per GB, the first "
         "1 GB a month free; each stop"},
        {"aws-on-demand",
         "per second, at least 60 s a start; 58.8 % of the rate with a commitment of 12 months "
         "(g4dn.*, g4ad.*, g5.*, g5g.*, c5.*, m5.*); 63.7 % of the rate with a commitment of 12 "
         "months (p2.*, p3.*, g3.*); 57.5 % of the rate with a commitment of 12 months (p3dn.*); "
         "57.5 % of the rate with a commitment of 12 months (p4d.*, p4de.*) before 2025-06-01; "
         "storage 0.08 USD per GB and month of 30 days, at "
         "least 60 s; traffic out 0.09 up to 10240 GB, 0.085 up to 51200 GB, 0.07 up to 153600 GB, "
         "0.05 USD per GB, the first 100 GB a month free; prices with Savings Plans, for three "
         "years"},
        {"aws-spot", "per second, at least 60 s a start; free if the provider interrupts it within "
                     "the first hour; storage"},
        {"aws-spot-hourly",
         "per started hour; the hour in which the provider interrupts it is free; "},
        {"gcp-n1",
         "per second, at least 60 s a start; sustained use: of the month's time the first "
         "25.0 % at 100 % of the rate, the next 25.0 % at 80 % of the rate, the next 25.0 % "
         "at 60 % of the rate, the next 25.0 % at 40 % of the rate; 63 % of the rate with a "
         "commitment of 12 months (n1-*-[0-9], n1-*-[0-9][0-9]); 45 % of the rate with a "
         "commitment "
         "of 36 months (n1-*-[0-9], n1-*-[0-9][0-9]); 37 % of the rate with a commitment of 36 "
         "months (m1-*, m2-*); "
         "storage"},
        {"gcp-spot-10-minutes", "per started minute, at least 10 min a start; ends after 1 day "
                                "at the latest; storage"},
        {"azure-on-demand-minute", "per whole minute; rounded down to whole minutes"},
        {"azure-on-demand",
         "per second, at least 5 min a start; 68 % of the rate with a commitment of 12 months "
         "(Standard_D4s_v3); traffic out 0.087 up to 10240 GB, 0.083 up to "
         "51200 GB, 0.07 up to 153600 GB, 0.05 USD per GB, the first 100 GB a month free; the "
         "minimum is in doubt: "},
        {"lambda-on-demand",
         "per started minute; storage 0.20 USD per GB and month of 30 days, per started hour; "
         "traffic out is free; from the passed health check"},
        {"paperspace-on-demand-2018", "per millisecond; 5 USD for every calendar month of use; "},
        {"paperspace-on-demand",
         "per second; storage 0.10 USD per GB and month of 30 days, per started day, charged at "
         "the next size on sale (50 GB and up); the unit"},
        {"hetzner-dedicated-monthly",
         "per started month of 30 days; full price while stopped, until deleted; whole months"},
        {"hetzner-dedicated",
         "per started hour; full price while stopped, until deleted; a calendar month costs at "
         "most the offer's price by the month; by the hour since"},
        {"ovhcloud-on-demand",
         "for every clock hour touched; full price while stopped, until deleted; traffic out is "
         "free; from the end of BUILD"},
        {"do-on-demand",
         "per second, at least 60 s and 0.01 USD a start; full price while stopped, until "
         "deleted; traffic out 0.01 USD per GB; the same for GPU droplets"},
        {"runpod-on-demand",
         "per second; storage 0.10 USD (0.20 while stopped) per GB and month of 30 days; "
         "traffic out is free; storage is"},
        {"vastai-on-demand", "per second; the price includes a disk while running; Vast through"},
        {"modal-on-demand",
         "per second; 175 % of the rate in regions like *-*; 150 % of the rate in regions like "
         "?*; a broad"},
        {"own", "by the exact time; your own machine"},
        {"default", "per second; no billing rule of this provider is known"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        const struct tariff *t = by_id(book, cases[i].id);
        assert_string_equal(t->id, cases[i].id);
        tariff_words(t, NULL, 0, &out);
        if (strncmp(buf_str(&out), cases[i].begins, strlen(cases[i].begins)) != 0)
            fail_msg("%s: %s", cases[i].id, buf_str(&out));
        buf_release(&out);
    }
    // Of one offer: its own commitments, without their patterns, and none that has ended.
    static const struct {
        const char *offer;
        int64_t day;
        const char *has;
    } own[] = {{"g5.xlarge", 20000, "58.8 % of the rate with a commitment of 12 months;"},
               {"p4d.24xlarge", 20000, "57.5 % of the rate with a commitment of 12 months before"},
               {"p4d.24xlarge", 20300, "60 s a start; storage"}, // 2025-07-31
               {"p5.48xlarge", 20000, "60 s a start; storage"}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        struct buf out = {0};
        tariff_words(by_id(book, "aws-on-demand"), own[i].offer, own[i].day, &out);
        if (!strstr(buf_str(&out), own[i].has) || strstr(buf_str(&out), "p2.*"))
            fail_msg("%s: %s", own[i].offer, buf_str(&out));
        buf_release(&out);
    }
    const struct tariff *t;
    for (size_t i = 0; (t = tariff_at(book, i)); i++) {
        struct buf out = {0};
        tariff_words(t, NULL, 0, &out);
        assert_true(out.len > 10 && !out.failed);
        buf_release(&out);
    }
    tariff_book_close(book);
}

TEST(words_of_rates)
{
    struct tariff t = {.rate = strdup("0.02"),
                       .currency = strdup("EUR"),
                       .per_s = {60, true},
                       .unit_ms = {100, true},
                       .minimum_s = {90, true},
                       .rounding = strdup("nearest"),
                       .monthly_cap = strdup("5"),
                       .setup_fee = strdup("49"),
                       .storage_rate = strdup("0.00"),
                       .ingress_rate = strdup("0.01")};
    struct buf out = {0};
    tariff_words(&t, NULL, 0, &out);
    assert_string_equal(buf_str(&out),
                        "0.02 EUR per minute, to the nearest 100 ms, at least 90 s a start; "
                        "at most 5 EUR a calendar month; 49 EUR once; storage is free; "
                        "traffic in 0.01 EUR per GB");
    buf_release(&out);
    record_release(tariff_fields, &t);
    struct tariff clock = {.rate = strdup("0.02"),
                           .clock_units = {true, true},
                           .unit_ms = {3600000, true},
                           .minimum_amount = strdup("0.10"),
                           .storage_rate = strdup("0.0255"),
                           .storage_unit_ms = {3600000, true},
                           .storage_calendar_month = {true, true}};
    struct buf more = {0};
    tariff_words(&clock, NULL, 0, &more);
    assert_string_equal(
        buf_str(&more),
        "0.02 USD per hour, for every clock hour touched, at least 0.10 USD a start; "
        "storage 0.0255 USD per GB and calendar month, for every clock hour "
        "touched");
    buf_release(&more);
    record_release(tariff_fields, &clock);
}

// A file of the user's own comes first, whatever its dates; one that names the offer before others.
TEST(own_first)
{
    const char *own = folder_new();
    folder_put(own, "a.json",
               "{\"schema\":\"fare.tariffs/1\",\"tariffs\":["
               "{\"id\":\"mine\",\"provider\":\"aws\",\"unit_ms\":60000},"
               "{\"id\":\"mine-p4\",\"provider\":\"aws\",\"offers\":[\"p4d.*\",\"p5.*\"]},"
               "{\"id\":\"mine-later\",\"provider\":\"aws\",\"valid_from\":\"2025-01-01\"}]}");
    folder_put(own, "b.txt", "not JSON, and not read");
    folder_put(own, ".hidden.json", "nor this");
    struct tariff_book *book = shipped(own);
    const struct {
        const char *name, *date, *id;
    } cases[] = {{"p2.xlarge", "2024-12-31", "mine"},
                 {"p2.xlarge", "2025-01-01", "mine-later"},
                 {"p4d.24xlarge", "2025-01-01", "mine-p4"},
                 {"p5.48xlarge", "2024-01-01", "mine-p4"},
                 {"p2.xlarge", "2014-01-01", "mine"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct offer offer = {.provider = "aws", .name = cases[i].name};
        assert_string_equal(tariff_for(book, &offer, day(cases[i].date), NULL)->id, cases[i].id);
    }
    assert_string_equal(find(book, "aws", OFFER_SPOT, day("2025-01-01"))->id, "aws-spot");
    assert_string_equal(tariff_at(book, 0)->id, "mine");
    tariff_book_close(book);
    // A folder that is not there has no files.
    struct err err = {0};
    assert_ok(tariff_book_read(&book, "/nonexistent/a", "/nonexistent/b", &err), &err);
    assert_null(tariff_at(book, 0));
    tariff_book_close(book);
}

#define ONE(members)                                                                               \
    "{\"schema\":\"fare.tariffs/1\",\"tariffs\":[{\"id\":\"x\",\"provider\":\"p\"," members "}]}"

TEST(malformed)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "expected an object"},
        {"[]", "expected an object"},
        {"{\"schema\":\"fare.tariffs/2\"}", "schema: expected \"fare.tariffs/1\""},
        {"{\"tariffs\":[]}", "schema: expected \"fare.tariffs/1\""},
        {"{\"schema\":\"fare.tariffs/1\",\"tariffs\":[{}]}",
         "tariffs[0]: expected an id and a provider"},
        {"{\"schema\":\"fare.tariffs/"
         "1\",\"tariffs\":[{\"id\":\"a\",\"provider\":\"p\"},{\"id\":\"a\","
         "\"provider\":\"p\"}]}",
         "tariffs[1]: 'a' appears twice"},
        {ONE("\"rate\":\"-1\""),
         "tariff 'x', rate: expected an amount such as 0.526, not below zero"},
        {ONE("\"rate\":\"1e400\""),
         "tariff 'x', rate: expected an amount such as 0.526, not below zero"},
        {ONE("\"rate\":0.5"), "tariffs[0]: rate: expected a text"},
        {ONE("\"storage_rate\":\"NaN\""),
         "tariff 'x', storage_rate: expected an amount such as 0.526, not below zero"},
        {ONE("\"unit_ms\":-1"), "tariff 'x', unit_ms: expected a number that makes sense there"},
        {ONE("\"unit_ms\":1.5"), "tariffs[0]: unit_ms: expected an integer"},
        {ONE("\"per_s\":0"), "tariff 'x', per_s: expected a number that makes sense there"},
        {ONE("\"decimals\":10"), "tariff 'x', decimals: expected a number that makes sense there"},
        {ONE("\"kind\":\"sometimes\""), "tariff 'x', kind: expected on-demand, spot or monthly"},
        {ONE("\"rounding\":\"off\""), "tariff 'x', rounding: expected up, nearest or down"},
        {ONE("\"valid_from\":\"2017-02-30\""),
         "tariff 'x', valid_from: expected a date such as 2017-10-02"},
        {ONE("\"valid_to\":\"2017\""), "tariff 'x', valid_to: expected a date such as 2017-10-02"},
        {ONE("\"valid_from\":\"2017-10-02\",\"valid_to\":\"2017-10-02\""),
         "tariff 'x', valid_to: expected a date after valid_from"},
        {ONE("\"tiers\":[{\"upto_permille\":500,\"percent\":80},{\"upto_permille\":500,\"percent\":"
             "1}]"),
         "tariff 'x', tiers: expected ascending upto_permille up to 1000, and a percent each"},
        {ONE("\"storage_steps\":[{\"gb\":0}]"),
         "tariff 'x', storage_steps: expected ascending sizes"},
        {ONE("\"minimum_amount\":\"-0.01\""),
         "tariff 'x', minimum_amount: expected an amount such as 0.526, not below zero"},
        {ONE("\"storage_stopped_rate\":\"much\""),
         "tariff 'x', storage_stopped_rate: expected an amount such as 0.526, not below zero"},
        {ONE("\"clock_units\":true,\"unit_ms\":7000"),
         "tariff 'x', unit_ms: expected with clock_units, whole seconds that divide a day"},
        {ONE("\"clock_units\":true,\"unit_ms\":0"),
         "tariff 'x', unit_ms: expected with clock_units, whole seconds that divide a day"},
        {ONE("\"clock_units\":true,\"storage_unit_ms\":2592000000"),
         "tariff 'x', storage_unit_ms: expected with clock_units, whole seconds that divide a day"},
        {ONE("\"clock_units\":true,\"rounding\":\"down\""),
         "tariff 'x', rounding: expected up, with clock_units"},
        {ONE("\"storage_calendar_month\":true,\"storage_month_s\":2628000"),
         "tariff 'x', storage_month_s: expected none beside storage_calendar_month"},
        {ONE("\"egress_steps\":[{\"upto_gb\":10,\"rate\":\"1\"}]"),
         "tariff 'x', egress_rate: expected the price past the last of egress_steps"},
        {ONE("\"egress_rate\":\"1\",\"egress_steps\":[{\"upto_gb\":10}]"),
         "tariff 'x', egress_steps: expected ascending upto_gb, and a rate each"},
        {ONE("\"egress_rate\":\"1\",\"egress_steps\":[{\"upto_gb\":10,\"rate\":\"-1\"}]"),
         "tariff 'x', egress_steps: expected ascending upto_gb, and a rate each"},
        {ONE("\"egress_rate\":\"1\",\"egress_steps\":[{\"upto_gb\":9223372036854775807,"
             "\"rate\":\"1\"}]"),
         "tariff 'x', egress_steps: expected ascending upto_gb, and a rate each"},
        {ONE("\"regions\":[{\"percent\":150}]"),
         "tariff 'x', regions: expected a region and a percent from 1 to 1000 each"},
        {ONE("\"regions\":[{\"region\":\"us\",\"percent\":0}]"),
         "tariff 'x', regions: expected a region and a percent from 1 to 1000 each"},
        {ONE("\"tiers\":[{\"upto\":500}]"), "tariffs[0]: tiers[0]: 'upto' is not known"},
        {ONE("\"minimum\":60"), "tariffs[0]: 'minimum' is not known"},
        {ONE("\"rate\":\"1\",\"rate\":\"2\""), "tariffs[0]: rate: duplicate key"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *folder = folder_new();
        char expected[1024];
        const char *path = folder_put(folder, "bad.json", cases[i].text);
        struct tariff_book *book;
        struct err err = {0};
        assert_int_equal(tariff_book_read(&book, folder, NULL, &err), ERR_FORMAT);
        assert_null(book);
        snprintf(expected, sizeof expected, "'%s': ", path);
        if (strncmp(err.text, expected, strlen(expected)) != 0 || !strstr(err.text, cases[i].error))
            fail_msg("%s\n  said: %s\n  not:  %s", cases[i].text, err.text, cases[i].error);
    }
}

TEST(where_files_are)
{
    struct buf path = {0};
    struct err err = {0};
    setenv("XDG_CONFIG_HOME", "/c", 1);
    assert_ok(files_own("rates.csv", &path, &err), &err);
    assert_string_equal(buf_str(&path), "/c/fare/rates.csv");
    buf_reset(&path);
    setenv("XDG_CONFIG_HOME", "relative", 1); // is to be ignored
    setenv("HOME", "/h", 1);
    assert_ok(files_own("rates.csv", &path, &err), &err);
    assert_string_equal(buf_str(&path), "/h/.config/fare/rates.csv");
    buf_reset(&path);
    unsetenv("HOME");
    assert_ok(files_own("rates.csv", &path, &err), &err);
    assert_string_equal(buf_str(&path), "");
    assert_ok(files_shipped("providers", &path, &err), &err);
    assert_non_null(strstr(buf_str(&path), "/share/providers"));
    buf_release(&path);
}
