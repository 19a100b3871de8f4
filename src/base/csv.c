// SPDX-License-Identifier: Apache-2.0
// The reader is a walk over the bytes with one byte of look-ahead; runs of plain bytes are copied
// at once. Nothing but the current record is kept, so a file may be of any length.
#include "base/csv.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define CHUNK_BYTES ((size_t)64 << 10)
#define MARK_BYTES  3    // of a byte order mark in UTF-8
#define END         (-1) // what peek() gives after the last byte

// ---- where we are, for errors ----

int csv_context(const struct csv *csv, int column, struct err *err)
{
    // The end of a long path tells more than its beginning, and the line number must not be cut.
    size_t len = strlen(csv->name), keep = 100;
    const char *cut = len > keep ? "..." : "";
    const char *name = len > keep ? csv->name + len - keep : csv->name;
    if (column >= 0 && (size_t)column < csv->header.count)
        return err_context(err, "%s%s, line %zu, column '%.40s'", cut, name, csv->record_line,
                           csv_name(csv, (size_t)column));
    return err_context(err, "%s%s, line %zu", cut, name, csv->record_line);
}

int csv_fault(const struct csv *csv, int column, struct err *err, const char *format, ...)
{
    if (!err || err->code != 0) // an earlier error must not get our line number
        return ERR_FORMAT;
    va_list args;
    va_start(args, format);
    err_setv(err, ERR_FORMAT, format, args);
    va_end(args);
    csv_context(csv, column, err);
    return ERR_FORMAT;
}

// The column of the field that is being read.
static int here(const struct csv *csv)
{
    return (int)csv->record.count - 1;
}

// ---- bytes ----

static ptrdiff_t read_fd(void *arg, void *into, size_t size, struct err *err)
{
    const struct csv *csv = arg;
    for (;;) {
        ssize_t got = read(csv->fd, into, size);
        if (got >= 0)
            return got;
        if (errno != EINTR)
            return err_errno(err, errno, "cannot read '%s'", csv->name);
    }
}

static ptrdiff_t read_text(void *arg, void *into, size_t size, struct err *err)
{
    (void)err;
    struct csv *csv = arg;
    size_t n = csv->left < size ? csv->left : size;
    if (n > 0)
        memcpy(into, csv->text, n);
    csv->text += n;
    csv->left -= n;
    return (ptrdiff_t)n;
}

// Makes sure that there is a byte at csv->at, except at the end. 0 or a code.
static int fill(struct csv *csv, struct err *err)
{
    if (csv->at < csv->filled || csv->ended)
        return 0;
    csv->at = csv->filled = 0;
    ptrdiff_t got = csv->read(csv->arg, csv->chunk, CHUNK_BYTES, err);
    if (got < 0)
        return (int)got;
    assert((size_t)got <= CHUNK_BYTES);
    csv->filled = (size_t)got;
    csv->ended = got == 0;
    return 0;
}

static int peek(const struct csv *csv)
{
    return csv->at < csv->filled ? (unsigned char)csv->chunk[csv->at] : END;
}

// A byte order mark may arrive in pieces, so the first three bytes are brought together.
static int skip_mark(struct csv *csv, struct err *err)
{
    char first[MARK_BYTES];
    size_t have = 0;
    while (have < sizeof first) {
        TRY(fill(csv, err));
        if (peek(csv) == END)
            break;
        first[have++] = csv->chunk[csv->at++];
    }
    if (have == sizeof first && memcmp(first, "\xEF\xBB\xBF", sizeof first) == 0)
        return 0;
    // Not a mark: put them back before the rest of the chunk, which leaves space for this.
    size_t left = csv->filled - csv->at;
    memmove(csv->chunk + have, csv->chunk + csv->at, left);
    memcpy(csv->chunk, first, have);
    csv->at = 0;
    csv->filled = have + left;
    return 0;
}

// ---- rows ----

static void row_release(struct csv_row *row)
{
    buf_release(&row->text);
    free(row->starts);
    memset(row, 0, sizeof *row);
}

static int row_begin_field(struct csv_row *row, struct err *err)
{
    TRY(array_grow(&row->starts, row->count, &row->capacity, sizeof *row->starts, err));
    row->starts[row->count++] = row->text.len;
    return 0;
}

static const char *row_text(const struct csv_row *row, size_t field)
{
    return buf_str(&row->text) + row->starts[field];
}

