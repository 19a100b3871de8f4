// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint/safetensors.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "record/field.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors lie in the file as in memory");

#define LENGTH_BYTES 8

// Every type of the reference implementation (0.8), so that an unused tensor of such a type does
// not make a file unreadable.
static const struct type {
    const char *name;
    unsigned bits;
    enum safetensors_type type;
} types[] = {
    {"F32", 32, SAFETENSORS_F32},          {"F64", 64, SAFETENSORS_F64},
    {"F16", 16, SAFETENSORS_F16},          {"BF16", 16, SAFETENSORS_BF16},
    {"I64", 64, SAFETENSORS_I64},          {"BOOL", 8, SAFETENSORS_OTHER},
    {"F4", 4, SAFETENSORS_OTHER},          {"F6_E2M3", 6, SAFETENSORS_OTHER},
    {"F6_E3M2", 6, SAFETENSORS_OTHER},     {"U8", 8, SAFETENSORS_OTHER},
    {"I8", 8, SAFETENSORS_OTHER},          {"F8_E5M2", 8, SAFETENSORS_OTHER},
    {"F8_E4M3", 8, SAFETENSORS_OTHER},     {"F8_E8M0", 8, SAFETENSORS_OTHER},
    {"F8_E4M3FNUZ", 8, SAFETENSORS_OTHER}, {"F8_E5M2FNUZ", 8, SAFETENSORS_OTHER},
    {"I16", 16, SAFETENSORS_OTHER},        {"U16", 16, SAFETENSORS_OTHER},
    {"I32", 32, SAFETENSORS_OTHER},        {"U32", 32, SAFETENSORS_OTHER},
    {"C64", 64, SAFETENSORS_OTHER},        {"U64", 64, SAFETENSORS_OTHER},
};

static const struct type *type_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

void safetensors_printable(struct buf *out, const char *text)
{
    for (int i = 0; i < 64 && text[i]; i++)
        buf_addc(out, (unsigned char)text[i] < ' ' || text[i] == 0x7F ? '?' : text[i]);
}

void safetensors_shape(struct buf *out, int rank, const int64_t *dim)
{
    if (rank == 0)
        buf_adds(out, "one number");
    for (int i = 0; i < rank; i++)
        buf_printf(out, "%s%" PRId64, i ? "×" : "", dim[i]);
}

// Product of the dimensions, each of which is at least 0; false where it leaves int64_t. As in
// the reference, a product that overflows before a 0 comes is refused too.
static bool shape_count(int rank, const int64_t *dim, int64_t *count)
{
    *count = 1;
    for (int i = 0; i < rank; i++)
        if (__builtin_mul_overflow(*count, dim[i], count))
            return false;
    return true;
}

static int read_at(const struct safetensors *st, void *bytes, size_t len, uint64_t at,
                   struct err *err)
{
    char *p = bytes;
    while (len > 0) {
        ssize_t got = pread(st->fd, p, len, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "cannot read '%s'", st->path);
        if (got == 0)
            return err_set(err, ERR_FORMAT, "'%s' ends at byte %" PRIu64 ", in the middle",
                           st->path, at);
        p += got;
        at += (uint64_t)got;
        len -= (size_t)got;
    }
    return 0;
}

static int read_shape(struct scan *scan, struct safetensors_tensor *t, struct err *err)
{
    int rc;
    TRY(scan_expect(scan, '[', err));
    while ((rc = scan_item(scan, ']', t->rank == 0, err)) == 1) {
        // By one: a header may have millions of tensors, and nearly all have few dimensions.
        int64_t *dim = realloc(t->dim, ((size_t)t->rank + 1) * sizeof *dim);
        if (!dim)
            return err_memory(err);
        t->dim = dim;
        TRY(scan_whole(scan, &dim[t->rank++], err));
    }
    return rc;
}

