// SPDX-License-Identifier: Apache-2.0
// The values of a document's tables in words: one wording for all media.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "render/doc.h"

bool cell_known(const struct cell *cell)
{
    if (cell->kind == CELL_TEXT || cell->kind == CELL_OFFER)
        return cell->chips[0].text || cell->sub ||
               (cell->text && *cell->text && strcmp(cell->text, "-") != 0);
    return cell->rug || cell->value.known || cell->amount.known || (cell->text && *cell->text);
}

bool cell_drawn(enum cell_kind kind)
{
    return kind == CELL_BAR || kind == CELL_RUG;
}

static struct short_text number(enum cell_kind kind, double v)
{
    char time[24];
    switch (kind) {
    case CELL_TIME:
        clock_words(llround(v * 1e9), time, sizeof time);
        return short_text("%s", time);
    case CELL_STEP:
        return short_text("%s", units_step(v).s);
    case CELL_RATIO:
        if (v >= 1000)
            return short_text("%.3g", v);
        return short_text("%.*f", v < 10 ? 4 : v < 100 ? 3 : 2, v);
    case CELL_SHARE:
        return short_text("%.2f %%", v * 100);
    case CELL_PERCENT:
        return short_text("%.0f %%", v);
    case CELL_COUNT:
        return short_text("%s", units_grouped(short_text("%.0f", v).s).s);
    case CELL_NUMBER:
        if (v >= 99.95 && v < 1e6)
            return short_text("%.0f", v);
        return short_text(v < 99.95 ? "%#.3g" : "%.3g", v);
    default:
        return short_text("%.4g", v);
    }
}

static void amount_words(const struct cell *cell, char amount[MONEY_BYTES],
                         char interval[MONEY_INTERVAL_BYTES])
{
    const int64_t nano = cell->amount.nano;
    const bool ends = cell->least.known && cell->most.known;
    money_interval(nano, ends ? cell->least.nano : nano, ends ? cell->most.nano : nano, amount,
                   interval);
}

void cell_words(const struct cell *cell, struct buf *out)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    const char *mark = cell->mark ? cell->mark : "", *flag = cell->flag ? cell->flag : "";
    if (cell->text)
        buf_adds(out, cell->text);
    else if (cell->amount.known && cell->kind == CELL_AMOUNT)
        amount_words(cell, amount, interval), buf_printf(out, "%s%s%s", mark, amount, flag);
    else if (cell->value.known)
        buf_printf(out, "%s%s%s", mark, number(cell->kind, cell->value.v).s, flag);
    else
        buf_adds(out, "-");
}

bool cell_interval(const struct cell *cell, struct buf *out)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES] = "";
    if (cell->kind == CELL_AMOUNT) {
        if (cell->amount.known)
            amount_words(cell, amount, interval);
        int low = (int)strcspn(interval, "-"); // no amount with an interval is negative
        if (*interval)
            buf_printf(out, "%.*s to %s", low, interval, interval + low + 1);
        return *interval != '\0';
    }
    if (!cell->value.known || !cell->low.known || !cell->high.known)
        return false;
    struct short_text low = number(cell->kind, cell->low.v);
    const struct short_text high = number(cell->kind, cell->high.v);
    if (strcmp(low.s, high.s) == 0)
        return false;
    if (cell->kind == CELL_SHARE || cell->kind == CELL_PERCENT)
        low.s[strcspn(low.s, " ")] = '\0'; // one sign is enough
    buf_printf(out, "%s to %s", low.s, high.s);
    return true;
}

void cell_local(const struct cell *cell, struct buf *out)
{
    char text[MONEY_BYTES] = "unknown";
    if (!cell->currency)
        return;
    if (cell->local.known)
        money_short_in(cell->local.nano, cell->currency, text);
    buf_printf(out, "%s%s", cell->local.known && cell->mark ? cell->mark : "", text);
}
