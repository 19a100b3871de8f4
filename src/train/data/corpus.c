// SPDX-License-Identifier: Apache-2.0
#include "train/data/corpus.h"

#include <stdlib.h>
#include <string.h>

void corpus_release(struct corpus *corpus)
{
    free(corpus->tokens);
    free(corpus->starts);
    free(corpus->labels);
    memset(corpus, 0, sizeof *corpus);
}

int corpus_add(struct corpus *corpus, int32_t token, struct err *err)
{
    TRY(array_grow(&corpus->tokens, (size_t)corpus->token_count, &corpus->token_capacity,
                   sizeof *corpus->tokens, err));
    corpus->tokens[corpus->token_count++] = token;
    return 0;
}

static int corpus_grow(struct corpus *corpus, struct err *err)
{
    if (corpus->count < corpus->capacity)
        return 0;
    int64_t capacity = corpus->capacity ? corpus->capacity / 2 * 3 : 1 << 12;
    int64_t *starts = realloc(corpus->starts, (size_t)(capacity + 1) * sizeof *starts);
    if (starts)
        corpus->starts = starts;
    int32_t *labels = realloc(corpus->labels, (size_t)capacity * sizeof *labels);
    if (labels)
        corpus->labels = labels;
    if (!starts || !labels)
        return err_memory(err);
    corpus->capacity = capacity;
    return 0;
}

int corpus_end(struct corpus *corpus, int32_t label, int64_t keep, struct err *err)
{
    TRY(corpus_grow(corpus, err));
    int64_t start = corpus->count ? corpus->starts[corpus->count] : 0;
    int64_t len = corpus->token_count - start;
    if (len > keep) {
        memmove(corpus->tokens + start, corpus->tokens + corpus->token_count - keep,
                (size_t)keep * sizeof *corpus->tokens);
        corpus->token_count = start + keep;
    }
    corpus->starts[corpus->count] = start;
    corpus->labels[corpus->count++] = label;
    corpus->starts[corpus->count] = corpus->token_count;
    return 0;
}

// ==== vocabulary ====

void vocabulary_release(struct vocabulary *vocabulary)
{
    index_release(&vocabulary->words);
    free(vocabulary->met);
    memset(vocabulary, 0, sizeof *vocabulary);
}

int vocabulary_add(struct vocabulary *v, const char *word, size_t len, int32_t *number,
                   struct err *err)
{
    size_t at, before = v->words.count;
    len = len > VOCABULARY_WORD_MAX ? VOCABULARY_WORD_MAX : len;
    if (before == INT32_MAX)
        return err_set(err, ERR_FORMAT, "more than %d different words", INT32_MAX);
    TRY(array_grow(&v->met, before, &v->capacity, sizeof *v->met, err));
    TRY(index_number(&v->words, word, len, &at, err));
    if (at == before)
        v->met[at] = 0;
    v->met[at]++;
    *number = (int32_t)at;
    return 0;
}

int32_t vocabulary_find(const struct vocabulary *v, const char *word, size_t len)
{
    size_t number;
    len = len > VOCABULARY_WORD_MAX ? VOCABULARY_WORD_MAX : len;
    return index_find(&v->words, word, len, &number) ? (int32_t)number : -1;
}

struct met {
    int64_t met;
    int32_t number;
};

