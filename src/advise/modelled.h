// SPDX-License-Identifier: Apache-2.0
// modelled: the time of a training on a machine from a model's description alone (model.h), as an
// estimate beside those from runs. One question: a model, a method, an amount of data; one plan for
// each GPU, number of them and machine.
#ifndef FARE_ADVISE_MODELLED_H
#define FARE_ADVISE_MODELLED_H

#include "advise/estimate/model.h"
#include "record/bill.h"

struct modelled_words { // as a person wrote them; null, 0 or less: not given
    const char *model, *method, *tokens, *batch_tokens, *precision, *layout;
    int64_t seq, rank;
    int day;   // since 1970: how new the software is; 0: today
    bool page; // names are those of a page's parameters
};

struct modelled {
    struct model_tables *tables;
    struct model_found found;
    struct model_ask ask; // all but the GPUs
    const char *precision;
    double tokens;     // of the training
    double parameters; // that are trained
};

// ERR_USAGE names what is missing or cannot be; ERR_MISSING a model that is not known. The words
// must outlive it.
int modelled_open(struct modelled **out, const struct modelled_words *words,
                  struct err *err) MUST_USE;
void modelled_close(struct modelled *modelled); // null is fine

// `gpus` of them in all, `box` in a machine; `memory_bytes`: of one, 0: as the data sheet has it.
// Without a time, `out` has the reason, and what would make it fit.
void modelled_estimate(const struct modelled *modelled, const struct device *device, int gpus,
                       int box, int64_t memory_bytes, struct model_plan *plan,
                       struct estimate *out);

// The host's memory that the plan needs beside what any program does; 0: nothing worth counting.
double modelled_host_bytes(const struct model_plan *plan);

// "LoRA (rank 16) of llama-3-8b on 50 M tokens".
void modelled_title(const struct modelled *modelled, struct buf *out);

// "micro batch 4 × 16, recomputation, ZeRO 3".
void modelled_layout(const struct model_plan *plan, struct buf *out);

// Fills a bill's and a quote's members about it.
int modelled_bill(const struct model_plan *plan, struct bill_model *out, struct err *err) MUST_USE;
int modelled_quote(const struct modelled *modelled, struct quote_model *out,
                   struct err *err) MUST_USE;

// Operations, share of the peak, layout, memory by component and interval, in about ten lines.
void modelled_explain(const struct modelled *modelled, const struct model_plan *plan,
                      const struct estimate *estimate, struct buf *out);

#endif
