// SPDX-License-Identifier: Apache-2.0
#include "measure/partial.h"

#include <stdio.h>

#include "base/clock.h"
#include "record/read.h"
#include "run/peak.h"

// After a kill the last fiftieth of the run may be missing, and never more than a minute.
#define LEAST_NS (2 * NS_PER_S)
#define MOST_NS  (60 * NS_PER_S)
#define PARTS    50

void partial_begin(struct partial *p, struct journal *journal, int64_t start_ns)
{
    *p = (struct partial){.journal = journal, .start_ns = start_ns};
}

bool partial_due(const struct partial *p)
{
    return p->journal && clock_now_ns() >= p->next_ns;
}

static int copy(const struct run *run, struct run *part, struct err *err)
{
    struct buf text = {0};
    int rc = record_to_line(run_fields, run, &text, err);
    if (rc == 0)
        rc = record_from_text(run_fields, buf_str(&text), text.len, part, err);
    buf_release(&text);
    return rc;
}

static int finish(const struct partial *p, struct run *part, struct err *err)
{
    char words[64], time[24];
    clock_words(clock_now_ns() - p->start_ns, time, sizeof time);
    snprintf(words, sizeof words, "cut off; this is its first %s", time);
    part->full = some_bool(false);
    run_derive(part);
    peak_derive(part);
    int rc = text_set(&part->ended, "killed", err);
    return rc == 0 ? text_set(&part->problem, words, err) : rc;
}

void partial_keep(struct partial *p, const struct run *run, partial_fn *fill, void *context)
{
    if (!p->journal)
        return;
    int64_t before_ns = clock_thread_ns(); // what others take of it meanwhile is not its cost
    struct run part = {0};
    struct buf text = {0};
    struct err ignored = {0};
    int rc = copy(run, &part, &ignored);
    if (rc == 0)
        rc = fill(context, &part, &ignored);
    if (rc == 0)
        rc = finish(p, &part, &ignored);
    if (rc == 0)
        rc = record_to_line(run_fields, &part, &text, &ignored);
    if (rc == 0)
        journal_put(p->journal, &text);
    buf_release(&text);
    record_release(run_fields, &part);
    int64_t now_ns = clock_now_ns(), wait_ns = (now_ns - p->start_ns) / PARTS;
    wait_ns = wait_ns < LEAST_NS ? LEAST_NS : wait_ns > MOST_NS ? MOST_NS : wait_ns;
    int64_t least_ns = (int64_t)((double)(clock_thread_ns() - before_ns) / PARTIAL_SHARE);
    p->next_ns = now_ns + (wait_ns > least_ns ? wait_ns : least_ns);
}

void partial_end(struct partial *p)
{
    journal_rest(p->journal);
}
