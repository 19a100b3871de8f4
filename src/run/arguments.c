// SPDX-License-Identifier: Apache-2.0
#include "run/arguments.h"

#include <string.h>

#include "run/formats.h"

#define NAME_MAX_BYTES 64
#define FEWEST_STEPS   10 // "--eval-every 1" means epochs
#define SCRIPT_MAX     8192
#define SCRIPT_WORDS   512

enum what { STEPS, EPOCHS, EVAL, SAVE };

// As the command lines and logs of public training programs have them. tests/run/test_arguments.c
// names the program of each.
static const struct {
    const char *name;
    enum what what;
    enum arguments_place place; // at least
} names[] = {
    {"max_steps", STEPS, PLACE_ANY},
    {"max_step", STEPS, PLACE_ANY},
    {"max_train_steps", STEPS, PLACE_ANY},
    {"max_training_steps", STEPS, PLACE_ANY},
    {"num_train_steps", STEPS, PLACE_ANY},
    {"num_training_steps", STEPS, PLACE_ANY},
    {"train_steps", STEPS, PLACE_ANY},
    {"training_steps", STEPS, PLACE_ANY},
    {"total_steps", STEPS, PLACE_ANY},
    {"total_num_steps", STEPS, PLACE_ANY},
    {"total_train_steps", STEPS, PLACE_ANY},
    {"total_training_steps", STEPS, PLACE_ANY},
    {"total_optimization_steps", STEPS, PLACE_ANY},
    {"num_steps", STEPS, PLACE_OPTION},
    {"n_steps", STEPS, PLACE_OPTION},
    {"steps", STEPS, PLACE_OPTION},
    {"max_iters", STEPS, PLACE_ANY},
    {"max_iter", STEPS, PLACE_ANY},
    {"max_iterations", STEPS, PLACE_ANY},
    {"train_iters", STEPS, PLACE_ANY},
    {"total_iters", STEPS, PLACE_ANY},
    {"total_iterations", STEPS, PLACE_ANY},
    {"num_iterations", STEPS, PLACE_ANY},
    {"num_iters", STEPS, PLACE_ANY},
    {"number_of_iterations", STEPS, PLACE_ANY},
    {"max_num_iterations", STEPS, PLACE_ANY},
    {"after_batches", STEPS, PLACE_ANY},
    {"iters", STEPS, PLACE_START},
    {"iterations", STEPS, PLACE_OPTION},
    {"max_update", STEPS, PLACE_ANY},
    {"max_updates", STEPS, PLACE_ANY},
    {"num_boost_round", STEPS, PLACE_ANY},
    {"num_boost_rounds", STEPS, PLACE_ANY},
    {"num_round", STEPS, PLACE_ANY},
    {"num_rounds", STEPS, PLACE_ANY},
    {"n_estimators", STEPS, PLACE_ANY},
    {"total_timesteps", STEPS, PLACE_ANY},
    {"n_timesteps", STEPS, PLACE_ANY},
    {"train_num_batches", STEPS, PLACE_ANY},
    {"epochs", EPOCHS, PLACE_START},
    {"epoch", EPOCHS, PLACE_OPTION},
    {"num_epochs", EPOCHS, PLACE_ANY},
    {"num_epoch", EPOCHS, PLACE_ANY},
    {"n_epochs", EPOCHS, PLACE_ANY},
    {"nepochs", EPOCHS, PLACE_ANY},
    {"num_train_epochs", EPOCHS, PLACE_ANY},
    {"max_epochs", EPOCHS, PLACE_ANY},
    {"max_epoch", EPOCHS, PLACE_ANY},
    {"train_epochs", EPOCHS, PLACE_ANY},
    {"total_epochs", EPOCHS, PLACE_ANY},
    {"training_epochs", EPOCHS, PLACE_ANY},
    {"max_train_epochs", EPOCHS, PLACE_ANY},
    {"after_epochs", EPOCHS, PLACE_ANY},
    {"eval_steps", EVAL, PLACE_ANY},
    {"eval_interval", EVAL, PLACE_ANY},
    {"eval_every", EVAL, PLACE_ANY},
    {"eval_freq", EVAL, PLACE_ANY},
    {"eval_frequency", EVAL, PLACE_ANY},
    {"eval_period", EVAL, PLACE_ANY},
    {"evaluation_steps", EVAL, PLACE_ANY},
    {"evaluation_interval", EVAL, PLACE_ANY},
    {"steps_per_eval", EVAL, PLACE_ANY},
    {"val_every", EVAL, PLACE_ANY},
    {"val_interval", EVAL, PLACE_ANY},
    {"val_check_interval", EVAL, PLACE_ANY},
    {"val_loss_every", EVAL, PLACE_ANY},
    {"valid_steps", EVAL, PLACE_ANY},
    {"validate_interval_updates", EVAL, PLACE_ANY},
    {"validation_interval", EVAL, PLACE_ANY},
    {"save_steps", SAVE, PLACE_ANY},
    {"save_interval", SAVE, PLACE_ANY},
    {"save_interval_updates", SAVE, PLACE_ANY},
    {"save_every", SAVE, PLACE_ANY},
    {"save_every_n_steps", SAVE, PLACE_ANY},
    {"save_freq", SAVE, PLACE_ANY},
    {"save_checkpoint_steps", SAVE, PLACE_ANY},
    {"checkpointing_steps", SAVE, PLACE_ANY},
    {"checkpoint_every", SAVE, PLACE_ANY},
    {"checkpoint_interval", SAVE, PLACE_ANY},
    {"checkpoint_period", SAVE, PLACE_ANY},
    {"checkpoint_freq", SAVE, PLACE_ANY},
    {"ckpt_interval", SAVE, PLACE_ANY},
};

