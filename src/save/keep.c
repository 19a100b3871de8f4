// SPDX-License-Identifier: Apache-2.0
#include "save/keep.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bounds.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "save/keep_parts.h"
#include "save/lease.h"
#include "save/manifest.h"

#define KEEP_LAST        3 // checkpoints kept, unless told otherwise
#define KEEP_PATIENCE_NS (600 * NS_PER_S)

// ---- Deleting: by exact name, from manifests of this job, what no remaining checkpoint needs.

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

static void choose_gone(struct pruning *p)
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
    choose_gone(p);
    for (size_t i = 0; i < keep->count; i++)
        if (keep->saves[i].ours && !keep->saves[i].bad && keep->saves[i].has_manifest &&
            (i < p->from || !p->gone[i - p->from]))
            TRY(need(p, &keep->saves[i], err));
    p->unread = NULL; // some may have turned out to be bad
    choose_gone(p);
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

// ---- Opening

void keep_name(const char *kind, int64_t epoch, int64_t number, const char *what,
               char out[STORE_NAME_BYTES])
{
    snprintf(out, STORE_NAME_BYTES, "%s/%010lld-%06lld/%s", kind, (long long)epoch,
             (long long)number, what);
}

int keep_open(struct keep **out, struct store *store, const struct keep_options *options,
              struct err *err)
{
    struct keep *keep = calloc(1, sizeof *keep);
    if (!keep)
        return err_memory(err);
    keep->store = store;
    keep->lease = options->lease;
    keep->last = options->last > 0 ? options->last : KEEP_LAST;
    keep->progress = options->progress;
    keep->context = options->context;
    keep->start_over = options->start_over;
    keep->expected = options->expects;
    keep->patience_ns = options->patience_ns > 0 ? options->patience_ns : KEEP_PATIENCE_NS;
    keep->job = text_copy(options->job, err);
    if (!keep->job) {
        keep_free(keep);
        return ERR_MEMORY;
    }
    *out = keep;
    return 0;
}

static void release_saves(struct save *saves, size_t count)
{
    for (size_t i = 0; i < count; i++)
        manifest_release(&saves[i].manifest);
    free(saves);
}

void keep_free(struct keep *keep)
{
    if (!keep)
        return;
    release_saves(keep->saves, keep->count);
    scan_release(&keep->scan);
    free(keep->job);
    free(keep);
}

// ---- The list

struct save *keep_add(struct keep *keep, int64_t epoch, int64_t number, struct err *err)
{
    if (array_grow(&keep->saves, keep->count, &keep->cap, sizeof *keep->saves, err) != 0)
        return NULL;
    struct save *save = &keep->saves[keep->count++];
    *save = (struct save){.epoch = epoch, .number = number};
    return save;
}

// "saves/EEEEEEEEEE-NNNNNN/WHAT"
static const char *name_read(const char *name, int64_t *epoch, int64_t *number)
{
    char *end;
    const char *p = name + strlen("saves/");
    if (strncmp(name, "saves/", 6) != 0 || !isdigit((unsigned char)p[0]))
        return NULL;
    *epoch = strtoll(p, &end, 10);
    if (end != p + 10 || *end != '-' || !isdigit((unsigned char)end[1]))
        return NULL;
    p = end + 1;
    *number = strtoll(p, &end, 10);
    if (end < p + 6 || end > p + 9 || *end != '/' || *epoch < 1 || *number < 1)
        return NULL;
    return end + 1;
}

static int read_marker(struct keep *keep, struct save *save, struct buf *notes, int64_t deadline_ns,
                       struct err *err)
{
    char name[STORE_NAME_BYTES];
    struct marker marker;
    SCOPED(buf_release) struct buf text = {0};
    struct err why = {0};
    keep_name("saves", save->epoch, save->number, "complete", name);
    int rc = store_get(keep->store, name, BOUND_MARKER, &text, deadline_ns, &why);
    if (rc == ERR_MISSING || rc == ERR_FORMAT) { // gone meanwhile, or absurdly long
        save->bad = true;
        rc = 0;
    } else if (rc != 0) {
        err_pass(err, rc, &why);
    } else if (!marker_read(buf_str(&text), &marker) || !marker.sum[0] ||
               marker.epoch != save->epoch || marker.number != save->number) {
        save->bad = true;
        if (notes)
            buf_printf(notes, "checkpoint %lld-%lld is passed over: its marker cannot be read\n",
                       (long long)save->epoch, (long long)save->number);
    } else {
        save->ours = strcmp(marker.job, keep->job) == 0;
        keep->foreign += !save->ours;
        memcpy(save->sum, marker.sum, sizeof save->sum);
    }
    return rc;
}

