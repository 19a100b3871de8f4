// SPDX-License-Identifier: Apache-2.0
// A quote for people: sentences, then the table; one offer as a bill.
#include "cmd/quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/verdict_words.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "cmd/prices.h"
#include "cmd/table.h"
#include "advise/estimate/rates.h"
#include "book/listing.h"

#define ROWS        15 // without --all
#define OTHERS_ROWS 5  // of each other training
#define DAY_NS      (86400 * NS_PER_S)
#define PRORATED(job)                                                                              \
    ((job)->ask.wishes.prorated ? ", prorated (no provider charges this way)" : "")

static void short_money(struct maybe_money amount, const char *currency, char out[MONEY_BYTES])
{
    if (amount.known)
        money_short_in(amount.nano, currency, out);
    else
        snprintf(out, MONEY_BYTES, "?");
}

#define MARKED_BYTES (MONEY_BYTES + 4)
static void marked_money(const struct bill *b, struct maybe_money amount, const char *currency,
                         char out[MARKED_BYTES])
{
    char text[MONEY_BYTES];
    short_money(amount, currency, text);
    snprintf(out, MARKED_BYTES, "%s%s", bill_mark(b), text);
}

static void age_words(const struct bill *b, char *out, size_t size)
{
    bool old = b->price_old.known && b->price_old.v;
    if (b->price_own.v)
        snprintf(out, size, "yours");
    else
        snprintf(out, size, "%lld d%s", (long long)b->price_age_days.v, old ? " OLD" : "");
}

static void gpu_words(const struct bill *b, char out[64])
{
    out[0] = '\0';
    if (b->gpus_used.known && b->gpus.known && (double)b->gpus_used.v < b->gpus.v)
        snprintf(out, 64, "%lld of %g×%s", (long long)b->gpus_used.v, b->gpus.v,
                 b->gpu ? b->gpu : "");
    else if (b->gpu && b->gpus.known)
        snprintf(out, 64, "%g×%s", b->gpus.v, b->gpu);
}

// The total with its marks, and its interval if that is visible.
static void cost_words(const struct bill *b, char cost[MONEY_BYTES + 4],
                       char interval[MONEY_INTERVAL_BYTES])
{
    char amount[MONEY_BYTES];
    bill_amount(b, amount, interval);
    snprintf(cost, MONEY_BYTES + 4, "%s%s%s", b->price_estimated.v ? "~" : "", amount,
             bill_price_doubtful(b) ? "#"
             : b->tariff_assumed.v  ? "†"
                                    : "");
}

static void waiting_words(const struct bill *b, char out[MARKED_BYTES])
{
    int64_t total = bill_total(b);
    out[0] = '\0';
    char text[MONEY_BYTES];
    if (!b->waiting.known || money_add(total, b->waiting.nano, &total, NULL) != 0)
        return;
    money_short(total, text);
    snprintf(out, MARKED_BYTES, "%s%s", bill_mark(b), text);
}

// "?": met only at the middle of the interval, "!": missed. All are as wide.
static const char *mark_of(const char *wish)
{
    return !wish ? "" : strcmp(wish, "met") == 0 ? "  " : strcmp(wish, "missed") == 0 ? " !" : " ?";
}

static void add_mark(char *cell, size_t size, const char *wish)
{
    size_t len = strlen(cell);
    snprintf(cell + len, size - len, "%s", mark_of(wish));
}

