// SPDX-License-Identifier: Apache-2.0
// Estimates beside measured bills: one order for both, and how an estimate comes about.
#include <stdlib.h>

#include "advise/estimates.h"
#include "base/money.h"

int quote_explain(const struct quote_ask *ask, const char *offer, struct buf *out, struct err *err)
{
    struct proofs proofs = {0};
    struct estimates *estimates = NULL;
    const struct estimated *e = NULL;
    struct offer found;
    int rc = market_find(ask->market, offer, wishes_day(&ask->wishes), &found, err);
    if (rc == 0)
        rc = proofs_gather(&proofs, ask, err);
    if (rc == 0)
        rc = estimates_open(&estimates, &proofs, err);
    if (rc == 0)
        rc = estimates_find(estimates, &found, &e, err);
    if (rc == 0 && e)
        estimated_explain(e, out);
    else if (rc == 0)
        buf_adds(out,
                 "no estimate: the offer has no whole GPU, and no processor that is known and was "
                 "used by a run\n");
    estimates_close(estimates);
    free(proofs.items);
    return rc;
}

// An estimate comes first only if it is cheaper for sure.
static bool surely_cheaper(const struct bill *estimate, const struct bill *measured)
{
    int64_t high = bill_total(estimate), low = bill_total(measured);
    if (bill_doubtful(measured) != bill_doubtful(estimate))
        return bill_doubtful(measured);
    if (estimate->high && money_parse(estimate->high, &high, NULL) != 0)
        return false;
    if (measured->low && money_parse(measured->low, &low, NULL) != 0)
        return false;
    return high < low;
}

const struct bill **quote_rows(const struct quote *quote, struct err *err)
{
    size_t m = 0, e = 0, count = quote->bills.count + quote->estimates.count;
    const struct bill **rows = calloc(count + 1, sizeof *rows);
    if (!rows)
        err_memory(err);
    for (size_t i = 0; rows && i < count; i++) {
        bool estimate = m == quote->bills.count ||
                        (e < quote->estimates.count &&
                         surely_cheaper(&quote->estimates.items[e], &quote->bills.items[m]));
        rows[i] = estimate ? &quote->estimates.items[e++] : &quote->bills.items[m++];
    }
    return rows;
}
