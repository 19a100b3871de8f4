// SPDX-License-Identifier: Apache-2.0
// quote: shared by the files of `fare quote`.
#ifndef FARE_CMD_QUOTE_H
#define FARE_CMD_QUOTE_H

#include "advise/quote_job.h"
#include "cmd/cmd.h"
#include "cmd/values.h"

struct quote_options {
    struct cmd_common common;
    const char *ledger, *book, *format;
    struct quote_words words;
    const char *offer, *provider;
    int64_t total_steps, total_epochs;
    bool all, more, pinned;
    const char *explain;
    const char *date, *rule, *hour_of_mine, *currency;
    int64_t max_age, commit, used_ns, boot_ns, image_ns, download_ns, setup_ns, storage, keep_ns,
        egress, ingress;
    int64_t runs;
    const char *trace, *bid;
    int64_t mtbi_ns, checkpoint_ns, every_ns;
    struct own_options own;
};

// The options on spot machines. `trace` is read into, and must outlive the ask.
int quote_take_spot(const struct quote_options *options, struct availability *trace,
                    struct spot_ask *out, struct err *err) MUST_USE;

// Warns of each option for spot machines that was given although the quote has none.
void quote_say_unused(const struct quote_options *options, const struct quote *quote);

#endif
