// SPDX-License-Identifier: Apache-2.0
#include "follow/formats.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "train/meter.h"

// Words and what they tell. Of several counters of steps in a line the one of the highest rank
// counts.
static const struct {
    enum formats_role role;
    int rank;
    const char *words;
} roles[] = {
    {ROLE_STEP, 1, "micro_step"},
    {ROLE_STEP, 2, "batch minibatch"},
    {ROLE_STEP, 3, "it"},
    {ROLE_STEP, 4, "round"},
    {ROLE_STEP, 5, "iter iteration itr"},
    {ROLE_STEP, 6, "num_updates update"},
    {ROLE_STEP, 7, "global_step"},
    {ROLE_STEP, 8, "current_step step"},
    {ROLE_EPOCH, 0, "ep epoch"},
    {ROLE_PLURAL, 0, "epochs iterations iters rounds steps updates"},
    {ROLE_LOSS, 0,
     "avg_loss avr_loss learn lm_loss loss mean_loss reduced_train_loss "
     "running_loss step_loss total_loss xent"},
    {ROLE_ACCURACY, 0, "acc accuracy"},
    {ROLE_MEASURE, 0, "auc error logloss mae merror mlogloss mse rmse"},
    {ROLE_TEMPO, 0,
     "gnorm grad_norm learning_rate lr mfu mom ms ppl rate reward sec "
     "seconds skipped speed steps_per_second tflops time tps wps"},
    {ROLE_MODEL, 0, "adapter checkpoint checkpoints model snapshot state weights"},
    {ROLE_NOT, 0,
     "arguments config configuration data dataset load loaded loading "
     "tokenizer will"},
    {ROLE_FILLER, 0, "at average avg batches info is of the to value"},
    {ROLE_BEGIN, 0, "begin beginning running start started starting"},
    {ROLE_LIMIT, 0, "best each every log logging max min num per total warmup"},
    {ROLE_DONE, 0, "complete completed done end ended finished"},
    {ROLE_ANSWER, 0, "completions generation glen"},
    {ROLE_TEST, 0, "dev test testing val valid"},
    {ROLE_LEFT, 0, "eta finish remaining"},
    {ROLE_EVALUATION, 0, "eval evaluation inference prediction validation"},
    {ROLE_NOW, 0, "evaluating validating"},
    {ROLE_LOOP, 0, "experiment fold phase run repeat stage seed trial"},
    {ROLE_OVER, 0, "reached stopped"},
    {ROLE_TOOK, 0, "runtime took"},
    {ROLE_SAVED, 0, "saved wrote"},
    {ROLE_SAVING, 0, "saving"},
    {ROLE_TABLE, 0, "total_timesteps"},
    {ROLE_TRAIN, 0, "train training"},
};

enum { LETTERS = 26, WORDS_MOST = 24 }; // of a letter

struct name {
    const char *word; // ends at a blank
    size_t len;       // 0: there is no more
    enum formats_role role;
    int rank;
};
static struct name names[LETTERS][WORDS_MOST];

static void sort_names(void)
{
    size_t counts[LETTERS] = {0};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        for (const char *word = roles[i].words; *word; word += *word == ' ') {
            size_t len = strcspn(word, " "), letter = (size_t)(*word - 'a');
            assert(len < FORMATS_WORD && counts[letter] + 1 < WORDS_MOST);
            names[letter][counts[letter]++] =
                (struct name){word, len, roles[i].role, roles[i].rank};
            word += len;
        }
}

static const struct name *formats_find(const char *word, size_t len)
{
    static pthread_once_t sorted = PTHREAD_ONCE_INIT;
    pthread_once(&sorted, sort_names);
    const struct name *name = formats_letter(*word) ? names[(*word | 0x20) - 'a'] : NULL;
    for (; name && name->len > 0; name++)
        if (name->len == len && memcmp(name->word, word, len) == 0)
            return name;
    return NULL;
}

enum formats_role formats_role(const char *word, size_t len, int *rank, bool *test)
{
    *test = false;
    const struct name *name = formats_find(word, len);
    const char *part = name ? NULL : memchr(word, '_', len);
    // "val_loss" is a loss, "train_step" a step.
    if (part) {
        size_t before = (size_t)(part - word), behind = len - before - 1;
        const struct name *about = formats_find(word, before);
        *test = about && (about->role == ROLE_TEST || about->role == ROLE_EVALUATION);
        if (*test || (about && about->role == ROLE_TRAIN))
            name = formats_find(part + 1, behind);
        if (*test && !name && formats_digit(part[1])) // "valid_1"
            return ROLE_TEST;
        if (!name && len > 9 && memcmp(word + len - 9, "_accuracy", 9) == 0)
            name = formats_find("accuracy", 8); // "sparse_categorical_accuracy"
        if (*test && name && name == formats_find("time", 4))
            return ROLE_TOOK;
    }
    if (!name && part &&
        (memmem(word, len, "response_len", 12) || memmem(word, len, "completion_len", 14)))
        return ROLE_ANSWER;
    *rank = name ? name->rank : 0;
    return name ? name->role : ROLE_OTHER;
}

// ---- Numbers and words

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
