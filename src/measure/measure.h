// SPDX-License-Identifier: Apache-2.0
// measure: what `fare run`, bare `fare` and measured commands share around a run: the options of
// sampling and of the record, what is known before it starts, and keeping it in the ledger.
#ifndef FARE_CMD_MEASURE_H
#define FARE_CMD_MEASURE_H

#include "cmd/cmd.h"
#include "ledger/journal.h"
#include "record/run.h"

struct measure_options {
    const char *within; // "2%"
    int64_t max_time_ns;
    const char *max_spend, *offer;
    const char *name;
    struct opt_texts labels;
    bool no_cloud;
    const char *ledger;
    bool no_ledger;
};

#define MEASURE_WITHIN     0.02
#define MEASURE_MAX_TIME_S 60

#define MEASURE_OPTION(name_, kind_, value_, type, member, group_, help_)                          \
    {                                                                                              \
        .name = name_, .kind = kind_, .value = value_, .at = offsetof(type, member),               \
        .group = group_, .help = help_, .least = 1 /* of all its numbers */                        \
    }

// Rows for an option table whose struct `type` has them as `m`.
#define MEASURE_OPTIONS(type, m)                                                                   \
    MEASURE_OPTION("within", OPT_TEXT, "P%", type, m.within, "Sampling",                           \
                   "stop when the whole training's time is known to this (default 2%; 95 % "       \
                   "interval)"),                                                                   \
        MEASURE_OPTION("max-time", OPT_DURATION, "TIME", type, m.max_time_ns, "Sampling",          \
                       "stop after this time at the latest (default 60s)"),                        \
        MEASURE_OPTION("max-spend", OPT_TEXT, "USD", type, m.max_spend, "Sampling",                \
                       "stop before the bill of this machine, which --offer names, exceeds this"), \
        MEASURE_OPTION(                                                                            \
            "offer", OPT_TEXT, "OFFER", type, m.offer, "Sampling",                                 \
            "this machine is that offer of the book: PROVIDER/NAME; its bill is shown while "      \
            "it runs, and the name kept as a label"),                                              \
        MEASURE_OPTION("name", OPT_TEXT, "NAME", type, m.name, "Record",                           \
                       "call the run so (default: the workload's, script's or program's name)"),   \
        MEASURE_OPTION("label", OPT_TEXTS, "KEY=VALUE", type, m.labels, "Record",                  \
                       "keep this with the run; may be given several times"),                      \
        MEASURE_OPTION("ledger", OPT_TEXT, "URL", type, m.ledger, "Record",                        \
                       "keep it there: a file (SQLite) or postgresql://USER@HOST/DATABASE"),       \
        MEASURE_OPTION("no-ledger", OPT_FLAG, NULL, type, m.no_ledger, "Record",                   \
                       "do not keep it"),                                                          \
        MEASURE_OPTION("no-cloud", OPT_FLAG, NULL, type, m.no_cloud, "Record",                     \
                       "do not ask the cloud's metadata service where this machine is")

// ERR_USAGE where what is to be trained to its end (`full`) has an option that would cut it off.
int measure_check(const struct measure_options *options, bool full, struct err *err) MUST_USE;

// The share that --within says; the default where it does not.
int measure_within(const struct measure_options *options, double *within, struct err *err) MUST_USE;

// How long a sample may take: --max-time, or else `default_s`.
double measure_max_s(const struct measure_options *options, double default_s);

// When --max-spend is spent, by clock_now_ns(), on a machine whose use begins now; 0: never. All
// that runs ends then, whatever is known. ERR_USAGE where the money does not even pay for a start.
int measure_until(const struct measure_options *options, int64_t *until_ns,
                  struct err *err) MUST_USE;
void measure_say_spent(const struct measure_options *options, struct buf *says);

// What is known before a run: its id and start, the machine, this program, name and labels. `first`
// of this process: it may count the time since the machine was launched, unless that was an hour
// ago or a run before it has.
int measure_begin(const struct measure_options *options, const struct machine *machine, bool first,
                  struct run *run, struct err *err) MUST_USE;

// Where what is known so far is kept while it runs, in case this process is killed; null where the
// run is not kept, or that is not possible.
struct journal *measure_journal(const struct measure_options *options, const struct run *run);

// Keeps the run in the ledger, a failed one too, and closes its journal. A ledger that does not
// take it is a warning in `says`, a line each: the measurement itself is not lost with it.
void measure_keep(const struct measure_options *options, const struct run *run,
                  struct journal *journal, struct buf *says);

#endif
