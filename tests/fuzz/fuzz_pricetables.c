// SPDX-License-Identifier: Apache-2.0
// Any bytes as each of the small tables: currencies, a user's rates, scheduling. Whatever is
// accepted makes sense.
#include "table_input.h"

#include <assert.h>
#include <string.h>

#include "tables/currency.h"
#include "tables/extras.h"

static void as_currencies(const char *path)
{
    struct currencies *c = NULL;
    struct err err = {0};
    int64_t usd = 0;
    struct currency_rate rate = {0};
    int rc = currencies_read(&c, path, NULL, &err);
    assert(rc == err.code && (rc == 0) == (c != NULL));
    if (c && currency_to_usd(c, "EUR", 17600, 1000000000, &usd, &rate, &err) == 0)
        assert(rate.usd > 0 && usd == rate.usd && rate.source && *rate.source);
    currencies_close(c);
}

static void as_rates(const char *path)
{
    struct rates *r = NULL;
    struct err err = {0};
    int rc = rates_open(&r, path, &err);
    assert(rc == err.code && (rc == 0) == (r != NULL));
    const struct rates_row *row = r ? rates_find(r, "aws", "p4d.24xlarge", 20000) : NULL;
    if (row)
        assert(row->rate >= -1 && row->credit >= 0 && row->discount_permille >= 0 &&
               row->discount_permille <= 1000 && strlen(row->currency) == 3);
    rates_close(r);
}

static void as_scheduling(const char *path)
{
    struct schedulings *table = NULL;
    struct err err = {0};
    int rc = schedulings_open(&table, path, "", &err);
    assert(rc == err.code && (rc == 0) == (table != NULL));
    if (rc == 0) {
        struct scheduling s = scheduling_find(table, "gcp", 17600);
        assert(s.disk_rate >= -1 && s.rules >= -1 && s.function_unit_ms != 0);
    }
    schedulings_close(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct table_input in;
    if (!table_input_open(&in, data, size))
        return 0;
    as_currencies(in.path);
    as_rates(in.path);
    as_scheduling(in.path);
    table_input_close(&in);
    return 0;
}