// `other`: a label above the table names the training.
static void add_row(struct table *table, const struct bill *b, bool other, bool certainty)
{
    char gpus[64], time[52], cost[MONEY_BYTES + 8], interval[MONEY_INTERVAL_BYTES];
    char local[MARKED_BYTES] = "", owed[MONEY_BYTES] = "", before[MONEY_BYTES] = "",
         waiting[MARKED_BYTES], age[48], startup[48] = "", year[24] = "", each[MARKED_BYTES] = "";
    gpu_words(b, gpus);
    if (b->startup_s.v > 0)
        clock_words((int64_t)(b->startup_s.v * 1e9), startup, sizeof startup);
    if (b->year.known && !other)
        snprintf(year, sizeof year, "%lld", (long long)b->year.v);
    bill_time_words(b, time, sizeof time);
    cost_words(b, cost, interval);
    add_mark(time, sizeof time, b->deadline);
    add_mark(cost, sizeof cost, b->budget);
    if (b->before_credit.known)
        short_money(b->before_credit, "USD", before);
    waiting_words(b, waiting);
    age_words(b, age, sizeof age);
    const char *with = b->framework && !other ? b->framework : "";
    const char *sure = !certainty ? "" : b->certainty ? b->certainty : b->basis;
    if (b->local_total.known)
        marked_money(b, b->local_total, b->local_currency, local);
    else if (b->local_currency)
        snprintf(local, sizeof local, "unknown");
    if (b->committed_months.known)
        short_money(b->committed, b->currency, owed);
    else if (b->committed.unknown)
        snprintf(owed, sizeof owed, "unknown");
    if (b->usd_per_mtoken.known)
        marked_money(b, b->usd_per_mtoken, "USD", each);
    const char *const cells[] = {b->offer, gpus, time,   sure,    startup, cost, interval, each,
                                 local,    owed, before, waiting, with,    year, age};
    table_row(table, OUT_PLAIN, cells, NULL);
}

struct footnotes { // of all tables, printed below the last
    size_t rows;
    size_t left_out; // estimates without a bill
    size_t unnamed;  // processors
    struct doubts doubts;
    bool unsure_memory, unknown_memory;
    bool assumed, incomplete, estimated, maybe, missed, committed, at_least, from_cpu, replayed;
    double startup_low_s, startup_high_s; // high 0: none
    const char *exchange[8];              // rates of exchange, each once: one may be OLD
    size_t exchange_count;
};

static void note_row(struct footnotes *notes, const struct bill *b)
{
    enum { MOST = sizeof notes->exchange / sizeof *notes->exchange };
    const char *text = b->exchange;
    double s = b->startup_s.v;
    notes->estimated |= b->price_estimated.v;
    notes->unnamed += b->processor_unknown.v;
    doubts_add(&notes->doubts, b->price_doubt          ? b->price_doubt
                               : b->price_impossible.v ? doubt_power_words
                                                       : NULL);
    notes->committed |= b->committed.known || b->committed.unknown;
    notes->at_least |= b->spot.lower_bound.v;
    notes->from_cpu |= bill_time_is_bound(b);
    notes->replayed |= b->spot.method != NULL;
    notes->unsure_memory |= b->gpu_memory && strcmp(b->gpu_memory, "unsure") == 0;
    notes->unknown_memory |= b->gpu_memory && strcmp(b->gpu_memory, "unknown") == 0;
    notes->assumed |= b->tariff_assumed.v;
    notes->incomplete |= b->incomplete.v;
    const char *const marks[] = {mark_of(b->deadline), mark_of(b->budget)};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        notes->maybe |= strcmp(marks[i], " ?") == 0;
        notes->missed |= strcmp(marks[i], " !") == 0;
    }
    notes->startup_low_s = notes->rows == 0 || s < notes->startup_low_s ? s : notes->startup_low_s;
    notes->startup_high_s = s > notes->startup_high_s ? s : notes->startup_high_s;
    notes->rows++;
    for (size_t i = 0; text && i < notes->exchange_count; i++)
        text = strcmp(notes->exchange[i], text) == 0 ? NULL : text;
    if (text && notes->exchange_count < MOST)
        notes->exchange[notes->exchange_count++] = text;
}

static void say_startup(struct out *out, const struct footnotes *notes)
{
    char low[48], high[48];
    if (notes->startup_high_s <= 0)
        return;
    clock_words((int64_t)(notes->startup_low_s * 1e9), low, sizeof low);
    clock_words((int64_t)(notes->startup_high_s * 1e9), high, sizeof high);
    bool range = strcmp(low, high) != 0, some = notes->startup_low_s > 0;
    out_wrapf(out, 0,
              "The times include start-up (%s%s%s): --offer shows the source of each figure, "
              "--boot 0 leaves it out.",
              !some   ? "up to "
              : range ? low
                      : "",
              some && range ? " to " : "", high);
}

