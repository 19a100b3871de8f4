// SPDX-License-Identifier: Apache-2.0
// Announcements: lines that name a total of the whole training before it begins.
//
//     [INFO|trainer.py:2413] 2025-03-06 12:04:09,914 >>   Total optimization steps = 1,000
//     O^O/ \_/ \    Num examples = 467 | Num Epochs = 5 | Total steps = 290
//     num epochs / epoch数: 10
//     Starting training..., iters: 3000
//
// The names are those of command-line options (arguments_read()), which configurations printed by a
// program have too.
#include "follow/formats.h"

#include <string.h>

#include "base/tree.h"

// How much a name must mean: anywhere in a line, at the start of a part of it, or as an option.
enum arguments_place { PLACE_ANY, PLACE_START, PLACE_OPTION };

// ---- The time left, as programs print it, and the table of scikit-learn's gradient boosting,
// which has it in its last column:
//
//       Iter       Train Loss   Remaining Time
//          1           1.2980            7.89m

#define SPAN_MAX 1e10 // seconds

static double unit_of(const char *p, size_t *len)
{
    static const struct {
        const char *word;
        double s;
    } units[] = {
        {"d", 86400},  {"day", 86400}, {"days", 86400}, {"h", 3600}, {"hr", 3600},
        {"hrs", 3600}, {"hour", 3600}, {"hours", 3600}, {"m", 60},   {"min", 60},
        {"mins", 60},  {"minute", 60}, {"minutes", 60}, {"s", 1},    {"sec", 1},
        {"secs", 1},   {"second", 1},  {"seconds", 1},
    };
    *len = 0;
    while (formats_letter(p[*len]))
        (*len)++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].word) == *len && strncmp(units[i].word, p, *len) == 0)
            return units[i].s;
    return 0;
}

// "16:23:34.6": what stands behind its first colon.
static const char *read_clock(const char *p, double *v)
{
    for (int fields = 1; fields < 3 && *p == ':' && formats_digit(p[1]); fields++) {
        double next;
        p = formats_real(p + 1, &next);
        if (!p)
            return NULL;
        *v = *v * 60 + next;
    }
    return p;
}

const char *formats_span(const char *p, double *s, double *unit_s)
{
    double sum = 0, last = SPAN_MAX;
    const char *end = NULL;
    p += strspn(p, " :='\"");
    while (formats_digit(*p)) {
        double v;
        size_t len;
        const char *start = p;
        p = formats_real(p, &v);
        if (!p || !(v < SPAN_MAX))
            break;
        if (*p == ':' && formats_digit(p[1])) {
            end = read_clock(p, &v);
            sum += v;
            *unit_s = 1;
            break;
        }
        double unit = unit_of(formats_blanks(p), &len);
        if (unit <= 0 || unit >= last) // what follows is not part of it: "eta: 18h4m   4m"
            break;
        const char *point = memchr(start, '.', (size_t)(p - start));
        *unit_s = last = unit;
        for (const char *q = point; q && q + 1 < p; q++)
            *unit_s /= 10;
        sum += v * unit;
        end = p = formats_blanks(p) + len;
        p += strspn(p, " ,");
        p += strncmp(p, "and ", 4) == 0 ? 4 : 0;
    }
    *s = sum;
    return end && sum < SPAN_MAX ? end : NULL;
}

enum event_result formats_row(const char *line, size_t len, struct event *event)
{
    const char *p = formats_blanks(line);
    int64_t step;
    double loss, left, unit;
    if (p == line || len > EVENT_PATTERN_MAX)
        return EVENT_NONE;
    p = formats_count(p, &step);
    if (!p || *p != ' ')
        return EVENT_NONE;
    const char *column = formats_blanks(p);
    p = formats_real(column, &loss);
    if (!p || *p != ' ' || !memchr(column, '.', (size_t)(p - column)))
        return EVENT_NONE;
    const char *last = strrchr(p, ' '); // "OOB Improve" may stand between
    while (last && last[1] == '\0' && last > p)
        for (last--; last > p && *last != ' '; last--) {
        }
    const char *end = last ? formats_span(last, &left, &unit) : NULL;
    if (!end || *formats_blanks(end) != '\0' || !strchr(last, '.'))
        return EVENT_NONE;
    *event = (struct event){.step = some_int(step),
                            .counts = COUNTS_STEPS,
                            .loss = some_real(loss),
                            .left_s = some_real(left),
                            .left_unit_s = unit,
                            .bar = formats_counter("row", 3, 0)};
    return EVENT_READ;
}

// ---- Totals in the command line

#define NAME_MAX_BYTES 64
#define FEWEST_STEPS   10 // "--eval-every 1" means epochs
#define SCRIPT_MAX     8192
#define SCRIPT_WORDS   512

enum what { STEPS, EPOCHS, EVAL, SAVE };

