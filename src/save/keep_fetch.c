// SPDX-License-Identifier: Apache-2.0
// Finding the newest checkpoint that is whole, and bringing it onto this machine's disk. It is
// fetched into a folder of fare's own, TOP/.fare, and verified there; then it is moved to where it
// belongs, in one step, unless something else is there. Manifests come from a store that others may
// write to: nothing but an older checkpoint is ever replaced, and nothing is written through a
// link.
#include "save/keep_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "save/find.h"
#include "save/lease.h"
#include "save/store.h"

struct placing {
    struct keep *keep;
    const struct manifest *manifest;
    struct buf own;   // TOP/.fare
    struct buf dir;   // TOP/PLACE: the folder that it belongs into
    struct buf root;  // OWN/new/NAME: where it is fetched to
    struct buf final; // DIR/NAME
    bool moves;       // to `final`; else it stays in the folder of fare's own
    bool asks;        // the store is being asked: a failure may be its own
    int64_t deadline_ns;
};

static void placing_release(struct placing *p)
{
    buf_release(&p->own), buf_release(&p->dir), buf_release(&p->root), buf_release(&p->final);
}

// Whether an answer may be another one a moment later.
static bool not_whole(int rc)
{
    return rc == ERR_FORMAT || rc == ERR_MISSING;
}

static int path_of(const struct buf *root, const struct manifest_entry *entry, struct buf *path,
                   struct err *err)
{
    buf_reset(path);
    buf_printf(path, "%s%s%s", buf_str(root), entry->path[0] ? "/" : "", entry->path);
    return buf_check(path, err);
}

// Whether the file is there already, as a regular file with the right bytes.
static bool have_file(const char *path, const struct manifest_entry *entry)
{
    struct stat st;
    struct err ignored = {0};
    uint8_t sum[SHA256_BYTES], (*parts)[SHA256_BYTES] = NULL;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size != entry->bytes)
        return false;
    bool same = scan_hash(path, entry->bytes, sum, &parts, NULL, 0, &ignored) == 0 &&
                memcmp(sum, entry->sum, sizeof sum) == 0;
    free(parts);
    return same;
}

// The parts were verified as they came; this is the whole, as it lies on the disk.
static int verify(const char *path, const struct manifest_entry *entry, int64_t deadline_ns,
                  struct err *err)
{
    uint8_t sum[SHA256_BYTES], (*parts)[SHA256_BYTES] = NULL;
    int rc = scan_hash(path, entry->bytes, sum, &parts, NULL, deadline_ns, err);
    if (rc == 0 && memcmp(sum, entry->sum, sizeof sum) != 0)
        rc = err_set(err, ERR_IO, "'%s' was written with other bytes than it has", path);
    free(parts);
    return rc;
}

// The same file of the checkpoint that will be replaced need not be fetched.
static bool take_file(const struct placing *p, const struct manifest_entry *entry, const char *path)
{
    SCOPED(buf_release) struct buf old = {0};
    return p->moves && path_of(&p->final, entry, &old, NULL) == 0 &&
           have_file(buf_str(&old), entry) && link(buf_str(&old), path) == 0;
}

static int fetch_file(struct placing *p, const struct manifest_entry *entry, const char *path,
                      struct err *err)
{
    if (!have_file(path, entry)) {
        if (unlink(path) != 0 && errno != ENOENT)
            return err_errno(err, errno, "cannot replace '%s'", path);
        struct store_file file = {.name = entry->data,
                                  .path = path,
                                  .bytes = entry->bytes,
                                  .parts = (const uint8_t(*)[SHA256_BYTES])entry->parts,
                                  .progress = keep_told,
                                  .context = p->keep};
        if (!take_file(p, entry, path)) {
            p->asks = true;
            int rc = store_fetch(p->keep->store, &file, p->deadline_ns, err);
            p->keep->fetched_bytes += file.sent_bytes;
            TRY(rc);
            p->asks = false;
            TRY(verify(path, entry, p->deadline_ns, err));
        }
    }
    p->keep->done_bytes += entry->bytes;
    if (!keep_told(p->keep, 0))
        return err_set(err, ERR_FAIL, "stopped");
    if (chmod(path, entry->mode) != 0)
        return err_errno(err, errno, "cannot set the mode of '%s'", path);
    return 0;
}

