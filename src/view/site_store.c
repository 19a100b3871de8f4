// SPDX-License-Identifier: Apache-2.0
#include "view/site_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fs.h"
#include "base/sha256.h"
#include "book/book.h"
#include "tables/files.h"
#include "version.h"

#define STAGE     ".fare-new"
#define LIST      "files" // in STAGE: the files of both sites, while it changes
#define NEXT_LIST "next"
#define FIRST     "index.html"

enum { FILE_MOST = 64 << 20, STAGED_BYTES = 24 };

static void staged_name(size_t number, char out[STAGED_BYTES])
{
    snprintf(out, STAGED_BYTES, "%zu", number);
}

// ---- files

// The whole file. `*there` is false if there is none.
static int read_at(int dir, const char *path, struct buf *out, bool *there, struct err *err)
{
    struct err why = {0};
    int rc = fs_read_at(dir, path, true, FILE_MOST, out, &why);
    *there = rc != ERR_MISSING;
    if (rc != 0 && *there && err && err->code == 0)
        *err = why;
    return *there ? rc : 0;
}

static int write_at(int dir, const char *name, const struct buf *bytes, struct err *err)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_errno(err, errno, "cannot write the site");
    TRY(fs_write_fd(fd, buf_str(bytes), bytes->len, "the site", err));
    if (close(fd) != 0)
        TRY(err_errno(err, errno, "cannot write the site"));
    return 0;
}

// ---- the site that is there

