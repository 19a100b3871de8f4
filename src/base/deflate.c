// SPDX-License-Identifier: Apache-2.0
#include "base/deflate.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
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

void deflate_again(struct deflate *deflate)
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
