// SPDX-License-Identifier: Apache-2.0
// The most promising offers of a quote that SkyPilot can rent.
#include <stdlib.h>
#include <string.h>

#include "advise/quote_job.h"
#include "fleet/queues.h"

// The run that a quote of the command would start from: the last one, if it ran the same.
static int check_command(const struct quote_job *job, char *const *command, struct err *err)
{
    const struct run *run = job->runs.count > 0 ? &job->runs.items[0] : NULL;
    size_t count = 0;
    while (command[count])
        count++;
    bool same = run && run->command.count == count;
    for (size_t i = 0; same && i < count; i++)
        same = strcmp(run->command.items[i], command[i]) == 0;
    if (same)
        return 0;
    err_set(err, ERR_MISSING, "--top: the last run was not of this command, so there is no quote");
    return err_hint(err, "measure a sample of it here first: fare run --sample -- %.80s ...",
                    command[0]);
}

static bool is_there(const struct places *places, size_t from, const struct offer *offer)
{
    for (size_t i = from; i < places->count; i++) {
        const struct sky_offer *own = places->items[i].own;
        size_t len = strlen(own->instance);
        if (strcmp(own->cloud, offer->provider) == 0 &&
            strncmp(own->instance, offer->name, len) == 0 &&
            (offer->name[len] == '\0' || offer->name[len] == '+') &&
            own->spot == (offer->kind == OFFER_SPOT))
            return true;
    }
    return false;
}

// Takes the offers of the quote in its order, each type of machine once.
static int take(const struct quote_job *job, struct places *places, size_t top, struct err *err)
{
    const struct bill **rows = quote_rows(&job->quote, err);
    size_t from = places->count;
    int rc = rows ? 0 : ERR_MEMORY;
    for (size_t i = 0; rc == 0 && rows[i] && places->count - from < top; i++) {
        struct offer offer;
        if (bill_doubtful(rows[i]) || !rows[i]->offer ||
            quote_offer(&job->ask, rows[i], &offer, NULL) != 0 || !sky_rents(&offer, NULL) ||
            is_there(places, from, &offer))
            continue;
        rc = target_sky.parse(rows[i]->offer, places, err);
    }
    if (rc == 0 && places->count == from) {
        err_set(err, ERR_MISSING, "--top: the quote has no offer that SkyPilot can rent");
        rc = err_hint(err, "'fare quote' shows what it has; --on sky:OFFER names one");
    }
    free(rows);
    return rc;
}

int sky_top(struct places *places, const char *workload, char *const *command,
            struct ledger *ledger, size_t top, struct err *err)
{
    SCOPED(quote_release)
    struct quote_job job = {
        .asked = !workload,
        .ask = {.market = places->market, .max_age = QUOTE_MAX_AGE, .estimates = true}};
    TRY(quote_load(&job, workload, ledger, err));
    if (command)
        TRY(check_command(&job, command, err));
    TRY(quote_assemble(&job, err));
    return take(&job, places, top, err);
}
