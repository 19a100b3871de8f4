// SPDX-License-Identifier: Apache-2.0
#include "base/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/dl.h"

// The functions used; <zlib.h> has their types.
// clang-format off
#define FUNCTIONS(X) \
    X(init, inflateInit2_) X(step, inflate) X(reset, inflateReset) X(end, inflateEnd) \
    X(crc, crc32)
// clang-format on
#define MEMBER(name, function) __typeof__(function) *name;
#define SYMBOL(name, function) {#function, offsetof(struct zlib_api, name), DL_REQUIRED},

static struct zlib_api {
    FUNCTIONS(MEMBER)
} zlib;
static const struct dl_symbol symbols[] = {FUNCTIONS(SYMBOL)};
static const char *const names[] = {"libz.so.1", NULL};
static const struct dl_spec spec = {
    .what = "zlib",
    .names = names,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .hint = "install the package zlib1g, use the bundle, which carries it, or unpack the files",
};

static int load(struct err *err)
{
    static struct dl library;
    return dl_open_once(&library, &spec, &zlib, err);
}

// zlib allocates through us, so that tests can make its allocations fail too.
static void *allocate(void *context, unsigned count, unsigned size)
{
    (void)context;
    return calloc(count, size);
}

static void release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

int deflate_begin(struct deflate *deflate, enum deflate_form form, struct err *err)
{
    deflate->stream = NULL;
    TRY(load(err));
    z_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return err_memory(err);
    stream->zalloc = allocate;
    stream->zfree = release;
    int bits = form == DEFLATE_GZIP ? 16 + MAX_WBITS : -MAX_WBITS;
    int said = zlib.init(stream, bits, ZLIB_VERSION, (int)sizeof *stream);
    if (said != Z_OK) {
        free(stream);
        return said == Z_MEM_ERROR ? err_memory(err)
                                   : err_set(err, ERR_FAIL, "zlib did not start (%d)", said);
    }
    deflate->stream = stream;
    return 0;
}

void deflate_release(struct deflate *deflate)
{
    if (deflate->stream)
        zlib.end(deflate->stream);
    free(deflate->stream);
    deflate->stream = NULL;
}

// begins the next stream of the same form
static void deflate_again(struct deflate *deflate)
{
    zlib.reset(deflate->stream);
}

int deflate_step(struct deflate *deflate, const uint8_t **in, size_t *in_len, void *out,
                 size_t size, size_t *made, struct err *err)
{
    z_stream *stream = deflate->stream;
    uInt offered = *in_len > UINT_MAX ? UINT_MAX : (uInt)*in_len;
    uInt space = size > UINT_MAX ? UINT_MAX : (uInt)size;
    memcpy(&stream->next_in, in, sizeof *in); // zlib's pointer is not const, but it only reads
    stream->avail_in = offered;
    stream->next_out = out;
    stream->avail_out = space;
    int said = zlib.step(stream, Z_NO_FLUSH);
    *in += offered - stream->avail_in;
    *in_len -= offered - stream->avail_in;
    *made = space - stream->avail_out;
    switch (said) {
    case Z_STREAM_END:
        return 1;
    case Z_OK:
    case Z_BUF_ERROR: // no progress: it needs more input or more space
        return 0;
    case Z_MEM_ERROR:
        return err_memory(err);
    default:
        return err_set(err, ERR_FORMAT, "the compressed data are damaged (%s)",
                       stream->msg ? stream->msg : "zlib gives no reason");
    }
}

uint32_t deflate_crc(uint32_t crc, const void *bytes, size_t len)
{
    return (uint32_t)zlib.crc(crc, bytes, (uInt)len);
}

// ==== gzip ====

#define CHUNK ((size_t)64 << 10)
#define GROW  ((size_t)1 << 20) // the first allocation of gzip_read_all()

