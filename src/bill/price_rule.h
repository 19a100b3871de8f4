// SPDX-License-Identifier: Apache-2.0
// price_rule: an offer's price, or what the user pays instead, put into its tariff's rule.
#ifndef FARE_BILL_PRICE_RULE_H
#define FARE_BILL_PRICE_RULE_H

#include "bill/bill.h"
#include "bill/rule.h"

struct price_rule {
    const struct tariff *tariff;
    bool assumed;                // the provider's rules are not known
    const struct rates_row *own; // (optional) the user's own rate, discount or credit
    int64_t committed;           // months of a commitment that is part of it; 0: none
    int64_t rate, per_s;         // what is paid for the time, in `paid_in`
    const char *paid_in;
    const char *fees_in; // where they were changed from another currency; else null
    struct rule rule;
    const char *currency; // of every amount in `rule`: that of the rate, or USD where the tariff's
                          // fees are in another one
};

int price_rule_make(const struct bill_context *context, const struct offer *offer,
                    struct price_rule *out, struct err *err) MUST_USE;

// What an hour of renting it costs in nano-USD to somebody who uses it so long a month: the rate,
// and the month's price or fee spread over that use. Units and minimums are left out.
int price_rule_hour(const struct bill_context *context, const struct offer *offer,
                    int64_t use_s_a_month, int64_t *usd, struct err *err) MUST_USE;

// How rates.csv calls it: "p4d.24xlarge", "p4d.24xlarge:spot".
void price_rule_name(const struct offer *offer, char *out, size_t size);

#endif
