// SPDX-License-Identifier: Apache-2.0
#include "follow/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/meter.h"

#define WORD(text, role, rank)                                                                     \
    {                                                                                              \
        text, sizeof text - 1, role, rank                                                          \
    }
#define END                                                                                        \
    {                                                                                              \
        NULL, 0, ROLE_OTHER, 0                                                                     \
    }
#define LETTER(letter, ...)                                                                        \
    [letter - 'a'] = (const struct formats_name[])                                                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

const struct formats_name *const formats_names[26] = {
    LETTER('a', WORD("acc", ROLE_ACCURACY, 0), WORD("accuracy", ROLE_ACCURACY, 0),
           WORD("adapter", ROLE_MODEL, 0), WORD("arguments", ROLE_NOT, 0),
           WORD("at", ROLE_FILLER, 0), WORD("auc", ROLE_MEASURE, 0),
           WORD("average", ROLE_FILLER, 0), WORD("avg", ROLE_FILLER, 0),
           WORD("avg_loss", ROLE_LOSS, 0), WORD("avr_loss", ROLE_LOSS, 0), END),
    LETTER('b', WORD("batch", ROLE_STEP, 2), WORD("batches", ROLE_FILLER, 0),
           WORD("begin", ROLE_BEGIN, 0), WORD("beginning", ROLE_BEGIN, 0),
           WORD("best", ROLE_LIMIT, 0), END),
    LETTER('c', WORD("checkpoint", ROLE_MODEL, 0), WORD("checkpoints", ROLE_MODEL, 0),
           WORD("complete", ROLE_DONE, 0), WORD("completed", ROLE_DONE, 0),
           WORD("config", ROLE_NOT, 0), WORD("configuration", ROLE_NOT, 0),
           WORD("completions", ROLE_ANSWER, 0), WORD("current_step", ROLE_STEP, 8), END),
    LETTER('d', WORD("data", ROLE_NOT, 0), WORD("dataset", ROLE_NOT, 0), WORD("dev", ROLE_TEST, 0),
           WORD("done", ROLE_DONE, 0), END),
    LETTER('e', WORD("each", ROLE_LIMIT, 0), WORD("end", ROLE_DONE, 0), WORD("ended", ROLE_DONE, 0),
           WORD("ep", ROLE_EPOCH, 0), WORD("epoch", ROLE_EPOCH, 0), WORD("epochs", ROLE_PLURAL, 0),
           WORD("error", ROLE_MEASURE, 0), WORD("eta", ROLE_LEFT, 0),
           WORD("eval", ROLE_EVALUATION, 0), WORD("evaluating", ROLE_NOW, 0),
           WORD("evaluation", ROLE_EVALUATION, 0), WORD("every", ROLE_LIMIT, 0),
           WORD("experiment", ROLE_LOOP, 0), END),
    LETTER('f', WORD("finish", ROLE_LEFT, 0), WORD("finished", ROLE_DONE, 0),
           WORD("fold", ROLE_LOOP, 0), END),
    LETTER('g', WORD("generation", ROLE_ANSWER, 0), WORD("glen", ROLE_ANSWER, 0),
           WORD("global_step", ROLE_STEP, 7), WORD("gnorm", ROLE_TEMPO, 0),
           WORD("grad_norm", ROLE_TEMPO, 0), END),
    LETTER('i', WORD("inference", ROLE_EVALUATION, 0), WORD("info", ROLE_FILLER, 0),
           WORD("is", ROLE_FILLER, 0), WORD("it", ROLE_STEP, 3), WORD("iter", ROLE_STEP, 5),
           WORD("iteration", ROLE_STEP, 5), WORD("iterations", ROLE_PLURAL, 0),
           WORD("iters", ROLE_PLURAL, 0), WORD("itr", ROLE_STEP, 5), END),
    LETTER('l', WORD("learn", ROLE_LOSS, 0), WORD("learning_rate", ROLE_TEMPO, 0),
           WORD("lm_loss", ROLE_LOSS, 0), WORD("load", ROLE_NOT, 0), WORD("loaded", ROLE_NOT, 0),
           WORD("loading", ROLE_NOT, 0), WORD("log", ROLE_LIMIT, 0), WORD("logging", ROLE_LIMIT, 0),
           WORD("logloss", ROLE_MEASURE, 0), WORD("loss", ROLE_LOSS, 0), WORD("lr", ROLE_TEMPO, 0),
           END),
    LETTER('m', WORD("mae", ROLE_MEASURE, 0), WORD("max", ROLE_LIMIT, 0),
           WORD("mean_loss", ROLE_LOSS, 0), WORD("merror", ROLE_MEASURE, 0),
           WORD("mfu", ROLE_TEMPO, 0), WORD("micro_step", ROLE_STEP, 1), WORD("min", ROLE_LIMIT, 0),
           WORD("minibatch", ROLE_STEP, 2), WORD("mlogloss", ROLE_MEASURE, 0),
           WORD("model", ROLE_MODEL, 0), WORD("mom", ROLE_TEMPO, 0), WORD("ms", ROLE_TEMPO, 0),
           WORD("mse", ROLE_MEASURE, 0), END),
    LETTER('n', WORD("num", ROLE_LIMIT, 0), WORD("num_updates", ROLE_STEP, 6), END),
    LETTER('o', WORD("of", ROLE_FILLER, 0), END),
    LETTER('p', WORD("per", ROLE_LIMIT, 0), WORD("ppl", ROLE_TEMPO, 0),
           WORD("prediction", ROLE_EVALUATION, 0), WORD("phase", ROLE_LOOP, 0), END),
    LETTER('r', WORD("rate", ROLE_TEMPO, 0), WORD("reached", ROLE_OVER, 0),
           WORD("reduced_train_loss", ROLE_LOSS, 0), WORD("remaining", ROLE_LEFT, 0),
           WORD("reward", ROLE_TEMPO, 0), WORD("rmse", ROLE_MEASURE, 0),
           WORD("round", ROLE_STEP, 4), WORD("rounds", ROLE_PLURAL, 0),
           WORD("running", ROLE_BEGIN, 0), WORD("running_loss", ROLE_LOSS, 0),
           WORD("runtime", ROLE_TOOK, 0), WORD("run", ROLE_LOOP, 0), WORD("repeat", ROLE_LOOP, 0),
           END),
    LETTER('s', WORD("saved", ROLE_SAVED, 0), WORD("saving", ROLE_SAVING, 0),
           WORD("sec", ROLE_TEMPO, 0), WORD("seconds", ROLE_TEMPO, 0),
           WORD("skipped", ROLE_TEMPO, 0), WORD("snapshot", ROLE_MODEL, 0),
           WORD("speed", ROLE_TEMPO, 0), WORD("start", ROLE_BEGIN, 0),
           WORD("started", ROLE_BEGIN, 0), WORD("starting", ROLE_BEGIN, 0),
           WORD("state", ROLE_MODEL, 0), WORD("step", ROLE_STEP, 8),
           WORD("step_loss", ROLE_LOSS, 0), WORD("steps", ROLE_PLURAL, 0),
           WORD("steps_per_second", ROLE_TEMPO, 0), WORD("stopped", ROLE_OVER, 0),
           WORD("stage", ROLE_LOOP, 0), WORD("seed", ROLE_LOOP, 0), END),
    LETTER('t', WORD("test", ROLE_TEST, 0), WORD("testing", ROLE_TEST, 0),
           WORD("tflops", ROLE_TEMPO, 0), WORD("the", ROLE_FILLER, 0), WORD("time", ROLE_TEMPO, 0),
           WORD("to", ROLE_FILLER, 0), WORD("tokenizer", ROLE_NOT, 0), WORD("took", ROLE_TOOK, 0),
           WORD("total", ROLE_LIMIT, 0), WORD("total_loss", ROLE_LOSS, 0),
           WORD("total_timesteps", ROLE_TABLE, 0), WORD("tps", ROLE_TEMPO, 0),
           WORD("train", ROLE_TRAIN, 0), WORD("training", ROLE_TRAIN, 0),
           WORD("trial", ROLE_LOOP, 0), END),
    LETTER('u', WORD("update", ROLE_STEP, 6), WORD("updates", ROLE_PLURAL, 0), END),
    LETTER('v', WORD("val", ROLE_TEST, 0), WORD("valid", ROLE_TEST, 0),
           WORD("validating", ROLE_NOW, 0), WORD("validation", ROLE_EVALUATION, 0),
           WORD("value", ROLE_FILLER, 0), END),
    LETTER('w', WORD("warmup", ROLE_LIMIT, 0), WORD("weights", ROLE_MODEL, 0),
           WORD("will", ROLE_NOT, 0), WORD("wps", ROLE_TEMPO, 0), WORD("wrote", ROLE_SAVED, 0),
           END),
    LETTER('x', WORD("xent", ROLE_LOSS, 0), END),
};

