// SPDX-License-Identifier: Apache-2.0
// Sums, invoices and budgets with every allocation failing in turn.
#include <stdio.h>
#include <unistd.h>

#include "oom.h"

#include "ledger/import.h"
#include "bill/again.h"
#include "bill/market.h"
#include "record/run.h"
#include "advise/spend/budget.h"
#include "advise/spend/spend.h"

static char path[] = "/tmp/fare-spend-XXXXXX";

static const char *const records[] = {
    "{\"id\":\"a\",\"started\":\"2026-10-05T10:00:00Z\",\"user\":\"ann\",\"host\":\"n1\","
    "\"project\":\"p\","
    "\"spent\":{\"usd\":\"1.5\",\"resource\":\"i-1\",\"offer\":\"aws/"
    "x@r\"},\"phases\":{\"wall_ns\":3600000000000}}",
    "{\"id\":\"b\",\"started\":\"2026-10-05T10:30:00Z\",\"user\":\"sha256:0123456789abcdef\","
    "\"phases\":{\"wall_ns\":1000000000}}",
};

static const char invoice[] =
    "BilledCost,BillingCurrency,ChargePeriodStart,ChargePeriodEnd,ChargeCategory,ResourceId,Tags\n"
    "2,USD,2026-10-05T10:00:00Z,2026-10-05T11:00:00Z,Usage,arn:x/i-1,\"{\"\"a\"\": \"\"b\"\"}\"\n"
    "1,USD,2026-10-05T10:00:00Z,2026-10-05T11:00:00Z,Tax,,\n";

static int put_charge(void *arg, struct ledger_charge *charge, struct err *err)
{
    enum charge_change change;
    return ledger_charge_put(arg, charge, &change, err);
}

static int fill(struct ledger *ledger, struct err *err)
{
    bool added;
    const struct ledger_budget budget = {"project", "", "total", "USD", 1000000000};
    TRY(ledger_import_begin(ledger, err));
    int rc = 0;
    for (size_t i = 0; i < sizeof records / sizeof *records && rc == 0; i++)
        rc = ledger_import_add(ledger, records[i], strlen(records[i]), &added, err);
    if (rc == 0)
        rc =
            importer_focus.read_charges("i.csv", invoice, strlen(invoice), put_charge, ledger, err);
    if (rc != 0) {
        ledger_import_abandon(ledger);
        return rc;
    }
    TRY(ledger_import_end(ledger, err));
    return ledger_budget_set(ledger, &budget, err);
}

static void filling(void **state)
{
    (void)state;
    OOM_EACH
    {
        struct err err = {0};
        struct ledger *ledger = NULL;
        unlink(path);
        int rc = ledger_new(&ledger, path, &err);
        if (rc == 0)
            rc = fill(ledger, &err);
        ledger_free(ledger);
        // Giving cached memory back at the end may fail: the import stands.
        if (rc != 0)
            OOM_EXPECT(rc, &err);
    }
}

static void summing(void **state)
{
    (void)state;
    static const enum spend_key keys[] = {SPEND_USER, SPEND_MONTH};
    const struct spend_options options = {.keys = keys, .key_count = 2, .currency = "USD"};
    const struct ledger_filter all = {0};
    OOM_EACH
    {
        struct err err = {0};
        struct desk desk;
        struct ledger *ledger = NULL;
        struct spending spending = {0};
        struct spending_row row = {0};
        int rc = desk_open(&desk, path, NULL, &err);
        if (rc == 0)
            rc = desk_ledger(&desk, &ledger, &err);
        if (rc == 0)
            rc = spend_sum(ledger, desk.market, &all, &options, &spending, &err);
        if (rc == 0)
            rc = spend_of_run(ledger, desk.market, "a", &row, &err);
        if (rc == 0) {
            assert_int_equal(spending.rows.count, 2);
            assert_string_equal(money_exact(spending.total.usd).s, "1.50");
            assert_string_equal(money_exact(row.difference_usd).s, "0.50");
        }
        record_release(spending_fields, &spending);
        record_release(spending_row_fields, &row);
        desk_close(&desk);
        OOM_EXPECT(rc, &err);
    }
}

static void budgeting(void **state)
{
    (void)state;
    const struct budget_whose whose = {.project = "p", .user = "ann"};
    OOM_EACH
    {
        struct err err = {0};
        struct desk desk;
        struct ledger *ledger = NULL;
        struct budgets budgets = {0};
        int rc = desk_open(&desk, path, NULL, &err);
        if (rc == 0)
            rc = desk_ledger(&desk, &ledger, &err);
        if (rc == 0)
            rc = budget_states(ledger, desk.market, &whose, &budgets, &err);
        if (rc == 0)
            assert_string_equal(money_exact(budgets.budgets.items[0].left).s, "-0.50");
        record_release(budgets_fields, &budgets);
        desk_close(&desk);
        OOM_EXPECT(rc, &err);
    }
}

// A record whose cost was false: it is right, or refused, never without its cost.
static void again(void **state)
{
    (void)state;
    static const char old[] =
        "{\"schema\":\"fare.run/1\",\"phases\":{\"boot_ns\":9,\"wall_ns\":1000000000},"
        "\"spent\":{\"usd\":\"2\",\"usd_per_hour\":\"3.6\"}}";
    run_correct_costs(run_cost_again);
    OOM_EACH
    {
        struct err err = {0};
        struct buf out = {0};
        int rc = run_correct(old, sizeof old - 1, &out, &err);
        assert_true(rc != 0 || strstr(buf_str(&out), "\"usd\":\"0.001\""));
        buf_release(&out);
        OOM_EXPECT(rc, &err);
    }
    run_correct_costs(NULL);
}

int main(void)
{
    json_set_alloc_funcs(malloc, free); // through the wrappers
    int fd = mkstemp(path);
    if (fd >= 0)
        close(fd);
    setenv("XDG_DATA_HOME", "/nonexistent", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(filling), cmocka_unit_test(summing),
                                       cmocka_unit_test(budgeting), cmocka_unit_test(again)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
