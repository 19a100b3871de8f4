// SPDX-License-Identifier: Apache-2.0
#include "guard/lease_claim.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/bounds.h"
#include "base/clock.h"

int64_t lease_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

// Reads an object that may be gone, cut or someone else's: "" then.
static int read_text(struct store *store, const char *name, struct buf *text, int64_t deadline_ns,
                     struct err *err)
{
    struct err why = {0};
    buf_reset(text);
    int rc = store_get(store, name, BOUND_MARKER, text, deadline_ns, &why);
    if (rc == ERR_MISSING || rc == ERR_FORMAT) {
        buf_reset(text);
        return 0;
    }
    return rc == 0 ? 0 : err_pass(err, rc, &why);
}

// The claims and beats among objects of one epoch. Of several claims the lowest ID's is the
// holder's; only a holder beats.
static int read_epoch(struct store *store, const struct store_list *list, int64_t epoch,
                      struct lease_view *view, int64_t deadline_ns, struct err *err)
{
    struct buf text = {0};
    const char *what;
    bool claimed = false;
    int rc = 0;
    view->holder = (struct lease_holder){.epoch = epoch};
    view->beat = (struct lease_beat){.count = -1};
    for (size_t i = 0; rc == 0 && i < list->count; i++) {
        const char *name = list->items[i].name;
        struct lease_beat beat;
        if (lease_name_read(name, &what) != epoch)
            continue;
        bool is_claim = strncmp(what, "claim", 5) == 0, is_beat = strncmp(what, "beat.", 5) == 0;
        if ((!is_claim || claimed) && !is_beat)
            continue;
        rc = read_text(store, name, &text, deadline_ns, err);
        if (rc == 0 && is_claim)
            claimed = lease_claim_read(buf_str(&text), &view->holder);
        else if (rc == 0 && lease_beat_read(buf_str(&text), &beat) && beat.count > view->beat.count)
            view->beat = beat;
    }
    view->holder.ended = view->beat.ended;
    view->holder.done = view->beat.done;
    buf_release(&text);
    return rc;
}

static int64_t highest_of(const struct store_list *list)
{
    int64_t highest = 0;
    const char *what;
    for (size_t i = 0; i < list->count; i++) {
        int64_t epoch = lease_name_read(list->items[i].name, &what);
        highest = epoch > highest ? epoch : highest;
    }
    return highest;
}

int lease_highest(struct store *store, int64_t *epoch, int64_t deadline_ns, struct err *err)
{
    struct store_list list = {0};
    int rc = store_list(store, "lease/", &list, deadline_ns, err);
    *epoch = rc == 0 ? highest_of(&list) : 0;
    store_list_release(&list);
    return rc;
}

int lease_look(struct store *store, struct lease_view *view, int64_t deadline_ns, struct err *err)
{
    struct store_list list = {0};
    *view = (struct lease_view){.seen_ns = lease_now_ns(), .beat = {.count = -1}};
    int rc = store_list(store, "lease/", &list, deadline_ns, err);
    int64_t epoch = highest_of(&list);
    if (rc == 0 && epoch > 0)
        rc = read_epoch(store, &list, epoch, view, deadline_ns, err);
    store_list_release(&list);
    return rc;
}

int lease_ousted(struct store *store, int64_t epoch, bool *ousted, struct lease_holder *by,
                 int64_t deadline_ns, struct err *err)
{
    struct store_list list = {0};
    struct lease_view view = {0};
    char under[STORE_NAME_BYTES];
    lease_name(epoch + 1, "", under); // epochs are claimed one after the other
    int rc = store_list(store, under, &list, deadline_ns, err);
    *ousted = rc == 0 && list.count > 0;
    if (*ousted)
        rc = read_epoch(store, &list, epoch + 1, &view, deadline_ns, err);
    *by = view.holder;
    store_list_release(&list);
    return rc;
}

// Without conditions: lease.h, "Claiming".
static int claim_in_time(struct store *store, const struct lease_view *view, int64_t window_ns,
                         struct lease_holder *self, const struct buf *text, bool *won,
                         int64_t deadline_ns, struct err *err)
{
    char name[STORE_NAME_BYTES], what[64], under[STORE_NAME_BYTES];
    const char *other;
    struct store_list list = {0};
    snprintf(what, sizeof what, "claim.%s", self->id);
    lease_name(self->epoch, what, name);
    lease_name(self->epoch, "", under);
    TRY(store_put(store, name, text->data, text->len, deadline_ns, err));
    if (lease_now_ns() - view->seen_ns > window_ns)
        return 0; // too late to count
    clock_sleep_ns(2 * window_ns);
    int rc = store_list(store, under, &list, deadline_ns, err);
    bool there = false, lowest = true;
    for (size_t i = 0; rc == 0 && i < list.count; i++) {
        if (lease_name_read(list.items[i].name, &other) != self->epoch ||
            strncmp(other, "claim", 5) != 0)
            continue;
        there |= strcmp(other, what) == 0;
        lowest &= strcmp(other, what) >= 0;
    }
    *won = there && lowest;
    store_list_release(&list);
    return rc;
}

int lease_claim(struct store *store, const struct lease_view *view, int64_t window_ns,
                struct lease_holder *self, bool *won, int64_t deadline_ns, struct err *err)
{
    struct buf text = {0};
    char name[STORE_NAME_BYTES];
    bool exclusive = false;
    *won = false;
    self->epoch = view->holder.epoch + 1;
    lease_name(self->epoch, "claim", name);
    int rc = store_exclusive(store, &exclusive, deadline_ns, err);
    if (rc == 0)
        rc = lease_claim_write(self, &text, err);
    if (rc == 0 && exclusive)
        rc = store_create(store, name, text.data, text.len, won, deadline_ns, err);
    else if (rc == 0)
        rc = claim_in_time(store, view, window_ns, self, &text, won, deadline_ns, err);
    buf_release(&text);
    return rc;
}
