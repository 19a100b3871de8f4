// SPDX-License-Identifier: Apache-2.0
#include "measure/watch.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/money.h"

// ---- what the machine costs

static int cost(const void *price, int64_t ns, int64_t *nano_usd, struct err *err)
{
    return price_cost(price, ns, nano_usd, err);
}

static bool boots_free(const struct price *price)
{
    return price->tariff && price->tariff->boot_free.known && price->tariff->boot_free.v;
}

// "3.06 USD an hour (book: aws/p3.2xlarge@us-east-1 on 2026-11-15), per second, at least 60 s"
static void describe(struct watch_price *p)
{
    char hour[MONEY_BYTES];
    struct buf rule = {0};
    money_short(p->price.nano, hour);
    price_words(&p->price, &rule);
    const char *words = rule.failed ? "" : buf_str(&rule);
    // What a running hour's bill goes by comes first; the rest is for 'fare quote'.
    snprintf(p->offer, sizeof p->offer, "%s USD an hour (%s), %.*s%s%s%s", hour, p->price.from,
             (int)strcspn(words, ";"), words,
             p->price.assumed ? " (assumed: this provider's rules are not known)" : "",
             p->price.note[0] ? "; " : "", p->price.note);
    buf_release(&rule);
}

void watch_price_open(struct watch_price *p, const struct measure_options *o, const struct run *run)
{
    const char *offers[] = {o->offer};
    const struct pricing_options options = {.offers = offers, .offer_count = o->offer ? 1 : 0};
    *p = (struct watch_price){0};
    // Opening the book takes a moment: not where there is nothing to look for.
    bool named = o->offer || run_label(run, "price_per_hour_usd") ||
                 (run->machine.provider && run->machine.instance_type);
    if (!named || pricing_new(&p->pricing, &options, NULL) != 0 ||
        pricing_of(p->pricing, run, &p->price, NULL) != 0 || !p->price.known)
        return;
    describe(p);
    p->live = (struct live_price){
        .offer = p->offer, .hour = p->price.nano, .cost = cost, .price = &p->price};
    if (run->phases.boot_ns.known && !boots_free(&p->price))
        p->live.before_ns = run->phases.boot_ns.v;
}

void watch_price_close(struct watch_price *p)
{
    pricing_free(p->pricing);
    *p = (struct watch_price){0};
}

void watch_price_say(struct watch_price *p)
{
    if (p->live.cost && isatty(STDERR_FILENO)) {
        struct buf line = {0};
        buf_printf(&line, "the bill is derived from %s\n", p->offer);
        if (!line.failed)
            out_complain(buf_str(&line));
        buf_release(&line);
    }
}

// A run that goes on is billed for its machine's boot too, where it is the first on it.
static bool cost_words(const struct watch_price *p, const struct run *run, double wall_s,
                       char out[MONEY_BYTES])
{
    int64_t boot_ns =
        run->phases.boot_ns.known && !boots_free(&p->price) ? run->phases.boot_ns.v : 0;
    int64_t nano;
    if (!(wall_s >= 0 && wall_s < 3e9) ||
        price_cost(&p->price, boot_ns + (int64_t)(wall_s * 1e9), &nano, NULL) != 0)
        return false;
    money_short(nano, out);
    return true;
}

bool watch_price_bill(const struct watch_price *p, const struct run *run, struct buf *out)
{
    char this[MONEY_BYTES], whole[MONEY_BYTES], hour[MONEY_BYTES];
    const struct run_projection *projection = &run->projection;
    if (!p->live.cost || !run->phases.wall_ns.known ||
        !cost_words(p, run, (double)run->phases.wall_ns.v / 1e9, this))
        return false;
    buf_printf(out, "%s USD for this run", this);
    if (run->full.known && run->full.v)
        buf_adds(out, ", which is the whole training");
    else if (projection->wall_s.known && cost_words(p, run, projection->wall_s.v, whole))
        buf_printf(out, ", %s USD for the whole training", whole);
    money_short(p->price.nano, hour);
    buf_printf(out, "; derived from %s USD an hour (%s)%s%s", hour, p->price.from,
               p->price.note[0] ? "; " : "", p->price.note);
    return true;
}

// ---- the line

// When it will be over, by the clock on the wall: "10:32", with the day where it is another.
static const char *end_words(double left_s, char *out, size_t size)
{
    time_t now = (time_t)clock_date_s(), then = now + (time_t)left_s;
    struct tm today, that;
    out[0] = '\0';
    if (left_s < 0 || left_s > 100 * 86400.0 || !localtime_r(&now, &today) ||
        !localtime_r(&then, &that))
        return NULL;
    bool other = today.tm_yday != that.tm_yday || today.tm_year != that.tm_year;
    return strftime(out, size, other ? "%b %e %H:%M" : "%H:%M", &that) > 0 ? out : NULL;
}

static void money_words(struct watch *w, const struct live *live)
{
    char bill[MONEY_BYTES], projected[MONEY_BYTES];
    struct progress_view *view = &w->progress.view;
    view->cost = view->costs = NULL;
    if (live->bill < 0)
        return;
    money_short(live->bill, bill);
    snprintf(w->cost, sizeof w->cost, "%s USD", bill);
    view->cost = w->cost;
    if (live->projected < 0)
        return;
    money_short(live->projected, projected);
    snprintf(w->costs, sizeof w->costs, "%s of %s USD", bill, projected);
    view->costs = w->costs;
}

static void begin(struct watch *w, const struct live *live)
{
    tzset(); // now, not in the middle of a training
    progress_begin(&w->progress, w->fd > 0 ? w->fd : STDERR_FILENO, w->name, PROGRESS_TIME, 0);
    w->progress.group = w->group;
    w->progress.begun_ns = clock_now_ns() - (int64_t)(live->elapsed_s * 1e9);
    w->begun = true;
}

void watch_show(struct watch *w, const struct live *live, const char *note)
{
    struct progress_view *view = &w->progress.view;
    if (!w->name || (w->begun && !progress_due(&w->progress)))
        return;
    if (!w->begun)
        begin(w, live);
    if (!w->progress.on)
        return;
    bool counted = !live->timed && live->steps > 0;
    snprintf(w->note, sizeof w->note, "%s", note);
    view->note = w->note;
    view->unit = counted ? PROGRESS_COUNT : PROGRESS_TIME;
    view->left_ns = live->left_s >= 0 ? (int64_t)(live->left_s * 1e9) + 1 : -1;
    view->at_most = live->at_most;
    view->end = end_words(live->left_s, w->end, sizeof w->end);
    money_words(w, live);
    if (counted)
        progress_update(&w->progress, live->step, live->steps);
    else if (live->timed) // in milliseconds
        progress_update(&w->progress, (int64_t)(live->elapsed_s * 1e3),
                        (int64_t)((live->elapsed_s + live->left_s) * 1e3) + 1);
    else
        progress_update(&w->progress, 0, 0);
}

void watch_hide(struct watch *w)
{
    progress_hide(&w->progress);
}

void watch_end(struct watch *w)
{
    progress_end(&w->progress);
}
