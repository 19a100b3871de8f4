// SPDX-License-Identifier: Apache-2.0
// What the pages of runs are made of, apart from their records: the program, its options, the day,
// and all tables of prices, devices, estimates and published results.
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "book/book.h"
#include "tables/files.h"
#include "view/site_job.h"
#include "version.h"

static int add_file(void *arg, const char *path, struct err *err)
{
    struct sha256 *sha = arg;
    struct stat st;
    struct buf bytes = {.max = (size_t)1 << 30};
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    const char *slash = strrchr(path, '/');
    int rc = fs_read(path, bytes.max - 1, &bytes, err);
    uint64_t len = bytes.len;
    sha256_add(sha, slash ? slash : path, strlen(slash ? slash : path) + 1);
    sha256_add(sha, &len, sizeof len);
    sha256_add(sha, buf_str(&bytes), bytes.len);
    buf_release(&bytes);
    return rc == ERR_MISSING ? 0 : rc;
}

// The user's tables have precedence, so that both count.
static int add_folders(struct sha256 *sha, bool own, struct err *err)
{
    static const char *const folders[] = {"",         "/offers",   "/providers",
                                          "/devices", "/estimate", "/published"};
    struct buf path = {0};
    struct err why = {0};
    int rc = (own ? folder_config : folder_share)(&path, &why);
    size_t len = path.len;
    if (rc == ERR_MISSING) { // no home folder
        buf_release(&path);
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
            rc = files_each(buf_str(&path), "", add_file, sha, err);
    }
    buf_release(&path);
    return rc;
}

static int add_book(struct sha256 *sha, const char *book, struct err *err)
{
    struct buf path = {0};
    struct err ignored = {0};
    int rc = book_path(book, &path, &ignored);
    rc = rc == 0 ? add_file(sha, buf_str(&path), err) : rc == ERR_MEMORY ? err_memory(err) : 0;
    buf_release(&path);
    return rc;
}

int site_inputs(const struct site_ask *ask, char out[SHA256_HEX_BYTES], struct err *err)
{
    const struct page_ask *page = &ask->page;
    struct sha256 sha;
    struct buf options = {0};
    uint8_t hash[SHA256_BYTES];
    const struct maybe_int deadline = page->wishes.deadline_ns;
    buf_printf(&options, "%s %s %d %d %s %s %d %d %lld", FARE_VERSION, FARE_BUILD, book_today(),
               page->day, page->pricing.date ? page->pricing.date : "-",
               page->currency ? page->currency : "-", page->pricing.prorated, page->measured,
               deadline.known ? (long long)deadline.v : -1LL);
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
