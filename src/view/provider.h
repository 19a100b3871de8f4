// SPDX-License-Identifier: Apache-2.0
// provider: what a provider is like, as a record (record/provider.h) and a document (render/doc.h).
//
// Every figure comes from data: the book, the billing rules, the tables of start-up times, notices
// and images, and the runs of the ledger. What none of them says is listed as unknown. "For" and
// "Against" follow from the figures by the bounds below, and each point says from what.
#ifndef FARE_VIEW_PROVIDER_H
#define FARE_VIEW_PROVIDER_H

#include "base/units.h"
#include "bill/market.h"
#include "record/provider.h"
#include "render/doc.h"

enum {
    PROVIDER_FINE_MS = 60000,    // a unit of at most a minute, and
    PROVIDER_MINIMUM_S = 60,     // a minimum of at most this speak for it
    PROVIDER_READY_S = 120,      // so does a machine that is ready by then,
    PROVIDER_NOTICE_S = 60,      // notice of at least this,
    PROVIDER_SPREAD_PERCENT = 5, // and step times within ± this between runs; all else against it
};

// Whether the book has offers, or a rule, of a provider called so; case is ignored.
int provider_known(struct market *market, const char *name, bool *known, struct err *err) MUST_USE;

// Fills a zeroed record, which the caller releases in any case. `ledger` null: without your runs.
// ERR_MISSING if the book has neither offers nor a rule of such a provider.
int provider_make(struct market *market, struct ledger *ledger, const char *name,
                  struct provider *out, struct err *err) MUST_USE;

// `all`: also billing rules, images, remarks and sources. `link` (optional) is put before a GPU's
// name, escaped for addresses: "/gpu?name=".
void view_provider(struct doc *doc, const struct provider *provider, bool all, const char *link);

struct units_text provider_time(int64_t s); // "45 s", "1 min 41 s"

// The part about the runs of the ledger (provider_runs.c).
int provider_add_runs(struct ledger *ledger, struct provider *provider, struct err *err) MUST_USE;

#endif
