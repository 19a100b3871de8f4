// SPDX-License-Identifier: Apache-2.0
// One checkpoint, brought onto this machine's disk. It is fetched into a folder of fare's own,
// TOP/.fare, and verified there; then it is moved to where it belongs, in one step, unless
// something else is there. Manifests come from a store that others may write to: nothing but an
// older checkpoint is ever replaced, and nothing is written through a link.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "guard/find.h"
#include "guard/keep_parts.h"

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

static bool told(void *context, int64_t done_bytes)
{
    struct keep *keep = context;
    return !keep->progress || keep->progress(keep->context, keep->doing,
                                             keep->done_bytes + done_bytes, keep->total_bytes);
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
    struct buf old = {0};
    bool taken = p->moves && path_of(&p->final, entry, &old, NULL) == 0 &&
                 have_file(buf_str(&old), entry) && link(buf_str(&old), path) == 0;
    buf_release(&old);
    return taken;
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
                                  .progress = told,
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
    if (!told(p->keep, 0))
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
    struct buf path = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->manifest->count; i++) {
        const struct manifest_entry *entry = &p->manifest->items[i];
        if (entry->kind != kind)
            continue;
        rc = path_of(&p->root, entry, &path, err);
        if (rc == 0 && kind == MANIFEST_FOLDER)
            rc = fs_mkdirs_private(buf_str(&path), err);
        else if (rc == 0 && kind == MANIFEST_FILE)
            rc = fetch_file(p, entry, buf_str(&path), err);
        else if (rc == 0)
            rc = make_link(buf_str(&path), entry->target, err);
    }
    buf_release(&path);
    return rc;
}

// Last, and from the inside out: a folder may be read-only.
static int set_modes(const struct placing *p, const struct buf *root, struct err *err)
{
    struct buf path = {0};
    int rc = 0;
    for (size_t i = p->manifest->count; i-- > 0 && rc == 0;) {
        const struct manifest_entry *entry = &p->manifest->items[i];
        if (entry->kind != MANIFEST_FOLDER)
            continue;
        rc = path_of(root, entry, &path, err);
        if (rc == 0 && chmod(buf_str(&path), entry->mode) != 0)
            rc = err_errno(err, errno, "cannot set the mode of '%s'", buf_str(&path));
    }
    buf_release(&path);
    return rc;
}