static int make_link(const char *path, const char *target, struct err *err)
{
    if (unlink(path) != 0 && errno != ENOENT)
        return err_errno(err, errno, "cannot replace '%s'", path);
    return symlink(target, path) == 0 ? 0 : err_errno(err, errno, "cannot link '%s'", path);
}

// Folders come before what is in them; links last, so that nothing is written through one.
static int fetch_kind(struct placing *p, enum manifest_kind kind, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    for (size_t i = 0; i < p->manifest->count; i++) {
        const struct manifest_entry *entry = &p->manifest->items[i];
        if (entry->kind != kind)
            continue;
        TRY(path_of(&p->root, entry, &path, err));
        if (kind == MANIFEST_FOLDER)
            TRY(fs_mkdirs_private(buf_str(&path), err));
        else if (kind == MANIFEST_FILE)
            TRY(fetch_file(p, entry, buf_str(&path), err));
        else
            TRY(make_link(buf_str(&path), entry->target, err));
    }
    return 0;
}

// Last, and from the inside out: a folder may be read-only.
static int set_modes(const struct placing *p, const struct buf *root, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    for (size_t i = p->manifest->count; i-- > 0;) {
        const struct manifest_entry *entry = &p->manifest->items[i];
        if (entry->kind != MANIFEST_FOLDER)
            continue;
        TRY(path_of(root, entry, &path, err));
        if (chmod(buf_str(&path), entry->mode) != 0)
            return err_errno(err, errno, "cannot set the mode of '%s'", buf_str(&path));
    }
    return 0;
}

// Removes what a cut fetch of another checkpoint left: what this one does not have.
static int remove_others(const struct placing *p, const char *inner, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0}, child = {0};
    buf_printf(&path, "%s%s%s", buf_str(&p->root), inner[0] ? "/" : "", inner);
    TRY(buf_check(&path, err));
    SCOPED(fs_close_folder) DIR *dir = opendir(buf_str(&path));
    for (const char *name; (name = fs_next(dir));) {
        struct stat st;
        buf_reset(&child);
        buf_printf(&child, "%s%s%s", inner, inner[0] ? "/" : "", name);
        TRY(buf_check(&child, err));
        const struct manifest_entry *entry = manifest_find(p->manifest, buf_str(&child), child.len);
        if (fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        bool is_dir = S_ISDIR(st.st_mode);
        if (is_dir)
            TRY(remove_others(p, buf_str(&child), err));
        if (!(entry && is_dir == (entry->kind == MANIFEST_FOLDER)) &&
            unlinkat(dirfd(dir), name, is_dir ? AT_REMOVEDIR : 0) != 0)
            return err_errno(err, errno, "cannot remove '%s/%s'", buf_str(&p->root),
                             buf_str(&child));
    }
    return 0;
}

// ---- Where to

// PLACE comes from the manifest: each of its folders must be a folder, and a visible one.
static bool place_fits(const struct placing *p, const char *top)
{
    char path[PATH_MAX];
    struct stat st;
    const char *dir = buf_str(&p->dir);
    for (const char *at = dir + strlen(top); *at == '/';) {
        size_t len = strcspn(at + 1, "/");
        snprintf(path, sizeof path, "%.*s", (int)(at - dir + 1 + (ptrdiff_t)len), dir);
        if (at[1] == '.' || (lstat(path, &st) == 0 && !S_ISDIR(st.st_mode)))
            return false;
        at += 1 + len;
    }
    return true;
}

