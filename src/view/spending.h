// SPDX-License-Identifier: Apache-2.0
// spending: who spent what (record/spending.h) as CSV, Markdown and OpenMetrics. Names may come
// from anyone and are escaped.
#ifndef FARE_VIEW_SPENDING_H
#define FARE_VIEW_SPENDING_H

#include "base/buf.h"
#include "advise/spend/spend.h"

void spending_csv(struct buf *out, const struct spending *spending);
void spending_markdown(struct buf *out, const struct spending *spending);

// Adds metrics of the team to such a text: runs, failures and hosts this month, spend by project
// (`month` is by project, `hosts` by host), and budgets.
void spending_openmetrics(struct buf *out, const struct spending *month,
                          const struct spending *hosts, const struct budgets *budgets);

// Appends what to know about the sums, in sentences: how many costs were computed again, which run
// is out of range. Nothing if there is neither.
void spending_remarks(const struct spending *spending, struct buf *out);

// An amount for people: "12.40", "1,310.73"; "-" if it is unknown.
struct spending_text {
    char s[64];
};
struct spending_text spending_amount(struct maybe_money usd);
struct spending_text spending_amount_in(struct maybe_money amount, const char *currency);
struct spending_text spending_time(double seconds); // "12.3 h"

#endif
