// SPDX-License-Identifier: Apache-2.0
// The record of who spent what, printed by `fare runs --by` and `fare runs --budgets`. Amounts are
// in USD unless the name says otherwise.
#ifndef FARE_RECORD_SPENDING_H
#define FARE_RECORD_SPENDING_H

#include "record/field.h"

#define SPENDING_SCHEMA "fare.spending/1"
#define BUDGETS_SCHEMA  "fare.budgets/1"

#include "record/spending.def"

static inline void spending_release(struct spending *record)
{
    record_release(spending_fields, record);
}

static inline void budgets_release(struct budgets *record)
{
    record_release(budgets_fields, record);
}

#endif
