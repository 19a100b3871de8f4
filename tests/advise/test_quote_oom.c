// SPDX-License-Identifier: Apache-2.0
// A quote and its advice with each allocation failing in turn; and devices.
#include "oom.h"

#include "advise/quote_job.h"
#include "price/folder.h"
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
    struct book *book;
    struct devices *devices;
    struct tariff_book *tariffs;
    struct currencies *currencies;
    struct quote_ask ask;
};

static void begin(struct fixture *x)
{
    struct err err = {0};
    memset(x, 0, sizeof *x);
    assert_ok(record_from_text(run_fields, run_text, strlen(run_text), &x->run, &err), &err);
    assert_ok(book_open(&x->book, "-", &err), &err);
    assert_ok(devices_open(&x->devices, &err), &err);
    assert_ok(tariff_book_open(&x->tariffs, &err), &err);
    assert_ok(currencies_open(&x->currencies, &err), &err);
    x->evidence[0].run = &x->run;
    x->ask = (struct quote_ask){.evidence = x->evidence,
                                .evidence_count = 1,
                                .asked = true,
                                .book = x->book,
                                .devices = x->devices,
                                .boot_ns = 1000000000,
                                .context = {.tariffs = x->tariffs,
                                            .currencies = x->currencies,
                                            .book = x->book,
                                            .storage_gb = 10,
                                            .ingress_bytes = 5,
                                            .hour_of_mine = {5, true}},
                                .max_age = 100000};
}

static void end(struct fixture *x)
{
    record_release(run_fields, &x->run);
    book_close(x->book);
    devices_close(x->devices);
    tariff_book_close(x->tariffs);
    currencies_close(x->currencies);
}

static void quotes(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x);
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

static void rates_that_fit_nothing(void **state)
{
    (void)state;
    struct fixture x;
    struct err why = {0};
    struct rates *rates;
    static const char text[] = "provider,offer,discount_percent,credit,rate,currency,from,to\n"
                               "aws,nothing,5,,,,,\n";
    begin(&x);
    const char *path = folder_put(folder_new(), "rates.csv", text);
    assert_ok(rates_open(&rates, path, &why), &why);
    OOM_EACH
    {
        struct err err = {0};
        struct quote_job job = {.book = x.book, .rates = rates};
        int rc = quote_check_rates(&job, &err);
        if (rc == 0)
            assert_non_null(strstr(buf_str(&job.says), "line 2"));
        buf_release(&job.says);
        OOM_EXPECT(rc, &err);
    }
    rates_close(rates);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes),
        cmocka_unit_test(advice),
        cmocka_unit_test(rates_that_fit_nothing),
        cmocka_unit_test(device_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
