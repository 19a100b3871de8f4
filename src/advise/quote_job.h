// SPDX-License-Identifier: Apache-2.0
// quote_job: gathers the runs a quote is made from, and makes the quote.
#ifndef FARE_ADVISE_QUOTE_JOB_H
#define FARE_ADVISE_QUOTE_JOB_H

#include "advise/advice.h"
#include "advise/evidence.h"
#include "base/opt.h"

#define QUOTE_AMONG 64 // GPUs that a list of names may cover

struct quote_job { // the input of a quote, and the quote
    bool asked;    // for one run, the first of `runs`; else for a workload
    char *workload;
    LIST_OF(struct run) runs;
    size_t lent; // the last of these: published ones, which belong to the market
    struct quote_evidence *evidence;
    struct comparison *against; // one for each of `runs`
    size_t evidence_count;
    struct run_history history;
    struct buf says;      // warnings for the user, one per line
    const char *date;     // as the user gave it, for the record; null: today
    int64_t total_steps;  // of the whole training, given for commands' runs; 0: not
    int64_t total_epochs; // the same
    struct quote_ask ask; // `ask.market` belongs to the caller, and must be set before loading
    struct advice_wishes wishes;
    bool more;       // every machine that may be named, not only a few
    bool full_names; // of offers, instead of short ones
    const struct device *among[QUOTE_AMONG];
    struct modelled *model; // with quote_load_model()
    struct quote quote;
};

#define QUOTE_MAX_AGE 730 // days; older prices do not count

bool quote_is_workload(const char *word);

// `word`: a run, a workload, or null for the last run. Fills runs and evidence; `asked` must be
// set. `ledger` may be null for a workload, and for a run that is given.
int quote_load(struct quote_job *job, const char *word, struct ledger *ledger,
               struct err *err) MUST_USE;

// The same for a run that may be in no ledger.
int quote_load_run(struct quote_job *job, const struct run *run, struct ledger *ledger,
                   struct err *err) MUST_USE;

// Uses only these runs, as far as they are of the first one's workload.
int quote_load_runs(struct quote_job *job, const struct run *runs, size_t count,
                    struct err *err) MUST_USE;

// Uses other runs of its training, on any data of the same size: made samples take as long as real
// ones. `run->workload` must be one of fare's. A ledger that cannot be read is left out.
int quote_load_like(struct quote_job *job, const struct run *run, struct ledger *ledger,
                    struct err *err) MUST_USE;

struct quote_given {         // a time that the user knows
    int64_t low_ns, high_ns; // of the whole training, or of a step; equal: no interval
    int64_t steps;           // 0: the time is the whole training's
    const char *gpu;         // takes this time; null: the machine is `ask.offer`. Others may follow
                             // after commas: theirs is estimated
    const char *precision;   // (optional) that it trains in
    int64_t gpus;
    bool or_more; // offers with more GPUs match too
};

// Quotes that time without any run. `ask.market`, `ask.offer` and the date must be set. ERR_USAGE
// for an unknown GPU or over 50 years.
int quote_load_given(struct quote_job *job, const struct quote_given *given,
                     struct err *err) MUST_USE;

// Quotes the time of a model's training, by its description, on every offer with GPUs. `words` must
// outlive the job.
struct quote_words;
int quote_load_model(struct quote_job *job, const struct quote_given *given,
                     const struct quote_words *words, bool page, struct err *err) MUST_USE;

// Asks for the GPUs of a list, "h100,h200": each name alone, or with the `forms` that it covers. A
// single name is no list.
int quote_take_gpus(struct quote_job *job, const char *list, bool forms, struct err *err) MUST_USE;

// Replaces `says` by the rows of the user's rates.csv that are valid on the day asked for and match
// no offer: the name was mistyped, or is not in the book.
int quote_check_rates(struct quote_job *job, struct err *err) MUST_USE;

// Makes the quote from the loaded runs: head, bills and advice. Unless the user gives it, the power
// of a bought machine is the one that the run measured, with its host's share (bill/power.h).
int quote_assemble(struct quote_job *job, struct err *err) MUST_USE;

void quote_release(struct quote_job *job);

// ---- words ----
//
// words: what people ask of a quote or a list of offers, from the options of a command or the
// parameters of a page.
//
// Both are read by the same rows (base/opt.h) and checked here. An error is ERR_USAGE and names the
// option or parameter as it was written: `--max-price`, or `max_price` of a page.

// "'--date' takes a date such as 2026-11-01, not 'x'".
int word_bad(const char *name, const char *text, const char *expected, struct err *err) MUST_USE;

// Money of 0 or more, in nano-units; null changes nothing.
int word_amount(const char *name, const char *text, int64_t *nano, struct err *err) MUST_USE;

// --kind, or --spot for `--kind spot`.
int word_kind(const char *kind, bool spot, const char **out, struct err *err) MUST_USE;

// ---- a quote; begins as QUOTE_WORDS

struct quote_words {
    const char *time, *step_time, *gpu, *gpus, *precision, *region, *kind, *budget;
    const char *model, *method, *tokens, *batch_tokens, *layout;
    bool spot, measured;
    int64_t steps, deadline_ns, idle_ns, hours_per_month, seq, rank; // -1: not given
};
extern const char *const quote_precisions[];
// clang-format off
#define QUOTE_WORDS {.steps = -1, .deadline_ns = -1, .idle_ns = -1, .hours_per_month = -1, \
    .seq = -1, .rank = -1}

// Rows; OF(member) is the offset of a member of struct quote_words.
#define SPOT_WORD(at, group) \
    {"spot", 0, OPT_FLAG, NULL, NULL, at, group, "the same as --kind spot"}
