// SPDX-License-Identifier: Apache-2.0
// runs: shared by the files of `fare runs`.
#ifndef FARE_CMD_RUNS_H
#define FARE_CMD_RUNS_H

#include "advise/sources.h"
#include "base/clock.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/values.h"
#include "ledger/ledger.h"
#include "record/spending.h"
#include "render/doc.h"

// The options of all subcommands; each has a table with those it takes.
struct runs_options {
    struct cmd_common common;
    const char *ledger;
    // which
    const char *name, *workload, *framework, *gpu, *machine, *host, *user, *since, *ended, *sort;
    struct opt_texts label;
    int64_t last;
    bool all;
    // list and show
    bool published, estimates;
    const char *against;
    // sums
    const char *by, *currency, *invoice;
    struct opt_texts budget;
    bool budgets;
    // import, export, push
    const char *output, *format, *started, *provider, *price_per_hour;
    const char *price_per_gpu_hour, *token_file;
    int64_t gpus;
};

extern const struct command runs_cancel, runs_export, runs_import, runs_push, runs_resume;

// clang-format off
// Rows for a table of these options, with AT() as in values.h.
#define RUNS_WHICH \
    {"workload", 'w', OPT_TEXT, "NAME", NULL, AT(workload), "Which runs", \
     "only runs of this workload"}, \
    {"framework", 0, OPT_TEXT, "NAME", NULL, AT(framework), "Which runs", \
     "only runs trained with this framework"}, \
    {"gpu", 0, OPT_TEXT, "TEXT", NULL, AT(gpu), "Which runs", \
     "only runs on a GPU whose name contains this"}, \
    {"machine", 0, OPT_TEXT, "TEXT", NULL, AT(machine), "Which runs", \
     "only runs whose machine, instance type, processor or fingerprint contains this"}, \
    {"host", 0, OPT_TEXT, "NAME", NULL, AT(host), "Which runs", \
     "only runs on the host of this name; records with hashed names match too"}, \
    {"user", 0, OPT_TEXT, "NAME", NULL, AT(user), "Which runs", \
     "only runs by the user of this name, likewise"}, \
    {"name", 0, OPT_TEXT, "NAME", NULL, AT(name), "Which runs", "only runs of this name"}, \
    {"ended", 0, OPT_CHOICE, "HOW", run_ends, AT(ended), "Which runs", \
     "only runs that are finished, sampled, stopped, failed or killed"}, \
    {"label", 0, OPT_TEXTS, "KEY=VALUE", NULL, AT(label), "Which runs", \
     "only runs with this label; may be given several times"}, \
    {"since", 0, OPT_TEXT, "DATE|AGE", NULL, AT(since), "Which runs", \
     "only runs started since this date (2026-11-01) or within this time (3w, 30d, 6h)"}, \
    {"last", 'n', OPT_COUNT, "N", NULL, AT(last), "Which runs", "only the newest N of them", \
     .least = 1}, \
    {"all", 'a', OPT_FLAG, NULL, NULL, AT(all), "Which runs", "all of them"}, \
    {"sort", 0, OPT_CHOICE, "BY", ledger_sorts, AT(sort), "Which runs", \
     "started (default, newest first), step or wall (shortest first), or name"}
// clang-format on

// The filter of the command line; it borrows texts from the options.
struct ledger_filter runs_which(const struct runs_options *options);

// Connects to the ledger and reports on stderr which runs were delivered to it or could not be.
int runs_open(struct desk *desk, bool writes, struct ledger **ledger, struct err *err) MUST_USE;
int runs_connect(struct ledger *ledger, struct err *err) MUST_USE;

// ERR_FORMAT if the record cannot be read: "run RUN is damaged: byte 17: ...".
int runs_check(const char *id, const char *text, struct err *err) MUST_USE;

// The record of the run that the user named: from the ledger or the published results.
int runs_find(struct ledger *ledger, const char *word, struct buf *text, struct err *err) MUST_USE;

// Passes fn() the records of the runs named from argument `first` on; without any, those that the
// options select.
int runs_each(const struct cmd_call *call, struct ledger *ledger, size_t first, ledger_visit_fn *fn,
              void *arg, struct err *err) MUST_USE;

// Visits the published results that the options select.
int runs_published(const struct runs_options *options, ledger_visit_fn *visit, void *arg,
                   struct err *err) MUST_USE;

// "added 2 runs; 1 was there already; 1 was left out", or with --json {"schema": ..., "added": 2,
// "there": 1, "left_out": 1}. Below 0 `there` and `left_out` are not said.
#define CHANGES_SCHEMA "fare.changes/1"
void runs_say_added(const struct cmd_call *call, const char *verb, int64_t added, int64_t there,
                    int64_t left_out);

void runs_table(struct out *out, const struct run *runs, size_t count);
void runs_published_table(struct out *out, const struct run *runs, size_t count);
int runs_brief(struct out *out, const struct run *run, const struct spending_row *invoiced,
               struct err *err) MUST_USE;
int runs_page(struct out *out, const struct run *run, const struct past_estimate *past,
              const struct spending_row *invoiced, struct err *err) MUST_USE;

// What invoices charged for a run.
void runs_invoiced(struct doc *doc, const struct spending_row *invoiced);

// The text to type for a run: for "20261115T074512Z-3f9a2c81d04e" and "import-3f9a2c81..." the
// start of the random part, which ledger_find() accepts; otherwise the whole id.
void runs_short_id(const char *id, struct buf *out);

// What the estimate for a run would have been; `out` is zeroed before and stays so if there is
// none. `text`: its record.
int runs_past(struct ledger *ledger, struct market *market, const char *text, const char *id,
              struct past_estimate *out, struct err *err) MUST_USE;
void runs_estimated(struct doc *doc, const struct past_estimate *past);

// The same for all that `which` selects, with a summary.
int runs_estimates(const struct cmd_call *call, struct ledger *ledger,
                   const struct ledger_filter *which, struct err *err) MUST_USE;

// Sums of bills (--by), and budgets: changes them (--budget) and lists them.
extern const char *const runs_formats[]; // of --format
int runs_spending(const struct cmd_call *call, struct ledger *ledger,
                  const struct ledger_filter *filter, struct err *err) MUST_USE;
int runs_budgets(const struct cmd_call *call, struct err *err) MUST_USE;

#endif