// Removes what a cut fetch of another checkpoint left: what this one does not have.
static int remove_others(const struct placing *p, const char *inner, struct err *err)
{
    struct buf path = {0}, child = {0};
    int rc = 0;
    buf_printf(&path, "%s%s%s", buf_str(&p->root), inner[0] ? "/" : "", inner);
    DIR *dir = path.failed ? NULL : opendir(buf_str(&path));
    for (struct dirent *item; dir && rc == 0 && (item = readdir(dir));) {
        struct stat st;
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
            continue;
        buf_reset(&child);
        buf_printf(&child, "%s%s%s", inner, inner[0] ? "/" : "", item->d_name);
        const struct manifest_entry *entry = manifest_find(p->manifest, buf_str(&child), child.len);
        if (child.failed || fstatat(dirfd(dir), item->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        bool is_dir = S_ISDIR(st.st_mode);
        if (is_dir)
            rc = remove_others(p, buf_str(&child), err);
        if (rc == 0 && !(entry && is_dir == (entry->kind == MANIFEST_FOLDER)) &&
            unlinkat(dirfd(dir), item->d_name, is_dir ? AT_REMOVEDIR : 0) != 0)
            rc = err_errno(err, errno, "cannot remove '%s/%s'", buf_str(&p->root), buf_str(&child));
    }
    if (dir)
        closedir(dir);
    if (rc == 0 && (path.failed || child.failed))
        rc = err_memory(err);
    buf_release(&path), buf_release(&child);
    return rc;
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
    struct buf old = {0}, new = {0};
    if (lstat(own, &st) == 0 &&
        (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077)))
        fs_remove_tree(own);
    if (mkdir(own, 0700) != 0 &&
        (errno != EEXIST || lstat(own, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid()))
        return err_errno(err, errno, "cannot create the folder '%s'", own);
    buf_printf(&old, "%s/old", own);
    buf_printf(&new, "%s/new", own);
    int rc = old.failed || new.failed ? err_memory(err) : 0;
    if (rc == 0) {
        fs_remove_tree(buf_str(&old));
        rc = fs_mkdirs_private(buf_str(&new), err);
    }
    buf_release(&old), buf_release(&new);
    return rc;
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
    struct buf old = {0};
    const char *final = buf_str(&p->final);
    buf_printf(&old, "%s/old", buf_str(&p->own));
    int rc = buf_check(&old, err);
    if (rc == 0 && !p->manifest->file && rename(final, buf_str(&old)) != 0 && errno != ENOENT)
        rc = err_errno(err, errno, "cannot replace '%s'", final);
    if (rc == 0 && rename(buf_str(&p->root), final) != 0)
        rc = err_errno(err, errno, "cannot put '%s' in place", final);
    fs_remove_tree(buf_str(&old));
    buf_release(&old);
    return rc;
}

// It says that the checkpoint is complete, so it comes last. A link of its name is replaced.
static int write_beside(const struct placing *p, const struct buf *dir, struct err *err)
{
    struct buf path = {0}, new = {0};
    const struct manifest *m = p->manifest;
    if (!m->beside)
        return 0;
    buf_printf(&new, "%s/beside", buf_str(&p->own));
    buf_printf(&path, "%s/%s", buf_str(dir), m->beside);
    int rc = path.failed || new.failed ? err_memory(err) : 0;
    if (rc == 0)
        rc = fs_write(buf_str(&new), m->beside_text, strlen(m->beside_text), err);
    if (rc == 0 && rename(buf_str(&new), buf_str(&path)) != 0)
        rc = err_errno(err, errno, "cannot write '%s'", buf_str(&path));
    buf_release(&path), buf_release(&new);
    return rc;
}

static int place(struct placing *p, const char *top, struct buf *notes, struct err *err)
{
    TRY(fs_mkdirs(top, err));
    TRY(make_own(p, err));
    p->moves = may_move(p, top);
    TRY(fetch_tree(p, err));
    if (p->moves) {
        TRY(fs_mkdirs(buf_str(&p->dir), err));
        TRY(move_in(p, err));
    } else {
        buf_printf(notes, "'%s' is in the way of the checkpoint, which is in '%s' instead\n",
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

int keep_place(struct keep *keep, struct save *save, const char *top, char **path,
               struct buf *notes, int64_t deadline_ns, struct err *err)
{
    const struct manifest *m = &save->manifest;
    TRY(keep_manifest(keep, save, deadline_ns, err));
    if (!save->ours)
        return err_set(err, ERR_FORMAT, "its manifest is of another job");
    struct placing p = {.keep = keep, .manifest = m, .deadline_ns = deadline_ns};
    bool below = m->place && m->place[0];
    buf_printf(&p.own, "%s/.fare", top);
    buf_printf(&p.dir, "%s%s%s", top, below ? "/" : "", below ? m->place : "");
    buf_printf(&p.root, "%s/new/%s", buf_str(&p.own), m->name);
    buf_printf(&p.final, "%s/%s", buf_str(&p.dir), m->name);
    keep->doing = "fetching";
    keep->done_bytes = 0;
    keep->total_bytes = manifest_bytes(m);
    int rc = p.own.failed || p.dir.failed || p.root.failed || p.final.failed ? err_memory(err) : 0;
    if (rc == 0)
        rc = place(&p, top, notes, err);
    if ((rc == ERR_FORMAT || rc == ERR_MISSING) && !p.asks)
        rc = err->code = ERR_IO; // this machine's fault: it says nothing about the checkpoint
    if (rc == 0) {
        *path = buf_take(m->beside ? &p.dir : p.moves ? &p.final : &p.root, err);
        rc = *path ? 0 : ERR_MEMORY;
    }
    buf_release(&p.own), buf_release(&p.dir), buf_release(&p.root), buf_release(&p.final);
    return rc;
}