// As the command lines and logs of public training programs have them.
// tests/follow/test_arguments.c names the program of each.
static const struct {
    enum what what;
    enum arguments_place place; // at least
    const char *names;
} totals[] = {
    {STEPS, PLACE_ANY,
     "max_steps max_step max_train_steps max_training_steps num_train_steps "
     "num_training_steps train_steps training_steps total_steps "
     "total_num_steps total_train_steps total_training_steps "
     "total_optimization_steps max_iters max_iter max_iterations train_iters "
     "total_iters total_iterations num_iterations num_iters "
     "number_of_iterations max_num_iterations after_batches max_update "
     "max_updates num_boost_round num_boost_rounds num_round num_rounds "
     "n_estimators total_timesteps n_timesteps train_num_batches"},
    {STEPS, PLACE_OPTION, "num_steps n_steps steps iterations"},
    {STEPS, PLACE_START, "iters"},
    {EPOCHS, PLACE_START, "epochs"},
    {EPOCHS, PLACE_OPTION, "epoch"},
    {EPOCHS, PLACE_ANY,
     "num_epochs num_epoch n_epochs nepochs num_train_epochs max_epochs "
     "max_epoch train_epochs total_epochs training_epochs max_train_epochs "
     "after_epochs"},
    {EVAL, PLACE_ANY,
     "eval_steps eval_interval eval_every eval_freq eval_frequency eval_period "
     "evaluation_steps evaluation_interval steps_per_eval val_every "
     "val_interval val_check_interval val_loss_every valid_steps "
     "validate_interval_updates validation_interval"},
    {SAVE, PLACE_ANY,
     "save_steps save_interval save_interval_updates save_every "
     "save_every_n_steps save_freq save_checkpoint_steps checkpointing_steps "
     "checkpoint_every checkpoint_interval checkpoint_period checkpoint_freq "
     "ckpt_interval"},
};

// One value by its name, in lower case with underscores: "max_steps". False if the name is unknown,
// or too common to mean a total in this place: "steps: 50" in a log.
static bool arguments_take(const char *name, int64_t value, enum arguments_place place,
                           struct event *event)
{
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        if (totals[i].place > place || !text_has_word(totals[i].names, name, ' '))
            continue;
        bool every = totals[i].what == EVAL || totals[i].what == SAVE;
        bool steps = strstr(name, "step") || strstr(name, "update");
        if (value <= 0 || (every && !steps && value < FEWEST_STEPS))
            return true;
        struct maybe_int *members[] = {
            [STEPS] = &event->total_steps,
            [EPOCHS] = &event->epochs,
            [EVAL] = &event->eval_every,
            [SAVE] = &event->save_every,
        };
        *members[totals[i].what] = some_int(value);
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
static bool marks_take(const char *option, size_t len, const char *value, struct event *event)
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
            any |= marks_take(arg, (size_t)(equals - arg), equals + 1, event);
        else if (!equals && is_name(arg) && argv[1])
            any |= marks_take(arg, strlen(arg), argv[1], event);
        // "--run-name epochs=3" says nothing about epochs.
        value_of_option = option && arg[1] == '-' && !equals;
        evaluates |= strcmp(arg, "--do_eval") == 0;
        interval |= strcmp(arg, "--save_interval") == 0;
    }
    if (evaluates && interval && !event->eval_every.known) // Paddle evaluates before it saves
        event->eval_every = event->save_every;
    return any;
}

// ---- Announcements

#define WORDS 4 // of the longest name: number_of_iterations, total optimization steps

// The value behind a name: "= 3", ": 1,000", " 10 (warmup 2)", " / epoch数: 10"; null if none.
static const char *value_behind(const char *p, int64_t *value, bool *table)
{
    p += *p == '"' || *p == '\'';
    p = formats_blanks(p);
    *table = *p == '|';
    if (p[0] == '/' && p[1] == ' ' && !formats_digit(p[2])) {
        p = strchr(p, ':');
        if (!p)
            return NULL;
    }
    if (*p == ':' || *p == '=' || *p == '|')
        p++;
    p = formats_blanks(p);
    if (*p == ':' || *p == '=') // "x = = 3" is none
        return NULL;
    p += *p == '"' && formats_digit(p[1]); // Flair: max_epochs: "8"
    p = formats_count(p, value);
    return p && *p != '/' && *p != '-' && *p != ':' && *p != '_' ? p : NULL;
}

struct name {
    char text[WORDS * FORMATS_WORD];
    size_t starts[WORDS]; // of the last words in it
    bool fresh[WORDS];    // whether a line or a part of it begins with that word
    size_t words;
};

static void add_word(struct name *name, const char *word, bool fresh)
{
    if (name->words == WORDS) {
        size_t drop = name->starts[1];
        memmove(name->text, name->text + drop, strlen(name->text + drop) + 1);
        for (size_t i = 1; i < WORDS; i++) {
            name->starts[i - 1] = name->starts[i] - drop;
            name->fresh[i - 1] = name->fresh[i];
        }
        name->words--;
    }
    size_t used = name->words > 0 ? strlen(name->text) : 0, len = strlen(word);
    if (used > 0)
        name->text[used++] = '_';
    memcpy(name->text + used, word, len + 1);
    name->starts[name->words] = used;
    name->fresh[name->words++] = fresh;
}

bool formats_announced(const char *line, size_t len, struct event *event)
{
    struct event told = {0};
    struct name name = {0};
    char word[FORMATS_WORD];
    size_t n;
    bool any = false;
    const char *end = line + len, *last = line;
    for (const char *p = line; (p = formats_word(p, end, word, &n)); p += n) {
        // Words of one name stand next to each other.
        bool next = name.words > 0 && p == last + 1 && (*last == ' ' || *last == '-');
        bool fresh = !next;
        if (!next)
            name.words = 0;
        last = p + n;
        if (n >= FORMATS_WORD)
            continue;
        add_word(&name, word, fresh);
        int64_t value;
        bool table;
        if (!value_behind(p + n, &value, &table))
            continue;
        for (size_t i = 0; i < name.words; i++) {
            enum arguments_place place = name.fresh[i] && !table ? PLACE_START : PLACE_ANY;
            if (arguments_take(name.text + name.starts[i], value, place, &told)) {
                any |= value > 0;
                break;
            }
        }
    }
    if (!any)
        return false;
    *event = told;
    return true;
}