static int read_offsets(struct scan *scan, int64_t *begin, int64_t *end, struct err *err)
{
    TRY(scan_expect(scan, '[', err));
    TRY(scan_whole(scan, begin, err));
    TRY(scan_expect(scan, ',', err));
    TRY(scan_whole(scan, end, err));
    return scan_expect(scan, ']', err);
}

// Whether type, shape and offsets agree.
static int finish_tensor(struct safetensors_tensor *t, const char *type_name, int64_t begin,
                         int64_t end, struct err *err)
{
    const struct type *type = type_find(type_name);
    if (!type)
        return err_set(err, ERR_FORMAT, "there is no type '%.32s'", type_name);
    t->type = type->type;
    t->type_name = type->name;
    if (end < begin)
        return err_set(err, ERR_FORMAT, "it ends at %" PRId64 ", before its begin at %" PRId64, end,
                       begin);
    t->begin = (uint64_t)begin;
    t->bytes = (uint64_t)(end - begin);
    uint64_t bits;
    if (!shape_count(t->rank, t->dim, &t->count) ||
        __builtin_mul_overflow((uint64_t)t->count, type->bits, &bits))
        return err_set(err, ERR_FORMAT, "the product of its shape is too large");
    if (bits % 8 != 0 || bits / 8 != t->bytes)
        return err_set(err, ERR_FORMAT,
                       "%" PRIu64 " bytes are not what %" PRId64 " numbers of type %s take",
                       t->bytes, t->count, type->name);
    return 0;
}

// {"dtype":"F32","shape":[..],"data_offsets":[a,b]} in any order; other members are skipped.
static int read_tensor(struct scan *scan, struct safetensors_tensor *t, struct buf *text,
                       struct err *err)
{
    static const char *const members[] = {"dtype", "shape", "data_offsets"};
    char type_name[33] = "";
    int64_t begin = 0, end = 0;
    bool seen[3] = {false};
    int rc;
    TRY(scan_expect(scan, '{', err));
    for (bool first = true; (rc = scan_item(scan, '}', first, err)) == 1; first = false) {
        TRY(scan_key(scan, text, err));
        int member = 0;
        while (member < 3 && strcmp(buf_str(text), members[member]) != 0)
            member++;
        if (member < 3 && seen[member])
            return err_set(err, ERR_FORMAT, "it has two '%s'", members[member]);
        if (member < 3)
            seen[member] = true;
        if (member == 0) {
            TRY(scan_text(scan, text, err));
            snprintf(type_name, sizeof type_name, "%s", buf_str(text));
        } else {
            TRY(member == 1   ? read_shape(scan, t, err)
                : member == 2 ? read_offsets(scan, &begin, &end, err)
                              : scan_skip(scan, err));
        }
    }
    TRY(rc);
    for (int i = 0; i < 3; i++)
        if (!seen[i])
            return err_set(err, ERR_FORMAT, "it has no '%s'", members[i]);
    return finish_tensor(t, type_name, begin, end, err);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_texts(struct safetensors *st, struct scan *scan, struct buf *text, struct err *err)
{
    if (scan_is(scan, 'n')) // null counts as none, as for the reference
        return scan_null(scan, err);
    int rc;
    size_t cap = 0;
    TRY(scan_expect(scan, '{', err));
    while ((rc = scan_item(scan, '}', st->text_count == 0, err)) == 1) {
        TRY(array_grow(&st->texts, (size_t)st->text_count, &cap, 2 * sizeof *st->texts, err));
        char **pair = &st->texts[2 * st->text_count++];
        pair[0] = pair[1] = NULL;
        TRY(scan_key(scan, text, err));
        if (!(pair[0] = text_copy(buf_str(text), err)))
            return ERR_MEMORY;
        TRY(scan_text(scan, text, err));
        if (!(pair[1] = text_copy(buf_str(text), err)))
            return ERR_MEMORY;
    }
    if (rc == 0 && st->text_count > 0)
        qsort(st->texts, (size_t)st->text_count, 2 * sizeof *st->texts, by_text);
    for (int i = 1; rc == 0 && i < st->text_count; i++)
        if (strcmp(st->texts[2 * i - 2], st->texts[2 * i]) == 0)
            rc = err_set(err, ERR_FORMAT, "two texts are called '%.64s'", st->texts[2 * i]);
    return rc;
}

static int by_place(const void *a_, const void *b_)
{
    const struct safetensors_tensor *a = a_, *b = b_;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes); // an empty one before its neighbour
}