static void say_footnotes(struct out *out, const struct footnotes *notes)
{
    if (notes->assumed)
        out_wrap(out, 0, "† the provider's rule is unknown, one is assumed: --offer shows it.");
    if (notes->incomplete)
        out_wrap(out, 0,
                 "≥ the provider's rule lacks the price of something you asked for: the bill "
                 "without it. --offer shows what.");
    doubts_print(out, &notes->doubts);
    if (notes->estimated)
        out_wrap(out, 0,
                 "~ the price is an estimate: nobody published it. --offer shows its source.");
    if (notes->unnamed > 0)
        out_wrapf(out, 0,
                  "The processors of %s above are unknown: the times assume one in the middle of "
                  "the device table, and are rougher.",
                  units_count((int64_t)notes->unnamed, "offer").s);
    if (notes->unknown_memory)
        out_wrap(out, 0, MEMORY_UNKNOWN);
    if (notes->unsure_memory)
        out_wrap(out, 0, MEMORY_UNSURE);
    if (notes->from_cpu)
        out_wrapf(out, 0,
                  "%s --explain OFFER gives the reason; one minute on such a machine the time.",
                  verdict_from_cpu);
    if (notes->at_least)
        out_wrap(
            out, 0,
            "≥ a lower bound, and so is its time: how often this spot machine is taken away is "
            "unknown. --mtbi or --trace counts interruptions.");
    if (notes->replayed)
        out_wrap(out, 0,
                 "Bills and times of other spot machines are means with interruptions, their "
                 "intervals 10 to 90 %: --offer shows them.");
    if (notes->committed)
        out_wrap(out, 0,
                 "With an amount owed in all, the price is that of a commitment, which costs that "
                 "much over its term, used or not; --offer shows its source. The other rows are "
                 "pay-as-you-go.");
    if (notes->maybe)
        out_wrap(out, 0,
                 "? may miss the deadline or budget: at the end of its interval, or as a lower "
                 "bound (≥).");
    if (notes->missed)
        out_wrap(out, 0, "! misses the deadline or budget.");
    say_startup(out, notes);
    for (size_t i = 0; i < notes->exchange_count; i++)
        out_wrap(out, 0, notes->exchange[i]);
}

// Those of `variant`; null: all. `rows` ends in null.
static void show_table(struct out *out, const struct bill *const *rows, const char *variant,
                       size_t most, struct footnotes *notes)
{
    enum { GPUS = 1, WITH = 12, YEAR = 13 };
    const char *local = rows[0] && rows[0]->local_currency ? rows[0]->local_currency : "";
    struct table_column columns[] = {
        {"offer", TABLE_LEFT, 0, 30}, {"GPUs", TABLE_LEFT, 5},           {"time", TABLE_RIGHT},
        {"certainty", TABLE_LEFT, 1}, {"start-up", TABLE_RIGHT, 6},      {"USD", TABLE_POINT},
        {"interval", TABLE_LEFT, 4},  {"USD/Mtoken", TABLE_POINT, 2},    {local, TABLE_POINT},
        {"owed in all", TABLE_POINT}, {"before credit", TABLE_POINT, 3}, {"with you", TABLE_POINT},
        {"with", TABLE_LEFT, 1, 7},   {"year", TABLE_LEFT, 1},           {"seen", TABLE_LEFT, 2}};
    struct table table = TABLE(columns);
    size_t all = 0, shown = 0;
    bool certainty = false;
    for (size_t i = 0; rows[i] && i < most; i++) {
        certainty |= rows[i]->certainty != NULL;
        if (rows[i]->efficiency.known) { // the number of GPUs is what was asked for
            columns[GPUS].priority = 0;
            columns[WITH].priority = columns[YEAR].priority = 7;
        }
    }
    for (size_t i = 0; rows[i]; i++) {
        const struct bill *b = rows[i];
        if (variant && strcmp(b->variant ? b->variant : "", variant) != 0)
            continue;
        if (all++ >= most)
            continue;
        add_row(&table, b, variant != NULL, certainty);
        note_row(notes, b);
        shown++;
    }
    table_print(&table, out);
    all += notes->left_out;
    notes->left_out = 0;
    if (all > shown)
        out_printf(out, "%zu more; --all shows them.\n", all - shown);
}

static bool said_before(const char *const *said, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(said[i], text) == 0)
            return true;
    return false;
}

