// SPDX-License-Identifier: Apache-2.0
#include "view/spending.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/money.h"
#include "view/tables.h"
#include "advise/spend/use.h"

struct spending_text spending_amount_in(struct maybe_money amount, const char *currency)
{
    struct spending_text out = {"-"};
    char plain[MONEY_BYTES];
    if (!amount.known)
        return out;
    money_short_in(amount.nano, currency, plain);
    // Sums are large: "1,310.73".
    size_t digits = strspn(plain, "-0123456789"), len = 0;
    for (size_t i = 0; plain[i]; i++) {
        bool third = i > 0 && i < digits && (digits - i) % 3 == 0 && plain[i - 1] != '-';
        if (third)
            out.s[len++] = ',';
        out.s[len++] = plain[i];
    }
    out.s[len] = '\0';
    return out;
}

struct spending_text spending_amount(struct maybe_money usd)
{
    return spending_amount_in(usd, "USD");
}

struct spending_text spending_time(double seconds)
{
    struct spending_text out;
    if (seconds >= 3600)
        snprintf(out.s, sizeof out.s, "%.1f h", seconds / 3600);
    else
        clock_words((int64_t)(seconds * 1e9), out.s, sizeof out.s);
    return out;
}

static enum spend_key key_of(const char *name)
{
    enum spend_key key = SPEND_USER;
    for (int k = 0; spend_keys[k]; k++)
        if (strcmp(spend_keys[k], name) == 0)
            key = (enum spend_key)k;
    return key;
}

static void put_count(struct csv_writer *w, struct maybe_int value)
{
    char text[24] = "";
    if (value.known)
        snprintf(text, sizeof text, "%lld", (long long)value.v);
    csv_put(w, text);
}

static void put_real(struct csv_writer *w, struct maybe_real value)
{
    char text[32] = "";
    if (value.known)
        snprintf(text, sizeof text, "%.12g", value.v);
    csv_put(w, text);
}

void spending_csv(struct buf *out, const struct spending *s)
{
    struct csv_writer w = {.out = out};
    for (size_t k = 0; k < s->by.count; k++)
        csv_put(&w, s->by.items[k]);
    buf_printf(out,
               "%sruns,failed,unknown,time_s,gpu_hours,usd,local_currency,local,invoiced,"
               "invoiced_usd,effective_usd,predicted_usd,difference_usd,corrected\n",
               s->by.count > 0 ? "," : "");
    w.fields = 0;
    for (size_t i = 0; i < s->rows.count; i++) {
        const struct spending_row *row = &s->rows.items[i];
        for (size_t k = 0; k < s->by.count; k++)
            csv_put_text(&w, spend_value(row, key_of(s->by.items[k])));
        put_count(&w, row->runs);
        put_count(&w, row->failed);
        put_count(&w, row->unknown);
        put_real(&w, row->time_s);
        put_real(&w, row->gpu_hours);
        csv_put(&w, money_exact(row->usd).s);
        csv_put(&w, s->local_currency);
        csv_put(&w, money_exact(row->local).s);
        put_count(&w, row->invoiced);
        csv_put(&w, money_exact(row->invoiced_usd).s);
        csv_put(&w, money_exact(row->effective_usd).s);
        csv_put(&w, money_exact(row->predicted_usd).s);
        csv_put(&w, money_exact(row->difference_usd).s);
        put_count(&w, row->corrected);
        csv_end(&w);
    }
}

void spending_remarks(const struct spending *s, struct buf *out)
{
    int64_t count = s->total.corrected.known ? s->total.corrected.v : 0;
    if (count > 0)
        buf_printf(out,
                   "The cost of %s is corrected: an earlier fare had charged the time that the "
                   "machine was up before.",
                   units_count(count, "run").s);
    struct buf words = {0};
    suspects_words(s->total.out_of_range, s->total.at_least, s->total.suspect, &words);
    if (words.len > 0) {
        words.data[0] = 'T';
        buf_printf(out, "%s%s.", count > 0 ? " " : "", buf_str(&words));
    }
    buf_drop(out, &words);
}

static void markdown_row(struct buf *out, const struct spending *s, const struct spending_row *row,
                         bool total)
{
    const char *mark = total ? "**" : "";
    for (size_t k = 0; k < s->by.count; k++) {
        const char *value = spend_value(row, key_of(s->by.items[k]));
        buf_adds(out, "| ");
        markdown_text(out, total ? (k == 0 ? "total" : "") : value ? value : "unknown");
        buf_addc(out, ' ');
    }
    buf_printf(out, "| %s%lld%s | %lld | %s | %.1f | %s%s%s |", mark, (long long)row->runs.v, mark,
               (long long)row->unknown.v, spending_time(row->time_s.v).s, row->gpu_hours.v, mark,
               spending_amount(row->usd).s, mark);
    if (s->local_currency)
        buf_printf(out, " %s |", spending_amount_in(row->local, s->local_currency).s);
    if (s->charges.known)
        buf_printf(out, " %s | %s |", spending_amount(row->invoiced_usd).s,
                   spending_amount(row->difference_usd).s);
    buf_addc(out, '\n');
}

void spending_markdown(struct buf *out, const struct spending *s)
{
    for (size_t k = 0; k < s->by.count; k++)
        buf_printf(out, "| %s ", s->by.items[k]);
    buf_adds(out, "| runs | unknown cost | time | GPU-hours | USD |");
    if (s->local_currency)
        buf_printf(out, " %s |", s->local_currency);
    if (s->charges.known)
        buf_adds(out, " invoiced | difference |");
    buf_addc(out, '\n');
    size_t right = 5 + (s->local_currency != NULL) + (s->charges.known ? 2u : 0u);
    for (size_t k = 0; k < s->by.count; k++)
        buf_adds(out, "|---");
    for (size_t i = 0; i < right; i++)
        buf_adds(out, "|---:");
    buf_adds(out, "|\n");
    for (size_t i = 0; i < s->rows.count; i++)
        markdown_row(out, s, &s->rows.items[i], false);
    if (s->by.count > 0)
        markdown_row(out, s, &s->total, true);
    struct buf words = {0};
    spending_remarks(s, &words);
    if (words.len > 0)
        buf_printf(out, "\n%s\n", buf_str(&words));
    buf_drop(out, &words);
}
