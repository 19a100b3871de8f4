// SPDX-License-Identifier: Apache-2.0
// A user's own rates, and what starting by the clock costs: which row holds, what is refused.
#include "book/folder.h"

#include "amounts.h"
#include "tables/extras.h"

#define HEAD "provider,offer,discount_percent,credit,rate,currency,from,to\n"

TEST(which_row)
{
    struct rates *rates;
    struct err err = {0};
    const char *path = folder_put(folder_new(), "rates.csv",
                                  HEAD "aws,p4d.*,,,20.5,EUR,,\n"
                                       "aws,,12.5,300,,,2026-01-01,2027-01-01\n"
                                       "aws,p4d.24xlarge:spot,,,9.99,,,\n"
                                       "gcp,,5,,,,,\n"
                                       "gcp,,7,,,,,\n");
    assert_ok(rates_open(&rates, path, &err), &err);
    const struct rates_row *row = rates_find(rates, "aws", "p4d.24xlarge", day("2026-06-01"));
    assert_int_equal(row->rate, nano("20.5"));
    assert_string_equal(row->currency, "EUR");
    assert_int_equal(row->discount_permille, 0);
    row = rates_find(rates, "aws", "p4d.24xlarge:spot", day("2026-06-01"));
    assert_int_equal(row->rate, nano("9.99"));
    assert_string_equal(row->currency, "USD");
    row = rates_find(rates, "aws", "p2.xlarge", day("2026-01-01"));
    assert_int_equal(row->rate, -1);
    assert_int_equal(row->discount_permille, 125);
    assert_int_equal(row->credit, nano("300"));
    assert_null(rates_find(rates, "aws", "p2.xlarge", day("2025-12-31")));
    assert_null(rates_find(rates, "aws", "p2.xlarge", day("2027-01-01")));
    assert_null(rates_find(rates, "azure", "p2.xlarge", 0));
    assert_int_equal(rates_find(rates, "gcp", "n1-standard-1", 0)->discount_permille, 70);
    rates_close(rates);
    rates_close(NULL);
    assert_ok(rates_open(&rates, "/nonexistent/rates.csv", &err), &err);
    assert_null(rates_find(rates, "aws", "x", 0));
    rates_close(rates);
}

TEST(malformed)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"provider,offer\n", "discount_percent"},
        {"provider,offer,discount_percent,credit,rate,currency,from,to,credits\na,,,,,,,,5\n",
         "rates.csv has an unknown column 'credits'"},
        {HEAD ",,,,,,,\n", "line 2, column 'provider': expected a value"},
        {HEAD "a,,101,,,,,\n",
         "line 2, column 'discount_percent': '101' is out of range: expected 0 to 100"},
        {HEAD "a,,-1,,,,,\n", "column 'discount_percent'"},
        {HEAD "a,,1.25,,,,,\n",
         "column 'discount_percent': expected per cent from 0 to 100, such as 12.5"},
        {HEAD "a,,nan,,,,,\n", "column 'discount_percent'"},
        {HEAD "a,,,-5,,,,\n", "column 'credit': '-5' is out of range: expected 0 to"},
        {HEAD "a,,,,1e400,,,\n", "column 'rate'"},
        {HEAD "a,,,,-0.1,,,\n", "column 'rate'"},
        {HEAD "a,,,,1,Euro,,\n", "column 'currency': expected a currency such as EUR"},
        {HEAD "a,,,,1,,yesterday,\n", "column 'from': expected a date such as 2026-01-31"},
        {HEAD "a,,,,1,,2026-01-02,2026-01-02\n", "column 'to': expected a date after 'from'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rates *rates;
        struct err err = {0};
        const char *path = folder_put(folder_new(), "rates.csv", cases[i].text);
        assert_int_equal(rates_open(&rates, path, &err), ERR_FORMAT);
        assert_null(rates);
        if (!strstr(err.text, cases[i].error) || !strstr(err.text, path))
            fail_msg("%s: %s", cases[i].text, err.text);
    }
}

#define COLUMNS                                                                                    \
    "provider,from,disk_rate,free_disk_gb,rules,rule_rate,free_rules,function_ms,function_rate,"   \
    "function_unit_ms,free_function_ms,fixed_server,source\n"

TEST(by_the_clock)
{
    struct schedulings *table;
    struct err err = {0};
    assert_ok(schedulings_open(&table, SHARE "/scheduling.csv", "", &err), &err);
    struct scheduling s = scheduling_find(table, "gcp", day("2018-11-01"));
    assert_int_equal(s.disk_rate, nano("0.04"));
    assert_int_equal(s.rules, 2);
    assert_int_equal(s.function_rate, 463);
    assert_int_equal(strncmp(s.source, "2018-11-01: ", 12), 0);
    s = scheduling_find(table, "nobody", 0);
    assert_int_equal(s.disk_rate, -1);
    assert_null(s.source);
    schedulings_close(table);
    const char *own =
        folder_put(folder_new(), "scheduling.csv",
                   COLUMNS "gcp,2020-01-01,1,,,,,,,,,,a\ngcp,2022-01-01,2,,,,,,,,,,b\n");
    const struct {
        const char *date, *rate;
    } cases[] = {
        {"2019-01-01", "1"}, {"2020-01-01", "1"}, {"2021-12-31", "1"}, {"2022-01-01", "2"}};
    assert_ok(schedulings_open(&table, SHARE "/scheduling.csv", own, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s = scheduling_find(table, "gcp", day(cases[i].date));
        assert_int_equal(s.disk_rate, nano(cases[i].rate));
        assert_int_equal(s.rules, -1);
    }
    schedulings_close(table);
    own = folder_put(folder_new(), "scheduling.csv", COLUMNS "aws,2020-01-01,3,,,,,,,,,,a\n");
    assert_ok(schedulings_open(&table, SHARE "/scheduling.csv", own, &err), &err);
    assert_int_equal(scheduling_find(table, "aws", 0).disk_rate, nano("3"));
    assert_int_equal(scheduling_find(table, "gcp", 0).disk_rate, nano("0.04"));
    schedulings_close(table);
    static const struct {
        const char *row, *error;
    } bad[] = {
        {"gcp,never,,,,,,,,,,,a\n", "column 'from': expected a date such as 2026-01-31"},
        {"gcp,2020-01-01,-1,,,,,,,,,,a\n", "column 'disk_rate'"},
        {"gcp,2020-01-01,,x,,,,,,,,,a\n", "column 'free_disk_gb': 'x' is not a whole number"},
        {"gcp,2020-01-01,,,,,,,,0,,,a\n",
         "column 'function_unit_ms': '0' is out of range: expected 1 to"},
        {"gcp,2020-01-01,,,9999999999999,,,,,,,,a\n", "column 'rules'"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512];
        struct err why = {0};
        snprintf(text, sizeof text, COLUMNS "%s", bad[i].row);
        own = folder_put(folder_new(), "scheduling.csv", text);
        assert_int_equal(schedulings_open(&table, SHARE "/scheduling.csv", own, &why), ERR_FORMAT);
        assert_null(table);
        if (!strstr(why.text, bad[i].error))
            fail_msg("%s: %s", bad[i].row, why.text);
    }
}
