// SPDX-License-Identifier: Apache-2.0
// A quote and its advice with each allocation failing in turn; and devices.
#include "oom.h"

#include "advise/quote_job.h"
#include "book/small_share.h"
#include "record/read.h"

static const char run_text[] =
    "{\"id\":\"a\",\"workload\":\"mlp\",\"taints\":[\"heat\"],\"machine\":{\"gpu\":\"Tesla "
    "V100-SXM2-"
    "16GB\",\"gpus\":1,\"provider\":\"aws\",\"instance_type\":\"p3.2xlarge\"},\"use\":{\"gpus\":1,"
    "\"gpu_list\":[{\"name\":\"Tesla "
    "V100-SXM2-16GB\",\"memory_peak_bytes\":1000}]},\"projection\":{"
    "\"wall_s\":3000,\"low_s\":2900,\"high_s\":3100,\"train_s\":2000,\"assumption\":true}}";

struct fixture {
    struct run run;
    struct quote_evidence evidence[1];
    struct market *market;
    struct quote_ask ask;
};

static void begin(struct fixture *x)
{
    struct err err = {0};
    memset(x, 0, sizeof *x);
    assert_ok(record_from_text(run_fields, run_text, strlen(run_text), &x->run, &err), &err);
    assert_ok(market_open(&x->market, "-", NULL, &err), &err);
    x->evidence[0].run = &x->run;
    x->ask = (struct quote_ask){
        .evidence = x->evidence,
        .evidence_count = 1,
        .asked = true,
        .market = x->market,
        .startup = {.boot_ns = {1000000000, true}},
        .wishes = {.storage_gb = 10, .ingress_bytes = 5, .hour_of_mine = {5, true}},
        .max_age = 100000};
}

static void end(struct fixture *x)
{
    record_release(run_fields, &x->run);
    market_close(x->market);
}

static void quotes(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x);
    // Tables that the first pass opened stay open, which moves the later allocations forward and
    // may skip some of them; the second pass misses none.
    for (int pass = 0; pass < 2; pass++)
        OOM_EACH
        {
            struct quote quote = {0};
            struct err err = {0};
            int rc = quote_make(&x.ask, &quote, &err);
            size_t count = quote.bills.count;
            record_release(quote_fields, &quote);
            OOM_EXPECT(rc, &err);
            if (rc == 0)
                assert_true(count > 5);
        }
    end(&x);
}

static void estimates(void **state)
{
    (void)state;
    const enum offer_kind kind = OFFER_ON_DEMAND;
    struct fixture x;
    begin(&x);
    x.ask.estimates = true;
    x.ask.most_estimates = 2;
    x.ask.kind = &kind; // of spot machines a third has a bill, the first that is no lower bound
    x.ask.provider = "gcp";
    x.ask.gpu = "T4";
    OOM_EACH
    {
        struct quote quote = {0};
        struct err err = {0};
        struct buf text = {0};
        const struct bill **rows = NULL;
        int rc = quote_make(&x.ask, &quote, &err);
        if (rc == 0)
            rc = (rows = quote_rows(&quote, &err)) ? 0 : ERR_MEMORY;
        if (rc == 0)
            rc = quote_explain(&x.ask, "gcp/n1-standard-8+1xT4", &text, &err);
        if (rc == 0)
            rc = buf_check(&text, &err);
        size_t count = quote.estimates.count;
        free(rows);
        buf_release(&text);
        record_release(quote_fields, &quote);
        OOM_EXPECT(rc, &err);
        if (rc == 0)
            assert_int_equal(count, 2);
    }
    end(&x);
}

static void advice(void **state)
{
    (void)state;
    struct fixture x;
    struct quote quote = {0};
    struct err why = {0};
    const struct advice_wishes wishes = {.deadline_ns = {INT64_C(3600000000000), true},
                                         .budget = {INT64_C(1000000000), true},
                                         .use_ns_a_month = INT64_C(36000000000000),
                                         .runs = 5,
                                         .buy = true,
                                         .own = {.purchase = INT64_C(2500000000000),
                                                 .life_months = 36,
                                                 .use_s_a_month = 720 * 3600,
                                                 .busy_mw = 300000,
                                                 .idle_mw = -1,
                                                 .kwh = INT64_C(300000000)}};
    begin(&x);
    assert_ok(quote_make(&x.ask, &quote, &why), &why);
    OOM_EACH
    {
        struct err err = {0};
        int rc = advice_make(&x.ask, &wishes, &quote, &err);
        for (size_t i = 0; i < quote.advice.count; i++)
            free(quote.advice.items[i]);
        free(quote.advice.items);
        memset(&quote.advice, 0, sizeof quote.advice);
        OOM_EXPECT(rc, &err);
    }
    record_release(quote_fields, &quote);
    end(&x);
}

static void given_times(void **state)
{
    (void)state;
    struct fixture x;
    const struct quote_given given = {
        .low_ns = 340000000, .high_ns = 360000000, .steps = 60000, .gpu = "v100", .gpus = 1};
    begin(&x);
    for (int named = 0; named < 2; named++)
        OOM_EACH
        {
            struct err err = {0};
            struct quote_job job = {.ask = {.market = x.market,
                                            .max_age = 100000,
                                            .offer = named ? "p3.2xlarge" : NULL},
                                    .wishes.own.busy_mw = -1};
            int rc = quote_load_given(&job, &given, &err);
            if (rc == 0)
                rc = quote_assemble(&job, &err);
            if (rc == 0)
                assert_true(job.quote.bills.count >= (named ? 1 : 5));
            quote_release(&job);
            OOM_EXPECT(rc, &err);
        }
    end(&x);
}

static void rates_that_fit_nothing(void **state)
{
    (void)state;
    struct fixture x;
    char dir[600];
    static const char text[] = "provider,offer,discount_percent,credit,rate,currency,from,to\n"
                               "aws,nothing,5,,,,,\n";
    const char *home = folder_new();
    snprintf(dir, sizeof dir, "%s/fare", home);
    assert_int_equal(mkdir(dir, 0700), 0);
    folder_put(dir, "rates.csv", text);
    assert_int_equal(setenv("XDG_CONFIG_HOME", home, 1), 0);
    begin(&x);
    OOM_EACH
    {
        struct err err = {0};
        struct quote_job job = {.ask = x.ask};
        int rc = quote_check_rates(&job, &err);
        if (rc == 0)
            assert_non_null(strstr(buf_str(&job.says), "line 2"));
        buf_release(&job.says);
        OOM_EXPECT(rc, &err);
    }
    end(&x);
}

static void device_table(void **state)
{
    (void)state;
    OOM_EACH
    {
        struct devices *devices = NULL;
        struct err err = {0};
        int rc = devices_open(&devices, &err);
        devices_close(devices);
        OOM_EXPECT(rc, &err);
    }
}

int main(void)
{
    small_share(SHARE,
                (const char *const[]){"V100", "p3.2xlarge", "n1-standard-8+1xT4", "T4,", NULL});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes),
        cmocka_unit_test(estimates),
        cmocka_unit_test(advice),
        cmocka_unit_test(given_times),
        cmocka_unit_test(rates_that_fit_nothing),
        cmocka_unit_test(device_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
