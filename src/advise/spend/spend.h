// SPDX-License-Identifier: Apache-2.0
// spend: who spent what: bills summed by user, host, project, offer or month, and beside them what
// invoices charged.
//
//     enum spend_key keys[SPEND_KEYS];
//     rc = spend_keys_parse("project,month", keys, &count, err);
//     if (rc == 0)
//         rc = spend_sum(ledger, market, &filter, &options, &spending, err);
//     record_release(spending_fields, &spending);
//
// A plain name and its hash (record/run.h) are one user or host. Runs count in the month in which
// they started.
#ifndef FARE_ADVISE_SPEND_SPEND_H
#define FARE_ADVISE_SPEND_SPEND_H

#include "ledger/ledger.h"
#include "bill/market.h"
#include "record/spending.h"

enum spend_key { SPEND_USER, SPEND_HOST, SPEND_PROJECT, SPEND_OFFER, SPEND_MONTH, SPEND_KEYS };
extern const char *const spend_keys[]; // their names, null-terminated

// "project,month"; ERR_USAGE for another word, or one that is there twice.
int spend_keys_parse(const char *text, enum spend_key keys[SPEND_KEYS], size_t *count,
                     struct err *err) MUST_USE;

// The value of a key in a row; null: unknown.
const char *spend_value(const struct spending_row *row, enum spend_key key);

struct spend_options {
    const enum spend_key *keys;
    size_t key_count;     // 0: one row, the total
    const char *currency; // (optional) beside USD
};

// `out` is zeroed before and released by the caller. Rows are sorted: months with the newest first,
// a single other key by the largest cost, several by their values.
int spend_sum(struct ledger *ledger, struct market *market, const struct ledger_filter *filter,
              const struct spend_options *options, struct spending *out, struct err *err) MUST_USE;

// What invoices charged for one run and the starts it tells: sets only the members on invoices,
// none without a line for it. `started`: of the run.
int spend_of_run(struct ledger *ledger, struct market *market, const char *run,
                 struct spending_row *row, struct err *err) MUST_USE;

#endif
