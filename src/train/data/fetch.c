// SPDX-License-Identifier: Apache-2.0
#include "train/data/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/gzip.h"
#include "base/http.h"
#include "train/data/unpack.h"
#include "train/data/folder.h"

#define CHUNK ((size_t)32 << 10)

int data_cache_dir(const char *name, struct buf *dir, struct err *err)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/') // the specification: other values are to be ignored
        buf_printf(dir, "%s/fare/data", cache);
    else if (home && home[0] == '/')
        buf_printf(dir, "%s/.cache/fare/data", home);
    else
        return err_set(err, ERR_MISSING,
                       "no place for data: neither XDG_CACHE_HOME nor HOME is set to a folder");
    if (name)
        buf_printf(dir, "/%s", name);
    return buf_check(dir, err);
}

struct fetch_job {
    const struct data_get *get;
    struct data_got *got;
    struct buf part;   // the folder where the set grows
    struct buf record; // got.csv
    struct csv_writer writer;
};

static void job_release(struct fetch_job *job)
{
    buf_release(&job->part);
    buf_release(&job->record);
}

// ---- files in the growing set ----

static int path_in(const struct fetch_job *job, const char *file, size_t len, struct buf *path,
                   struct err *err)
{
    buf_reset(path);
    buf_printf(path, "%s/%.*s", buf_str(&job->part), (int)len, file);
    return buf_check(path, err);
}

// Compares a file with what the table says, and records it.
static int check_file(struct fetch_job *job, const struct public_file *file, struct sha256 *sha,
                      int64_t bytes, struct err *err)
{
    uint8_t sum[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES], number[32], date[CLOCK_ISO_BYTES];
    sha256_done(sha, sum);
    sha256_hex(sum, hex);
    if (file->bytes && bytes != file->bytes)
        return err_set(err, ERR_FORMAT, "%s has %lld bytes instead of %lld: not the file it was",
                       file->name, (long long)bytes, (long long)file->bytes);
    bool known = file->sha256;
    if (known && strcmp(hex, file->sha256) != 0)
        return err_set(err, ERR_FORMAT, "%s has the SHA-256 %s instead of %s: not the file it was",
                       file->name, hex, file->sha256);
    if (known) {
        job->got->checked++;
    } else {
        job->got->unchecked++;
        buf_printf(&job->got->sums, "%s  %s\n", hex, file->name);
    }
    snprintf(number, sizeof number, "%lld", (long long)bytes);
    clock_iso(clock_date_s(), date);
    const char *const row[] = {file->name, file->url ? file->url : file->from, hex,
                               number,     known ? "checked" : "recorded",     date};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        csv_put(&job->writer, row[i]);
    csv_end(&job->writer);
    return buf_check(&job->record, err);
}

// ---- downloading ----

struct fetch_watching {
    const struct data_get *get;
    const char *file;
};

static bool on_progress(void *context, int64_t done, int64_t total)
{
    const struct fetch_watching *w = context;
    return w->get->progress(w->get->context, w->file, done, total);
}

static int sum_file(const char *path, struct sha256 *sha, int64_t *bytes, struct err *err)
{
    uint8_t chunk[CHUNK];
    ssize_t got;
    sha256_init(sha);
    *bytes = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    while ((got = read(fd, chunk, sizeof chunk)) > 0) {
        sha256_add(sha, chunk, (size_t)got);
        *bytes += got;
    }
    int rc = got < 0 ? err_errno(err, errno, "cannot read '%s'", path) : 0;
    close(fd);
    return rc;
}

static int download_from(struct fetch_job *job, const struct public_file *file, const char *url,
                         const char *path, struct err *err)
{
    struct fetch_watching watching = {job->get, file->name};
    struct http_download download = {
        .url = url,
        .path = path,
        .max_bytes = file->bytes ? file->bytes : BOUND_DATA_BYTES,
        .timeout_ms = BOUND_DATA_MS,
        .allow_file = job->get->allow_file,
        .progress = job->get->progress ? on_progress : NULL,
        .context = &watching,
    };
    return http_download(&download, err);
}