static int add_bytes(struct csv *csv, const char *bytes, size_t len, struct err *err)
{
    struct csv_row *row = &csv->record;
    size_t field = row->text.len - row->starts[row->count - 1];
    if (len > csv->options.max_field - field)
        return csv_fault(csv, here(csv), err, "the field is too long");
    if (len + 1 > csv->options.max_record - row->text.len)
        return csv_fault(csv, here(csv), err, "the record is too long");
    buf_add(&row->text, bytes, len);
    return buf_check(&row->text, err);
}

static int end_field(struct csv *csv, struct err *err)
{
    struct csv_row *row = &csv->record;
    if (row->text.len >= csv->options.max_record)
        return csv_fault(csv, here(csv), err, "the record is too long");
    buf_addc(&row->text, '\0');
    return buf_check(&row->text, err);
}

// ---- fields ----

enum ending { MORE_TEXT, MORE_FIELDS, RECORD_ENDS, FILE_ENDS };

// Reads the separator or line end after a field. MORE_TEXT, and nothing read, for anything else.
static int read_ending(struct csv *csv, enum ending *ending, struct err *err)
{
    int rc = fill(csv, err);
    if (rc != 0)
        return rc;
    int c = peek(csv);
    if (c == END) {
        *ending = FILE_ENDS;
    } else if (c == (unsigned char)csv->options.separator) {
        csv->at++;
        *ending = MORE_FIELDS;
    } else if (c == '\r' || c == '\n') {
        csv->at++;
        if (c == '\r') {
            TRY(fill(csv, err));
            if (peek(csv) != '\n')
                return csv_fault(csv, here(csv), err, "a carriage return without a line feed");
            csv->at++;
        }
        csv->line++;
        *ending = RECORD_ENDS;
    } else {
        *ending = MORE_TEXT;
    }
    return 0;
}

static int nul_byte(const struct csv *csv, struct err *err)
{
    csv_fault(csv, here(csv), err, "a NUL byte");
    err_hint(err, "this is not a text file, or it is UTF-16: convert it to UTF-8");
    return ERR_FORMAT;
}

static int read_plain(struct csv *csv, enum ending *ending, struct err *err)
{
    for (;;) {
        int rc = read_ending(csv, ending, err);
        if (rc != 0 || *ending != MORE_TEXT)
            return rc;
        const char *start = csv->chunk + csv->at, *end = csv->chunk + csv->filled, *p = start;
        while (p < end && !csv->stops[(unsigned char)*p])
            p++;
        TRY(add_bytes(csv, start, (size_t)(p - start), err));
        csv->at += (size_t)(p - start);
        if (p < end && *p == '\0')
            return nul_byte(csv, err);
        if (p < end && *p == '"' && csv->stops['"'])
            return csv_fault(csv, here(csv), err,
                             "a quote inside a field that does not begin with one");
    }
}

static int read_quoted(struct csv *csv, enum ending *ending, struct err *err)
{
    csv->at++; // the opening quote
    for (;;) {
        TRY(fill(csv, err));
        if (peek(csv) == END)
            return csv_fault(csv, here(csv), err, "a quoted field is never closed");
        const char *start = csv->chunk + csv->at, *end = csv->chunk + csv->filled, *p = start;
        for (; p < end && *p != '"' && *p != '\0'; p++)
            csv->line += *p == '\n';
        TRY(add_bytes(csv, start, (size_t)(p - start), err));
        csv->at += (size_t)(p - start);
        if (p == end)
            continue;
        if (*p == '\0')
            return nul_byte(csv, err);
        csv->at++; // a quote: the end, or the first of two
        int rc = read_ending(csv, ending, err);
        if (rc != 0 || *ending != MORE_TEXT)
            return rc;
        if (peek(csv) != '"')
            return csv_fault(csv, here(csv), err, "text after a closing quote");
        csv->at++;
        TRY(add_bytes(csv, "\"", 1, err));
    }
}

// ---- records ----