// Other trainings of the workload: a table for each, under its label.
static void show_others(struct out *out, const struct quote *q, const struct bill *const *rows,
                        bool all, struct footnotes *notes)
{
    const char *said[QUOTE_TRAININGS];
    size_t count = 0;
    out_printf(out, "\n");
    out_styled(out, OUT_BOLD, "Other trainings of %s", q->workload);
    out_printf(out, "\n");
    out_wrapf(out, 0, "They are not comparable with %s.",
              q->bills.count > 0 ? "the one above" : "the one you asked for");
    for (size_t i = 0; i < q->others.count && count < QUOTE_TRAININGS; i++) {
        const char *variant = q->others.items[i].variant ? q->others.items[i].variant : "";
        if (said_before(said, count, variant))
            continue;
        said[count++] = variant;
        out_printf(out, "\n");
        out_wrapf(out, 0, "%s:", variant);
        show_table(out, rows, variant, all ? SIZE_MAX : OTHERS_ROWS, notes);
    }
}

// ---- one bill

static void show_items(struct out *out, const struct bill *b)
{
    static const struct table_column columns[] = {
        {NULL, TABLE_LEFT, 0, 20}, {NULL, TABLE_LEFT, 1, 0, ""}, {NULL, TABLE_POINT}};
    struct table table = {
        .columns = columns, .count = sizeof columns / sizeof *columns, .indent = 2};
    char time[48];
    for (size_t i = 0; i < b->items.count; i++) {
        const struct bill_item *item = &b->items.items[i];
        if (b->before_credit.known && i + 1 == b->items.count) { // the last
            const struct money_words amount = money_exact(b->before_credit);
            const char *const before[] = {"before credit", "", amount.s};
            table_row(&table, OUT_PLAIN, before, NULL);
        }
        struct buf source = {0}; // gets a separate line
        if (item->assumed)
            buf_printf(&source, "assumed: %s", item->assumed);
        const struct money_words amount = money_exact(item->amount);
        const char *const cells[] = {item->what, item->how ? item->how : "", amount.s};
        table_row(&table, OUT_PLAIN, cells, item->assumed ? buf_str(&source) : NULL);
        buf_release(&source);
    }
    bill_time_words(b, time, sizeof time);
    char sum[64], same[64];
    snprintf(sum, sizeof sum, "%s%s", bill_mark(b), money_exact(b->total).s);
    const char *const total[] = {"total, without tax", time, sum};
    table_row(&table, OUT_BOLD, total, NULL);
    if (b->local_total.known) {
        char amount[MONEY_BYTES];
        short_money(b->local_total, b->local_currency, amount);
        snprintf(time, sizeof time, "the same in %s", b->local_currency);
        snprintf(same, sizeof same, "%s%s", bill_mark(b), amount);
        const char *const local[] = {time, "", same};
        table_row(&table, OUT_PLAIN, local, NULL);
    }
    table_print(&table, out);
}

static void show_bill(struct out *out, const struct bill *b)
{
    char total[MONEY_BYTES + 4], interval[MONEY_INTERVAL_BYTES];
    struct buf head = {0};
    out_styled(out, OUT_BOLD, "%s", b->offer);
    out_printf(out, "\n");
    buf_printf(&head, "%s%s %s for %s%s%s", b->price_estimated.v ? "estimated: " : "",
               money_exact(b->rate).s, b->currency, units_period(b->per_s.v),
               !b->price_own.v ? ", seen "
               : b->price_date ? ", your own rate since "
                               : ", your own rate",
               b->price_date ? b->price_date : "");
    if (b->price_old.v)
        buf_printf(&head, " (OLD: %s)", units_count(b->price_age_days.v, "day").s);
    if (strcmp(b->basis, RUN_GIVEN) == 0)
        buf_adds(&head, "; the time was given");
    else
        buf_printf(&head, "; the time is that of run %s on %s, %s", b->run,
                   b->machine ? b->machine : "an unknown machine", b->basis);
    out_wrap_take(out, 2, &head);
    out_wrap(out, 2, b->words ? b->words : "");
    if (b->exchange)
        out_wrap(out, 2, b->exchange);
    out_printf(out, "\n");
    show_items(out, b);
    cost_words(b, total, interval);
    if (*interval && !b->spot.never_ends.v)
        out_wrapf(out, 2, "%s USD %s", interval,
                  b->spot.replays.known ? "in 80 % of the replays"
                  : b->low_s.known      ? "at the ends of the time's interval"
                                        : "at the best and the worst time of day to start");
    if (b->waiting.known) {
        short_money(b->waiting, "USD", total);
        out_wrapf(out, 2, "your waiting, not in the total: %s USD", total);
    }
    if (b->tariff_assumed.v && b->by_hours.known) {
        short_money(b->by_hours, "USD", total);
        out_wrapf(out, 2,
                  "This provider's rules are unknown. Assumed: per second; started hours would "
                  "cost %s USD.",
                  total);
    } else if (b->tariff_assumed.v) {
        out_wrap(out, 2, "This provider's rules are unknown: the rule above is assumed.");
    }
    if (b->basis && strcmp(b->basis, "assumed") == 0)
        out_wrap(
            out, 2,
            "The time was measured on another machine; that this one takes as long is assumed.");
    if (bill_time_is_bound(b))
        out_wrapf(out, 2, "≥: nobody measured it there; the time is %s.", b->class);
    else if (b->certainty && b->run)
        out_wrapf(out, 2,
                  "Nobody measured it there: the time is %s. 'fare quote %s --explain %s' "
                  "shows how it comes about.",
                  b->certainty, b->run, b->offer);
    for (size_t i = 0; i < b->notes.count; i++)
        out_bullet(out, b->notes.items[i]);
    quote_show_spot(out, b);
}