// Tries the addresses in turn; where all fail, the error is that of the first.
static int download_file(struct fetch_job *job, const struct public_file *file, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0}, url = {0};
    struct err first = {0};
    struct sha256 sha;
    int64_t bytes;
    int said = ERR_MISSING;
    TRY(path_in(job, file->name, strlen(file->name), &path, err));
    for (const char *at = file->url; said != 0 && *at;) {
        struct err why = {0};
        size_t len = strcspn(at, " ");
        buf_reset(&url);
        buf_add(&url, at, len);
        TRY(buf_check(&url, err));
        said = download_from(job, file, buf_str(&url), buf_str(&path), &why);
        if (said != 0 && first.code == 0)
            first = why;
        if (said == ERR_MEMORY || said == ERR_FAIL) // FAIL: the user gave up
            break;
        at += len + strspn(at + len, " ");
    }
    if (said != 0)
        return err_pass(err, said, &first);
    TRY(sum_file(buf_str(&path), &sha, &bytes, err));
    return check_file(job, file, &sha, bytes, err);
}

// ---- unpacking ----

// Some bytes of a packed file or a member of an archive; 0 at its end.
typedef ptrdiff_t read_fn(void *from, void *into, size_t size, struct err *err);

static ptrdiff_t read_gzip(void *gzip, void *into, size_t size, struct err *err)
{
    return gzip_read(gzip, into, size, err);
}

static ptrdiff_t read_tar(void *tar, void *into, size_t size, struct err *err)
{
    return tar_read(tar, into, size, err);
}

static ptrdiff_t read_zip(void *zip, void *into, size_t size, struct err *err)
{
    return zip_read(zip, into, size, err);
}

// Never an existing file, nor through a link.
static int create(const char *path, int *fd, struct err *err)
{
    SCOPED(buf_release) struct buf dir = {0};
    buf_add(&dir, path, (size_t)(strrchr(path, '/') - path));
    TRY(buf_check(&dir, err));
    TRY(fs_mkdirs(buf_str(&dir), err));
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return *fd >= 0 ? 0 : err_errno(err, errno, "cannot create '%s'", path);
}

// Writes one file and checks it. With a null `row` it is one of a folder, which the archive's own
// sum covers.
static int unpack_file(struct fetch_job *job, const struct public_file *row, const char *path,
                       read_fn *read_some, void *from, struct err *err)
{
    struct sha256 sha;
    uint8_t chunk[CHUNK];
    int64_t bytes = 0, max = row && row->bytes ? row->bytes : BOUND_DATA_BYTES;
    int fd = -1, rc = create(path, &fd, err);
    if (rc != 0)
        return rc;
    sha256_init(&sha);
    ptrdiff_t got;
    while (rc == 0 && (got = read_some(from, chunk, sizeof chunk, err)) != 0) {
        if (got < 0) {
            rc = (int)got;
            break;
        }
        bytes += got;
        sha256_add(&sha, chunk, (size_t)got);
        rc = bytes <= max ? fs_write_fd(fd, chunk, (size_t)got, "an unpacked file", err)
                          : err_set(err, ERR_FORMAT, "'%s' would have more than %lld bytes", path,
                                    (long long)max);
    }
    if (close(fd) != 0 && rc == 0)
        rc = err_errno(err, errno, "cannot write '%s'", path);
    return rc == 0 && row ? check_file(job, row, &sha, bytes, err) : rc;
}

static int unpack_gzip(struct fetch_job *job, const struct public_file *file, const char *archive,
                       const char *path, struct err *err)
{
    SCOPED(gzip_release) struct gzip gzip = {0};
    TRY(gzip_open(&gzip, archive, BOUND_DATA_BYTES, err));
    return unpack_file(job, file, path, read_gzip, &gzip, err);
}

static int unpack_zip(struct fetch_job *job, const struct public_file *file, const char *archive,
                      const char *member, const char *path, struct err *err)
{
    SCOPED(zip_release) struct zip zip = {0};
    TRY(zip_open(&zip, archive, member, BOUND_DATA_BYTES, err));
    return unpack_file(job, file, path, read_zip, &zip, err);
}

