// SPDX-License-Identifier: Apache-2.0
// runs: what the files of `fare runs` share; not for others.
#ifndef FARE_CMD_RUNS_H
#define FARE_CMD_RUNS_H

#include "cmd/cmd.h"
#include "ledger/ledger.h"

struct runs_options {
    struct cmd_common common;
    const char *ledger;
    // which
    const char *name, *workload, *framework, *gpu, *machine, *since, *ended, *sort;
    struct opt_texts label;
    int64_t last;
    bool all;
    bool published;
    const char *against;
    // import and export
    const char *output, *format, *started, *provider, *price_per_hour, *token_file;
    int64_t gpus;
};

// The filter of the command line; its texts are the options'.
void runs_filter(const struct runs_options *options, struct ledger_filter *filter);

// A run's record, by what the user called it: in the ledger, or among the published.
int runs_find(struct ledger *ledger, const char *word, struct buf *text, struct err *err) MUST_USE;

// Connects, and says on stderr what came in or could not: runs that had waited, or were killed.
int runs_connect(struct ledger *ledger, struct err *err) MUST_USE;

void runs_table(struct out *out, const struct run *runs, size_t count);
void runs_published_table(struct out *out, const struct run *runs, size_t count);
void runs_page(struct out *out, const struct run *run);

int runs_import(const struct cmd_call *call, struct ledger *ledger, struct err *err) MUST_USE;
int runs_push(const struct cmd_call *call, struct ledger *ledger, struct err *err) MUST_USE;
int runs_export(const struct cmd_call *call, struct ledger *ledger, struct err *err) MUST_USE;

#endif
