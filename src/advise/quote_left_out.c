// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/quote_parts.h"
#include "base/clock.h"
#include "book/listing.h"

enum { EXAMPLES = 3, REASONS_MAX = 21, KINDS = 3 };

static int add_row(struct quote *quote, const char *name, const char *reason, const char *why,
                   struct err *err)
{
    size_t count = quote->misfits.count;
    if (count > 0 && strcmp(quote->misfits.items[count - 1].offer, name) == 0)
        return 0;
    struct quote_misfit *row = LIST_ADD(&quote->misfits, err);
    return row ? TEXTS_SET(err, {&row->offer, name}, {&row->reason, reason}, {&row->why, why})
               : ERR_MEMORY;
}

static int count_one(struct quote *quote, size_t at, const char *name, const char *reason,
                     const char *why, struct err *err)
{
    struct quote_left_out *group;
    if (at == quote->left_out.count) {
        group = LIST_ADD(&quote->left_out, err);
        TRY(group ? TEXTS_SET(err, {&group->reason, reason}, {&group->why, why}) : ERR_MEMORY);
        group->count = some_int(0);
    }
    group = &quote->left_out.items[at];
    group->count.v++;
    return group->examples.count < EXAMPLES ? texts_add(&group->examples, name, err) : 0;
}

int quote_leave_out(struct leaving *l, const struct offer *offer, const char *reason,
                    const char *why, bool listed, struct err *err)
{
    struct quote *quote = l->quote;
    struct buf name = {0};
    size_t at = 0;
    if (!l->name || strcmp(l->name, offer->name) != 0 ||
        strcmp(l->provider, offer->provider) != 0) {
        l->provider = offer->provider;
        l->name = offer->name;
        l->seen = 0;
    }
    while (at < quote->left_out.count && strcmp(quote->left_out.items[at].reason, reason) != 0)
        at++;
    assert(at < REASONS_MAX);
    uint64_t bit = UINT64_C(1) << (at * KINDS + offer->kind);
    bool counted = l->seen & bit;
    listed = listed && quote->misfits.count < l->most;
    if (counted && !listed)
        return 0;
    l->seen |= bit;
    book_name(offer, &name);
    int rc = buf_check(&name, err);
    if (rc == 0 && !counted)
        rc = count_one(quote, at, buf_str(&name), reason, why, err);
    if (rc == 0 && listed)
        rc = add_row(quote, buf_str(&name), reason, why, err);
    buf_release(&name);
    return rc;
}

const char *quote_too_late(int64_t ends_s, double time_s, char why[EVIDENCE_WHY])
{
    char end[48], time[48];
    if (ends_s == 0 || time_s <= (double)ends_s)
        return NULL;
    clock_words(ends_s * NS_PER_S, end, sizeof end);
    clock_words((int64_t)fmin(time_s * 1e9, (double)BILL_LONGEST_NS), time, sizeof time);
    snprintf(why, EVIDENCE_WHY, "ends after %s at the latest, the training takes %s", end, time);
    return "ends before the training does";
}

const char *quote_not_offered(const struct offer *offer, int day, char why[EVIDENCE_WHY])
{
    char end[12];
    if (!offer_retired(offer, day))
        return NULL;
    offer_date(offer->valid_to, end);
    snprintf(why, EVIDENCE_WHY, "the provider ended it on %s", end);
    return "retired";
}

const char *quote_cannot_run(const struct device *device, int day, char why[EVIDENCE_WHY])
{
    if (device && !device_trains(device, day)) {
        snprintf(why, EVIDENCE_WHY, "no framework of that day has kernels for the %.60s",
                 device->name);
        return "no framework for the GPU";
    }
    if (!device || strcmp(device->host_isa, "arm64") != 0)
        return NULL;
    snprintf(why, EVIDENCE_WHY,
             "its host is an ARM processor: programs for x86-64, such as fare's bundle, do not run "
             "there");
    return "ARM host";
}