// Only an older checkpoint is replaced: a file or folder with a checkpoint's name.
static bool may_move(const struct placing *p, const char *top)
{
    const struct manifest *m = p->manifest;
    struct stat st;
    if (m->name[0] == '.' || !place_fits(p, top))
        return false;
    if (lstat(buf_str(&p->final), &st) != 0)
        return errno == ENOENT;
    return (m->file ? S_ISREG(st.st_mode) : S_ISDIR(st.st_mode)) && find_is_name(m->name);
}

// A folder that nobody else can write to. What a cut fetch left in it is continued.
static int make_own(struct placing *p, struct err *err)
{
    const char *own = buf_str(&p->own);
    struct stat st;
    SCOPED(buf_release) struct buf old = {0}, new = {0};
    if (lstat(own, &st) == 0 &&
        (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077)))
        fs_remove_tree(own);
    if (mkdir(own, 0700) != 0 &&
        (errno != EEXIST || lstat(own, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid()))
        return err_errno(err, errno, "cannot create the folder '%s'", own);
    buf_printf(&old, "%s/old", own);
    buf_printf(&new, "%s/new", own);
    TRY(buf_check(&old, err));
    TRY(buf_check(&new, err));
    fs_remove_tree(buf_str(&old));
    return fs_mkdirs_private(buf_str(&new), err);
}

static int fetch_tree(struct placing *p, struct err *err)
{
    struct stat st;
    const char *root = buf_str(&p->root);
    if (lstat(root, &st) == 0 && S_ISDIR(st.st_mode) == p->manifest->file)
        fs_remove_tree(root);
    if (!p->manifest->file) {
        TRY(fs_mkdirs_private(root, err));
        TRY(remove_others(p, "", err));
    }
    TRY(fetch_kind(p, MANIFEST_FOLDER, err));
    TRY(fetch_kind(p, MANIFEST_FILE, err));
    return fetch_kind(p, MANIFEST_LINK, err);
}

// The old one goes aside first, and is removed last.
static int move_in(struct placing *p, struct err *err)
{
    SCOPED(buf_release) struct buf old = {0};
    const char *final = buf_str(&p->final);
    int rc = 0;
    buf_printf(&old, "%s/old", buf_str(&p->own));
    TRY(buf_check(&old, err));
    if (!p->manifest->file && rename(final, buf_str(&old)) != 0 && errno != ENOENT)
        rc = err_errno(err, errno, "cannot replace '%s'", final);
    if (rc == 0 && rename(buf_str(&p->root), final) != 0)
        rc = err_errno(err, errno, "cannot put '%s' in place", final);
    fs_remove_tree(buf_str(&old));
    return rc;
}

// It says that the checkpoint is complete, so it comes last. A link of its name is replaced.
static int write_beside(const struct placing *p, const struct buf *dir, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0}, new = {0};
    const struct manifest *m = p->manifest;
    if (!m->beside)
        return 0;
    buf_printf(&new, "%s/beside", buf_str(&p->own));
    buf_printf(&path, "%s/%s", buf_str(dir), m->beside);
    TRY(buf_check(&path, err));
    TRY(buf_check(&new, err));
    TRY(fs_write(buf_str(&new), m->beside_text, strlen(m->beside_text), err));
    if (rename(buf_str(&new), buf_str(&path)) != 0)
        return err_errno(err, errno, "cannot write '%s'", buf_str(&path));
    return 0;
}

static int place_tree(struct placing *p, const char *top, struct buf *notes, struct err *err)
{
    TRY(fs_mkdirs(top, err));
    TRY(make_own(p, err));
    p->moves = may_move(p, top);
    TRY(fetch_tree(p, err));
    if (p->moves) {
        TRY(fs_mkdirs(buf_str(&p->dir), err));
        TRY(move_in(p, err));
    } else {
        buf_line(notes, "'%s' is in the way of the checkpoint, which is in '%s' instead",
                 buf_str(&p->final), buf_str(&p->root));
        buf_reset(&p->dir);
        buf_printf(&p->dir, "%s/new", buf_str(&p->own));
    }
    TRY(set_modes(p, p->moves ? &p->final : &p->root, err));
    TRY(write_beside(p, &p->dir, err));
    if (p->moves)
        fs_remove_tree(buf_str(&p->own));
    return buf_check(&p->dir, err);
}

