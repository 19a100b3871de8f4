// SPDX-License-Identifier: Apache-2.0
#include "run/arguments.h"

#include <string.h>

#include "run/formats.h"

#define NAME_MAX_BYTES 64
#define FEWEST_STEPS   10 // "--eval-every 1" means epochs

enum what { STEPS, EPOCHS, EVAL, SAVE };

// As the command lines and logs of public training programs have them. tests/run/test_arguments.c
// names the program of each.
static const struct {
    const char *name;
    enum what what;
    bool alone; // too common to mean this inside a sentence
} names[] = {
    {"max_steps", STEPS, false},
    {"max_step", STEPS, false},
    {"max_train_steps", STEPS, false},
    {"max_training_steps", STEPS, false},
    {"num_train_steps", STEPS, false},
    {"num_training_steps", STEPS, false},
    {"train_steps", STEPS, false},
    {"training_steps", STEPS, false},
    {"total_steps", STEPS, false},
    {"total_num_steps", STEPS, false},
    {"total_train_steps", STEPS, false},
    {"total_training_steps", STEPS, false},
    {"total_optimization_steps", STEPS, false},
    {"num_steps", STEPS, true},
    {"n_steps", STEPS, true},
    {"steps", STEPS, true},
    {"max_iters", STEPS, false},
    {"max_iter", STEPS, false},
    {"max_iterations", STEPS, false},
    {"train_iters", STEPS, false},
    {"total_iters", STEPS, false},
    {"total_iterations", STEPS, false},
    {"num_iterations", STEPS, false},
    {"num_iters", STEPS, false},
    {"number_of_iterations", STEPS, false},
    {"iters", STEPS, true},
    {"iterations", STEPS, true},
    {"max_update", STEPS, false},
    {"max_updates", STEPS, false},
    {"num_boost_round", STEPS, false},
    {"num_boost_rounds", STEPS, false},
    {"num_round", STEPS, false},
    {"num_rounds", STEPS, false},
    {"n_estimators", STEPS, false},
    {"total_timesteps", STEPS, false},
    {"n_timesteps", STEPS, false},
    {"train_num_batches", STEPS, false},
    {"epochs", EPOCHS, true},
    {"epoch", EPOCHS, true},
    {"num_epochs", EPOCHS, false},
    {"num_epoch", EPOCHS, false},
    {"n_epochs", EPOCHS, false},
    {"nepochs", EPOCHS, false},
    {"num_train_epochs", EPOCHS, false},
    {"max_epochs", EPOCHS, false},
    {"max_epoch", EPOCHS, false},
    {"train_epochs", EPOCHS, false},
    {"total_epochs", EPOCHS, false},
    {"training_epochs", EPOCHS, false},
    {"max_train_epochs", EPOCHS, false},
    {"eval_steps", EVAL, false},
    {"eval_interval", EVAL, false},
    {"eval_every", EVAL, false},
    {"eval_freq", EVAL, false},
    {"eval_frequency", EVAL, false},
    {"eval_period", EVAL, false},
    {"evaluation_steps", EVAL, false},
    {"evaluation_interval", EVAL, false},
    {"steps_per_eval", EVAL, false},
    {"val_every", EVAL, false},
    {"val_interval", EVAL, false},
    {"val_check_interval", EVAL, false},
    {"val_loss_every", EVAL, false},
    {"valid_steps", EVAL, false},
    {"validate_interval_updates", EVAL, false},
    {"validation_interval", EVAL, false},
    {"save_steps", SAVE, false},
    {"save_interval", SAVE, false},
    {"save_interval_updates", SAVE, false},
    {"save_every", SAVE, false},
    {"save_every_n_steps", SAVE, false},
    {"save_freq", SAVE, false},
    {"save_checkpoint_steps", SAVE, false},
    {"checkpointing_steps", SAVE, false},
    {"checkpoint_every", SAVE, false},
    {"checkpoint_interval", SAVE, false},
    {"checkpoint_period", SAVE, false},
    {"checkpoint_freq", SAVE, false},
    {"ckpt_interval", SAVE, false},
};

