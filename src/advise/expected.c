// SPDX-License-Identifier: Apache-2.0
#include "advise/expected.h"

#include <math.h>
#include <stdlib.h>

#include "advise/estimate/estimate.h"

#define BUSY 0.9 // share of the time: below it the host has a part in the step time

struct expected {
    const struct devices *devices;
    struct estimate_tables *tables;
};

int expected_open(struct expected **out, const struct devices *devices, struct err *err)
{
    struct expected *e = calloc(1, sizeof *e);
    *out = NULL;
    if (!e)
        return err_memory(err);
    e->devices = devices;
    int rc = estimate_tables_open(&e->tables, err);
    if (rc == 0)
        *out = e;
    else
        expected_close(e);
    return rc;
}

void expected_close(struct expected *e)
{
    if (!e)
        return;
    estimate_tables_close(e->tables);
    free(e);
}

static double busy_of(const struct run *run) // negative: unknown
{
    if (run->account.busy_share.known)
        return run->account.busy_share.v;
    return run->use.steady.gpu_percent.known ? run->use.steady.gpu_percent.v / 100 : -1;
}

static void add_reason(double busy, double faster, double low, double high, struct buf *out)
{
    if (faster > high)
        buf_adds(out, "more than expected");
    else if (faster >= low)
        buf_adds(out, "as expected");
    else if (busy < BUSY)
        buf_printf(out, "the host limits it (its GPU was busy %.0f %% of the time)", 100 * busy);
    else
        buf_adds(out, "less than expected; 'fare check --bandwidth' there shows what its GPU "
                      "reaches");
}

void expected_words(const struct expected *e, const struct run *base, const struct run *run,
                    double faster, struct buf *out)
{
    struct estimate_place from = estimate_place_of(base, e->devices);
    struct estimate_place to = estimate_place_of(run, e->devices);
    const struct estimate_time second = {.s = 1};
    struct estimate estimate;
    double busy = busy_of(run);
    if (!(busy >= 0) || !(faster > 0) || !from.device || from.device == to.device ||
        from.gpus < 1 || from.gpus != to.gpus)
        return;
    // What the GPUs allow: the question is whether they were the limit.
    struct run bound = *base;
    bound.account.busy_share.known = false;
    bound.use.steady.gpu_percent = some_real(100);
    from.rates = to.rates = NULL;
    to.clock_mhz = 0;
    estimate_make(e->tables, &bound, &from, &to, &second, &estimate);
    if (estimate.kind != ESTIMATE_ESTIMATED)
        return;
    double low = 1 / estimate.high_s, high = 1 / estimate.low_s;
    buf_printf(out, "expected %.2g × (%.2g to %.2g ×) by the data sheets, measured %.2g ×: ",
               1 / estimate.time_s, low, high, faster);
    add_reason(busy, faster, low, high, out);
}
