// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "run/formats.h"

// In alphabetical order.
const struct formats_name formats_names[] = {
    {"acc", ROLE_ACCURACY, 0},
    {"accuracy", ROLE_ACCURACY, 0},
    {"adapter", ROLE_MODEL, 0},
    {"arguments", ROLE_NOT, 0},
    {"at", ROLE_FILLER, 0},
    {"auc", ROLE_MEASURE, 0},
    {"average", ROLE_FILLER, 0},
    {"avg", ROLE_FILLER, 0},
    {"avg_loss", ROLE_LOSS, 0},
    {"avr_loss", ROLE_LOSS, 0},
    {"batch", ROLE_STEP, 2},
    {"batches", ROLE_FILLER, 0},
    {"begin", ROLE_BEGIN, 0},
    {"beginning", ROLE_BEGIN, 0},
    {"best", ROLE_LIMIT, 0},
    {"checkpoint", ROLE_MODEL, 0},
    {"checkpoints", ROLE_MODEL, 0},
    {"config", ROLE_NOT, 0},
    {"current_step", ROLE_STEP, 8},
    {"data", ROLE_NOT, 0},
    {"dataset", ROLE_NOT, 0},
    {"dev", ROLE_TEST, 0},
    {"each", ROLE_LIMIT, 0},
    {"end", ROLE_FILLER, 0},
    {"ep", ROLE_EPOCH, 0},
    {"epoch", ROLE_EPOCH, 0},
    {"epochs", ROLE_PLURAL, 0},
    {"error", ROLE_MEASURE, 0},
    {"eta", ROLE_TEMPO, 0},
    {"eval", ROLE_EVALUATION, 0},
    {"evaluating", ROLE_NOW, 0},
    {"evaluation", ROLE_EVALUATION, 0},
    {"every", ROLE_LIMIT, 0},
    {"global_step", ROLE_STEP, 7},
    {"gnorm", ROLE_TEMPO, 0},
    {"grad_norm", ROLE_TEMPO, 0},
    {"inference", ROLE_EVALUATION, 0},
    {"info", ROLE_FILLER, 0},
    {"is", ROLE_FILLER, 0},
    {"it", ROLE_STEP, 3},
    {"iter", ROLE_STEP, 5},
    {"iteration", ROLE_STEP, 5},
    {"iterations", ROLE_PLURAL, 0},
    {"iters", ROLE_PLURAL, 0},
    {"itr", ROLE_STEP, 5},
    {"learn", ROLE_LOSS, 0},
    {"learning_rate", ROLE_TEMPO, 0},
    {"lm_loss", ROLE_LOSS, 0},
    {"load", ROLE_NOT, 0},
    {"loaded", ROLE_NOT, 0},
    {"loading", ROLE_NOT, 0},
    {"log", ROLE_LIMIT, 0},
    {"logging", ROLE_LIMIT, 0},
    {"logloss", ROLE_MEASURE, 0},
    {"loss", ROLE_LOSS, 0},
    {"lr", ROLE_TEMPO, 0},
    {"mae", ROLE_MEASURE, 0},
    {"max", ROLE_LIMIT, 0},
    {"mean_loss", ROLE_LOSS, 0},
    {"merror", ROLE_MEASURE, 0},
    {"mfu", ROLE_TEMPO, 0},
    {"micro_step", ROLE_STEP, 1},
    {"min", ROLE_LIMIT, 0},
    {"minibatch", ROLE_STEP, 2},
    {"mlogloss", ROLE_MEASURE, 0},
    {"model", ROLE_MODEL, 0},
    {"mom", ROLE_TEMPO, 0},
    {"ms", ROLE_TEMPO, 0},
    {"mse", ROLE_MEASURE, 0},
    {"num", ROLE_LIMIT, 0},
    {"num_updates", ROLE_STEP, 6},
    {"of", ROLE_FILLER, 0},
    {"per", ROLE_LIMIT, 0},
    {"ppl", ROLE_TEMPO, 0},
    {"prediction", ROLE_EVALUATION, 0},
    {"rate", ROLE_TEMPO, 0},
    {"reached", ROLE_OVER, 0},
    {"reduced_train_loss", ROLE_LOSS, 0},
    {"reward", ROLE_TEMPO, 0},
    {"rmse", ROLE_MEASURE, 0},
    {"round", ROLE_STEP, 4},
    {"rounds", ROLE_PLURAL, 0},
    {"running", ROLE_BEGIN, 0},
    {"running_loss", ROLE_LOSS, 0},
    {"runtime", ROLE_TOOK, 0},
    {"saved", ROLE_SAVED, 0},
    {"saving", ROLE_SAVING, 0},
    {"sec", ROLE_TEMPO, 0},
    {"seconds", ROLE_TEMPO, 0},
    {"skipped", ROLE_TEMPO, 0},
    {"snapshot", ROLE_MODEL, 0},
    {"speed", ROLE_TEMPO, 0},
    {"start", ROLE_BEGIN, 0},
    {"starting", ROLE_BEGIN, 0},
    {"state", ROLE_MODEL, 0},
    {"step", ROLE_STEP, 8},
    {"step_loss", ROLE_LOSS, 0},
    {"steps", ROLE_PLURAL, 0},
    {"steps_per_second", ROLE_TEMPO, 0},
    {"stopped", ROLE_OVER, 0},
    {"test", ROLE_TEST, 0},
    {"testing", ROLE_TEST, 0},
    {"tflops", ROLE_TEMPO, 0},
    {"the", ROLE_FILLER, 0},
    {"time", ROLE_TEMPO, 0},
    {"to", ROLE_FILLER, 0},
    {"tokenizer", ROLE_NOT, 0},
    {"took", ROLE_TOOK, 0},
    {"total", ROLE_LIMIT, 0},
    {"total_loss", ROLE_LOSS, 0},
    {"total_timesteps", ROLE_TABLE, 0},
    {"tps", ROLE_TEMPO, 0},
    {"train", ROLE_TRAIN, 0},
    {"training", ROLE_TRAIN, 0},
    {"update", ROLE_STEP, 6},
    {"updates", ROLE_PLURAL, 0},
    {"val", ROLE_TEST, 0},
    {"valid", ROLE_TEST, 0},
    {"validating", ROLE_NOW, 0},
    {"validation", ROLE_EVALUATION, 0},
    {"value", ROLE_FILLER, 0},
    {"warmup", ROLE_LIMIT, 0},
    {"weights", ROLE_MODEL, 0},
    {"will", ROLE_NOT, 0},
    {"wps", ROLE_TEMPO, 0},
    {"wrote", ROLE_SAVED, 0},
    {"xent", ROLE_LOSS, 0},
};
const size_t formats_name_count = sizeof formats_names / sizeof *formats_names;