// Fills the chunk when it is empty. *got is 0 at the end of the file.
static int fill(struct gzip *gzip, size_t *got, struct err *err)
{
    *got = gzip->left;
    if (gzip->left > 0)
        return 0;
    ssize_t n;
    do {
        n = read(gzip->fd, gzip->chunk, CHUNK);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_errno(err, errno, "cannot read '%s'", gzip->path);
    gzip->next = gzip->chunk;
    gzip->left = *got = (size_t)n;
    gzip->taken += n;
    return 0;
}

static int open_file(struct gzip *gzip, struct err *err)
{
    gzip->fd = open(gzip->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe must not block us
    if (gzip->fd < 0)
        return err_errno(err, errno, "cannot open '%s'", gzip->path);
    struct stat st;
    if (fstat(gzip->fd, &st) != 0)
        return err_errno(err, errno, "cannot look at '%s'", gzip->path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_FORMAT, "'%s' is not a plain file", gzip->path);
    gzip->size = st.st_size;
    gzip->chunk = malloc(CHUNK);
    return gzip->chunk ? 0 : err_memory(err);
}

int gzip_open(struct gzip *gzip, const char *path, int64_t max, struct err *err)
{
    memset(gzip, 0, sizeof *gzip);
    gzip->fd = -1;
    gzip->max = max;
    sha256_init(&gzip->sha);
    gzip->path = text_copy(path, err);
    int rc = gzip->path ? open_file(gzip, err) : ERR_MEMORY;
    size_t got = 0;
    if (rc == 0)
        rc = fill(gzip, &got, err);
    if (rc == 0 && got >= 2 && gzip->next[0] == 0x1F && gzip->next[1] == 0x8B) {
        gzip->packed = gzip->inside = true;
        rc = deflate_begin(&gzip->deflate, DEFLATE_GZIP, err);
    }
    if (rc != 0)
        gzip_release(gzip);
    return rc;
}

void gzip_release(struct gzip *gzip)
{
    if (gzip->path && gzip->fd >= 0)
        close(gzip->fd);
    deflate_release(&gzip->deflate);
    free(gzip->chunk);
    free(gzip->path);
    memset(gzip, 0, sizeof *gzip);
    gzip->fd = -1;
}

static int read_plain(struct gzip *gzip, void *into, size_t size, size_t *made, struct err *err)
{
    size_t got;
    TRY(fill(gzip, &got, err));
    *made = got < size ? got : size;
    memcpy(into, gzip->next, *made);
    gzip->next += *made;
    gzip->left -= *made;
    return 0;
}

// Between two streams: another may follow, or zeros that pad the file, as on tapes.
static int begin_next(struct gzip *gzip, struct err *err)
{
    size_t got;
    int rc;
    while ((rc = fill(gzip, &got, err)) == 0 && got > 0 && *gzip->next == 0) {
        gzip->next++;
        gzip->left--;
    }
    if (rc != 0)
        return rc;
    if (got == 0) {
        gzip->ended = true;
        return 0;
    }
    if (*gzip->next != 0x1F)
        return err_set(err, ERR_FORMAT,
                       "'%s': what follows the compressed data, from byte %lld of the file, is not "
                       "gzip",
                       gzip->path, (long long)(gzip->taken - (int64_t)gzip->left));
    deflate_again(&gzip->deflate);
    gzip->inside = true;
    return 0;
}

static int read_packed(struct gzip *gzip, void *into, size_t size, size_t *made, struct err *err)
{
    *made = 0;
    while (*made == 0 && !gzip->ended) {
        if (!gzip->inside) {
            int rc = begin_next(gzip, err);
            if (rc != 0)
                return rc;
            continue;
        }
        size_t got;
        TRY(fill(gzip, &got, err));
        if (got == 0)
            return err_set(err, ERR_FORMAT,
                           "'%s' is cut off: its compressed data end at byte %lld of the file, in "
                           "the middle",
                           gzip->path, (long long)gzip->taken);
        int rc = deflate_step(&gzip->deflate, &gzip->next, &gzip->left, into, size, made, err);
        if (rc < 0) {
            err_context(err, "'%s', near byte %lld of the file", gzip->path,
                        (long long)(gzip->taken - (int64_t)gzip->left));
            return rc;
        }
        gzip->inside = rc == 0;
    }
    return 0;
}

ptrdiff_t gzip_read(struct gzip *gzip, void *into, size_t size, struct err *err)
{
    size_t made = 0;
    int rc = 0;
    if (!gzip->ended)
        rc = gzip->packed ? read_packed(gzip, into, size, &made, err)
                          : read_plain(gzip, into, size, &made, err);
    if (rc != 0)
        return rc;
    gzip->ended = made == 0;
    gzip->given += (int64_t)made;
    if (gzip->given > gzip->max)
        return err_set(err, ERR_FORMAT, "'%s' holds more than %lld bytes%s", gzip->path,
                       (long long)gzip->max, gzip->packed ? " when unpacked" : "");
    if (!gzip->unsummed)
        sha256_add(&gzip->sha, into, made);
    return (ptrdiff_t)made;
}

static int cut_off(const struct gzip *gzip, struct err *err)
{
    if (gzip->given == 0)
        return err_set(err, ERR_FORMAT, "'%s' is empty", gzip->path);
    return err_set(err, ERR_FORMAT, "'%s' is cut off: it ends at byte %lld, in the middle",
                   gzip->path, (long long)gzip->given);
}

int gzip_exactly(struct gzip *gzip, void *into, size_t len, struct err *err)
{
    for (size_t have = 0; have < len;) {
        ptrdiff_t got = gzip_read(gzip, (char *)into + have, len - have, err);
        if (got < 0)
            return (int)got;
        if (got == 0)
            return cut_off(gzip, err);
        have += (size_t)got;
    }
    return 0;
}

int gzip_read_all(struct gzip *gzip, size_t len, uint8_t **bytes, struct err *err)
{
    *bytes = NULL;
    size_t have = 0, capacity = len < GROW ? len : GROW;
    int rc = 0;
    // A plain file cannot hold more than its size, so one allocation is safe.
    if (!gzip->packed && (int64_t)len <= gzip->size)
        capacity = len;
    uint8_t *all = malloc(capacity ? capacity : 1);
    if (!all)
        return err_memory(err);
    for (;;) {
        rc = gzip_exactly(gzip, all + have, capacity - have, err);
        have = capacity;
        if (rc != 0 || have == len)
            break;
        capacity = capacity > len / 2 ? len : capacity * 2;
        uint8_t *more = realloc(all, capacity);
        if (!more) {
            rc = err_memory(err);
            break;
        }
        all = more;
    }
    if (rc != 0)
        free(all);
    else
        *bytes = all;
    return rc;
}

int gzip_end(struct gzip *gzip, uint8_t sum[SHA256_BYTES], struct err *err)
{
    char next;
    int64_t at = gzip->given;
    ptrdiff_t got = gzip_read(gzip, &next, 1, err);
    if (got < 0)
        return (int)got;
    if (got > 0)
        return err_set(err, ERR_FORMAT, "'%s' continues after byte %lld, where it should end",
                       gzip->path, (long long)at);
    sha256_done(&gzip->sha, sum);
    return 0;
}

int gzip_load(const char *path, int64_t max, struct buf *out, uint8_t sum[SHA256_BYTES],
              struct err *err)
{
    struct gzip gzip;
    uint8_t unused[SHA256_BYTES];
    TRY(gzip_open(&gzip, path, max, err));
    gzip.unsummed = !sum;
    out->max = (size_t)max + CHUNK + 1;
    ptrdiff_t got = 1;
    while (got > 0) {
        char *into = buf_reserve(out, CHUNK);
        got = into ? gzip_read(&gzip, into, CHUNK, err) : err_memory(err);
        if (got > 0)
            buf_advance(out, (size_t)got);
    }
    int rc = got < 0 ? (int)got : gzip_end(&gzip, sum ? sum : unused, err);
    gzip_release(&gzip);
    return rc;
}
