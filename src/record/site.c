// SPDX-License-Identifier: Apache-2.0
#include "record/site.h"

#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "record/read.h"

#define RECORD_TABLES
#include "record/site.def"

static bool is_lower(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// Lower-case letters, digits, '-' and '_', and '.' but for the beginning: nothing that an address
// or a shell reads in another way, and no two that a file system takes for one.
static bool is_name(const char *text, size_t len)
{
    if (len == 0 || !is_lower(text[0]))
        return false;
    for (size_t i = 1; i < len; i++)
        if (!is_lower(text[i]) && text[i] != '-' && text[i] != '_' && text[i] != '.')
            return false;
    return true;
}

// "20261115T074512Z-3f9a2c81d04e": fare's own ids differ in more than their case.
static bool is_stamp(const char *text, char t, char z)
{
    return strspn(text, "0123456789") == 8 && text[8] == t && strspn(text + 9, "0123456789") == 6 &&
           text[15] == z && text[16] == '-' && is_name(text + 17, strlen(text + 17));
}

void site_name(const char *text, char out[SITE_NAME_BYTES])
{
    char hash[SHA256_HEX_BYTES];
    size_t len = strlen(text);
    bool fits = len < SITE_NAME_BYTES - 8, stamp = is_stamp(text, 'T', 'Z');
    if (fits && (stamp || (is_name(text, len) && text[len - 1] != '.' &&
                           strncmp(text, "x-", 2) != 0 && !is_stamp(text, 't', 'z')))) {
        snprintf(out, SITE_NAME_BYTES, "%s", text);
        if (stamp) {
            out[8] = 't';
            out[15] = 'z';
        }
        return;
    }
    sha256_hex_of(text, len, hash);
    snprintf(out, SITE_NAME_BYTES, "x-%.32s", hash);
}

// "NAME.html", or one folder down. The index itself is not listed.
static bool is_path(const char *path)
{
    const char *slash = strchr(path, '/'), *base = slash ? slash + 1 : path;
    return (!slash || is_name(path, (size_t)(slash - path))) && is_name(base, strlen(base)) &&
           strcmp(path, SITE_INDEX) != 0;
}

static bool is_sum(const char *text)
{
    return strlen(text) == SHA256_HEX_BYTES - 1 && strspn(text, "0123456789abcdef") == strlen(text);
}

bool site_is_record(const struct site_file *file)
{
    size_t len = strlen(file->path);
    return file->run && strncmp(file->path, "runs/", 5) == 0 && len > 10 &&
           strcmp(file->path + len - 5, ".json") == 0;
}

int site_index_read(const char *text, size_t len, struct site_index *index, struct err *err)
{
    TRY(record_from_text(site_index_fields, text, len, index, err));
    if (!index->schema || strcmp(index->schema, SITE_SCHEMA) != 0)
        return err_set(err, ERR_FORMAT, "not the index of a site of fare: no schema " SITE_SCHEMA);
    for (size_t i = 0; i < index->files.count; i++) {
        const struct site_file *file = &index->files.items[i];
        if (!file->path || !is_path(file->path))
            return err_set(err, ERR_FORMAT, "files[%zu]: '%.80s' is not the path of such a file", i,
                           file->path ? file->path : "");
        if (!file->sha256 || !is_sum(file->sha256) || !file->bytes.known || file->bytes.v < 0)
            return err_set(err, ERR_FORMAT, "files[%zu]: without size and SHA-256", i);
    }
    return 0;
}
