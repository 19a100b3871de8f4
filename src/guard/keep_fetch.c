// SPDX-License-Identifier: Apache-2.0
// Finding the newest checkpoint that is whole, and bringing it onto this machine's disk.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "guard/keep_parts.h"

// ---- One checkpoint

struct fetching {
    struct keep *keep;
    const struct manifest *manifest;
    const char *root; // dir/NAME
    int64_t deadline_ns;
};

static bool told(void *context, int64_t done_bytes)
{
    struct keep *keep = context;
    return !keep->progress || keep->progress(keep->context, keep->doing,
                                             keep->done_bytes + done_bytes, keep->total_bytes);
}

static int path_of(const struct fetching *f, const struct manifest_entry *entry, struct buf *path,
                   struct err *err)
{
    buf_reset(path);
    buf_printf(path, "%s%s%s", f->root, entry->path[0] ? "/" : "", entry->path);
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
        rc = err_set(err, ERR_FORMAT, "'%s' has not the SHA-256 of the manifest", entry->path);
    free(parts);
    return rc;
}

static int fetch_file(const struct fetching *f, const struct manifest_entry *entry,
                      const char *path, struct err *err)
{
    struct stat st;
    if (!have_file(path, entry)) {
        // A link in its place would be written through.
        if (lstat(path, &st) == 0 && !S_ISDIR(st.st_mode) && unlink(path) != 0)
            return err_errno(err, errno, "cannot replace '%s'", path);
        struct store_file file = {.name = entry->data,
                                  .path = path,
                                  .bytes = entry->bytes,
                                  .parts = (const uint8_t(*)[SHA256_BYTES])entry->parts,
                                  .progress = told,
                                  .context = f->keep};
        TRY(store_fetch(f->keep->store, &file, f->deadline_ns, err));
        TRY(verify(path, entry, f->deadline_ns, err));
    }
    f->keep->done_bytes += entry->bytes;
    if (!told(f->keep, 0))
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
static int fetch_kind(const struct fetching *f, enum manifest_kind kind, struct err *err)
{
    struct buf path = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < f->manifest->count; i++) {
        const struct manifest_entry *entry = &f->manifest->items[i];
        if (entry->kind != kind)
            continue;
        rc = path_of(f, entry, &path, err);
        if (rc == 0 && kind == MANIFEST_FOLDER)
            rc = fs_mkdirs(buf_str(&path), err);
        else if (rc == 0 && kind == MANIFEST_FILE)
            rc = fetch_file(f, entry, buf_str(&path), err);
        else if (rc == 0)
            rc = make_link(buf_str(&path), entry->target, err);
    }
    buf_release(&path);
    return rc;
}

// Last, and from the inside out: a folder may be read-only.
static int set_modes(const struct fetching *f, struct err *err)
{
    struct buf path = {0};
    int rc = 0;
    for (size_t i = f->manifest->count; i-- > 0 && rc == 0;) {
        const struct manifest_entry *entry = &f->manifest->items[i];
        if (entry->kind != MANIFEST_FOLDER)
            continue;
        rc = path_of(f, entry, &path, err);
        if (rc == 0 && chmod(buf_str(&path), entry->mode) != 0)
            rc = err_errno(err, errno, "cannot set the mode of '%s'", buf_str(&path));
    }
    buf_release(&path);
    return rc;
}

