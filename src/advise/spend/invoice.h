// SPDX-License-Identifier: Apache-2.0
// invoice: which lines of invoices (ledger/spend.h) are for which uses of machines.
//
// A line belongs to the first of these that exists:
// 1. the run that its tag "fare_run" or "run" names;
// 2. the uses of its resource, by the provider's id or by the host's name, during its time;
// 3. the uses of a machine of its provider, type and region during its time, unless both name
//    resources.
// If there are several uses, they share its amount by the time that they overlap with it. So a run
// also carries the time in which its machine was on without running anything else.
#ifndef FARE_ADVISE_SPEND_INVOICE_H
#define FARE_ADVISE_SPEND_INVOICE_H

#include "record/spending.h"
#include "advise/spend/use.h"

struct invoice;

// Loads the lines that end after `since` (null: all). `*out` stays null if there are none. Amounts
// are converted to USD at the rate of the day on which their time began; ERR_MISSING if there is no
// rate.
int invoice_load(struct invoice **out, struct ledger *ledger, struct market *market,
                 const char *since, struct err *err) MUST_USE;
void invoice_free(struct invoice *invoice); // null is fine

// Notes a use; `group` is the caller's. All uses must be noted, so that those on one machine share
// its lines; the caller does not ask about INVOICE_OTHERS.
#define INVOICE_OTHERS SIZE_MAX
int invoice_note(struct invoice *invoice, const struct use *use, size_t group,
                 struct err *err) MUST_USE;

// After all uses: assigns the lines, and fills the members of `out` that are about invoices.
int invoice_match(struct invoice *invoice, struct spending *out, struct err *err) MUST_USE;

// Then: visits the uses that have a line.
struct invoice_share {
    size_t group;
    int64_t billed, effective; // nano-USD
    int64_t predicted;         // below 0: unknown
};
typedef int invoice_share_fn(void *arg, const struct invoice_share *share, struct err *err);
int invoice_each(const struct invoice *invoice, invoice_share_fn *visit, void *arg,
                 struct err *err) MUST_USE;

#endif