// ---- all of it

static bool filtered(const struct quote_options *o)
{
    return (o->gpu && !o->own.buy) || o->gpus || o->provider || o->words.region || o->words.kind ||
           o->words.spot || o->max_age != QUOTE_MAX_AGE * DAY_NS;
}

// "--gpu h100, --region eu and --kind spot": the filters that were given.
static void filter_words(const struct quote_options *o, struct buf *text)
{
    char age[24] = "";
    if (o->max_age != QUOTE_MAX_AGE * DAY_NS)
        snprintf(age, sizeof age, "%lldd", (long long)(o->max_age / DAY_NS));
    const struct {
        const char *option, *value;
    } all[] = {{"gpu", quote_has_time(o) || o->own.buy ? NULL : o->gpu},
               {"gpus", quote_has_time(o) ? NULL : o->gpus},
               {"provider", o->provider},
               {"region", o->words.region},
               {"kind", o->words.spot ? "spot" : o->words.kind},
               {"max-age", *age ? age : NULL}};
    size_t left = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        left += all[i].value != NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].value)
            continue;
        left--;
        buf_printf(text, "--%s %s%s", all[i].option, all[i].value,
                   left > 1    ? ", "
                   : left == 1 ? " and "
                               : "");
    }
}

static void say_filters(struct out *out, const struct quote *q, const struct quote_options *o)
{
    const char *name = q->run ? q->run : q->workload;
    struct buf filters = {0};
    filter_words(o, &filters);
    out->text.failed |= filters.failed;
    if (q->not_measured.v > 0)
        out_wrapf(out, 0, "No run matches %s. 'fare quote %s' shows the machines with a run.",
                  buf_str(&filters), name);
    else if (!q->outdated)
        out_wrapf(out, 0,
                  "No offer in the book matches %s. 'fare prices' lists the book, 'fare quote %s' "
                  "shows the machines with a run.",
                  buf_str(&filters), name);
    buf_release(&filters);
}

// "No offer in the book has 16 × H100 and matches --provider acme."
static void say_none_has(struct out *out, const struct quote_job *job,
                         const struct quote_options *o)
{
    const struct run *first = &job->runs.items[0];
    struct buf filters = {0};
    filter_words(o, &filters);
    out->text.failed |= filters.failed;
    if (!job->quote.outdated)
        out_wrapf(out, 0,
                  "No offer in the book has %s%s%s. 'fare prices %s' lists offers with this GPU.",
                  first->machine.name, filters.len > 0 ? " and matches " : "", buf_str(&filters),
                  first->use.gpu_list.items[0].name);
    buf_release(&filters);
}

static void say_no_time(struct out *out, const struct run *run)
{
    if (run_failed(run))
        out_wrapf(out, 0, "The time of the whole training is unknown: the run failed%s%s.",
                  run->problem ? ": " : "", run->problem ? run->problem : "");
    else
        out_wrapf(out, 0,
                  "The time of the whole training is unknown: the run ended early and could not be "
                  "projected. %s",
                  run->workload ? "'fare run WORKLOAD --full' trains all of it."
                                : "Give --total-steps or --total-epochs, or run it to its end "
                                  "with 'fare run -- COMMAND'.");
}

