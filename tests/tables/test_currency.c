// SPDX-License-Identifier: Apache-2.0
#include "book/folder.h"

#include "amounts.h"
#include "tables/currency.h"

// 2.42 h at 0.08 EUR a minute are 11.616 EUR; published as $14.26.
TEST(shipped)
{
    struct currencies *c;
    struct err err = {0};
    int64_t usd;
    struct currency_rate rate;
    struct buf words = {0};
    assert_ok(currencies_read(&c, SHARE "/currencies.csv", NULL, &err), &err);
    assert_ok(currency_to_usd(c, "EUR", day("2018-02-15"), nano("11.616"), &usd, &rate, &err),
              &err);
    assert_int_equal(usd, nano("14.264448"));
    assert_int_equal(rate.usd, nano("1.228"));
    currency_words(&rate, true, &words);
    assert_int_equal(
        strncmp(buf_str(&words), "1.228 USD on 2018-02-01, derived from published figures", 55), 0);
    buf_reset(&words);
    assert_ok(currency_to_usd(c, "EUR", day("2026-11-15"), nano("1"), &usd, &rate, &err), &err);
    currency_words(&rate, false, &words);
    assert_string_equal(buf_str(&words), "OLD: 1.228 USD on 2018-02-01");
    buf_release(&words);
    assert_ok(currency_to_usd(c, "USD", 0, 7, &usd, &rate, &err), &err);
    assert_int_equal(usd, 7);
    assert_int_equal(rate.usd, nano("1"));
    assert_string_equal(rate.source, "");
    assert_int_equal(currency_to_usd(c, "XAU", 0, 1, &usd, NULL, &err), ERR_MISSING);
    assert_string_equal(err.text, "no exchange rate for the currency 'XAU'");
    currencies_close(c);
    currencies_close(NULL);
}

TEST(by_date)
{
    const char *folder = folder_new();
    char own[600];
    struct currencies *c;
    struct err err = {0};
    struct currency_rate rate;
    int64_t usd;
    snprintf(own, sizeof own, "%s",
             folder_put(folder, "own.csv", "source,usd,currency,date\nmine,2,GBP,2020-01-01\n"));
    const char *path = folder_put(folder, "shipped.csv",
                                  "date,currency,usd,source\r\n2020-03-01,EUR,1.1,b\r\n"
                                  "2020-01-01,EUR,1.0,a\r\n2020-01-01,GBP,1.3,a\r\n"
                                  "2020-03-01,EUR,1.15,corrected\r\n2020-05-01,EUR,1.2,c\r\n");
    assert_ok(currencies_read(&c, path, own, &err), &err);
    const struct {
        const char *currency, *date, *rate;
    } cases[] = {{"EUR", "2019-06-01", "1.0"},  {"EUR", "2020-01-01", "1.0"},
                 {"EUR", "2020-02-29", "1.0"},  {"EUR", "2020-03-01", "1.15"},
                 {"EUR", "2020-04-30", "1.15"}, {"EUR", "2030-01-01", "1.2"},
                 {"GBP", "2010-01-01", "2"},    {"GBP", "2020-02-01", "2"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(currency_to_usd(c, cases[i].currency, day(cases[i].date), 1, &usd, &rate, &err),
                  &err);
        assert_int_equal(rate.usd, nano(cases[i].rate));
    }
    // Rounded once, a half to the even neighbour: 1.15 × 10 = 11.5, 1.15 × 30 = 34.5.
    assert_ok(currency_to_usd(c, "EUR", day("2020-03-01"), 10, &usd, NULL, &err), &err);
    assert_int_equal(usd, 12);
    assert_ok(currency_to_usd(c, "EUR", day("2020-03-01"), 30, &usd, NULL, &err), &err);
    assert_int_equal(usd, 34);
    assert_int_equal(currency_to_usd(c, "GBP", 1, INT64_MAX, &usd, NULL, &err), ERR_OVERFLOW);
    currencies_close(c);
}

TEST(malformed)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"date,currency,usd\n", "source"},
        {"date,currency,usd,source\n2020-13-01,EUR,1,x\n",
         "line 2, column 'date': expected a date such as 2026-01-31"},
        {"date,currency,usd,source\n2020-01-01,eur,1,x\n",
         "line 2, column 'currency': expected a currency other than USD, such as EUR"},
        {"date,currency,usd,source\n2020-01-01,USD,1,x\n", "column 'currency'"},
        {"date,currency,usd,source\n2020-01-01,EUROS,1,x\n", "column 'currency'"},
        {"date,currency,usd,source\n2020-01-01,EUR,0,x\n",
         "line 2, column 'usd': '0' is out of range: expected more than 0"},
        {"date,currency,usd,source\n2020-01-01,EUR,-1,x\n", "column 'usd'"},
        {"date,currency,usd,source\n2020-01-01,EUR,1e400,x\n", "column 'usd'"},
        {"date,currency,usd,source\n2020-01-01,EUR,NaN,x\n", "column 'usd'"},
        {"date,currency,usd,source\n2020-01-01,EUR,1\n", "line 2"},
        {"date,currency,usd,source\n\"2020-01-01,EUR,1,x\n", "line 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct currencies *c;
        struct err err = {0};
        const char *path = folder_put(folder_new(), "currencies.csv", cases[i].text);
        assert_int_equal(currencies_read(&c, path, NULL, &err), ERR_FORMAT);
        assert_null(c);
        if (!strstr(err.text, cases[i].error) || !strstr(err.text, path))
            fail_msg("%s: %s", cases[i].text, err.text);
    }
    struct currencies *c;
    struct err err = {0};
    assert_int_equal(currencies_read(&c, "/nonexistent/a.csv", NULL, &err), ERR_MISSING);
    struct err none = {0};
    assert_ok(currencies_read(&c, NULL, "/nonexistent/a.csv", &none), &none);
    currencies_close(c);
}
