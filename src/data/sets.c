// SPDX-License-Identifier: Apache-2.0
#include "data/sets.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/csv.h"
#include "base/folders.h"

enum { NAME, FILE_, URL, FROM, SHA256, BYTES, SOURCE, DATE, COLUMNS };
static const char *const columns[COLUMNS] = {"name",   "file",  "url",    "from",
                                             "sha256", "bytes", "source", "date"};

static char **text_of(struct data_file *file, int column)
{
    char **const texts[COLUMNS] = {
        [NAME] = &file->name,     [FILE_] = &file->file,    [URL] = &file->url,
        [FROM] = &file->from,     [SHA256] = &file->sha256, [BYTES] = NULL,
        [SOURCE] = &file->source, [DATE] = &file->date,
    };
    return texts[column];
}

// A path that stays below the folder it is put in.
static bool is_inside(const char *path)
{
    if (path[0] == '\0' || path[0] == '/' || path[0] == '.')
        return false;
    for (const char *p = path; (p = strchr(p, '/')); p++)
        if (p[1] == '.' || p[1] == '/')
            return false;
    return true;
}

static int check_row(const struct data_file *file, const char *bytes, struct err *err)
{
    size_t hex = strspn(file->sha256, "0123456789abcdef");
    if (!is_inside(file->name) || strchr(file->name, '/') || !is_inside(file->file))
        return err_set(err, ERR_FORMAT, "bad name of a set or file");
    if ((file->url[0] != '\0') == (file->from[0] != '\0'))
        return err_set(err, ERR_FORMAT, "either url or from must be given");
    if (file->sha256[hex] != '\0' || (hex != 0 && hex != 64))
        return err_set(err, ERR_FORMAT, "the sum is not 64 digits of lower-case hexadecimal");
    if (*bytes && file->bytes <= 0)
        return err_set(err, ERR_FORMAT, "bad number of bytes '%s'", bytes);
    return 0;
}

static void release_file(struct data_file *file)
{
    for (int c = 0; c < COLUMNS; c++)
        if (text_of(file, c))
            free(*text_of(file, c));
}

static int read_row(struct data_file *file, const struct csv *csv, const int at[COLUMNS],
                    struct err *err)
{
    memset(file, 0, sizeof *file);
    for (int c = 0; c < COLUMNS; c++) {
        if (!text_of(file, c))
            continue;
        *text_of(file, c) = text_copy(csv_text(csv, at[c]), err);
        if (!*text_of(file, c))
            return ERR_MEMORY;
    }
    const char *bytes = csv_text(csv, at[BYTES]);
    char *end;
    errno = 0;
    long long value = strtoll(bytes, &end, 10);
    file->bytes = errno == 0 && *end == '\0' ? value : -1;
    file->bytes = *bytes ? file->bytes : 0;
    return check_row(file, bytes, err);
}

static int read_rows(struct data_sets *sets, struct csv *csv, struct err *err)
{
    int at[COLUMNS], rc = 0;
    size_t room = 0;
    for (int c = 0; rc == 0 && c < COLUMNS; c++)
        rc = csv_need(csv, columns[c], &at[c], err);
    while (rc == 0 && (rc = csv_next(csv, err)) > 0) {
        if (sets->count == room) {
            room = room ? room * 2 : 32;
            struct data_file *files = realloc(sets->files, room * sizeof *files);
            if (!files)
                return err_memory(err);
            sets->files = files;
        }
        struct data_file *file = &sets->files[sets->count];
        rc = read_row(file, csv, at, err);
        if (rc == 0)
            sets->count++;
        else
            release_file(file);
        if (rc == ERR_FORMAT)
            csv_context(csv, -1, err);
    }
    return rc;
}

int data_sets_read(struct data_sets *sets, const char *path, struct err *err)
{
    struct buf beside = {0};
    struct csv csv;
    int rc = 0;
    memset(sets, 0, sizeof *sets);
    if (!path) {
        rc = folder_share(&beside, err);
        buf_adds(&beside, "/data/sets.csv");
        if (rc == 0)
            rc = buf_check(&beside, err);
        path = buf_str(&beside);
    }
    if (rc == 0)
        rc = csv_open(&csv, path, NULL, err);
    if (rc == 0) {
        rc = read_rows(sets, &csv, err);
        csv_release(&csv);
    }
    if (rc != 0)
        data_sets_release(sets);
    buf_release(&beside);
    return rc;
}

void data_sets_release(struct data_sets *sets)
{
    for (size_t i = 0; i < sets->count; i++)
        release_file(&sets->files[i]);
    free(sets->files);
    memset(sets, 0, sizeof *sets);
}
