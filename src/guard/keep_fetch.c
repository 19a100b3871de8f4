// SPDX-License-Identifier: Apache-2.0
// Finding the newest checkpoint that is whole. Where there are some and none can be used, the store
// or this machine may be at fault for a while: trying again is better than training from the start.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "guard/keep_parts.h"
#include "guard/pause.h"

#define READ_TRIES 3 // of one checkpoint that seems not to be whole
#define AGAIN_MS   1000
#define CUT_MOST   3 // fetches that were cut after some bytes: patience begins anew

// The epoch's beginning, for all that come later (lease.h, "Fencing").
static int write_base(struct keep *keep, const struct save *save, int64_t deadline_ns,
                      struct err *err)
{
    char name[STORE_NAME_BYTES];
    struct buf text = {0};
    struct marker base = {
        .epoch = save ? save->epoch : 0, .number = save ? save->number : 0, .passed = keep->passed};
    snprintf(base.job, sizeof base.job, "%s", keep->job);
    lease_name(lease_epoch(keep->lease), "base", name);
    int rc = marker_write(&base, &text, err);
    if (rc == 0)
        rc = store_put(keep->store, name, text.data, text.len, deadline_ns, err);
    buf_release(&text);
    return rc == 0 ? lease_confirm(keep->lease, deadline_ns, err) : rc;
}

// A checkpoint that no later start has left behind, whole or not.
static bool stands(const struct save *save)
{
    return save->counts || (save->bad && save->has_marker && !save->fenced);
}

// Those newer than the one that is used: the next starts neither use nor delete them.
static void pass_over(struct keep *keep, const struct save *found)
{
    for (size_t i = keep->count; i-- > 0 && &keep->saves[i] != found;)
        if (stands(&keep->saves[i])) {
            keep->saves[i].counts = false;
            keep->saves[i].passed = keep->passed = true;
        }
}

// Whether an answer may be another one a moment later.
static bool not_whole(int rc)
{
    return rc == ERR_FORMAT || rc == ERR_MISSING;
}

// When trying ends, and when fetching does: that may take hours, and is never cut for want of
// patience.
struct limits {
    int64_t until_ns, deadline_ns;
};

// Pauses take at most a quarter of the time that is left: an older one may be whole.
static int fetch_one(struct keep *keep, struct save *save, const char *dir, char **path,
                     struct buf *notes, const struct limits *l, struct err *err)
{
    int64_t now_ns = clock_now_ns();
    struct pause pause = pause_begin(AGAIN_MS, now_ns + (l->until_ns - now_ns) / 4, NULL);
    for (int i = 1;; i++) {
        struct err why = {0};
        int rc = keep_place(keep, save, dir, path, notes, l->deadline_ns, &why);
        if (!not_whole(rc) || i == READ_TRIES || !pause_wait(&pause))
            return rc == 0 ? 0 : err_pass(err, rc, &why);
    }
}

// 1: found; 0: there is none; less: there are some, and `err` says what is wrong with the newest.
static int fetch_newest(struct keep *keep, const char *dir, struct save **found, char **path,
                        struct buf *notes, const struct limits *l, struct err *err)
{
    struct buf passed = {0};
    int rc = 0;
    struct save *newest = NULL;
    for (size_t i = keep->count; i-- > 0 && !*found && (rc == 0 || not_whole(rc));) {
        struct save *save = &keep->saves[i];
        struct err why = {0};
        if (!stands(save))
            continue;
        rc = save->bad ? err_set(&why, ERR_FORMAT, "its marker cannot be read")
                       : fetch_one(keep, save, dir, path, notes, l, &why);
        if (rc == 0)
            *found = save;
        else if (!newest)
            newest = save, err_pass(err, rc, &why);
        if (not_whole(rc))
            buf_printf(&passed, "checkpoint %lld-%lld is not whole and is passed over: %s\n",
                       (long long)save->epoch, (long long)save->number, why.text);
    }
    if (*found)
        buf_adds(notes, buf_str(&passed));
    buf_release(&passed);
    if (*found)
        return 1;
    if (newest) {
        keep->unusable = (struct keep_entry){.epoch = newest->epoch,
                                             .number = newest->number,
                                             .step = newest->loaded ? newest->manifest.step : -1};
        return rc;
    }
    return keep->expected ? err_set(err, ERR_MISSING,
                                    "earlier starts saved checkpoints there, and none is left")
                          : 0;
}