// Reads a record into csv->record. 1, 0 at the end of the file, or a code.
static int read_record(struct csv *csv, size_t max_fields, struct err *err)
{
    struct csv_row *row = &csv->record;
    for (;;) {
        row->count = 0;
        buf_reset(&row->text);
        csv->record_line = csv->line;
        enum ending ending = MORE_FIELDS;
        bool quoted = false;
        while (ending == MORE_FIELDS) {
            if (row->count == max_fields)
                return csv_fault(csv, -1, err, "more than %zu field%s", max_fields,
                                 max_fields == 1 ? "" : "s");
            int rc = row_begin_field(row, err);
            if (rc == 0)
                rc = fill(csv, err);
            if (rc != 0)
                return rc;
            quoted = peek(csv) == '"' && !csv->options.no_quotes;
            rc = quoted ? read_quoted(csv, &ending, err) : read_plain(csv, &ending, err);
            if (rc == 0)
                rc = end_field(csv, err);
            if (rc != 0)
                return rc;
        }
        bool empty = row->count == 1 && row->text.len == 1 && !quoted;
        if (!empty)
            return 1;
        if (ending == FILE_ENDS)
            return 0;
    }
}

static int check_names(const struct csv *csv, struct err *err)
{
    for (size_t i = 0; i < csv->header.count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(csv_name(csv, i), csv_name(csv, j)) == 0)
                return csv_fault(csv, -1, err, "two columns are called '%.40s'", csv_name(csv, i));
        }
    }
    return 0;
}

static int given_names(struct csv *csv, struct err *err)
{
    for (const char *const *name = csv->options.names; *name; name++) {
        TRY(row_begin_field(&csv->header, err));
        buf_add(&csv->header.text, *name, strlen(*name) + 1);
    }
    csv->options.names = NULL; // the caller's array may go away
    return buf_check(&csv->header.text, err);
}

static int read_header(struct csv *csv, struct err *err)
{
    int rc = skip_mark(csv, err);
    if (rc == 0 && csv->options.names) {
        rc = given_names(csv, err);
    } else if (rc == 0) {
        rc = read_record(csv, CSV_MAX_COLUMNS, err);
        if (rc == 0)
            return err_set(err, ERR_FORMAT,
                           "%.200s is empty: no line with the names of the columns", csv->name);
        if (rc > 0) {
            csv->header = csv->record;
            csv->record = (struct csv_row){.text.max = csv->header.text.max};
            rc = 0;
        }
    }
    return rc != 0 ? rc : check_names(csv, err);
}

// ---- open and close ----

static void set_options(struct csv *csv, const struct csv_options *options)
{
    if (options)
        csv->options = *options;
    struct csv_options *o = &csv->options;
    if (o->separator == 0)
        o->separator = ',';
    assert(o->separator != '"' && o->separator != '\n' && o->separator != '\r');
    if (o->max_field == 0)
        o->max_field = (size_t)1 << 20;
    if (o->max_record == 0)
        o->max_record = (size_t)4 << 20;
    csv->record.text.max = o->max_record + 1;

    csv->stops[(unsigned char)o->separator] = true;
    csv->stops['\r'] = csv->stops['\n'] = csv->stops['\0'] = true;
    csv->stops['"'] = !o->no_quotes && !o->stray_quotes;
}

static int start(struct csv *csv, const char *name, const struct csv_options *options,
                 struct err *err)
{
    csv->line = csv->record_line = 1;
    set_options(csv, options);
    csv->name = text_copy(name, err);
    csv->chunk = malloc(CHUNK_BYTES + MARK_BYTES);
    int rc = csv->name && csv->chunk ? read_header(csv, err) : err_memory(err);
    if (rc != 0)
        csv_release(csv);
    return rc;
}

int csv_init(struct csv *csv, const char *name, csv_read_fn *read, void *arg,
             const struct csv_options *options, struct err *err)
{
    *csv = (struct csv){.read = read, .arg = arg, .fd = -1};
    return start(csv, name, options, err);
}

int csv_init_text(struct csv *csv, const char *name, const char *text, size_t len,
                  const struct csv_options *options, struct err *err)
{
    *csv = (struct csv){.read = read_text, .arg = csv, .fd = -1, .text = text, .left = len};
    return start(csv, name, options, err);
}