static int read_saves(struct keep *keep, struct buf *notes, int64_t deadline_ns, struct err *err)
{
    SCOPED(store_list_release) struct store_list list = {0};
    TRY(store_list(keep->store, "saves/", &list, deadline_ns, err));
    for (size_t i = 0; i < list.count; i++) {
        int64_t epoch, number;
        const char *what = name_read(list.items[i].name, &epoch, &number);
        if (!what)
            continue;
        struct save *save = keep->count ? &keep->saves[keep->count - 1] : NULL;
        if (!save || save->epoch != epoch || save->number != number)
            save = keep_add(keep, epoch, number, err);
        if (!save)
            return ERR_MEMORY;
        save->has_manifest |= strcmp(what, "manifest") == 0;
        save->has_marker |= strcmp(what, "complete") == 0;
    }
    for (size_t i = 0; i < keep->count; i++)
        if (keep->saves[i].has_marker)
            TRY(read_marker(keep, &keep->saves[i], notes, deadline_ns, err));
    return 0;
}

static bool newer(int64_t epoch, int64_t number, int64_t than_epoch, int64_t than_number)
{
    return epoch != than_epoch ? epoch > than_epoch : number > than_number;
}

// Later epochs of this job began from a checkpoint; older epochs' later ones do not count.
// `*began`: that epoch began from one, not from the start.
static int apply_base(struct keep *keep, const char *name, int64_t epoch, bool *began,
                      int64_t deadline_ns, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    struct marker base = {0};
    struct err why = {0};
    int rc = store_get(keep->store, name, BOUND_MARKER, &text, deadline_ns, &why);
    if (rc == ERR_MISSING || rc == ERR_FORMAT)
        rc = 0;
    else if (rc != 0)
        err_pass(err, rc, &why);
    else if (marker_read(buf_str(&text), &base) && strcmp(base.job, keep->job) == 0)
        for (size_t i = 0; i < keep->count; i++)
            if (keep->saves[i].epoch < epoch &&
                newer(keep->saves[i].epoch, keep->saves[i].number, base.epoch, base.number)) {
                keep->saves[i].counts = false;
                keep->saves[i].fenced = true;
                keep->saves[i].passed |= base.passed;
            }
    *began = rc == 0 && base.number > 0;
    return rc;
}

static int apply_bases(struct keep *keep, int64_t deadline_ns, struct err *err)
{
    SCOPED(store_list_release) struct store_list list = {0};
    const char *what;
    int64_t oldest = INT64_MAX;
    for (size_t i = 0; i < keep->count; i++) {
        struct save *save = &keep->saves[i];
        save->counts = save->has_marker && save->ours && !save->bad;
        if (save->has_marker && (save->ours || save->bad) && save->epoch < oldest)
            oldest = save->epoch;
    }
    TRY(store_list(keep->store, "lease/", &list, deadline_ns, err));
    const char *last = NULL; // base of the epoch before this one
    int64_t own = keep->lease ? lease_epoch(keep->lease) : INT64_MAX;
    bool began = false;
    for (size_t i = 0; i < list.count; i++) {
        int64_t epoch = lease_name_read(list.items[i].name, &what);
        if (epoch <= 0 || strcmp(what, "base") != 0)
            continue;
        last = epoch < own ? list.items[i].name : last;
        if (epoch > oldest)
            TRY(apply_base(keep, list.items[i].name, epoch, &began, deadline_ns, err));
    }
    if (last)
        TRY(apply_base(keep, last, lease_name_read(last, &what), &began, deadline_ns, err));
    keep->expected |= last && began;
    return 0;
}

