// SPDX-License-Identifier: Apache-2.0
#include "data/corpus.h"

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
    if (corpus->token_count == corpus->token_capacity) {
        int64_t capacity = corpus->token_capacity ? corpus->token_capacity / 2 * 3 : 1 << 16;
        int32_t *tokens = realloc(corpus->tokens, (size_t)capacity * sizeof *tokens);
        if (!tokens)
            return err_memory(err);
        corpus->tokens = tokens;
        corpus->token_capacity = capacity;
    }
    corpus->tokens[corpus->token_count++] = token;
    return 0;
}

static int grow(struct corpus *corpus, struct err *err)
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
    TRY(grow(corpus, err));
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
