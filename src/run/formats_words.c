// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "run/formats.h"

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

static const struct formats_name *find(const char *word, size_t len)
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
    const struct formats_name *name = find(word, len);
    const char *part = name ? NULL : memchr(word, '_', len);
    // "val_loss" is a loss, "train_step" a step.
    if (part) {
        size_t before = (size_t)(part - word), behind = len - before - 1;
        const struct formats_name *about = find(word, before);
        *test = about && (about->role == ROLE_TEST || about->role == ROLE_EVALUATION);
        if (*test || (about && about->role == ROLE_TRAIN))
            name = find(part + 1, behind);
        if (*test && !name && formats_digit(part[1])) // "valid_1"
            return ROLE_TEST;
        if (!name && len > 9 && memcmp(word + len - 9, "_accuracy", 9) == 0)
            name = find("accuracy", 8); // "sparse_categorical_accuracy"
        if (*test && name && name->role == ROLE_TEMPO && strcmp(name->word, "time") == 0)
            return ROLE_TOOK;
    }
    if (!name && part &&
        (memmem(word, len, "response_len", 12) || memmem(word, len, "completion_len", 14)))
        return ROLE_ANSWER;
    *rank = name ? name->rank : 0;
    return name ? name->role : ROLE_OTHER;
}
