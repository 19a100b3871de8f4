// SPDX-License-Identifier: Apache-2.0
// spending: who spent what (record/spending.h), and budgets, as documents (render/doc.h); sums as
// CSV and OpenMetrics. Names may come from anyone and are escaped.
#ifndef FARE_VIEW_SPENDING_H
#define FARE_VIEW_SPENDING_H

#include "base/units.h"
#include "advise/spend/spend.h"
#include "render/doc.h"

// At most `most` rows are shown.
void view_spending(struct doc *doc, const struct spending *spending, size_t most);
void view_budgets(struct doc *doc, const struct budgets *budgets, size_t most);

// Only the table; `brief`: only the keys, runs and costs.
void view_sums(struct doc *doc, const struct spending *spending, size_t most, bool brief);

// One budget in a sentence.
void view_budget(struct doc *doc, const struct budget_state *state);

void spending_csv(struct buf *out, const struct spending *spending);

// Adds metrics of the team to such a text: runs, failures and hosts this month, spend by project
// (`month` is by project, `hosts` by host), and budgets.
void spending_openmetrics(struct buf *out, const struct spending *month,
                          const struct spending *hosts, const struct budgets *budgets);

// An amount for people: "12.40", "1,310.73"; "-" if it is unknown.
struct units_text spending_amount(struct maybe_money usd);
struct units_text spending_amount_in(struct maybe_money amount, const char *currency);

#endif