bool arguments_take(const char *name, int64_t value, bool alone, struct event *event)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].name, name) != 0 || (names[i].alone && !alone))
            continue;
        bool every = names[i].what == EVAL || names[i].what == SAVE;
        bool steps = strstr(name, "step") || strstr(name, "update");
        if (value <= 0 || (every && !steps && value < FEWEST_STEPS))
            return true;
        struct maybe_int *members[] = {
            [STEPS] = &event->total_steps,
            [EPOCHS] = &event->epochs,
            [EVAL] = &event->eval_every,
            [SAVE] = &event->save_every,
        };
        *members[names[i].what] = some_int(value);
        return true;
    }
    return false;
}

// "3", "100_000", "1,000"; "3.0" too, since Hugging Face's epochs may be fractions.
static bool whole_number(const char *text, int64_t *out)
{
    int64_t v = 0;
    int digits = 0;
    for (; formats_digit(*text) || (digits > 0 && (*text == '_' || *text == ',')); text++) {
        if (!formats_digit(*text))
            continue;
        v = v * 10 + (*text - '0');
        if (++digits > 15)
            return false;
    }
    if (digits > 0 && *text == '.')
        for (text++; *text == '0'; text++) {
        }
    *out = v;
    return digits > 0 && *text == '\0';
}

// "--trainer.Max-Epochs" is "trainer_max_epochs". False if it is too long for any name.
static bool plain_name(const char *from, size_t len, char to[NAME_MAX_BYTES])
{
    while (len > 0 && (*from == '-' || *from == '+')) {
        from++;
        len--;
    }
    if (len == 0 || len >= NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < len; i++)
        to[i] = formats_in_word(from[i]) ? from[i] : '_';
    for (size_t i = 0; i < len; i++)
        to[i] = formats_letter(to[i]) ? (char)(to[i] | 0x20) : to[i];
    to[len] = '\0';
    return true;
}

// Groups come before the name and may be part of it: trainer.max_epochs, but eval.interval.
static bool take(const char *option, size_t len, const char *value, struct event *event)
{
    char name[NAME_MAX_BYTES];
    int64_t v;
    if (!plain_name(option, len, name) || !whole_number(value, &v))
        return false;
    size_t start = 0, dashes = strspn(option, "-+");
    for (size_t i = 0; i < len - dashes; i++) {
        if (start == i && arguments_take(name + start, v, true, event))
            return true;
        if (option[dashes + i] == '.' || option[dashes + i] == '/')
            start = i + 1;
    }
    return false;
}

// Options are "--name value", "--name=value", "name=value" (Hydra, nanoGPT's configurator) and
// "SOLVER.MAX_ITER value" (detectron2).
static bool is_name(const char *arg)
{
    if (arg[0] == '-' && arg[1] == '-')
        return true;
    const char *p = arg + (arg[0] == '-'); // OpenNMT and Keras' examples have -train_steps
    bool dot = false, upper = true;
    for (const char *q = p; *q; q++) {
        if (!formats_in_word(*q) && *q != '.' && *q != '-')
            return false;
        dot |= *q == '.';
        upper &= !(*q >= 'a' && *q <= 'z');
    }
    return arg[0] == '-' ? p[0] && p[1] : dot && upper;
}

bool arguments_read(char *const *argv, struct event *event)
{
    bool any = false, value_of_option = false;
    for (; *argv; argv++) {
        const char *arg = *argv, *equals = strchr(arg, '=');
        bool option = arg[0] == '-';
        if (equals && (option || !value_of_option))
            any |= take(arg, (size_t)(equals - arg), equals + 1, event);
        else if (!equals && is_name(arg) && argv[1])
            any |= take(arg, strlen(arg), argv[1], event);
        // "--run-name epochs=3" says nothing about epochs.
        value_of_option = option && arg[1] == '-' && !equals;
    }
    return any;
}
