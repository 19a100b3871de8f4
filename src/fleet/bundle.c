// SPDX-License-Identifier: Apache-2.0
#include "fleet/script.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/sha256.h"
#include "fleet/target.h"
#include "version.h"

#define PACK_LIMIT_NS (INT64_C(3600) * NS_PER_S)

static bool ends_in_lib(const char *dir)
{
    return text_ends(dir, "/lib") && access(short_text("%s/fare.bin", dir).s, R_OK) == 0;
}

int bundle_program(struct buf *out, struct err *err)
{
    SCOPED(buf_release) struct buf dir = {0};
    TRY(fs_program_dir(&dir, err));
    if (ends_in_lib(buf_str(&dir)))
        buf_printf(out, "%.*s/fare", (int)dir.len - 4, buf_str(&dir));
    else
        buf_printf(out, "%s/fare", buf_str(&dir));
    return buf_check(out, err);
}

static int sum_of(const char *file, char hex[SHA256_HEX_BYTES], int64_t *bytes, struct err *err)
{
    struct sha256 sha;
    uint8_t hash[SHA256_BYTES];
    char piece[64 << 10];
    ssize_t n;
    SCOPED(fs_close) int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", file);
    sha256_init(&sha);
    *bytes = 0;
    while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0) {
            sha256_add(&sha, piece, (size_t)n);
            *bytes += n;
        }
    if (n < 0)
        return err_errno(err, errno, "cannot read '%s'", file);
    sha256_done(&sha, hash);
    sha256_hex(hash, hex);
    return 0;
}

static int describe_bundle(struct dispatch_bundle *bundle, const char *file, struct err *err)
{
    char hex[SHA256_HEX_BYTES];
    int64_t bytes = 0;
    SCOPED(free_pointer) char *whole = realpath(file, NULL);
    if (!whole) {
        err_errno(err, errno, "cannot open the bundle '%s'", file);
        return err_hint(err, "`make dist` writes one; name it with --bundle FILE");
    }
    TRY(sum_of(whole, hex, &bytes, err));
    TRY(TEXTS_SET(err, {&bundle->file, whole}, {&bundle->version, FARE_VERSION},
                  {&bundle->sha256, hex}));
    bundle->bytes = some_int(bytes);
    return 0;
}

// Runs a program that packs; `what` is for the error. Exit codes up to `most` are good.
static int run_packer(struct call *call, const char *what, int most, struct err *err)
{
    SCOPED(call_result_release) struct call_result result = {0};
    call->limit_ns = PACK_LIMIT_NS;
    int rc = call_run(call, &result, err);
    if (rc == 0 && (!result.exited || result.exit_code > most))
        rc = call_failed(&result, ERR_FAIL, short_text("cannot pack %s", what).s, err);
    call_release(call);
    return rc;
}

// The bundle that this program runs from, packed: `dir` is its lib/.
static int pack_own(const char *dir, const char *folder, struct buf *file, struct err *err)
{
    struct stat st;
    struct call call = {0};
    struct short_text program = short_text("%s/fare.bin", dir);
    if (stat(program.s, &st) != 0)
        return err_errno(err, errno, "cannot open '%s'", program.s);
    buf_printf(file, "%s/bundle-%s-%llx-%llx.tar.gz", folder, FARE_VERSION,
               (unsigned long long)st.st_mtime, (unsigned long long)st.st_size);
    if (access(buf_str(file), R_OK) == 0)
        return buf_check(file, err);
    struct short_text packed = short_text("%s.%d", buf_str(file), (int)getpid());
    call_words(&call, "tar --sort=name --owner=0 --group=0 --numeric-owner");
    call_argf(&call, "--transform=s,^[.],fare-%s,", FARE_VERSION);
    call_argf(&call, "--directory=%.*s", (int)strlen(dir) - 4, dir);
    call_arg(&call, "-czf");
    call_arg(&call, packed.s);
    call_words(&call, "./fare ./lib ./share");
    TRY(run_packer(&call, "fare's own folder", 0, err));
    if (rename(packed.s, buf_str(file)) != 0)
        return err_errno(err, errno, "cannot write '%s'", buf_str(file));
    return 0;
}