static const struct formats_name *formats_find(const char *word, size_t len)
{
    const struct formats_name *name = formats_letter(*word) ? formats_names[*word - 'a'] : NULL;
    for (; name && name->word; name++)
        if (name->len == len && memcmp(name->word, word, len) == 0)
            return name;
    return NULL;
}

enum formats_role formats_role(const char *word, size_t len, int *rank, bool *test)
{
    *test = false;
    const struct formats_name *name = formats_find(word, len);
    const char *part = name ? NULL : memchr(word, '_', len);
    // "val_loss" is a loss, "train_step" a step.
    if (part) {
        size_t before = (size_t)(part - word), behind = len - before - 1;
        const struct formats_name *about = formats_find(word, before);
        *test = about && (about->role == ROLE_TEST || about->role == ROLE_EVALUATION);
        if (*test || (about && about->role == ROLE_TRAIN))
            name = formats_find(part + 1, behind);
        if (*test && !name && formats_digit(part[1])) // "valid_1"
            return ROLE_TEST;
        if (!name && len > 9 && memcmp(word + len - 9, "_accuracy", 9) == 0)
            name = formats_find("accuracy", 8); // "sparse_categorical_accuracy"
        if (*test && name && name->role == ROLE_TEMPO && strcmp(name->word, "time") == 0)
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
