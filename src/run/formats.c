// SPDX-License-Identifier: Apache-2.0
#include "run/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/meter.h"

#define DIGITS_MAX 15

const char *formats_digits(const char *p, int64_t *out)
{
    int64_t v = 0;
    const char *start = p;
    while (formats_digit(*p) && p - start < DIGITS_MAX)
        v = v * 10 + (*p++ - '0');
    if (p == start || formats_digit(*p))
        return NULL;
    *out = v;
    return p;
}

const char *formats_count(const char *p, int64_t *out)
{
    const char *start = p;
    p = formats_digits(p, out);
    while (p && p - start < DIGITS_MAX && *p == ',' && formats_digit(p[1]) && formats_digit(p[2]) &&
           formats_digit(p[3]) && !formats_digit(p[4])) {
        *out = *out * 1000 + (p[1] - '0') * 100 + (p[2] - '0') * 10 + (p[3] - '0');
        p += 4;
    }
    bool whole = p && !(*p == '.' && formats_digit(p[1])) && *p != '%' && !formats_letter(*p);
    return whole ? p : NULL;
}

const char *formats_real(const char *p, double *out)
{
    if (!formats_digit(*p) && *p != '-' && *p != '+' && *p != '.')
        return NULL;
    char *end;
    double v = strtod(p, &end);
    if (end == p || !isfinite(v))
        return NULL;
    *out = v;
    return end;
}

const char *formats_pair(const char *p, int64_t *at, int64_t *total)
{
    p = formats_count(p, at);
    if (!p)
        return NULL;
    p = formats_blanks(p);
    if (*p == '/')
        p++;
    else if (strncmp(p, "of ", 3) == 0)
        p += 3;
    else
        return NULL;
    p = formats_count(formats_blanks(p), total);
    return p && *total > 0 && *at <= *total ? p : NULL;
}

const char *formats_word(const char *p, const char *end, char word[FORMATS_WORD], size_t *len)
{
    while (p < end) {
        if (!formats_in_word(*p)) {
            p++;
            continue;
        }
        const char *start = p;
        bool letters = false;
        size_t n = 0;
        for (; p < end && formats_in_word(*p); p++) {
            letters |= formats_letter(*p);
            if (n < FORMATS_WORD - 1)
                word[n++] = formats_letter(*p) ? (char)(*p | 0x20) : *p;
        }
        word[n] = '\0';
        *len = (size_t)(p - start);
        if (letters)
            return start;
    }
    return NULL;
}

uint32_t formats_counter(const char *words, size_t len, int64_t total)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < len; i++)
        if (formats_letter(words[i]))
            hash = (hash ^ (unsigned char)(words[i] | 0x20)) * 16777619U;
    for (int i = 0; i < 8; i++, total >>= 8)
        hash = (hash ^ (uint32_t)(total & 0xff)) * 16777619U;
    return hash | 1U;
}

// ---- phases

static bool among(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (**words == *word && strcmp(word, *words) == 0)
            return true;
    return false;
}

int formats_phase(const char *label, size_t len)
{
    static const char *const data[] = {"dataset",         "datasets", "shard",    "shards",
                                       "split",           "examples", "num_proc", "prompts",
                                       "make_experience", NULL};
    static const char *const saving[] = {"saving", "save", "writing", "uploading", "upload", NULL};
    static const char *const loading[] = {"loading",       "load",
                                          "downloading",   "download",
                                          "fetching",      "fetch",
                                          "map",           "mapping",
                                          "tokenizing",    "tokenising",
                                          "tokenize",      "tokenizer",
                                          "tokenization",  "generating",
                                          "extracting",    "filter",
                                          "filtering",     "caching",
                                          "cache",         "cached",
                                          "sharding",      "preparing",
                                          "prepare",       "resolving",
                                          "scanning",      "scan",
                                          "indexing",      "index",
                                          "reading",       "parsing",
                                          "preprocessing", "packing",
                                          "unpacking",     "concatenating",
                                          "grouping",      "casting",
                                          "converting",    "building",
                                          "creating",      "collecting",
                                          "verifying",     "truncating",
                                          "decompressing", "materializing",
                                          "precomputing",  NULL};
    static const char *const evaluating[] = {
        "validation", "validating", "validate", "valid",     "val",     "evaluation",
        "evaluating", "evaluate",   "eval",     "test",      "testing", "predict",
        "predicting", "prediction", "sanity",   "inference", "scoring", NULL};
    static const char *const checkpoint[] = {"checkpoint", "checkpoints", "checkpointing",
                                             "model",      "weights",     NULL};
    bool seen[5] = {0};
    char word[FORMATS_WORD];
    size_t n;
    for (const char *p = label; (p = formats_word(p, label + len, word, &n)); p += n) {
        seen[0] |= among(word, data);
        seen[1] |= among(word, saving);
        seen[2] |= among(word, loading);
        seen[3] |= among(word, evaluating);
        seen[4] |= among(word, checkpoint);
    }
    // The table that Ultralytics' evaluation bar has for a label: "Class  Images  Instances Box(P".
    if (strncmp(label, "Class ", 6) == 0 && memmem(label, len, " Images ", 8))
        return METER_EVALUATE;
    if (seen[1] && seen[4]) // "Writing model shards"
        return METER_CHECKPOINT;
    return seen[0]   ? METER_LOAD
           : seen[1] ? METER_CHECKPOINT
           : seen[2] ? METER_LOAD
           : seen[3] ? METER_EVALUATE
                     : -1;
}
