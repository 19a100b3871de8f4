// SPDX-License-Identifier: Apache-2.0
#include "advise/words.h"

#include <string.h>

#include "base/clock.h"
#include "base/money.h"

int word_bad(const char *name, const char *text, const char *expected, struct err *err)
{
    return err_set(err, ERR_USAGE, "'%s' takes %s, not '%.40s'", name, expected, text);
}

int word_amount(const char *name, const char *text, int64_t *nano, struct err *err)
{
    if (text && (money_parse(text, nano, NULL) != 0 || *nano < 0))
        return word_bad(name, text, "an amount such as 2.50", err);
    return 0;
}

int word_kind(const char *kind, bool spot, const char **out, struct err *err)
{
    if (spot && kind && strcmp(kind, "spot") != 0)
        return err_set(err, ERR_USAGE, "--spot and --kind %s exclude each other", kind);
    *out = spot ? "spot" : kind;
    return 0;
}

int quote_words_take(const struct quote_words *w, bool page, struct quote_job *job, struct err *err)
{
    static const enum offer_kind kinds[] = {OFFER_ON_DEMAND, OFFER_SPOT, OFFER_MONTHLY};
    const char *kind;
    TRY(word_kind(w->kind, w->spot, &kind, err));
    for (size_t i = 0; kind && offer_kinds[i]; i++)
        if (strcmp(kind, offer_kinds[i]) == 0)
            job->ask.kind = &kinds[i];
    job->ask.region = w->region;
    job->ask.estimates = !w->measured;
    if (w->deadline_ns >= 0)
        job->wishes.deadline_ns = some_int(w->deadline_ns);
    if (w->hours_per_month > 720)
        return err_set(err, ERR_USAGE, "'%s' takes 1 to 720: a month of 30 days",
                       page ? "hours_per_month" : "--hours-per-month");
    if (w->hours_per_month > 0)
        job->wishes.use_ns_a_month = w->hours_per_month * 3600 * NS_PER_S;
    job->wishes.budget.known = w->budget;
    return word_amount(page ? "budget" : "--budget", w->budget, &job->wishes.budget.v, err);
}

int offer_words_take(const struct offer_words *w, bool page, const struct devices *devices,
                     struct book_filter *f, enum offer_kind *kind, int64_t *max_rate,
                     struct err *err)
{
    const struct device *device = w->gpu ? device_find(devices, w->gpu) : NULL;
    int64_t gpus = 0;
    const char *word = NULL;
    *max_rate = -1;
    *f = (struct book_filter){.text = w->text,
                              .provider = w->provider,
                              .region = w->region,
                              // else the name: catalogues have more GPUs than devices.csv
                              .gpu = device ? device->name : w->gpu};
    if (w->gpus && (money_parse(w->gpus, &gpus, NULL) != 0 || gpus < 0))
        return word_bad(page ? "gpus" : "--gpus", w->gpus, "a number of 0 or more", err);
    TRY(word_amount(page ? "max_price" : "--max-price", w->max_price, max_rate, err));
    TRY(word_kind(w->kind, w->spot, &word, err));
    f->without_gpu = w->gpus && gpus == 0;
    gpus /= MONEY_UNIT / 1000;
    f->gpus_milli = gpus > INT32_MAX ? INT32_MAX : (int)gpus;
    f->max_rate = *max_rate > 0 ? *max_rate : 0;
    if (word && !offer_kind_parse(word, kind))
        return word_bad("kind", word, "on-demand, spot or monthly", err);
    f->kind = word ? kind : NULL;
    return 0;
}