static const struct formats_name *find(const char *word)
{
    size_t low = 0, high = formats_name_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const char *name = formats_names[middle].word;
        int order = word[0] != name[0] ? word[0] - name[0] : strcmp(word, name);
        if (order == 0)
            return &formats_names[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

enum formats_role formats_role(const char *word, int *rank, bool *test)
{
    *test = false;
    const struct formats_name *name = find(word);
    const char *part = strchr(word, '_');
    // "val_loss" is a loss, "train_step" a step.
    if (!name && part && part - word < FORMATS_WORD) {
        char first[FORMATS_WORD];
        memcpy(first, word, (size_t)(part - word));
        first[part - word] = '\0';
        const struct formats_name *about = find(first);
        *test = about && (about->role == ROLE_TEST || about->role == ROLE_EVALUATION);
        if (*test || (about && about->role == ROLE_TRAIN))
            name = find(part + 1);
        if (*test && !name && part[1] >= '0' && part[1] <= '9') // "valid_1"
            return ROLE_TEST;
        // "sparse_categorical_accuracy"
        size_t len = strlen(word);
        if (!name && len > 9 && strcmp(word + len - 9, "_accuracy") == 0)
            name = find("accuracy");
        if (*test && name && name->role == ROLE_TEMPO && strcmp(name->word, "time") == 0)
            return ROLE_TOOK;
    }
    *rank = name ? name->rank : 0;
    return name ? name->role : ROLE_OTHER;
}