static void say_nothing_fits(struct out *out, const struct quote_job *job,
                             const struct quote_options *o)
{
    const struct run *run = job->runs.count > 0 ? &job->runs.items[0] : NULL;
    struct bill_time time;
    if (!run) {
        out_wrap(out, 0,
                 "You have no run of this workload, and none is published. 'fare run' measures "
                 "one.");
    } else if (job->quote.given) {
        say_none_has(out, job, o);
    } else if (!job->asked && job->quote.others.count > 0 && o->offer) {
        out_wrapf(
            out, 0,
            "%s was measured only for other trainings of %s. 'fare quote %s --offer %s' shows "
            "the one with the lowest bill, line by line.",
            o->offer, job->quote.workload, job->quote.others.items[0].run, o->offer);
    } else if (!job->asked && job->quote.others.count > 0) {
        out_wrapf(out, 0, "Such machines were measured only for other trainings of %s.",
                  job->quote.workload);
    } else if (filtered(o)) {
        say_filters(out, &job->quote, o);
    } else if (!bill_time_of(run, &time) && run_label(run, "relative_speed")) {
        out_wrap(out, 0,
                 "Only relative speeds of this training are known, no times, so there is no bill. "
                 "'fare compare' shows relative costs.");
    } else if (!bill_time_of(run, &time)) {
        say_no_time(out, run);
    } else {
        char words[48];
        const struct run_machine *m = &run->machine;
        clock_words(time.total_ns, words, sizeof words);
        out_wrapf(out, 0, "The whole training takes %s on the machine measured (%s).%s", words,
                  m->instance_type ? m->instance_type
                  : m->gpu         ? m->gpu
                  : m->cpu         ? m->cpu
                                   : "unknown",
                  job->quote.outdated ? ""
                                      : " No offer in the book is known to be this machine: name "
                                        "one with --offer PROVIDER/NAME.");
    }
}

// A price that is too old to count, and the advice.
static void say_more(struct out *out, const struct quote_job *job)
{
    const struct quote *q = &job->quote;
    struct bill_time time;
    if (q->outdated)
        out_wrapf(out, 0, "%s '--max-age %lldd' includes it.", q->advice.items[0],
                  (long long)q->outdated_days.v);
    // With a known time, the first advice is about offers.
    for (size_t i = quote_base(&job->ask, &time) ? 1 : 0; i < q->advice.count; i++)
        out_wrap(out, 0, q->advice.items[i]);
}

// The run has no time: those of other runs follow.
static void say_of_others(struct out *out, const struct quote_job *job)
{
    struct bill_time time;
    if (!job->asked || quote_base(&job->ask, &time))
        return;
    out_wrap(out, 0,
             "The time of the whole training on this run's machine is unknown: the run ended early "
             "and could not be projected. These times are of other runs of the same training.");
    out_printf(out, "\n");
}

static bool listed(const struct quote *q, const char *reason)
{
    for (size_t i = 0; i < q->misfits.count; i++)
        if (strcmp(q->misfits.items[i].reason, reason) == 0)
            return true;
    return false;
}

// "12 offers: not enough GPU memory, such as aws/g4dn.xlarge: needs 20 GiB, ..."
static void say_left_out(struct out *out, const struct quote *q, bool all)
{
    if (q->left_out.count > 0)
        out_printf(out, "\n");
    for (size_t i = 0; i < q->left_out.count; i++) {
        const struct quote_left_out *l = &q->left_out.items[i];
        if (all && listed(q, l->reason))
            out_wrapf(out, 0, "%s left out: %s.", units_count(l->count.v, "offer").s, l->reason);
        else if (l->count.v == 1)
            out_wrapf(out, 0, "%s: %s", l->examples.items[0], l->why);
        else
            out_wrapf(out, 0, "%s left out: %s, such as %s: %s.",
                      units_count(l->count.v, "offer").s, l->reason, l->examples.items[0], l->why);
    }
    for (size_t i = 0; all && i < q->misfits.count; i++)
        out_wrapf(out, 0, "%s: %s", q->misfits.items[i].offer, q->misfits.items[i].why);
}