// A member's name below the wanted folder may hold anything. It is refused where it would leave
// that folder, be hidden, or is no name at all.
static bool is_harmless(const char *rest)
{
    if (*rest == '\0' || strlen(rest) > 1000)
        return false;
    for (const char *part = rest;; part++) {
        size_t len = strcspn(part, "/");
        if (len == 0 || len > 200 || part[0] == '.')
            return false;
        part += len;
        if (*part == '\0')
            return true;
    }
}

// The row that a member of the archive belongs to, and its path; null where it is not wanted.
static const struct public_file *row_of(const struct fetch_job *job, const char *archive,
                                        const char *member, struct buf *path, bool *folder)
{
    size_t prefix = strlen(archive);
    for (const struct public_file *file = job->get->set->files; file->name; file++) {
        if (!file->from || strncmp(file->from, archive, prefix) != 0 || file->from[prefix] != ':')
            continue;
        const char *wanted = file->from + prefix + 1;
        size_t len = strlen(wanted);
        *folder = len > 0 && wanted[len - 1] == '/';
        const char *rest = *folder ? member + len : "";
        if (*folder ? strncmp(member, wanted, len) != 0 || !is_harmless(rest)
                    : strcmp(member, wanted) != 0)
            continue;
        buf_reset(path);
        buf_printf(path, "%s/%s%s", buf_str(&job->part), file->name, rest);
        return file;
    }
    return NULL;
}

// All rows that come from one tar archive, in one pass over it. `found` counts their members.
static int unpack_tar(struct fetch_job *job, const char *name, const char *archive, size_t *found,
                      struct err *err)
{
    SCOPED(tar_release) struct tar tar = {0};
    SCOPED(buf_release) struct buf path = {0};
    int rc;
    TRY(tar_open(&tar, archive, BOUND_DATA_BYTES, err));
    while ((rc = tar_next(&tar, err)) > 0) {
        bool folder;
        const struct public_file *file = row_of(job, name, buf_str(&tar.name), &path, &folder);
        if (!file)
            continue;
        TRY(buf_check(&path, err));
        TRY(unpack_file(job, folder ? NULL : file, buf_str(&path), read_tar, &tar, err));
        found[file - job->get->set->files]++;
    }
    return rc;
}

static bool is_tar(const char *archive)
{
    return folder_ends(archive, ".tar") || folder_ends(archive, ".tgz");
}

// A tar archive is unpacked whole at its first row.
static int unpack_row(struct fetch_job *job, const struct public_file *file, size_t *found,
                      struct err *err)
{
    size_t len = strcspn(file->from, ":");
    SCOPED(buf_release) struct buf archive = {0}, name = {0}, path = {0};
    buf_add(&name, file->from, len);
    TRY(buf_check(&name, err));
    TRY(path_in(job, file->from, len, &archive, err));
    TRY(path_in(job, file->name, strlen(file->name), &path, err));
    size_t *members = &found[file - job->get->set->files];
    if (is_tar(buf_str(&name))) {
        if (*members == 0)
            TRY(unpack_tar(job, buf_str(&name), buf_str(&archive), found, err));
        if (*members == 0)
            return err_set(err, ERR_MISSING, "'%s' has no member '%s'", buf_str(&archive),
                           file->from + len + 1);
    } else if (file->from[len] == ':') {
        TRY(unpack_zip(job, file, buf_str(&archive), file->from + len + 1, buf_str(&path), err));
    } else {
        TRY(unpack_gzip(job, file, buf_str(&archive), buf_str(&path), err));
    }
    return 0;
}

// ---- a whole set ----

static int get_files(struct fetch_job *job, struct err *err)
{
    const struct public_file *files = job->get->set->files, *file;
    size_t count = 0;
    while (files[count].name)
        count++;
    SCOPED(free_pointer) size_t *found = calloc(count + 1, sizeof *found);
    if (!found)
        return err_memory(err);
    for (file = files; file->name; file++)
        if (file->url)
            TRY(download_file(job, file, err));
    for (file = files; file->name; file++)
        if (file->from)
            TRY(unpack_row(job, file, found, err));
    return 0;
}