bool arguments_take(const char *name, int64_t value, enum arguments_place place,
                    struct event *event)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].name[0] != name[0] || strcmp(names[i].name, name) != 0 ||
            names[i].place > place)
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
        if (start == i && arguments_take(name + start, v, PLACE_OPTION, event))
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

// The script of `sh -c "python train.py --epochs 3"`, or null.
static const char *shell_script(char *const *argv)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "ash"};
    const char *slash = argv[0] ? strrchr(argv[0], '/') : NULL, *name = slash ? slash + 1 : argv[0];
    bool shell = false;
    for (size_t i = 0; name && i < sizeof shells / sizeof *shells; i++)
        shell |= strcmp(name, shells[i]) == 0;
    for (; shell && *++argv && **argv == '-';)
        if ((*argv)[1] != '-' && strchr(*argv, 'c'))
            return argv[1];
    return NULL;
}

// Cuts a script into its words, in place; quotes are removed, nothing is expanded.
static void split_words(char *text, char **words, size_t room)
{
    size_t count = 0;
    while (count + 1 < room) {
        text += strspn(text, " \t\n;&|()");
        if (!*text)
            break;
        char quote = '\0', *to = words[count++] = text;
        for (; *text && (quote || !strchr(" \t\n;&|()", *text)); text++)
            if (*text == quote || (!quote && (*text == '\'' || *text == '"')))
                quote = quote ? '\0' : *text;
            else
                *to++ = *text;
        text += *text != '\0';
        *to = '\0';
    }
    words[count] = NULL;
}

static bool read_script(const char *script, struct event *event)
{
    char text[SCRIPT_MAX], *words[SCRIPT_WORDS];
    size_t len = strnlen(script, sizeof text);
    if (len == sizeof text)
        return false;
    memcpy(text, script, len + 1);
    split_words(text, words, SCRIPT_WORDS);
    return arguments_read(words, event);
}

bool arguments_read(char *const *argv, struct event *event)
{
    bool any = false, value_of_option = false, evaluates = false, interval = false;
    const char *script = shell_script(argv);
    if (script)
        return read_script(script, event);
    for (; *argv; argv++) {
        const char *arg = *argv, *equals = strchr(arg, '=');
        bool option = arg[0] == '-';
        if (equals && (option || !value_of_option))
            any |= take(arg, (size_t)(equals - arg), equals + 1, event);
        else if (!equals && is_name(arg) && argv[1])
            any |= take(arg, strlen(arg), argv[1], event);
        // "--run-name epochs=3" says nothing about epochs.
        value_of_option = option && arg[1] == '-' && !equals;
        evaluates |= strcmp(arg, "--do_eval") == 0;
        interval |= strcmp(arg, "--save_interval") == 0;
    }
    if (evaluates && interval && !event->eval_every.known) // Paddle evaluates before it saves
        event->eval_every = event->save_every;
    return any;
}