static int by_tensor_name(const void *a_, const void *b_)
{
    const struct safetensors_tensor *a = a_, *b = b_;
    return strcmp(a->name, b->name);
}

// The tensors must tile the data: each begins where the one before it ends, and the last ends
// with the file.
static int check_places(struct safetensors *st, uint64_t data_bytes, struct err *err)
{
    uint64_t at = 0;
    if (st->count > 0)
        qsort(st->tensors, (size_t)st->count, sizeof *st->tensors, by_place);
    for (int i = 0; i < st->count; i++) {
        const struct safetensors_tensor *t = &st->tensors[i];
        if (t->begin != at)
            return err_set(err, ERR_FORMAT,
                           "'%.64s' begins at byte %" PRIu64 " of the data, %s %" PRIu64, t->name,
                           t->begin,
                           t->begin < at ? "inside one that ends at" : "after a hole from", at);
        at += t->bytes; // both under 2^63
        if (at > data_bytes)
            return err_set(err, ERR_FORMAT,
                           "'%.64s' ends at byte %" PRIu64 " of the data, which has %" PRIu64,
                           t->name, at, data_bytes);
    }
    if (at != data_bytes)
        return err_set(err, ERR_FORMAT, "%" PRIu64 " bytes after the last tensor belong to none",
                       data_bytes - at);
    return 0;
}

static int check_names(struct safetensors *st, struct err *err)
{
    if (st->count > 0)
        qsort(st->tensors, (size_t)st->count, sizeof *st->tensors, by_tensor_name);
    for (int i = 1; i < st->count; i++)
        if (strcmp(st->tensors[i - 1].name, st->tensors[i].name) == 0)
            return err_set(err, ERR_FORMAT, "two tensors are called '%.64s'", st->tensors[i].name);
    return 0;
}

static int read_entries(struct safetensors *st, struct scan *scan, struct buf *text,
                        struct err *err)
{
    bool metadata = false;
    size_t cap = 0;
    int rc;
    TRY(scan_expect(scan, '{', err));
    for (bool first = true; (rc = scan_item(scan, '}', first, err)) == 1; first = false) {
        TRY(scan_key(scan, text, err));
        if (strcmp(buf_str(text), "__metadata__") == 0) {
            if (metadata)
                return err_set(err, ERR_FORMAT, "there are two __metadata__");
            metadata = true;
            rc = read_texts(st, scan, text, err);
            if (rc != 0)
                return rc == ERR_FORMAT ? err_context(err, "__metadata__") : rc;
            continue;
        }
        TRY(array_grow(&st->tensors, (size_t)st->count, &cap, sizeof *st->tensors, err));
        struct safetensors_tensor *t = &st->tensors[st->count++];
        memset(t, 0, sizeof *t);
        t->name = text_copy(buf_str(text), err);
        rc = t->name ? read_tensor(scan, t, text, err) : ERR_MEMORY;
        if (rc != 0)
            return rc == ERR_FORMAT ? err_context(err, "'%.64s'", t->name) : rc;
    }
    return rc != 0 ? rc : scan_end(scan, err);
}

