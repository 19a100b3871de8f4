// SPDX-License-Identifier: Apache-2.0
#include "view/account.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SMALL 0.01
// A share of waiting that is worth a sentence, and one above which a faster GPU is of no use.
#define MATTERS 0.10
#define MOST    0.30

static void add(struct account_part *out, size_t *count, const char *name, const char *precision,
                double share, char waits)
{
    struct account_part *p = &out[(*count)++];
    snprintf(p->name, sizeof p->name, "%s%s%s", name, precision ? ", " : "",
             precision ? precision : "");
    p->share = share;
    p->waits = waits;
}

size_t account_parts(const struct run_account *a, struct account_part out[ACCOUNT_PARTS])
{
    const struct {
        const char *name;
        struct maybe_real share;
        char waits;
    } gaps[] = {{"waiting for data", a->data_share, 'd'},
                {"waiting after results were read", a->sync_share, 's'},
                {"waiting for the host", a->host_share, 'h'},
                {"waiting outside of the recorded steps", a->unseen_share, '?'},
                {"between kernels", a->short_share, '.'}};
    enum { GAPS = sizeof gaps / sizeof *gaps, WORK = ACCOUNT_PARTS - GAPS - 1 };
    size_t count = 0;
    double other = 0;
    if (!a->busy_share.known)
        return 0;
    for (size_t i = 0; i < a->work.count; i++) {
        const struct run_work *w = &a->work.items[i];
        bool named = w->name && strcmp(w->name, "other") != 0;
        if (count < WORK && named && w->share.v >= SMALL)
            add(out, &count, w->name, w->precision, w->share.v, 0);
        else
            other += w->share.v;
    }
    if (other > 0)
        add(out, &count, "other", NULL, other, 0);
    for (size_t i = 0; i < GAPS; i++)
        if (gaps[i].share.known && gaps[i].share.v >= SMALL / 10)
            add(out, &count, gaps[i].name, NULL, gaps[i].share.v, gaps[i].waits);
    return count;
}

static void largest_work(const struct run_account *a, struct buf *out)
{
    const struct run_work *w = a->work.count > 0 ? &a->work.items[0] : NULL;
    if (w && w->name && w->share.v >= 0.4 * a->busy_share.v)
        buf_printf(out, ", %.0f %% of that on %s%s%s", 100 * w->share.v / a->busy_share.v, w->name,
                   w->precision ? " in " : "", w->precision ? w->precision : "");
}

// "82 % of each step, 59 % for data", or, if there is hardly any other waiting, "59 % of each step
// for data".
static void add_waiting(const struct run_account *a, double share, const char *why, struct buf *out)
{
    double waits = 1 - a->busy_share.v;
    buf_adds(out, "the GPU waits ");
    if (waits - share >= MATTERS)
        buf_printf(out, "%.0f %% of each step, %.0f %% %s", waits * 100, share * 100, why);
    else
        buf_printf(out, "%.0f %% of each step %s", share * 100, why);
}

void account_sentence(const struct run_account *a, struct buf *out)
{
    const char *use = "a faster GPU will help little";
    if (!a->busy_share.known)
        return;
    double data = a->data_share.v, sync = a->sync_share.v, host = a->host_share.v,
           unseen = a->unseen_share.v, most = fmax(fmax(data, sync), fmax(host, unseen));
    if (1 - a->busy_share.v >= MOST)
        use = "a faster GPU will not help";
    if (most < MATTERS) {
        buf_printf(out, "the GPU works %.0f %% of each step", a->busy_share.v * 100);
        largest_work(a, out);
    } else if (data == most) {
        add_waiting(a, data, "for data", out);
        buf_printf(out, "; %s", use);
    } else if (host == most) {
        add_waiting(a, host, "for the host", out);
        if (a->launches_per_step.known)
            buf_printf(out, ", which launches %.0f kernels", a->launches_per_step.v);
        buf_printf(out, "; %s", use);
    } else if (sync == most) {
        add_waiting(a, sync, "after the program has read its results", out);
        buf_adds(out, "; read them less often");
    } else {
        add_waiting(a, unseen, "outside of the steps that were recorded", out);
        buf_printf(out, "; %s", use);
    }
}