static int unusable(const struct keep *keep, const struct err *why, struct err *err)
{
    char which[80] = "what is saved", step[40] = "";
    const struct keep_entry *e = &keep->unusable;
    if (e->epoch > 0 && e->step >= 0)
        snprintf(step, sizeof step, " (step %lld)", (long long)e->step);
    if (e->epoch > 0)
        snprintf(which, sizeof which, "checkpoint %lld-%lld%s", (long long)e->epoch,
                 (long long)e->number, step);
    err_set(err, ERR_KEPT, "%s of job '%s' in %s cannot be used: %s", which, keep->job,
            store_shown(keep->store), why->text);
    return err_hint(err, "nothing was deleted: mend the store or the folder and start it again; "
                         "--start-over trains from the beginning");
}

// Tries until one can be used, or `patience_ns` are over.
static int find(struct keep *keep, const char *dir, struct save **found, char **path,
                struct buf *notes, int64_t deadline_ns, struct err *err)
{
    struct limits l = {clock_now_ns() + keep->patience_ns, deadline_ns};
    if (deadline_ns && deadline_ns < l.until_ns)
        l.until_ns = deadline_ns;
    struct pause pause = pause_begin(AGAIN_MS, l.until_ns, NULL);
    for (int cut = 0;;) {
        struct err why = {0};
        int64_t before = keep->fetched_bytes;
        buf_reset(notes);
        int rc = keep_load(keep, notes, deadline_ns, &why);
        bool refused = rc == ERR_USAGE; // someone must act
        if (rc == 0)
            rc = fetch_newest(keep, dir, found, path, notes, &l, &why);
        if (rc >= 0)
            return rc;
        if (rc == ERR_MEMORY || rc == ERR_FAIL || refused) {
            err_pass(err, rc, &why);
            return why.hint[0] ? err_hint(err, "%s", why.hint) : rc;
        }
        keep->doing = "waiting for the saved checkpoints";
        if (keep->progress && !keep->progress(keep->context, keep->doing, 0, 0))
            return err_set(err, ERR_FAIL, "stopped");
        if (keep->fetched_bytes > before && cut++ < CUT_MOST && !deadline_ns)
            pause.deadline_ns = l.until_ns = clock_now_ns() + keep->patience_ns;
        if (!pause_wait(&pause))
            return unusable(keep, &why, err);
    }
}

int keep_fetch(struct keep *keep, const char *dir, struct keep_entry *entry, char **path,
               struct buf *notes, int64_t deadline_ns, struct err *err)
{
    struct save *found = NULL;
    struct buf said = {0};
    *path = NULL;
    *entry = (struct keep_entry){.step = -1};
    int rc = keep->start_over ? keep_load(keep, &said, deadline_ns, err)
                              : find(keep, dir, &found, path, &said, deadline_ns, err);
    if (rc >= 0 && keep->foreign > 0)
        buf_printf(&said, "%lld checkpoint%s of other jobs in '%s' %s left alone\n",
                   (long long)keep->foreign, keep->foreign == 1 ? "" : "s",
                   store_shown(keep->store), keep->foreign == 1 ? "is" : "are");
    buf_adds(notes, buf_str(&said));
    buf_release(&said);
    if (rc >= 0)
        rc = buf_check(notes, err);
    if (rc == 0)
        pass_over(keep, found);
    if (rc == 0 && keep->lease)
        rc = write_base(keep, found, deadline_ns, err);
    if (rc != 0) {
        free(*path);
        *path = NULL;
        return rc;
    }
    if (found) {
        found->verified = true;
        keep_entry_of(found, entry);
    }
    return found != NULL;
}