static int read_tensors_header(struct safetensors *st, uint64_t file_bytes, struct err *err)
{
    if (file_bytes < LENGTH_BYTES)
        return err_set(err, ERR_FORMAT, "%" PRIu64 " bytes are too few for a safetensors file",
                       file_bytes);
    uint64_t length;
    TRY(read_at(st, &length, LENGTH_BYTES, 0, err));
    if (length > SAFETENSORS_HEADER_MAX)
        return err_set(err, ERR_FORMAT, "a header of %" PRIu64 " bytes is over the limit of %d",
                       length, SAFETENSORS_HEADER_MAX);
    if (length > file_bytes - LENGTH_BYTES)
        return err_set(err, ERR_FORMAT,
                       "its header has %" PRIu64 " bytes, but the file only %" PRIu64, length,
                       file_bytes);

    SCOPED(free_pointer) char *text = malloc((size_t)length + 1);
    if (!text)
        return err_memory(err);
    SCOPED(buf_release) struct buf word = {.max = (size_t)length + 1};
    struct scan scan;
    TRY(read_at(st, text, (size_t)length, LENGTH_BYTES, err));
    if (length == 0 || text[0] != '{')
        return err_set(err, ERR_FORMAT, "the header does not begin with '{'");
    TRY(scan_init(&scan, text, (size_t)length, LENGTH_BYTES, err));
    TRY(read_entries(st, &scan, &word, err));
    st->data_at = LENGTH_BYTES + length;
    TRY(check_places(st, file_bytes - st->data_at, err));
    return check_names(st, err);
}

int safetensors_open(struct safetensors *st, const char *path, struct err *err)
{
    memset(st, 0, sizeof *st);
    // Non-blocking, because it may be a FIFO.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    st->fd = fd;
    st->path = text_copy(path, err);
    if (!st->path) {
        close(fd);
        return ERR_MEMORY;
    }
    int rc;
    struct stat status;
    if (fstat(fd, &status) != 0)
        rc = err_errno(err, errno, "cannot read '%s'", path);
    else if (!S_ISREG(status.st_mode))
        rc = err_set(err, ERR_FORMAT, "'%s' is not a file", path);
    else {
        struct err inner = {0};
        rc = read_tensors_header(st, (uint64_t)status.st_size, &inner);
        if (rc == ERR_FORMAT)
            err_set(err, rc, "'%s' is not a whole safetensors file: %s", path, inner.text);
        else if (rc != 0)
            err_pass(err, rc, &inner);
    }
    if (rc != 0)
        safetensors_release(st);
    return rc;
}

void safetensors_release(struct safetensors *st)
{
    if (st->path)
        close(st->fd);
    for (int i = 0; i < st->count; i++) {
        free(st->tensors[i].name);
        free(st->tensors[i].dim);
    }
    for (int i = 0; i < 2 * st->text_count; i++)
        free(st->texts[i]);
    free(st->tensors);
    free(st->texts);
    free(st->path);
    memset(st, 0, sizeof *st);
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *st, const char *name)
{
    const struct safetensors_tensor key = {.name = (char *)(uintptr_t)name}; // only read
    return st->count > 0
               ? bsearch(&key, st->tensors, (size_t)st->count, sizeof *st->tensors, by_tensor_name)
               : NULL;
}

const char *safetensors_text(const struct safetensors *st, const char *key)
{
    for (int i = 0; i < st->text_count; i++)
        if (strcmp(st->texts[2 * i], key) == 0)
            return st->texts[2 * i + 1];
    return NULL;
}

bool safetensors_fits(const struct safetensors_tensor *tensor, int rank, const int64_t *dim)
{
    return tensor->rank == rank &&
           (rank == 0 || memcmp(tensor->dim, dim, (size_t)rank * sizeof *dim) == 0);
}

