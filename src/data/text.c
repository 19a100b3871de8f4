// SPDX-License-Identifier: Apache-2.0
#include "data/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/gzip.h"
#include "base/utf8.h"
#include "data/folder.h"
#include "data/identity.h"

#define MAX_BYTES (INT64_C(1) << 30)

int text_windows(int32_t *tokens, int64_t count, int vocabulary, struct dataset *set,
                 struct err *err)
{
    set->tokens = tokens;
    set->token_stride = TEXT_STEP;
    set->time = TEXT_TIME;
    set->vocabulary = set->classes = vocabulary;
    set->count = (count - TEXT_TIME + TEXT_STEP - 1) / TEXT_STEP;
    set->labels = malloc((size_t)set->count * sizeof *set->labels);
    if (!set->labels)
        return err_memory(err);
    for (int64_t i = 0; i < set->count; i++)
        set->labels[i] = tokens[i * TEXT_STEP + TEXT_TIME];
    return 0;
}

int text_words(const uint32_t *characters, int count, char ***words, struct err *err)
{
    *words = malloc((size_t)count * (sizeof **words + UTF8_MAX + 1));
    if (!*words)
        return err_memory(err);
    char *text = (char *)(*words + count);
    for (int i = 0; i < count; i++) {
        (*words)[i] = text;
        text += utf8_put(characters[i], text);
        *text++ = '\0';
    }
    return 0;
}

static int check_text(const char *path, const struct buf *text, struct err *err)
{
    size_t bad = utf8_bad(text->data, text->len);
    if (bad == text->len)
        return 0;
    int64_t line = 1;
    for (size_t i = 0; i < bad; i++)
        line += text->data[i] == '\n';
    return err_set(err, ERR_FORMAT, "'%s', line %lld: byte %zu of the file is not UTF-8 (%02x)",
                   path, (long long)line, bad, (unsigned char)text->data[bad]);
}

// The code points of the `*count` characters, in lower case.
static int32_t *characters_of(const struct buf *text, int64_t *count, struct err *err)
{
    int32_t *all = malloc(text->len * sizeof *all);
    if (!all) {
        err_memory(err);
        return NULL;
    }
    *count = 0;
    for (size_t at = 0; at < text->len;) {
        uint32_t c;
        at += utf8_next(text->data + at, text->len - at, &c);
        all[(*count)++] = (int32_t)utf8_lower(c);
    }
    return all;
}

// Replaces characters by tokens: their ranks among the distinct ones.
static int number_them(int32_t *all, int64_t count, struct data_pair *pair, struct err *err)
{
    uint32_t *distinct = NULL;
    int32_t highest = 0;
    int n = 0, rc = 0;
    for (int64_t i = 0; i < count; i++)
        highest = all[i] > highest ? all[i] : highest;
    int32_t *token_of = calloc((size_t)highest + 1, sizeof *token_of);
    if (!token_of)
        return err_memory(err);
    for (int64_t i = 0; i < count; i++)
        token_of[all[i]] = 1;
    for (int32_t c = 0; c <= highest; c++)
        n += token_of[c];
    distinct = malloc((size_t)n * sizeof *distinct);
    if (!distinct) {
        rc = err_memory(err);
        goto out;
    }
    n = 0;
    for (int32_t c = 0; c <= highest; c++) {
        if (!token_of[c])
            continue;
        token_of[c] = n;
        distinct[n++] = (uint32_t)c;
    }
    for (int64_t i = 0; i < count; i++)
        all[i] = token_of[all[i]];
    rc = text_words(distinct, n, &pair->words, err);
    if (rc == 0)
        pair->word_count = n;
out:
    free(distinct);
    free(token_of);
    return rc;
}

static int make_set(const char *path, const struct buf *text, struct data_pair *pair,
                    struct err *err)
{
    int64_t count;
    int rc = check_text(path, text, err);
    if (rc != 0)
        return rc;
    int32_t *all = characters_of(text, &count, err);
    if (!all)
        return ERR_MEMORY;
    if (count <= TEXT_TIME)
        rc = err_set(err, ERR_FORMAT, "'%s' has %lld characters; more than %d are needed", path,
                     (long long)count, TEXT_TIME);
    if (rc == 0)
        rc = number_them(all, count, pair, err);
    if (rc == 0 && pair->word_count < 2)
        rc = err_set(err, ERR_FORMAT, "'%s' has only one distinct character", path);
    if (rc != 0) {
        free(all);
        return rc;
    }
    return text_windows(all, count, pair->word_count, &pair->train, err);
}

static int find_file(const char *path, struct buf *file, struct err *err)
{
    static const char *const known[] = {"nietzsche.txt", NULL}, *const any[] = {".txt", NULL};
    if (folder_has_file(path)) {
        buf_adds(file, path);
        return buf_check(file, err);
    }
    struct folder folder;
    int rc = folder_open(&folder, path, err);
    if (rc != 0)
        return rc;
    struct err other = {0};
    rc = folder_find(&folder, known, file, &other);
    if (rc == ERR_MISSING)
        rc = folder_find(&folder, any, file, err);
    else if (rc != 0)
        err_pass(err, rc, &other);
    if (rc == ERR_FORMAT)
        err_hint(err, "name the file itself instead of its folder");
    folder_release(&folder);
    return rc;
}

int text_open(const char *path, const struct data_options *options, struct data_pair *pair,
              struct err *err)
{
    (void)options;
    struct buf file = {0}, text = {0};
    struct identity identity;
    uint8_t sum[SHA256_BYTES];
    int rc = find_file(path, &file, err);
    if (rc == 0)
        rc = gzip_load(buf_str(&file), MAX_BYTES, &text, sum, err);
    if (rc == 0 && text.len == 0)
        rc = err_set(err, ERR_FORMAT, "'%s' is empty", buf_str(&file));
    if (rc == 0)
        rc = make_set(buf_str(&file), &text, pair, err);
    if (rc != 0)
        goto out;
    identity_init(&identity);
    identity_add(&identity, sum, "text.txt");
    pair->identity = identity_text(&identity, err);
    pair->source = buf_take(&file, err);
    rc = pair->identity && pair->source ? 0 : ERR_MEMORY;
out:
    buf_release(&file);
    buf_release(&text);
    return rc;
}