#define QUOTE_WORDS_TIME(OF) \
    {"time", 0, OPT_TEXT, "TIME", NULL, OF(time), "Without a run", \
     "a time that you know already: 21d, or 20d-22d; with --gpu or --offer"}, \
    {"steps", 0, OPT_COUNT, "N", NULL, OF(steps), "Without a run", \
     "the same from the number of steps", .least = 1}, \
    {"step-time", 0, OPT_TEXT, "TIME", NULL, OF(step_time), "Without a run", \
     "and the time of one: 350ms, or 340ms-360ms"}, \
    {"precision", 0, OPT_CHOICE, "TYPE", quote_precisions, OF(precision), "Without a run", \
     "that it trains in: fp32, tf32, bf16, fp16 or fp8; narrows estimates for other GPUs. With " \
     "--model bf16 (default), fp16 or fp8"}
#define QUOTE_WORDS_MODEL(OF) \
    {"model", 0, OPT_TEXT, "NAME|FILE|SIZE", NULL, OF(model), "Without a script", \
     "the time from a model's description: llama-3-8b, a config.json of transformers, or a size " \
     "such as 8b; with --tokens"}, \
    {"method", 0, OPT_CHOICE, "METHOD", model_methods, OF(method), "Without a script", \
     "how it is trained: pretrain, full, lora (default) or qlora"}, \
    {"tokens", 0, OPT_TEXT, "N", NULL, OF(tokens), "Without a script", \
     "that it trains on, epochs and padding included: 50M, 1.5B"}, \
    {"seq", 0, OPT_COUNT, "N", NULL, OF(seq), "Without a script", \
     "tokens of a sequence (default: 4096, or the model's context)", .least = 1}, \
    {"batch-tokens", 0, OPT_TEXT, "N", NULL, OF(batch_tokens), "Without a script", \
     "tokens of a step (default: what is usual for the model's size and method)"}, \
    {"rank", 0, OPT_COUNT, "N", NULL, OF(rank), "Without a script", \
     "of the adapters of LoRA and QLoRA (default: 16)", .least = 1}, \
    {"layout", 0, OPT_TEXT, "PINS", NULL, OF(layout), "Without a script", \
     "what of the layout is fixed: micro=4,recompute=1,zero=3,tp=2; fare plans the rest"}
#define QUOTE_WORDS_GPU(OF) \
    {"gpu", 0, OPT_TEXT, "NAME", NULL, OF(gpu), "Where", \
     "only machines with this GPU, or one of several: h100,h200; with --time, its time is that " \
     "on the first, and the others are estimated; with --buy, the GPU of the machine to buy"}, \
    {"gpus", 0, OPT_TEXT, "N", NULL, OF(gpus), "Where", \
     "train on N GPUs, on machines with exactly N (default: as many as the run used, with --time " \
     "1); N+: machines with more count too; any: as many of a machine's GPUs as is fastest. Each " \
     "GPU keeps the run's batch, so there are fewer steps. With --time, 16 may be 2 × 8"}
#define QUOTE_WORDS_WHERE(OF) \
    {"region", 0, OPT_TEXT, "NAME", NULL, OF(region), "Where", "only in this region"}, \
    {"kind", 0, OPT_CHOICE, "KIND", offer_kinds, OF(kind), "Where", \
     "only on-demand, spot or monthly offers"}, \
    SPOT_WORD(OF(spot), "Where")
#define QUOTE_WORDS_MEASURED(OF) \
    {"measured", 0, OPT_FLAG, NULL, NULL, OF(measured), "Where", \
     "only machines with a run; no estimates"}
#define QUOTE_WORDS_ADVICE(OF) \
    {"deadline", 0, OPT_DURATION, "TIME", NULL, OF(deadline_ns), "Advice", \
     "name the cheapest offer that is sure to finish within this time, even at the end of its " \
     "interval"}, \
    {"budget", 0, OPT_TEXT, "USD", NULL, OF(budget), "Advice", \
     "name the fastest offer that is sure to be within this budget, even at the end of its " \
     "interval"}, \
    {"idle-per-day", 0, OPT_DURATION, "TIME", NULL, OF(idle_ns), "Advice", \
     "what it costs that the machine is idle this long each day: running on, stopped, or given " \
     "back"}, \
    {"hours-per-month", 0, OPT_COUNT, "H", NULL, OF(hours_per_month), "Advice", \
     "name the best offer for occasional, steady (H hours) and heavy use", .least = 1}
// clang-format on

// Whether a time is given: --time, --steps or --step-time.
bool quote_has_time(const struct quote_words *words);

// Whether there is no run, but a time or a model.
bool quote_has_no_run(const struct quote_words *words);

// Reads it, or the number of GPUs for a run. ERR_USAGE says what is missing, or does not go
// together; `word` (optional) names a run, `offer` (optional) the machine.
int quote_words_given(const struct quote_words *words, bool page, const char *word,
                      const char *offer, struct quote_given *out, struct err *err) MUST_USE;

// Sets those of the job's wishes that these words are for.
int quote_words_take(const struct quote_words *words, bool page, struct quote_job *job,
                     struct err *err) MUST_USE;

// ---- a list of offers

struct offer_words {
    const char *text, *gpu, *gpus, *provider, *region, *kind, *max_price;
    bool spot;
};

// Fills a filter, which points to `kind` and borrows the texts. `*max_rate` as in listing.h.
int offer_words_take(const struct offer_words *words, bool page, const struct devices *devices,
                     struct book_filter *filter, enum offer_kind *kind, int64_t *max_rate,
                     struct err *err) MUST_USE;

#endif
