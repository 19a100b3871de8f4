// SPDX-License-Identifier: Apache-2.0
#include "guard/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/money.h"
#include "record/read.h"

#define NAME "history/%010lld"

int history_write(struct store *store, const struct run_attempt *a, int64_t deadline_ns,
                  struct err *err)
{
    char name[STORE_NAME_BYTES];
    struct buf text = {0};
    snprintf(name, sizeof name, NAME, (long long)a->epoch.v);
    int rc = record_to_line(run_attempt_fields, a, &text, err);
    if (rc == 0)
        rc = store_put(store, name, buf_str(&text), text.len, deadline_ns, err);
    buf_release(&text);
    return rc;
}

void history_lost(struct run_attempt *a)
{
    bool finished = a->ended && strcmp(a->ended, "finished") == 0;
    if (!a->wall_s.known)
        return;
    double lost_s = a->wall_s.v - (a->saved_s.known ? a->saved_s.v : 0);
    a->lost_s = some_real(finished || lost_s < 0 ? 0 : lost_s);
}

static int read_one(struct store *store, const char *name, const char *job,
                    struct run_saving *saving, int64_t deadline_ns, struct err *err)
{
    struct buf text = {0};
    struct run_attempt one = {0};
    int rc = store_get(store, name, BOUND_ATTEMPT, &text, deadline_ns, err);
    if (rc == 0)
        rc = record_from_text(run_attempt_fields, buf_str(&text), text.len, &one, err);
    bool ours = rc == 0 && one.epoch.known && one.job && strcmp(one.job, job) == 0;
    if (ours && (!one.ended || strcmp(one.ended, "running") == 0)) {
        rc = text_set(&one.ended, "killed", err);
        one.taken = some_bool(true);
        history_lost(&one);
    }
    struct run_attempt *row = ours && rc == 0 ? LIST_ADD(&saving->attempts, err) : NULL;
    if (ours && rc == 0 && !row)
        rc = ERR_MEMORY;
    if (row)
        *row = one;
    else
        record_release(run_attempt_fields, &one);
    buf_release(&text);
    return rc == ERR_MISSING || rc == ERR_FORMAT ? 0 : rc; // that one is left out
}

int history_read(struct store *store, const char *job, int64_t epoch, struct run_saving *saving,
                 int64_t deadline_ns, struct err *err)
{
    struct store_list list = {0};
    char mine[STORE_NAME_BYTES];
    snprintf(mine, sizeof mine, NAME, (long long)epoch);
    saving->attempts.known = true;
    int rc = store_list(store, "history/", &list, deadline_ns, err);
    for (size_t i = 0; rc == 0 && i < list.count; i++)
        if (strcmp(list.items[i].name, mine) < 0) {
            struct err why = {0};
            rc = read_one(store, list.items[i].name, job, saving, deadline_ns, &why);
            if (rc != 0 && err)
                *err = why;
        }
    store_list_release(&list);
    return rc;
}

static bool add_money(struct maybe_money one, int64_t *sum)
{
    *sum += one.nano;
    return one.known;
}

int history_total(struct run_saving *s, struct err *err)
{
    int64_t usd = 0, on_demand = 0;
    const char *seen = NULL; // the oldest price
    int64_t paid = 0, rented = 0, count = (int64_t)s->attempts.count;
    s->interruptions = some_int(0);
    s->wall_s = s->lost_s = some_real(0);
    for (size_t i = 0; i < s->attempts.count; i++) {
        const struct run_attempt *a = &s->attempts.items[i];
        bool ended =
            a->ended && (strcmp(a->ended, "finished") == 0 || strcmp(a->ended, "running") == 0);
        s->interruptions.v += !ended;
        s->wall_s.v += a->wall_s.v;
        s->lost_s.v += a->lost_s.v;
        bool known = add_money(a->usd, &usd);
        paid += known;
        rented += known && add_money(a->on_demand_usd, &on_demand);
        if (a->on_demand_seen && (!seen || strcmp(a->on_demand_seen, seen) < 0))
            seen = a->on_demand_seen;
    }
    if (paid > 0)
        s->usd = some_money(usd);
    if (paid > 0 && paid < count)
        s->unpriced = some_int(count - paid);
    if (rented == 0 || rented != paid)
        return 0;
    s->on_demand_usd = some_money(on_demand);
    return text_set(&s->on_demand_seen, seen, err);
}