static bool exists(const struct site_store *s, const char *path)
{
    return faccessat(s->dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

// Adds the files of a list, each with each sum once.
static int add_was(struct site_store *s, struct site_index *from, struct err *err)
{
    for (size_t i = 0; i < from->files.count; i++) {
        struct site_file *file = &from->files.items[i];
        size_t number, before = s->was_files.count;
        SCOPED(buf_release) struct buf key = {0};
        buf_printf(&key, "%s %s", file->sha256, file->path);
        TRY(buf_check(&key, err));
        TRY(index_number(&s->was_files, buf_str(&key), key.len, &number, err));
        if (number < before)
            continue;
        TRY(index_number(&s->was_paths, file->path, strlen(file->path), &number, err));
        struct site_file *to = LIST_ADD(&s->was.files, err);
        if (!to)
            return ERR_MEMORY;
        *to = *file;
        *file = (struct site_file){0};
    }
    return 0;
}

static int read_list(struct site_store *s, int dir, const char *name, struct err *err)
{
    SCOPED(buf_release) struct buf text = {.max = FILE_MOST + (1 << 16)};
    SCOPED(site_index_release) struct site_index list = {0};
    struct err why = {0};
    bool there = false;
    int rc = read_at(dir, name, &text, &there, err);
    if (rc == 0 && there && site_index_read(buf_str(&text), text.len, &list, &why) != 0) {
        rc = why.code == ERR_MEMORY ? err_memory(err) : ERR_USAGE;
        err_set(err, rc, "'%s/%s' is not of a site of fare: %s", s->folder, SITE_INDEX, why.text);
        err_hint(err, "choose another folder");
    }
    if (rc == 0 && there) { // of a list of two sites nothing can be kept
        free(s->was.inputs);
        s->was.inputs = strcmp(name, SITE_INDEX) == 0 ? list.inputs : NULL;
        list.inputs = s->was.inputs ? NULL : list.inputs;
        rc = add_was(s, &list, err);
    }
    return rc;
}

// Removes what an earlier try left below STAGE, but for the list.
static void clear_stage(int stage)
{
    SCOPED(fs_close_folder) DIR *dir = fs_names(stage);
    for (const char *name; (name = fs_next(dir));)
        if (name[0] != '.' && strcmp(name, LIST) != 0)
            unlinkat(stage, name, 0);
}

static int open_folders(struct site_store *s, struct err *err)
{
    s->made = access(s->folder, F_OK) != 0;
    TRY(fs_mkdirs(s->folder, err));
    s->dir = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->dir < 0)
        return err_errno(err, errno, "cannot open '%s'", s->folder);
    // A file system without locks: two writers do not notice each other.
    if (flock(s->dir, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return err_set(err, ERR_USAGE, "another fare is writing the site '%s'", s->folder);
    if (mkdirat(s->dir, STAGE, 0700) != 0 && errno != EEXIST)
        return err_errno(err, errno, "cannot write to '%s'", s->folder);
    s->stage = openat(s->dir, STAGE, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return s->stage >= 0 ? 0 : err_errno(err, errno, "cannot open '%s/%s'", s->folder, STAGE);
}

// ERR_USAGE if fare did not write the file of this path that is there.
static int check_ours(const struct site_store *s, const char *path, struct err *err)
{
    size_t number;
    if (index_find(&s->was_paths, path, strlen(path), &number))
        return 0;
    err_set(err, ERR_USAGE, "'%s/%s' is there already, and is not of a site of fare", s->folder,
            path);
    return err_hint(err, "choose another folder: a new one, or one that fare wrote");
}

int site_store_open(struct site_store *s, const char *folder, struct err *err)
{
    *s = (struct site_store){.dir = -1, .stage = -1};
    s->folder = text_copy(folder, err);
    if (!s->folder)
        return ERR_MEMORY;
    TRY(open_folders(s, err));
    clear_stage(s->stage);
    TRY(read_list(s, s->dir, SITE_INDEX, err));
    TRY(read_list(s, s->stage, LIST, err));
    return exists(s, FIRST) ? check_ours(s, FIRST, err) : 0;
}

// ---- the next one

// Whether its bytes are there already; ERR_USAGE if another's file is in its place.
static int look(struct site_store *s, const char *path, const struct buf *bytes, bool *same,
                struct err *err)
{
    SCOPED(buf_release) struct buf now = {.max = FILE_MOST + (1 << 16)};
    bool there = false;
    int rc = read_at(s->dir, path, &now, &there, err);
    *same = rc == 0 && there && now.len == bytes->len &&
            memcmp(buf_str(&now), buf_str(bytes), now.len) == 0;
    return rc != 0 || *same || !there ? rc : check_ours(s, path, err);
}

static int describe(struct site_file *file, const char *path, const char *run,
                    const struct buf *bytes, struct err *err)
{
    char sum[SHA256_HEX_BYTES];
    sha256_hex_of(buf_str(bytes), bytes->len, sum);
    file->bytes = some_int((int64_t)bytes->len);
    return TEXTS_SET(err, {&file->path, path}, {&file->run, run}, {&file->sha256, sum});
}

// A file of the next site, so far without its description and not staged.
static int add_file(struct site_store *s, const char *path, struct site_file **file,
                    struct err *err)
{
    size_t number, count = s->now.files.count;
    TRY(array_grow(&s->staged, count, &s->staged_space, sizeof *s->staged, err));
    TRY(index_number(&s->now_paths, path, strlen(path), &number, err));
    if (number < count)
        return err_set(err, ERR_FAIL, "two files of the site are '%s'", path);
    *file = LIST_ADD(&s->now.files, err);
    s->staged[count] = false;
    return *file ? 0 : ERR_MEMORY;
}

int site_store_put(struct site_store *s, const char *path, const char *run, const struct buf *bytes,
                   struct err *err)
{
    char name[STAGED_BYTES];
    size_t count = s->now.files.count;
    struct site_file *file;
    bool same = false;
    TRY(buf_check(bytes, err));
    TRY(look(s, path, bytes, &same, err));
    TRY(add_file(s, path, &file, err));
    s->staged[count] = !same;
    s->written += !same;
    s->bytes += (int64_t)bytes->len;
    TRY(describe(file, path, run, bytes, err));
    staged_name(count, name);
    return same ? 0 : write_at(s->stage, name, bytes, err);
}

int site_store_inputs(struct site_store *s, const char *inputs, struct err *err)
{
    s->again = s->was.inputs && strcmp(s->was.inputs, inputs) == 0;
    return text_set(&s->now.inputs, inputs, err);
}

// The file of the site that is there; null: none, or nothing of it can be kept.
static const struct site_file *find_was(const struct site_store *s, const char *path)
{
    size_t number;
    bool found = s->again && index_find(&s->was_paths, path, strlen(path), &number);
    return found ? &s->was.files.items[number] : NULL; // in one index each path is there once
}

bool site_store_had(const struct site_store *s, const char *path)
{
    return find_was(s, path) != NULL;
}

bool site_store_same(const struct site_store *s, const char *path)
{
    size_t number;
    const struct site_file *was = find_was(s, path);
    return was && index_find(&s->now_paths, path, strlen(path), &number) &&
           strcmp(was->sha256, s->now.files.items[number].sha256) == 0;
}

int site_store_intact(const struct site_store *s, const char *path, bool *intact, struct err *err)
{
    SCOPED(buf_release) struct buf bytes = {.max = FILE_MOST + (1 << 16)};
    const struct site_file *was = find_was(s, path);
    char sum[SHA256_HEX_BYTES] = "";
    bool there = false;
    int rc = was ? read_at(s->dir, path, &bytes, &there, err) : 0;
    if (rc == 0 && there)
        sha256_hex_of(buf_str(&bytes), bytes.len, sum);
    *intact = rc == 0 && there && strcmp(sum, was->sha256) == 0;
    return rc;
}

int site_store_keep(struct site_store *s, const char *path, struct err *err)
{
    const struct site_file *was = find_was(s, path);
    struct site_file *file;
    TRY(was ? 0 : err_set(err, ERR_FAIL, "the site has no '%s'", path));
    TRY(add_file(s, path, &file, err));
    s->bytes += was->bytes.v;
    file->bytes = was->bytes;
    return TEXTS_SET(err, {&file->path, path}, {&file->sha256, was->sha256});
}

int site_store_read(struct site_store *s, const char *path, struct buf *out, struct err *err)
{
    char name[STAGED_BYTES];
    size_t number, count = s->now.files.count;
    bool there = false;
    buf_reset(out);
    TRY(index_number(&s->now_paths, path, strlen(path), &number, err));
    if (number >= count)
        return err_set(err, ERR_FAIL, "the site has no '%s'", path);
    staged_name(number, name);
    TRY(s->staged[number] ? read_at(s->stage, name, out, &there, err)
                          : read_at(s->dir, path, out, &there, err));
    return there ? buf_check(out, err) : err_set(err, ERR_MISSING, "'%s' has gone", path);
}

// ---- from one to the other

static int by_path(const void *a, const void *b)
{
    const struct site_file *x = a, *y = b;
    return strcmp(x->path, y->path);
}

// The index of the next site, or with `was` the list of both. The order in which files were put
// does not matter.
static int list_text(struct site_store *s, bool was, struct buf *out, struct err *err)
{
    size_t count = s->now.files.count, more = was ? s->was.files.count : 0;
    SCOPED(free_pointer) struct site_file *items = calloc(count + more + 1, sizeof *items);
    char schema[] = SITE_SCHEMA, program[] = "fare " FARE_VERSION;
    struct site_index list = {.schema = schema, .program = program, .inputs = s->now.inputs};
    if (!items)
        return err_memory(err);
    if (count > 0)
        memcpy(items, s->now.files.items, count * sizeof *items);
    if (more > 0)
        memcpy(items + count, s->was.files.items, more * sizeof *items);
    qsort(items, count + more, sizeof *items, by_path);
    list.files.items = items;
    list.files.count = count + more;
    list.files.known = true;
    int rc = record_to_text(site_index_fields, &list, out, err);
    buf_addc(out, '\n');
    return rc == 0 ? buf_check(out, err) : rc;
}

static int sync_all(struct site_store *s, struct err *err)
{
    return syncfs(s->dir) == 0 ? 0 : err_errno(err, errno, "cannot write the site '%s'", s->folder);
}

static int move(struct site_store *s, const char *name, const char *path, struct err *err)
{
    const char *slash = strchr(path, '/');
    char folder[64];
    if (slash) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        if (mkdirat(s->dir, folder, 0777) != 0 && errno != EEXIST)
            return err_errno(err, errno, "cannot make the folder '%s/%s'", s->folder, folder);
    }
    if (renameat(s->stage, name, s->dir, path) != 0)
        return err_errno(err, errno, "cannot write '%s/%s'", s->folder, path);
    return 0;
}

// The files that are new, or those that take the place of others; the overview comes last of all.
static int move_all(struct site_store *s, bool fresh, struct err *err)
{
    char name[STAGED_BYTES];
    for (size_t i = 0; i < s->now.files.count; i++) {
        const char *path = s->now.files.items[i].path;
        if (!s->staged[i] || strcmp(path, FIRST) == 0 || (fresh && exists(s, path)))
            continue;
        staged_name(i, name);
        TRY(move(s, name, path, err));
        s->staged[i] = false;
    }
    return 0;
}

static int move_first(struct site_store *s, struct err *err)
{
    char name[STAGED_BYTES];
    for (size_t i = 0; i < s->now.files.count; i++) {
        if (!s->staged[i])
            continue;
        staged_name(i, name);
        TRY(move(s, name, s->now.files.items[i].path, err));
        s->staged[i] = false;
    }
    return 0;
}

// Removes a file of the site before, as long as it is as fare wrote it; then its folder, if empty.
static int remove_one(struct site_store *s, const struct site_file *file, struct err *err)
{
    struct buf bytes = {.max = FILE_MOST + (1 << 16)};
    char sum[SHA256_HEX_BYTES] = "", folder[64];
    const char *slash = strchr(file->path, '/');
    bool there = false;
    int rc = read_at(s->dir, file->path, &bytes, &there, NULL);
    if (rc == 0 && there)
        sha256_hex_of(buf_str(&bytes), bytes.len, sum);
    buf_release(&bytes);
    if (rc == ERR_MEMORY)
        return err_memory(err);
    s->removed += strcmp(sum, file->sha256) == 0 && unlinkat(s->dir, file->path, 0) == 0;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - file->path) : 0, file->path);
    if (*folder)
        unlinkat(s->dir, folder, AT_REMOVEDIR);
    return 0;
}

static int remove_old(struct site_store *s, struct err *err)
{
    for (size_t i = 0; i < s->was.files.count; i++) {
        const struct site_file *file = &s->was.files.items[i];
        size_t number;
        TRY(index_number(&s->now_paths, file->path, strlen(file->path), &number, err));
        if (number >= s->now.files.count)
            TRY(remove_one(s, file, err));
    }
    return 0;
}

// The list of both sites is on the disk before the first file moves.
static int change(struct site_store *s, const struct buf *index, struct err *err)
{
    SCOPED(buf_release) struct buf both = {0};
    TRY(list_text(s, true, &both, err));
    TRY(write_at(s->stage, NEXT_LIST, &both, err));
    TRY(write_at(s->stage, SITE_INDEX, index, err));
    TRY(sync_all(s, err));
    if (renameat(s->stage, NEXT_LIST, s->stage, LIST) != 0 || fsync(s->stage) != 0)
        return err_errno(err, errno, "cannot write the site '%s'", s->folder);
    s->begun = true;
    TRY(move_all(s, true, err));
    TRY(move_all(s, false, err));
    TRY(move_first(s, err));
    TRY(move(s, SITE_INDEX, SITE_INDEX, err));
    return sync_all(s, err);
}

int site_store_commit(struct site_store *s, struct err *err)
{
    SCOPED(buf_release) struct buf index = {0}, was = {.max = FILE_MOST + (1 << 16)};
    bool there = false;
    TRY(list_text(s, false, &index, err));
    TRY(read_at(s->dir, SITE_INDEX, &was, &there, err));
    bool same = there && s->written == 0 && was.len == index.len &&
                memcmp(buf_str(&was), buf_str(&index), was.len) == 0;
    if (!same)
        TRY(change(s, &index, err));
    TRY(remove_old(s, err));
    unlinkat(s->stage, LIST, 0);
    return 0;
}

void site_store_close(struct site_store *s)
{
    if (s->stage >= 0 && !s->begun)
        clear_stage(s->stage);
    if (s->stage >= 0)
        close(s->stage);
    if (s->dir >= 0) {
        unlinkat(s->dir, STAGE, AT_REMOVEDIR); // if it is empty
        close(s->dir);
    }
    if (s->made && !s->begun)
        rmdir(s->folder);
    record_release(site_index_fields, &s->was);
    record_release(site_index_fields, &s->now);
    index_release(&s->was_paths);
    index_release(&s->was_files);
    index_release(&s->now_paths);
    free(s->staged);
    free(s->folder);
}

// What the pages of runs are made of, apart from their records: the program, its options, the day,
// and all tables of prices, devices, estimates and published results.

static int hash_input(void *arg, const char *path, struct err *err)
{
    struct sha256 *sha = arg;
    struct stat st;
    SCOPED(buf_release) struct buf bytes = {.max = (size_t)1 << 30};
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    const char *slash = strrchr(path, '/');
    int rc = fs_read(path, bytes.max - 1, &bytes, err);
    uint64_t len = bytes.len;
    sha256_add(sha, slash ? slash : path, strlen(slash ? slash : path) + 1);
    sha256_add(sha, &len, sizeof len);
    sha256_add(sha, buf_str(&bytes), bytes.len);
    return rc == ERR_MISSING ? 0 : rc;
}

// The user's tables have precedence, so that both count.
static int add_folders(struct sha256 *sha, bool own, struct err *err)
{
    static const char *const folders[] = {"",         "/offers",   "/providers",
                                          "/devices", "/estimate", "/published"};
    SCOPED(buf_release) struct buf path = {0};
    struct err why = {0};
    int rc = (own ? folder_config : folder_share)(&path, &why);
    size_t len = path.len;
    if (rc == ERR_MISSING) { // no home folder
        return 0;
    }
    if (rc != 0)
        err_pass(err, rc, &why);
    for (size_t i = 0; i < sizeof folders / sizeof *folders && rc == 0; i++) {
        path.len = len;
        buf_adds(&path, folders[i]);
        rc = buf_check(&path, err);
        sha256_add(sha, folders[i], strlen(folders[i]) + 1);
        if (rc == 0)
            rc = files_each(buf_str(&path), "", hash_input, sha, err);
    }
    return rc;
}

static int add_book(struct sha256 *sha, const char *book, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    struct err ignored = {0};
    int rc = book_path(book, &path, &ignored);
    rc = rc == 0 ? hash_input(sha, buf_str(&path), err) : rc == ERR_MEMORY ? err_memory(err) : 0;
    return rc;
}

int site_inputs(const struct site_ask *ask, char out[SHA256_HEX_BYTES], struct err *err)
{
    const struct page_ask *page = &ask->page;
    struct sha256 sha;
    struct buf options = {0};
    uint8_t hash[SHA256_BYTES];
    const struct maybe_int deadline = page->wishes.deadline_ns;
    buf_printf(&options, "%s %s %d %d %s %s %d %d %d %lld", FARE_VERSION, FARE_BUILD, book_today(),
               page->day, page->pricing.date ? page->pricing.date : "-",
               page->currency ? page->currency : "-", page->pricing.prorated, page->as_published,
               page->measured, deadline.known ? (long long)deadline.v : -1LL);
    int rc = buf_check(&options, err);
    sha256_init(&sha);
    sha256_add(&sha, buf_str(&options), options.len + (rc == 0));
    buf_release(&options);
    if (rc == 0)
        rc = add_book(&sha, ask->book, err);
    if (rc == 0)
        rc = add_folders(&sha, false, err);
    if (rc == 0)
        rc = add_folders(&sha, true, err);
    sha256_done(&sha, hash);
    sha256_hex(hash, out);
    return rc;
}
