// SPDX-License-Identifier: Apache-2.0
#include "advise/compare_local.h"

#include "advise/compare_parts.h"
#include "bill/local.h"

int compare_local_row(struct market *market, const char *currency, int day, struct compare_row *row,
                      struct err *err)
{
    struct buf words = {0};
    if (!currency || !row->cost.usd.known)
        return 0;
    TRY(text_set(&row->cost.local_currency, currency, err));
    TRY(local_money(market, currency, day, row->cost.usd, &row->cost.local, err));
    TRY(local_money(market, currency, day, row->cost.low_usd, &row->cost.local_low, err));
    TRY(local_money(market, currency, day, row->cost.high_usd, &row->cost.local_high, err));
    int rc = local_words(market, currency, day, &words, err);
    return rc == 0 ? text_take(&row->cost.exchange, &words, err) : (buf_release(&words), rc);
}

// An amount times mean ÷ usd, both of the whole row.
static int scale(struct maybe_money amount, int64_t mean, int64_t usd, struct maybe_money *out,
                 struct err *err)
{
    if (!amount.known || usd <= 0)
        return 0;
    TRY(money_scale(amount.nano, mean, usd, MONEY_HALF_EVEN, &out->nano, err));
    out->known = true;
    return 0;
}

int compare_local_group(struct market *market, const char *currency, const struct group *g,
                        struct compare_row *row, struct err *err)
{
    int64_t sum = 0, mean;
    bool one_day = true;
    if (!currency || !row->cost.usd.known)
        return 0;
    int first = g->parts.items[0].day;
    TRY(compare_local_row(market, currency, first, row, err));
    for (size_t i = 0; i < g->parts.count; i++) {
        const struct part *part = &g->parts.items[i];
        int64_t local = 0;
        TRY(local_amount(market, currency, part->day, part->cost, &local, err));
        if (local < 0 || !money_sum(&sum, local)) { // before the first rate, or more than fits
            row->cost.local = row->cost.local_low = row->cost.local_high = (struct maybe_money){0};
            return 0;
        }
        one_day &= part->day == first;
    }
    if (one_day)
        return 0;
    TRY(money_scale(sum, 1, (int64_t)g->parts.count, MONEY_HALF_EVEN, &mean, err));
    row->cost.local = some_money(mean);
    TRY(scale(row->cost.low_usd, mean, row->cost.nano_usd.v, &row->cost.local_low, err));
    TRY(scale(row->cost.high_usd, mean, row->cost.nano_usd.v, &row->cost.local_high, err));
    struct buf words = {0};
    buf_printf(&words, "%s; each run at the rate of its own day", row->cost.exchange);
    return text_take(&row->cost.exchange, &words, err);
}