// Fetches a checkpoint below the folder `top` and verifies it; `*path` (free it) is what to resume
// from. ERR_FORMAT, ERR_MISSING: it is not whole in the store. What fails on this machine (no
// folder, no room, a disk that lies) is another code. `notes` says if it could not get its place.
static int keep_place(struct keep *keep, struct save *save, const char *top, char **path,
                      struct buf *notes, int64_t deadline_ns, struct err *err)
{
    const struct manifest *m = &save->manifest;
    TRY(keep_manifest(keep, save, deadline_ns, err));
    if (!save->ours)
        return err_set(err, ERR_FORMAT, "its manifest is of another job");
    SCOPED(placing_release)
    struct placing p = {.keep = keep, .manifest = m, .deadline_ns = deadline_ns};
    bool below = m->place && m->place[0];
    buf_printf(&p.own, "%s/.fare", top);
    buf_printf(&p.dir, "%s%s%s", top, below ? "/" : "", below ? m->place : "");
    buf_printf(&p.root, "%s/new/%s", buf_str(&p.own), m->name);
    buf_printf(&p.final, "%s/%s", buf_str(&p.dir), m->name);
    keep->doing = "fetching";
    keep->done_bytes = 0;
    keep->total_bytes = manifest_bytes(m);
    if (p.own.failed || p.dir.failed || p.root.failed || p.final.failed)
        return err_memory(err);
    int rc = place_tree(&p, top, notes, err);
    if (not_whole(rc) && !p.asks)
        rc = err->code = ERR_IO; // this machine's fault: it says nothing about the checkpoint
    TRY(rc);
    *path = buf_take(m->beside ? &p.dir : p.moves ? &p.final : &p.root, err);
    return *path ? 0 : ERR_MEMORY;
}

// ---- Finding the newest checkpoint that is whole. Where there are some and none can be used, the
// store or this machine may be at fault for a while: trying again is better than training from the
// start.

#define READ_TRIES 3 // of one checkpoint that seems not to be whole
#define AGAIN_MS   1000
#define CUT_MOST   3 // fetches that were cut after some bytes: patience begins anew

// The epoch's beginning, for all that come later (lease.h, "Fencing").
static int write_base(struct keep *keep, const struct save *save, int64_t deadline_ns,
                      struct err *err)
{
    char name[STORE_NAME_BYTES];
    SCOPED(buf_release) struct buf text = {0};
    struct marker base = {
        .epoch = save ? save->epoch : 0, .number = save ? save->number : 0, .passed = keep->passed};
    snprintf(base.job, sizeof base.job, "%s", keep->job);
    lease_name(lease_epoch(keep->lease), "base", name);
    TRY(marker_write(&base, &text, err));
    TRY(store_put(keep->store, name, text.data, text.len, deadline_ns, err));
    return lease_confirm(keep->lease, deadline_ns, err);
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
    SCOPED(buf_release) struct buf passed = {0};
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
static int find_usable(struct keep *keep, const char *dir, struct save **found, char **path,
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
    SCOPED(buf_release) struct buf said = {0};
    *path = NULL;
    *entry = (struct keep_entry){.step = -1};
    int rc = keep->start_over ? keep_load(keep, &said, deadline_ns, err)
                              : find_usable(keep, dir, &found, path, &said, deadline_ns, err);
    if (rc >= 0 && keep->foreign > 0)
        buf_printf(&said, "%lld checkpoint%s of other jobs in '%s' %s left alone\n",
                   (long long)keep->foreign, keep->foreign == 1 ? "" : "s",
                   store_shown(keep->store), keep->foreign == 1 ? "is" : "are");
    buf_adds(notes, buf_str(&said));
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