static int by_rank(const void *a_, const void *b_)
{
    const struct met *a = a_, *b = b_;
    if (a->met != b->met)
        return a->met > b->met ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

int vocabulary_rank(const struct vocabulary *v, int32_t **ranks, struct err *err)
{
    size_t count = v->words.count;
    SCOPED(free_pointer) struct met *order = malloc((count ? count : 1) * sizeof *order);
    *ranks = malloc((count ? count : 1) * sizeof **ranks);
    if (!order || !*ranks) {
        free(*ranks);
        *ranks = NULL;
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++)
        order[i] = (struct met){v->met[i], (int32_t)i};
    qsort(order, count, sizeof *order, by_rank);
    for (size_t i = 0; i < count; i++)
        (*ranks)[order[i].number] = (int32_t)i;
    return 0;
}

int vocabulary_words(const struct vocabulary *v, const int32_t *ranks, const char *const *special,
                     int32_t first, int32_t total, char ***words, struct err *err)
{
    size_t bytes = (size_t)total * sizeof **words + v->words.texts.len + 1;
    for (int32_t i = 0; i < first; i++)
        bytes += strlen(special[i]) + 1;
    *words = malloc(bytes);
    if (!*words)
        return err_memory(err);
    char *text = (char *)(*words + total);
    for (int32_t i = 0; i < first; i++) {
        (*words)[i] = text;
        text = stpcpy(text, special[i]) + 1;
    }
    for (int32_t i = first; i < total; i++) // for tokens that no word has
        (*words)[i] = text;
    *text++ = '\0';
    for (size_t i = 0; i < v->words.count; i++) {
        if (ranks[i] >= total - first)
            continue;
        size_t len = v->words.keys[i].len + 1;
        (*words)[first + ranks[i]] = memcpy(text, index_text(&v->words, i), len);
        text += len;
    }
    return 0;
}

// ==== lines ====

#define FIRST_SIZE ((size_t)256 << 10)

int lines_open(struct lines *lines, const char *path, int64_t max_bytes, size_t max_line,
               struct err *err)
{
    memset(lines, 0, sizeof *lines);
    TRY(gzip_open(&lines->gzip, path, max_bytes, err));
    lines->max_line = max_line;
    lines->size = FIRST_SIZE;
    lines->buffer = malloc(lines->size);
    if (!lines->buffer) {
        lines_release(lines);
        return err_memory(err);
    }
    return 0;
}

void lines_release(struct lines *lines)
{
    gzip_release(&lines->gzip);
    free(lines->buffer);
    memset(lines, 0, sizeof *lines);
}

// Makes space behind the rest, then reads. *more is 0 at the end of the file.
static int read_more(struct lines *lines, size_t *more, struct err *err)
{
    if (lines->at > 0) {
        memmove(lines->buffer, lines->buffer + lines->at, lines->filled - lines->at);
        lines->filled -= lines->at;
        lines->at = 0;
    }
    if (lines->filled + 1 >= lines->size) { // one byte stays free for a NUL
        char *bigger = realloc(lines->buffer, lines->size * 2);
        if (!bigger)
            return err_memory(err);
        lines->buffer = bigger;
        lines->size *= 2;
    }
    ptrdiff_t got = gzip_read(&lines->gzip, lines->buffer + lines->filled,
                              lines->size - lines->filled - 1, err);
    if (got < 0)
        return (int)got;
    lines->filled += (size_t)got;
    *more = (size_t)got;
    return 0;
}

int lines_next(struct lines *lines, struct err *err)
{
    lines->offset = lines->gzip.given - (int64_t)(lines->filled - lines->at);
    lines->number++;
    size_t looked = 0, more = 1;
    char *end = NULL;
    for (;;) {
        size_t have = lines->filled - lines->at;
        if (have > looked)
            end = memchr(lines->buffer + lines->at + looked, '\n', have - looked);
        looked = have;
        if ((end ? (size_t)(end - lines->buffer) - lines->at : have) > lines->max_line) {
            err_set(err, ERR_FORMAT, "longer than %zu bytes", lines->max_line);
            lines_context(lines, err);
            return ERR_FORMAT;
        }
        if (end || more == 0)
            break;
        TRY(read_more(lines, &more, err));
    }
    if (!end && lines->at == lines->filled)
        return 0;
    lines->text = lines->buffer + lines->at;
    lines->len = end ? (size_t)(end - lines->text) : looked;
    lines->at += lines->len + (end ? 1 : 0);
    if (lines->len > 0 && lines->text[lines->len - 1] == '\r')
        lines->len--;
    lines->text[lines->len] = '\0';
    return 1;
}

int lines_context(const struct lines *lines, struct err *err)
{
    return err_context(err, "'%s', line %lld", lines->gzip.path, (long long)lines->number);
}
