// SPDX-License-Identifier: Apache-2.0
// Deleting: by exact name, from manifests of this job, what no remaining checkpoint needs.
#include <string.h>

#include "base/index.h"
#include "guard/keep_parts.h"

struct pruning {
    struct keep *keep;
    struct index needed; // names of data that remaining checkpoints have
    int64_t deadline_ns;
};

// Which go: those beyond the last ones; and of older epochs those that were cut or do not count.
static bool goes(const struct keep *keep, size_t index, int newer)
{
    const struct save *save = &keep->saves[index];
    int64_t epoch = lease_epoch(keep->lease);
    if (save->bad)
        return false;
    if (save->counts)
        return newer >= keep->last;
    return save->epoch < epoch && save->has_manifest && (save->ours || !save->has_marker);
}

static int need(struct pruning *p, struct save *save, struct err *err)
{
    size_t number;
    int rc = keep_manifest(p->keep, save, p->deadline_ns, err);
    if (rc == ERR_FORMAT || rc == ERR_MISSING) { // the next time without it
        save->bad = true;
        save->counts = false;
    }
    TRY(rc);
    for (size_t i = 0; i < save->manifest.count; i++) {
        const char *data = save->manifest.items[i].data;
        if (data)
            TRY(index_number(&p->needed, data, strlen(data), &number, err));
    }
    return 0;
}

static int drop_data(struct pruning *p, const struct save *save, struct err *err)
{
    for (size_t i = 0; i < save->manifest.count; i++) {
        const char *data = save->manifest.items[i].data;
        size_t before = p->needed.count, number;
        if (!data)
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

static int prune(struct pruning *p, struct buf *notes, struct err *err)
{
    struct keep *keep = p->keep;
    int newer = 0;
    bool gone[64] = {0}; // the oldest of more wait for the next time
    size_t from = keep->count > 64 ? keep->count - 64 : 0;
    for (size_t i = keep->count; i-- > from;) {
        gone[i - from] = goes(keep, i, newer);
        newer += keep->saves[i].counts;
    }
    for (size_t i = 0; i < keep->count; i++)
        if (keep->saves[i].ours && !keep->saves[i].bad && keep->saves[i].has_manifest &&
            (i < from || !gone[i - from]))
            TRY(need(p, &keep->saves[i], err));
    for (size_t i = from; i < keep->count; i++) {
        struct err why = {0};
        if (gone[i - from] && drop(p, &keep->saves[i], &why) != 0 && notes)
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
