// SPDX-License-Identifier: Apache-2.0
// A spot price's history, read and described with every allocation failing once.
#include "oom.h"

#include "book/scratch.h"
#include "advise/spot/history.h"

#define HEAD "timestamp,availability_zone,instance_type,spot_price\n"
static const char text[] = HEAD "2026-03-01T00:00:10Z,us-east-1a,g5.xlarge,0.4\n"
                                "2026-03-09T00:00:00Z,us-east-1a,g5.xlarge,0.5\n"
                                "2026-03-04T00:00:00Z,us-east-1b,g5.xlarge,0.6\n"
                                "2026-03-20T00:00:00Z,us-east-1b,g5.xlarge,0.3\n";

static char path[64];

static int import_once(struct err *err)
{
    struct importing *m = NULL;
    struct import_report report;
    struct stock_counts counts;
    const struct price_import_options options = {.book = path, .day = DAY};
    char from[128];
    snprintf(from, sizeof from, "%s.csv", path);
    int rc = importing_begin(&m, &options, err);
    if (rc == 0)
        rc = importing_file(m, from, NULL, &report, err);
    if (rc == 0)
        rc = importing_commit(m, &counts, err);
    importing_free(m);
    return rc;
}

static void describing(void **state)
{
    (void)state;
    struct err err = {0};
    char from[128], lock[128];
    snprintf(path, sizeof path, "/tmp/fare-oom-spot-%d", (int)getpid());
    snprintf(from, sizeof from, "%s.csv", path);
    snprintf(lock, sizeof lock, "%s.lock", path);
    assert_ok(fs_write(from, text, strlen(text), &err), &err);
    OOM_EACH // the second time there is a series to join
    {
        struct err why = {0};
        int rc = import_once(&why);
        OOM_EXPECT(rc, &why);
    }
    struct market *market = NULL;
    struct offer offer;
    assert_ok(market_open(&market, path, NULL, &err), &err);
    assert_ok(market_find(market, "aws/g5.xlarge@us-east-1a:spot", DAY, &offer, &err), &err);
    const struct currencies *currencies;
    assert_ok(market_currencies(market, &currencies, &err), &err);
    OOM_EACH
    {
        struct err why = {0};
        struct spot_prices record = {0};
        struct offer_record holder = {0};
        const struct spot_view ask = {.place = "us-east-1", .under = -1, .plot = 5};
        int rc = spot_describe(market, &offer, &ask, &record, &why);
        if (rc == 0)
            assert_int_equal(record.zones.count, 2);
        holder.spot = record;
        record_release(offer_record_fields, &holder);
        OOM_EXPECT(rc, &why);
    }
    market_close(market);
    unlink(path);
    unlink(from);
    unlink(lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(describing)};
    return cmocka_run_group_tests(tests, use_share, NULL);
}