// Data is written after the manifest that names it, and deleted before it. So where there is some
// and no manifest, the list of checkpoints is not true.
static int expect_by_data(struct keep *keep, int64_t deadline_ns, struct err *err)
{
    SCOPED(store_list_release) struct store_list list = {0};
    int rc = keep->count > 0 ? 0 : store_list(keep->store, "data/", &list, deadline_ns, err);
    keep->expected |= list.count > 0;
    return rc;
}

// What this process knows of checkpoints that are still the same.
static void remember(struct keep *keep, struct save *old, size_t count)
{
    for (size_t i = 0, k = 0; i < keep->count; i++) {
        struct save *save = &keep->saves[i];
        while (k < count && newer(save->epoch, save->number, old[k].epoch, old[k].number))
            k++;
        if (k == count || old[k].epoch != save->epoch || old[k].number != save->number ||
            !old[k].loaded || old[k].has_marker != save->has_marker ||
            strcmp(old[k].sum, save->sum) != 0)
            continue;
        save->loaded = true;
        save->ours = old[k].ours;
        save->verified = old[k].verified;
        save->manifest = old[k].manifest;
        old[k].manifest = (struct manifest){0};
    }
}

int keep_load(struct keep *keep, struct buf *notes, int64_t deadline_ns, struct err *err)
{
    struct save *old = keep->saves;
    size_t old_count = keep->count;
    int64_t most_ns = clock_now_ns() + BOUND_HISTORY_NS; // however many answers there are
    deadline_ns = deadline_ns && deadline_ns < most_ns ? deadline_ns : most_ns;
    keep->saves = NULL;
    keep->count = keep->cap = 0;
    keep->foreign = 0;
    keep->loaded = false;
    int rc = read_saves(keep, notes, deadline_ns, err);
    if (rc == 0)
        remember(keep, old, old_count);
    release_saves(old, old_count);
    if (rc == 0)
        rc = apply_bases(keep, deadline_ns, err);
    if (rc == 0)
        rc = expect_by_data(keep, deadline_ns, err);
    TRY(rc);
    for (size_t i = 0; keep->lease && i < keep->count; i++)
        if (keep->saves[i].epoch == lease_epoch(keep->lease) &&
            keep->saves[i].number > keep->number)
            keep->number = keep->saves[i].number;
    keep->loaded = true;
    return 0;
}

int keep_manifest(struct keep *keep, struct save *save, int64_t deadline_ns, struct err *err)
{
    char name[STORE_NAME_BYTES], sum[SHA256_HEX_BYTES];
    SCOPED(buf_release) struct buf text = {0};
    struct err why = {0};
    if (save->loaded)
        return 0;
    keep_name("saves", save->epoch, save->number, "manifest", name);
    int rc = store_get(keep->store, name, BOUND_MANIFEST, &text, deadline_ns, &why);
    if (rc != 0)
        err_set(err, rc, "%s%s", why.text,
                rc == ERR_FORMAT ? ": it is not a manifest of fare's" : "");
    if (rc == 0) {
        sha256_hex_of(buf_str(&text), text.len, sum);
        if (save->has_marker && strcmp(sum, save->sum) != 0)
            rc = err_set(err, ERR_FORMAT, "the manifest is not the one that was marked complete");
    }
    if (rc == 0)
        rc = manifest_read(buf_str(&text), &save->manifest, err);
    if (rc == 0 && (save->manifest.epoch != save->epoch || save->manifest.number != save->number)) {
        manifest_release(&save->manifest);
        rc = err_set(err, ERR_FORMAT, "the manifest is another checkpoint's");
    }
    if (rc == 0) {
        save->ours = strcmp(save->manifest.job, keep->job) == 0;
        save->loaded = true;
    }
    return rc;
}

void keep_entry_of(const struct save *save, struct keep_entry *entry)
{
    *entry = (struct keep_entry){.epoch = save->epoch,
                                 .number = save->number,
                                 .date_s = save->manifest.date_s,
                                 .step = save->manifest.step,
                                 .bytes = manifest_bytes(&save->manifest),
                                 .files = manifest_files(&save->manifest)};
}