static const struct manifest_entry *find_entry(const struct manifest *m, const char *inner)
{
    size_t from = 0, to = m->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = strcmp(m->items[middle].path, inner);
        if (order == 0)
            return &m->items[middle];
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

// Removes what the checkpoint does not have, within its own tree; a thing of another kind too.
static int remove_others(const struct fetching *f, const char *inner, struct err *err)
{
    struct buf path = {0}, child = {0};
    int rc = 0;
    buf_printf(&path, "%s%s%s", f->root, inner[0] ? "/" : "", inner);
    DIR *dir = path.failed ? NULL : opendir(buf_str(&path));
    for (struct dirent *item; dir && rc == 0 && (item = readdir(dir));) {
        struct stat st;
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
            continue;
        buf_reset(&child);
        buf_printf(&child, "%s%s%s", inner, inner[0] ? "/" : "", item->d_name);
        const struct manifest_entry *entry = find_entry(f->manifest, buf_str(&child));
        if (child.failed || fstatat(dirfd(dir), item->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        bool is_dir = S_ISDIR(st.st_mode);
        if (is_dir)
            rc = remove_others(f, buf_str(&child), err);
        if (rc == 0 && !(entry && is_dir == (entry->kind == MANIFEST_FOLDER)) &&
            unlinkat(dirfd(dir), item->d_name, is_dir ? AT_REMOVEDIR : 0) != 0)
            rc = err_errno(err, errno, "cannot remove '%s/%s'", f->root, buf_str(&child));
    }
    if (dir)
        closedir(dir);
    if (rc == 0 && (path.failed || child.failed))
        rc = err_memory(err);
    buf_release(&path), buf_release(&child);
    return rc;
}

// Last: it says that the checkpoint is complete.
static int write_beside(const struct manifest *m, const char *dir, struct err *err)
{
    struct buf path = {0};
    if (!m->beside)
        return 0;
    buf_printf(&path, "%s/%s", dir, m->beside);
    int rc = buf_check(&path, err);
    if (rc == 0)
        rc = fs_write(buf_str(&path), m->beside_text, strlen(m->beside_text), err);
    buf_release(&path);
    return rc;
}

static int fetch_tree(const struct fetching *f, const char *dir, struct err *err)
{
    TRY(fs_mkdirs(f->manifest->file ? dir : f->root, err));
    if (!f->manifest->file)
        TRY(remove_others(f, "", err));
    TRY(fetch_kind(f, MANIFEST_FOLDER, err));
    TRY(fetch_kind(f, MANIFEST_FILE, err));
    TRY(fetch_kind(f, MANIFEST_LINK, err));
    TRY(set_modes(f, err));
    return write_beside(f->manifest, dir, err);
}

static int fetch_one(struct keep *keep, struct save *save, const char *top, char **path,
                     int64_t deadline_ns, struct err *err)
{
    struct buf dir = {0}, root = {0};
    TRY(keep_manifest(keep, save, deadline_ns, err));
    if (!save->ours)
        return err_set(err, ERR_FORMAT, "its manifest is of another job");
    const char *place = save->manifest.place ? save->manifest.place : "";
    buf_printf(&dir, "%s%s%s", top, place[0] ? "/" : "", place);
    buf_printf(&root, "%s/%s", buf_str(&dir), save->manifest.name);
    struct fetching f = {keep, &save->manifest, buf_str(&root), deadline_ns};
    keep->doing = "fetching";
    keep->done_bytes = 0;
    keep->total_bytes = manifest_bytes(&save->manifest);
    int rc = dir.failed || root.failed ? err_memory(err) : 0;
    if (rc == 0)
        rc = fetch_tree(&f, buf_str(&dir), err);
    if (rc == 0) {
        *path = buf_take(save->manifest.beside ? &dir : &root, err);
        rc = *path ? 0 : ERR_MEMORY;
    }
    buf_release(&dir), buf_release(&root);
    return rc;
}

// ---- The newest

// The epoch's beginning, for all that come later (lease.h, "Fencing").
static int write_base(struct keep *keep, const struct save *save, int64_t deadline_ns,
                      struct err *err)
{
    char name[STORE_NAME_BYTES];
    struct buf text = {0};
    struct marker base = {.epoch = save ? save->epoch : 0, .number = save ? save->number : 0};
    snprintf(base.job, sizeof base.job, "%s", keep->job);
    lease_name(lease_epoch(keep->lease), "base", name);
    int rc = marker_write(&base, &text, err);
    if (rc == 0)
        rc = store_put(keep->store, name, text.data, text.len, deadline_ns, err);
    buf_release(&text);
    return rc == 0 ? lease_confirm(keep->lease, deadline_ns, err) : rc;
}

int keep_fetch(struct keep *keep, const char *dir, struct keep_entry *entry, char **path,
               struct buf *notes, int64_t deadline_ns, struct err *err)
{
    struct save *found = NULL;
    *path = NULL;
    *entry = (struct keep_entry){.step = -1};
    TRY(keep_load(keep, notes, deadline_ns, err));
    if (keep->foreign > 0)
        buf_printf(notes, "%lld checkpoint%s of other jobs in '%s' %s left alone\n",
                   (long long)keep->foreign, keep->foreign == 1 ? "" : "s",
                   store_shown(keep->store), keep->foreign == 1 ? "is" : "are");
    for (size_t i = keep->count; i-- > 0 && !found;) {
        struct save *save = &keep->saves[i];
        struct err why = {0};
        if (!save->counts)
            continue;
        int rc = fetch_one(keep, save, dir, path, deadline_ns, &why);
        if (rc == 0) {
            found = save;
            save->verified = true;
        } else if (rc == ERR_FORMAT || rc == ERR_MISSING) {
            save->bad = true;
            save->counts = false;
            buf_printf(notes, "checkpoint %lld-%lld is not whole and is passed over: %s\n",
                       (long long)save->epoch, (long long)save->number, why.text);
        } else {
            err_set(err, rc, "%s", why.text);
            return rc;
        }
    }
    int rc = buf_check(notes, err);
    if (rc == 0 && keep->lease)
        rc = write_base(keep, found, deadline_ns, err);
    if (rc != 0) {
        free(*path);
        *path = NULL;
        return rc;
    }
    if (found)
        keep_entry_of(found, entry);
    return found != NULL;
}