int safetensors_want(const struct safetensors *st, const char *name, int rank, const int64_t *dim,
                     const struct safetensors_tensor **tensor, struct err *err)
{
    const struct safetensors_tensor *t = safetensors_find(st, name);
    *tensor = t;
    if (!t)
        return err_set(err, ERR_MISSING, "'%s' has no tensor '%s'", st->path, name);
    if (safetensors_fits(t, rank, dim))
        return 0;
    SCOPED(buf_release) struct buf there = {0}, here = {0};
    safetensors_shape(&there, t->rank, t->dim);
    safetensors_shape(&here, rank, dim);
    TRY(buf_check(&there, err));
    TRY(buf_check(&here, err));
    return err_set(err, ERR_FORMAT, "'%s': tensor '%s' is %s in it, %s here", st->path, name,
                   buf_str(&there), buf_str(&here));
}

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// IEEE 754 binary16. A subnormal number is its fraction times 2^-24, which f32 holds exactly.
static float from_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1F, fraction = half & 0x3FF;
    if (exponent == 0x1F)
        return from_bits(sign | 0x7F800000 | fraction << 13);
    if (exponent != 0)
        return from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
    float value = (float)fraction * 0x1p-24F;
    return sign ? -value : value;
}

static void convert_values(enum safetensors_type type, const char *bytes, size_t count,
                           float *values)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        double real;
        int64_t whole;
        switch (type) {
        case SAFETENSORS_F16:
            memcpy(&half, bytes + i * sizeof half, sizeof half);
            values[i] = from_half(half);
            break;
        case SAFETENSORS_BF16:
            memcpy(&half, bytes + i * sizeof half, sizeof half);
            values[i] = from_bits((uint32_t)half << 16);
            break;
        case SAFETENSORS_F64:
            memcpy(&real, bytes + i * sizeof real, sizeof real);
            values[i] = (float)real;
            break;
        case SAFETENSORS_I64:
            memcpy(&whole, bytes + i * sizeof whole, sizeof whole);
            values[i] = (float)whole;
            break;
        case SAFETENSORS_F32:
        case SAFETENSORS_OTHER:
            assert(0);
        }
    }
}

int safetensors_floats(const struct safetensors *st, const struct safetensors_tensor *tensor,
                       float *values, struct err *err)
{
    uint64_t at = st->data_at + tensor->begin;
    if (tensor->type == SAFETENSORS_F32)
        return read_at(st, values, tensor->bytes, at, err);
    if (tensor->type == SAFETENSORS_OTHER)
        return err_set(err, ERR_FORMAT,
                       "'%s': tensor '%.64s' is of type %s; F32, F64, F16, BF16 and I64 are read",
                       st->path, tensor->name, tensor->type_name);
    size_t size = tensor->count > 0 ? (size_t)(tensor->bytes / (uint64_t)tensor->count) : 1;
    char piece[16384];
    for (int64_t done = 0; done < tensor->count;) {
        size_t count = sizeof piece / size;
        if ((int64_t)count > tensor->count - done)
            count = (size_t)(tensor->count - done);
        TRY(read_at(st, piece, count * size, at, err));
        convert_values(tensor->type, piece, count, values + done);
        done += (int64_t)count;
        at += count * size;
    }
    return 0;
}

// ==== safetensors_write ====
// The writing half of safetensors.h.

#define ALIGNMENT 8 // of the data; spaces pad the header

// A JSON text; `clean` is UTF-8 without control characters.
static void add_quoted(struct buf *out, const char *clean)
{
    buf_addc(out, '"');
    for (; *clean; clean++) {
        if (*clean == '"' || *clean == '\\')
            buf_addc(out, '\\');
        buf_addc(out, *clean);
    }
    buf_addc(out, '"');
}

static int add_texts(struct buf *out, const struct safetensors_text *texts, int count,
                     struct err *err)
{
    buf_adds(out, "\"__metadata__\":{");
    for (int i = 0; i < count; i++) {
        SCOPED(free_pointer) char *key = NULL;
        SCOPED(free_pointer) char *value = NULL;
        TRY(text_set(&key, texts[i].key, err));
        TRY(text_set(&value, texts[i].value, err));
        buf_adds(out, i ? "," : "");
        add_quoted(out, key ? key : "");
        buf_addc(out, ':');
        add_quoted(out, value ? value : "");
    }
    buf_addc(out, '}');
    return 0;
}

