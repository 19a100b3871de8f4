// SPDX-License-Identifier: Apache-2.0
// formats: the readers of a program's output, and what they share. event.h has the table of them.
//
// formats_bars.c reads progress bars, formats_lines.c log lines, formats_marks.c lines that
// announce totals, evaluations or checkpoints. They are hand-written instead of regular
// expressions, so that a hundred megabytes of output cost next to nothing. tests/follow/corpus has
// real lines of each tool.
//
// A line is clean (event_clean()) and ends in its only NUL.
#ifndef FARE_FOLLOW_FORMATS_H
#define FARE_FOLLOW_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "follow/event.h"

enum event_result formats_bar(const char *line, size_t len, struct event *event);
enum event_result formats_trainer(const char *line, size_t len, struct event *event);
enum event_result formats_line(const char *line, size_t len, struct event *event);
enum event_result formats_row(const char *line, size_t len, struct event *event);

static inline const char *formats_blanks(const char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

static inline bool formats_letter(char c)
{
    return (unsigned)((c | 0x20) - 'a') < 26;
}

static inline bool formats_digit(char c)
{
    return (unsigned)(c - '0') < 10;
}

// A letter, digit or underscore.
static inline bool formats_in_word(char c)
{
    return formats_letter(c) || formats_digit(c) || c == '_';
}

// Parses the number at `p`; returns its end, or null if there is none or it is too large. A count
// is whole and may have groups: "1,000".
const char *formats_digits(const char *p, int64_t *out);
const char *formats_count(const char *p, int64_t *out);
const char *formats_real(const char *p, double *out);

// A span of time: "0:05:25", "1 day, 17:06:44", "18h4m", "0h 2m 5s", "7.89m", "23 minutes and 16.79
// seconds"; `unit_s` is its last digit. Null without a unit.
const char *formats_span(const char *p, double *s, double *unit_s);

// "211/469", with blanks around the slash, or "211 of 469". Null if there is no total.
const char *formats_pair(const char *p, int64_t *at, int64_t *total);

// The start of the next word in [p, end), a run of letters, digits and underscores with a letter in
// it, in lower case in `word`; null if there is none. Longer words are cut.
#define FORMATS_WORD 32
const char *formats_word(const char *p, const char *end, char word[FORMATS_WORD], size_t *len);

// The words that log lines are made of, and what they mean there.
enum formats_role {
    ROLE_OTHER,
    ROLE_EPOCH,
    ROLE_STEP,  // a counter; the highest rank counts
    ROLE_TABLE, // a counter in the row of a table: "| total_timesteps | 3584 |"
    ROLE_LOSS,
    ROLE_MEASURE, // stands for the loss of gradient boosting: "train-rmse:0.5"
    ROLE_ACCURACY,
    ROLE_TRAIN,      // "train loss", "Train: 0 [ 10/1251"
    ROLE_TEST,       // "val loss", "Epoch(val)"
    ROLE_EVALUATION, // the same, and "begin validation"
    ROLE_TEMPO,      // found in lines about training steps: a learning rate, a time
    ROLE_TOOK,       // seconds that an evaluation or a checkpoint took
    ROLE_LEFT,       // "eta: 0:05:25", "remaining: 33s": a tempo too
    ROLE_ANSWER,     // the length of generated answers
    ROLE_LOOP,       // around trainings: "Fold 1/5"
    ROLE_PLURAL,     // "Total optimization steps = 900"
    ROLE_LIMIT,      // the counter behind it is none: "max step", "per iteration"
    ROLE_BEGIN,
    ROLE_NOW,    // "Validating ..."
    ROLE_SAVING, // "Saving model checkpoint to"
    ROLE_SAVED,
    ROLE_MODEL, // what is saved
    ROLE_DONE,  // "Epoch 3/20 done"
    ROLE_OVER,  // "max_epochs=1 reached"
    ROLE_NOT,   // not a report: "will be saved", "loading the model"
    ROLE_FILLER,
    ROLE_COUNT
};

// `word` is in lower case. `test`: it says itself that it is about an evaluation, as "val_loss"
// does.
enum formats_role formats_role(const char *word, size_t len, int *rank, bool *test);

// Identifies a counter by its words (FNV-1a over the letters) and a total, which may be 0.
uint32_t formats_counter(const char *words, size_t len, int64_t total);

// The phase of a bar with this label, by whole words: "mAP50" is not "map". -1: training.
int formats_phase(const char *label, size_t len);

// Figures in "loss=0.52, acc: 0.81 ...": fills those that the event does not have.
void formats_figures(const char *text, struct event *event);

// Whole trainings: "Num Epochs = 3 | Total steps = 99,486". False if nothing is announced.
bool formats_announced(const char *line, size_t len, struct event *event);

// ---- arguments: totals of a training in its command line: --max_steps 1000, --num_train_epochs=3,
// trainer.max_epochs=10, --eval-interval 250; also in the script of `sh -c`.
//
// Only whole numbers above 0 count: --max_steps -1, --eval_steps 0.1 and --epochs auto say nothing.
// Nor does --eval-every 1, which may mean epochs.

// Fills total_steps, epochs, eval_every and save_every, as far as the arguments have them. `argv`
// ends with null. The last value counts. True if there is any.
bool arguments_read(char *const *argv, struct event *event);

#endif