// dist/ beside the folder of a build, if it was made after the program.
static int find_dist(const char *dir, struct buf *file, struct err *err)
{
    struct stat built, packed;
    buf_printf(file, "%s/../dist/fare-%s-linux-x86_64.tar.gz", dir, FARE_VERSION);
    bool there = stat(buf_str(file), &packed) == 0;
    if (there &&
        (stat(short_text("%s/fare", dir).s, &built) != 0 || built.st_mtime <= packed.st_mtime))
        return buf_check(file, err);
    err_set(err, ERR_MISSING,
            there ? "the bundle in dist/ is older than this program"
                  : "there is no bundle to bring to other machines");
    return err_hint(err, "run `make dist`, or name one with --bundle FILE");
}

int bundle_find(struct dispatch_bundle *bundle, const char *file, const char *folder,
                struct err *err)
{
    SCOPED(buf_release) struct buf dir = {0}, found = {0};
    const char *named = file ? file : getenv("FARE_BUNDLE");
    if (named && *named)
        return describe_bundle(bundle, named, err);
    TRY(fs_program_dir(&dir, err));
    TRY(ends_in_lib(buf_str(&dir)) ? pack_own(buf_str(&dir), folder, &found, err)
                                   : find_dist(buf_str(&dir), &found, err));
    return describe_bundle(bundle, buf_str(&found), err);
}

// ---- the user's folder

static int64_t walked; // nftw() has no place for it

static int add_size(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)at;
    const char *name = strrchr(path, '/');
    if (kind == FTW_D && name && strcmp(name, "/.git") == 0)
        return FTW_SKIP_SUBTREE;
    walked += kind == FTW_F ? st->st_size : 0;
    return walked > 20 * BUNDLE_FOLDER_MOST ? FTW_STOP : FTW_CONTINUE;
}

static int too_large(const char *from, int64_t bytes, struct err *err)
{
    err_set(err, ERR_USAGE, "'%s' is too large to be brought along: over %lld MB", from,
            (long long)bytes / 1000000);
    return err_hint(err, "list what is not needed in .fareignore, name a folder or a git revision "
                         "with --bring, or leave it with --no-bring");
}

// The archive's own folder, where that is below `from`: a home folder has fare's data in it.
static void leave_out(struct call *call, const char *from, const char *file)
{
    struct short_text folder =
        short_text("%.*s", (int)(strrchr(file, '/') ? strrchr(file, '/') - file : 0), file);
    SCOPED(free_pointer)
    char *outer = realpath(from, NULL), *inner = realpath(folder.s[0] ? folder.s : ".", NULL);
    size_t len = outer ? strlen(outer) : 0;
    if (inner && len > 0 && strncmp(inner, outer, len) == 0 && inner[len] == '/') {
        call_words(call, "--anchored --no-wildcards");
        call_argf(call, "--exclude=.%s", inner + len);
        call_words(call, "--no-anchored --wildcards"); // as .fareignore has it
    }
}

int bundle_folder(struct dispatch_folder *folder, const char *from, int64_t most, const char *file,
                  struct err *err)
{
    struct stat st;
    struct call call = {0};
    char hex[SHA256_HEX_BYTES];
    int64_t bytes = 0;
    bool is_folder = stat(from, &st) == 0 && S_ISDIR(st.st_mode);
    struct short_text ignore = short_text("%s/.fareignore", from);
    bool ignores = is_folder && access(ignore.s, R_OK) == 0;
    if (is_folder && most > 0 && !ignores) {
        walked = 0;
        nftw(from, add_size, 16, FTW_PHYS | FTW_ACTIONRETVAL);
        if (walked > 20 * BUNDLE_FOLDER_MOST)
            return too_large(from, walked, err);
    }
    if (is_folder) {
        call_words(&call, "tar --exclude-vcs");
        leave_out(&call, from, file);
        if (ignores)
            call_argf(&call, "--exclude-from=%s", ignore.s);
        call_argf(&call, "--directory=%s", from);
        call_arg(&call, "-czf");
        call_arg(&call, file);
        call_arg(&call, ".");
    } else {
        call_words(&call, "git archive --format=tar.gz");
        call_argf(&call, "--output=%s", file);
        call_arg(&call, "--end-of-options");
        call_arg(&call, from);
    }
    // 1: a file changed while it was read, a log perhaps
    TRY(run_packer(&call, short_text("'%.200s'", from).s, is_folder ? 1 : 0, err));
    TRY(sum_of(file, hex, &bytes, err));
    if (most > 0 && bytes > most)
        return too_large(from, bytes, err);
    SCOPED(free_pointer) char *whole = is_folder ? realpath(from, NULL) : NULL;
    folder->bytes = some_int(bytes);
    return TEXTS_SET(err, {&folder->file, file}, {&folder->from, whole ? whole : from},
                     {&folder->sha256, hex});
}