// Refuses a file that we could not read back.
static int check_entry_names(const struct safetensors_entry *entries, int count, struct err *err)
{
    SCOPED(free_pointer) const char **names = malloc(((size_t)count + 1) * sizeof *names);
    if (!names)
        return err_memory(err);
    for (int i = 0; i < count; i++) {
        SCOPED(free_pointer) char *clean = NULL;
        names[i] = entries[i].name;
        TRY(text_set(&clean, names[i], err));
        if (strcmp(clean ? clean : "", names[i]) != 0)
            return err_set(err, ERR_FORMAT, "'%.64s' cannot be a tensor's name",
                           clean ? clean : "");
    }
    if (count > 0)
        qsort(names, (size_t)count, sizeof *names, by_text);
    for (int i = 1; i < count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return err_set(err, ERR_FORMAT, "two tensors are called '%.64s'", names[i]);
    return 0;
}

static int bytes_of(const char *type)
{
    if (type && strcmp(type, "U8") == 0)
        return 1;
    if (type && strcmp(type, "I16") == 0)
        return 2;
    return type && strcmp(type, "I64") == 0 ? 8 : 4;
}

static int make_header(struct buf *out, const struct safetensors_text *texts, int text_count,
                       const struct safetensors_entry *entries, int count, int64_t *total,
                       struct err *err)
{
    *total = 0;
    buf_fill(out, '\0', LENGTH_BYTES);
    buf_addc(out, '{');
    TRY(text_count > 0 ? add_texts(out, texts, text_count, err) : 0);
    for (int i = 0; i < count; i++) {
        const struct safetensors_entry *e = &entries[i];
        int64_t bytes = bytes_of(e->type);
        for (int d = 0; d < e->rank; d++)
            bytes *= e->dim[d]; // of what lies in memory or on a disk: no overflow
        buf_adds(out, text_count > 0 || i > 0 ? "," : "");
        add_quoted(out, e->name);
        buf_printf(out, ":{\"dtype\":\"%s\",\"shape\":[", e->type ? e->type : "F32");
        for (int d = 0; d < e->rank; d++)
            buf_printf(out, "%s%" PRId64, d ? "," : "", e->dim[d]);
        buf_printf(out, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", *total, *total + bytes);
        *total += bytes;
    }
    buf_addc(out, '}');
    buf_fill(out, ' ', (ALIGNMENT - out->len % ALIGNMENT) % ALIGNMENT);
    TRY(buf_check(out, err));
    uint64_t length = out->len - LENGTH_BYTES;
    memcpy(out->data, &length, LENGTH_BYTES);
    return 0;
}

int safetensors_begin(struct safetensors_writer *w, const char *path,
                      const struct safetensors_text *texts, int text_count,
                      const struct safetensors_entry *entries, int count, struct err *err)
{
    memset(w, 0, sizeof *w);
    SCOPED(buf_release) struct buf header = {0};
    TRY(check_entry_names(entries, count, err));
    TRY(make_header(&header, texts, text_count, entries, count, &w->left, err));
    TRY(fs_begin(&w->file, path, 0666, err));
    int rc = fs_add(&w->file, header.data, header.len, err);
    if (rc != 0)
        fs_abandon(&w->file);
    return rc;
}

int safetensors_add_bytes(struct safetensors_writer *w, const void *bytes, int64_t len,
                          struct err *err)
{
    assert(len >= 0 && len <= w->left);
    w->left -= len;
    return fs_add(&w->file, bytes, (size_t)len, err);
}

int safetensors_add(struct safetensors_writer *w, const float *values, int64_t count,
                    struct err *err)
{
    return safetensors_add_bytes(w, values, count * (int64_t)sizeof *values, err);
}

int safetensors_commit(struct safetensors_writer *w, struct err *err)
{
    assert(w->left == 0);
    return fs_commit(&w->file, err);
}

void safetensors_abandon(struct safetensors_writer *w)
{
    fs_abandon(&w->file);
}
