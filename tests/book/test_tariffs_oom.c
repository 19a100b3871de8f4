// SPDX-License-Identifier: Apache-2.0
// Tables of prices and rules with every allocation failing once.
#include "oom.h"

#include "base/buf.h"
#include "tables/currency.h"
#include "tables/rates.h"
#include "tables/scheduling.h"
#include "book/tariffs.h"

#define SHARE TESTS_DIR "/../share"

static void tariffs(void **state)
{
    (void)state;
    OOM_EACH
    {
        struct err err = {0};
        struct tariff_book *book = NULL;
        struct buf words = {0};
        int rc = tariff_book_read(&book, SHARE "/providers", NULL, &err);
        if (rc == 0) {
            const struct offer offer = {.provider = "aws", .kind = OFFER_SPOT};
            tariff_words(tariff_for(book, &offer, 20000, NULL), NULL, 0, &words);
            rc = buf_check(&words, &err);
        }
        tariff_book_close(book);
        buf_release(&words);
        OOM_EXPECT(rc, &err);
    }
}

static void currencies(void **state)
{
    (void)state;
    OOM_EACH
    {
        struct err err = {0};
        struct currencies *c = NULL;
        int64_t usd;
        int rc = currencies_read(&c, SHARE "/currencies.csv", NULL, &err);
        if (rc == 0)
            rc = currency_to_usd(c, "EUR", 17600, 1000, &usd, NULL, &err);
        currencies_close(c);
        OOM_EXPECT(rc, &err);
    }
}

static void rates(void **state)
{
    (void)state;
    OOM_EACH
    {
        struct err err = {0};
        struct rates *r = NULL;
        int rc = rates_open(&r, TESTS_DIR "/tables/rates.csv", &err);
        if (rc == 0)
            assert_non_null(rates_find(r, "aws", "p4d.24xlarge", 20000));
        rates_close(r);
        OOM_EXPECT(rc, &err);
    }
}

static void scheduling(void **state)
{
    (void)state;
    OOM_EACH
    {
        struct err err = {0};
        struct schedulings *s = NULL;
        int rc = schedulings_open(&s, SHARE "/scheduling.csv", "", &err);
        if (rc == 0)
            assert_non_null(scheduling_find(s, "gcp", 20000).source);
        schedulings_close(s);
        OOM_EXPECT(rc, &err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tariffs),
        cmocka_unit_test(currencies),
        cmocka_unit_test(rates),
        cmocka_unit_test(scheduling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
