// SPDX-License-Identifier: Apache-2.0
// Deleting: by exact name, from manifests of this job, what no remaining checkpoint needs.
#include <string.h>

#include "base/index.h"
#include "guard/keep_parts.h"

#define AT_ONCE 64 // the oldest of more wait for the next time

struct pruning {
    struct keep *keep;
    struct index needed; // names of data that remaining checkpoints have
    // The newest one that could not be read: which data it needs is not known, so no data of
    // its time or older is deleted.
    const struct save *unread;
    size_t from; // the checkpoints that are looked at
    bool gone[AT_ONCE];
    int64_t deadline_ns;
};

// Which go: those beyond the last ones; and of older epochs those that were cut or do not count.
static bool goes(const struct pruning *p, size_t index, int newer)
{
    const struct keep *keep = p->keep;
    const struct save *save = &keep->saves[index];
    int64_t epoch = lease_epoch(keep->lease);
    if (save->bad || save->passed || (p->unread && save < p->unread))
        return false;
    if (save->counts)
        return newer >= keep->last;
    return save->epoch < epoch && save->has_manifest && (save->ours || !save->has_marker);
}

static int need(struct pruning *p, struct save *save, struct err *err)
{
    size_t number;
    int rc = keep_manifest(p->keep, save, p->deadline_ns, err);
    if (rc == ERR_FORMAT || rc == ERR_MISSING) {
        save->bad = true;
        save->counts = false;
        return 0;
    }
    TRY(rc);
    for (size_t i = 0; i < save->manifest.count; i++) {
        const char *data = save->manifest.items[i].data;
        if (data)
            TRY(index_number(&p->needed, data, strlen(data), &number, err));
    }
    return 0;
}

// "data/EEEEEEEEEE-NNNNNN/SHA256": the number that had it first.
static bool may_be_needed(const struct pruning *p, const char *data)
{
    char last[STORE_NAME_BYTES];
    if (!p->unread)
        return false;
    keep_name("data", p->unread->epoch, p->unread->number, "", last);
    return strncmp(data, last, strlen(last)) <= 0;
}

static int drop_data(struct pruning *p, const struct save *save, struct err *err)
{
    for (size_t i = 0; i < save->manifest.count; i++) {
        const char *data = save->manifest.items[i].data;
        size_t before = p->needed.count, number;
        if (!data || may_be_needed(p, data))
            continue;
        TRY(index_number(&p->needed, data, strlen(data), &number, err)); // deleted once only
        if (number < before)
            continue;
        TRY(store_delete(p->keep->store, data, p->deadline_ns, err));
        if (!save->has_marker && store_part_count(save->manifest.items[i].bytes) > 1)
            TRY(store_forget(p->keep->store, data, p->deadline_ns, err));
    }
    return 0;
}

static int drop(struct pruning *p, struct save *save, struct err *err)
{
    char name[STORE_NAME_BYTES];
    TRY(keep_manifest(p->keep, save, p->deadline_ns, err));
    if (!save->ours) // cut, and of another job: its manifest says so
        return 0;
    keep_name("saves", save->epoch, save->number, "complete", name);
    if (save->has_marker)
        TRY(store_delete(p->keep->store, name, p->deadline_ns, err));
    save->counts = false;
    TRY(drop_data(p, save, err));
    keep_name("saves", save->epoch, save->number, "manifest", name);
    TRY(store_delete(p->keep->store, name, p->deadline_ns, err));
    save->has_manifest = save->has_marker = false;
    return 0;
}

static void choose(struct pruning *p)
{
    struct keep *keep = p->keep;
    int newer = 0;
    for (size_t i = keep->count; i-- > 0 && !p->unread;)
        if (keep->saves[i].bad)
            p->unread = &keep->saves[i];
    p->from = keep->count > AT_ONCE ? keep->count - AT_ONCE : 0;
    for (size_t i = keep->count; i-- > p->from;) {
        p->gone[i - p->from] = goes(p, i, newer);
        newer += keep->saves[i].counts;
    }
}

static int prune(struct pruning *p, struct buf *notes, struct err *err)
{
    struct keep *keep = p->keep;
    choose(p);
    for (size_t i = 0; i < keep->count; i++)
        if (keep->saves[i].ours && !keep->saves[i].bad && keep->saves[i].has_manifest &&
            (i < p->from || !p->gone[i - p->from]))
            TRY(need(p, &keep->saves[i], err));
    p->unread = NULL; // some may have turned out to be bad
    choose(p);
    for (size_t i = p->from; i < keep->count; i++) {
        struct err why = {0};
        if (p->gone[i - p->from] && drop(p, &keep->saves[i], &why) != 0 && notes)
            buf_printf(notes, "checkpoint %lld-%lld could not be deleted: %s\n",
                       (long long)keep->saves[i].epoch, (long long)keep->saves[i].number, why.text);
    }
    return 0;
}

// Forgets checkpoints that are gone.
static void compact(struct keep *keep)
{
    size_t count = 0;
    for (size_t i = 0; i < keep->count; i++) {
        if (keep->saves[i].has_manifest || keep->saves[i].has_marker)
            keep->saves[count++] = keep->saves[i];
        else
            manifest_release(&keep->saves[i].manifest);
    }
    keep->count = count;
}

void keep_prune(struct keep *keep, struct buf *notes, int64_t deadline_ns)
{
    struct pruning p = {.keep = keep, .deadline_ns = deadline_ns};
    struct err err = {0};
    if (prune(&p, notes, &err) != 0 && notes)
        buf_printf(notes, "old checkpoints were not deleted: %s\n", err.text);
    index_release(&p.needed);
    compact(keep);
}