static void say_rest(struct out *out, const struct quote *q, const struct quote_options *o)
{
    say_left_out(out, q, o->all);
    out_printf(out, "\n");
    int64_t left = q->estimated.known && q->left_out.count > 0 ? 0 : q->not_measured.v;
    if (left > q->estimated.v)
        out_wrapf(out, 0, "%s%s %s %s. Tax is left out.",
                  units_count(left - q->estimated.v, "other offer").s,
                  filtered(o) ? " like these" : "", left == 1 ? "has" : "have",
                  q->estimated.known ? "no estimate: no run has a known time" : "no run");
    else
        out_wrap(out, 0, "Tax is left out.");
}

// "21 d 00 h on 8 × H100 or H100-PCIE, as given": a name may cover several GPUs.
static void show_given(struct out *out, const struct quote_job *job, const struct quote_options *o)
{
    const struct quote *q = &job->quote;
    bool several = false;
    for (size_t i = 1; i < q->bills.count && !several; i++)
        several = q->bills.items[i].gpu && q->bills.items[0].gpu &&
                  strcmp(q->bills.items[i].gpu, q->bills.items[0].gpu) != 0;
    out_wrapf(out, 0, "%s, as given%s%s%s", q->given, q->date ? ", prices of " : "",
              q->date ? q->date : "", PRORATED(job));
    if (several)
        out_wrapf(out, 0,
                  "The time is taken for all GPUs that '%s' covers; a fuller name, such as %s, "
                  "prices one of them.",
                  o->gpu, job->runs.items[job->runs.count - 1].use.gpu_list.items[0].name);
    out_printf(out, "\n");
}

static void show_title(struct out *out, const struct quote_job *job)
{
    const struct quote *q = &job->quote;
    const char *label = NULL;
    for (size_t i = 0; i < job->evidence_count && !label; i++)
        label = job->evidence[i].training == 0 ? job->evidence[i].label : NULL;
    out_wrapf(out, 0, "%s, the whole training%s%s%s%s%s%s\n", q->workload, label ? " (" : "",
              label ? label : "", label ? ")" : "", q->date ? ", prices of " : "",
              q->date ? q->date : "", PRORATED(job));
    if (job->ask.gpus != 0)
        out_wrapf(out, 0,
                  "On %s, each with the run's batch: as many samples in fewer steps of a larger "
                  "batch, so accuracy may differ.\n",
                  job->ask.gpus > 0 ? units_count(job->ask.gpus, "GPU").s
                                    : "the number of GPUs that is fastest on each machine");
}

// One offer, or the table.
static void show_bills(struct out *out, const struct quote *q, const struct quote_options *o,
                       const struct bill *const *rows, struct footnotes *notes)
{
    bool one = o->offer && q->bills.count + q->estimates.count == 1;
    if (one) {
        show_bill(out, rows[0]);
        if (q->advice.count > 1)
            out_printf(out, "\n");
    }
    for (size_t i = one; rows[0] && i < q->advice.count; i++) // the first is the bill once more
        out_wrap(out, 0, q->advice.items[i]);
    if (one || !rows[0])
        return;
    out_printf(out, "\n");
    notes->left_out = (size_t)q->estimated.v - q->estimates.count;
    show_table(out, rows, NULL, o->all ? SIZE_MAX : ROWS, notes);
}

int quote_show(struct out *out, const struct quote_job *job, const struct quote_options *o,
               struct err *err)
{
    const struct quote *q = &job->quote;
    const struct quote others = {.bills = {q->others.items, q->others.count, true}};
    struct footnotes notes = {0};
    const struct bill **rows = quote_rows(q, err);
    const struct bill **other_rows = rows ? quote_rows(&others, err) : NULL;
    int rc = other_rows ? 0 : ERR_MEMORY;
    if (rc == 0) {
        if (q->given)
            show_given(out, job, o);
        else
            show_title(out, job);
        if (q->bills.count > 0 && !o->offer)
            say_of_others(out, job);
        if (!rows[0] && (q->misfits.count == 0 || q->not_measured.v > 0))
            say_nothing_fits(out, job, o);
        if (!rows[0])
            say_more(out, job);
        show_bills(out, q, o, rows, &notes);
        if (q->others.count > 0)
            show_others(out, q, other_rows, o->all, &notes);
        if (q->others.count > 0)
            out_printf(out, "\n");
        say_footnotes(out, &notes);
        say_rest(out, q, o);
    }
    free(other_rows);
    free(rows);
    return rc;
}