int csv_open(struct csv *csv, const char *path, const struct csv_options *options, struct err *err)
{
    *csv = (struct csv){.read = read_fd, .arg = csv};
    csv->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (csv->fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    return start(csv, path, options, err);
}

void csv_release(struct csv *csv)
{
    if (csv->read && csv->fd >= 0)
        close(csv->fd);
    free(csv->name);
    free(csv->chunk);
    row_release(&csv->header);
    row_release(&csv->record);
    memset(csv, 0, sizeof *csv);
}

// ---- columns and fields ----

const char *csv_name(const struct csv *csv, size_t column)
{
    assert(column < csv->header.count);
    return row_text(&csv->header, column);
}

int csv_column(const struct csv *csv, const char *name)
{
    for (size_t i = 0; i < csv->header.count; i++)
        if (strcmp(csv_name(csv, i), name) == 0)
            return (int)i;
    return -1;
}

int csv_need(const struct csv *csv, const char *name, int *column, struct err *err)
{
    *column = csv_column(csv, name);
    if (*column >= 0)
        return 0;
    err_set(err, ERR_FORMAT, "%.200s has no column '%.40s'", csv->name, name);
    struct buf list = {0}; // without memory the hint is shorter
    for (size_t i = 0; i < csv->header.count && list.len < 160; i++)
        buf_printf(&list, "%s%.40s", i ? ", " : "", csv_name(csv, i));
    err_hint(err, "its columns are %s", buf_str(&list));
    buf_release(&list);
    return ERR_FORMAT;
}

int csv_find(const struct csv *csv, const char *const *names, size_t count, size_t needed, int *at,
             struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        at[i] = csv_column(csv, names[i]);
        if (i < needed && at[i] < 0)
            TRY(csv_need(csv, names[i], &at[i], err));
    }
    return 0;
}

int csv_only(const struct csv *csv, const char *const *names, size_t count, struct err *err)
{
    for (size_t i = 0; i < csv->header.count; i++) {
        size_t k = 0;
        while (k < count && strcmp(names[k], csv_name(csv, i)) != 0)
            k++;
        if (k == count)
            return err_set(err, ERR_FORMAT, "%.200s has an unknown column '%.40s'", csv->name,
                           csv_name(csv, i));
    }
    return 0;
}

int csv_next(struct csv *csv, struct err *err)
{
    if (csv->failed)
        return err_set(err, csv->failed, "%.200s could not be read to the end", csv->name);
    size_t columns = csv->header.count;
    int rc = read_record(csv, columns, err);
    if (rc > 0 && csv->record.count < columns && !csv->options.short_rows)
        rc = csv_fault(csv, -1, err, "%zu field%s where there are %zu columns", csv->record.count,
                       csv->record.count == 1 ? "" : "s", columns);
    if (rc < 0)
        csv->failed = rc;
    if (rc <= 0)
        csv->record.count = 0; // no fields after an error
    return rc;
}

const char *csv_text(const struct csv *csv, int column)
{
    assert(column < (int)csv->header.count);
    if (column < 0 || (size_t)column >= csv->record.count)
        return NULL;
    return row_text(&csv->record, (size_t)column);
}

size_t csv_line(const struct csv *csv)
{
    return csv->record_line;
}

// ---- writing ----

void csv_put(struct csv_writer *w, const char *text)
{
    char separator = w->separator ? w->separator : ',';
    text = text ? text : "";
    if (w->fields > 0)
        buf_addc(w->out, separator);
    w->first_empty = w->fields == 0 && *text == '\0';
    w->fields++;
    // At the start of a file the bytes of a byte order mark would be taken for one.
    const char special[] = {separator, '"', '\r', '\n', '\0'};
    if (!strpbrk(text, special) && strncmp(text, "\xEF\xBB\xBF", 3) != 0) {
        buf_adds(w->out, text);
        return;
    }
    buf_addc(w->out, '"');
    for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
        buf_add(w->out, text, (size_t)(quote - text));
        buf_adds(w->out, "\"\"");
    }
    buf_adds(w->out, text);
    buf_addc(w->out, '"');
}

// Spreadsheets take such text for a formula; a leading apostrophe prevents this.
void csv_put_text(struct csv_writer *w, const char *text)
{
    if (!text || !strchr("=+-@\t\r", text[0]) || text[0] == '\0' || strcmp(text, "-") == 0) {
        csv_put(w, text);
        return;
    }
    struct buf quoted = {0};
    buf_printf(&quoted, "'%s", text);
    csv_put(w, buf_str(&quoted));
    buf_drop(w->out, &quoted);
}

void csv_end(struct csv_writer *w)
{
    if (w->fields == 1 && w->first_empty)
        buf_adds(w->out, "\"\""); // readers would skip an empty line
    buf_adds(w->out, w->crlf ? "\r\n" : "\n");
    w->fields = 0;
    w->first_empty = false;
}