static int remove_archives(const struct fetch_job *job, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    for (const struct public_file *file = job->get->set->files; file->name; file++) {
        if (!file->from)
            continue;
        TRY(path_in(job, file->from, strcspn(file->from, ":"), &path, err));
        if (unlink(buf_str(&path)) != 0 && errno != ENOENT)
            return err_errno(err, errno, "cannot remove '%s'", buf_str(&path));
    }
    return 0;
}

// All files reach the disk together, then the set appears.
static int put_in_place(const struct fetch_job *job, const char *final, struct err *err)
{
    int fd = open(buf_str(&job->part), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", buf_str(&job->part));
    int said = syncfs(fd);
    int number = errno;
    close(fd);
    if (said != 0)
        return err_errno(err, number, "cannot write '%s' to the disk", buf_str(&job->part));
    if (rename(buf_str(&job->part), final) != 0)
        return err_errno(err, errno, "cannot put '%s' in place", final);
    return 0;
}

static int fill_part(struct fetch_job *job, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    TRY(fs_mkdirs_private(buf_str(&job->part), err));
    TRY(get_files(job, err));
    TRY(remove_archives(job, err));
    TRY(path_in(job, "got.csv", 7, &path, err));
    return fs_write(buf_str(&path), job->record.data, job->record.len, err);
}

static int build_set(struct fetch_job *job, const char *final, struct err *err)
{
    static const char *const header[] = {"file", "from", "sha256", "bytes", "sum", "date"};
    job->writer.out = &job->record;
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        csv_put(&job->writer, header[i]);
    csv_end(&job->writer);
    fs_remove_tree(buf_str(&job->part)); // left by a killed process
    int rc = fill_part(job, err);
    if (rc == 0)
        rc = put_in_place(job, final, err);
    if (rc != 0)
        fs_remove_tree(buf_str(&job->part));
    return rc;
}

// One process at a time. A lock, unlike a file that merely exists, ends with its process.
static int lock_set(const char *dir, const char *name, int *fd, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    buf_printf(&path, "%s/.%s.lock", dir, name);
    TRY(buf_check(&path, err));
    TRY(fs_mkdirs_private(dir, err));
    *fd = open(buf_str(&path), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (*fd < 0)
        return err_errno(err, errno, "cannot create '%s'", buf_str(&path));
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    return errno == EWOULDBLOCK ? err_set(err, ERR_FAIL, "another process is getting '%s'", name)
                                : err_errno(err, errno, "cannot lock '%s'", buf_str(&path));
}

static void close_lock(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static int get_into(struct fetch_job *job, const char *dir, struct err *err)
{
    SCOPED(buf_release) struct buf final = {0};
    SCOPED(close_lock) int fd = -1;
    buf_printf(&final, "%s/%s", dir, job->get->set->name);
    buf_printf(&job->part, "%s/.%s.part", dir, job->get->set->name);
    TRY(buf_check(&final, err));
    TRY(buf_check(&job->part, err));
    TRY(lock_set(dir, job->get->set->name, &fd, err));
    job->got->already = folder_is(buf_str(&final));
    if (!job->got->already)
        TRY(build_set(job, buf_str(&final), err));
    job->got->path = buf_take(&final, err);
    return job->got->path ? buf_check(&job->got->sums, err) : ERR_MEMORY;
}

int data_get(const struct data_get *get, struct data_got *got, struct err *err)
{
    SCOPED(job_release) struct fetch_job job = {.get = get, .got = got};
    SCOPED(buf_release) struct buf dir = {0};
    memset(got, 0, sizeof *got);
    if (get->cache_dir)
        buf_adds(&dir, get->cache_dir);
    else
        TRY(data_cache_dir(NULL, &dir, err));
    int rc = buf_check(&dir, err);
    if (rc == 0)
        rc = get_into(&job, buf_str(&dir), err);
    if (rc != 0)
        data_got_release(got);
    return rc;
}

void data_got_release(struct data_got *got)
{
    free(got->path);
    buf_release(&got->sums);
    memset(got, 0, sizeof *got);
}
