// SPDX-License-Identifier: Apache-2.0
// fleet: what `fare run --on`, `fare runs resume` and `fare runs cancel` share.
#ifndef FARE_CMD_FLEET_H
#define FARE_CMD_FLEET_H

#include "cmd/cmd.h"
#include "fleet/dispatch.h"
#include "fleet/plan.h"
#include "record/run.h"

struct fleet_options {
    struct opt_texts on, sweep;
    int64_t jobs, limit_ns, patience_ns, top;
    const char *bundle, *bring;
    bool no_bring, yes;
};

#define FLEET_GROUP "Other machines"
// clang-format off
#define FLEET_WORDS(name, words) words
#define FLEET_ROWS(OF) \
    {"on", 0, OPT_TEXTS, "TARGET", NULL, OF(fleet.on), FLEET_GROUP, \
     "measure there instead: " TARGETS(FLEET_WORDS) "may be given several times; see " \
     "docs/many-machines.md"}, \
    {"top", 0, OPT_COUNT, "N", NULL, OF(fleet.top), FLEET_GROUP, \
     "with --on sky: rent the N most promising offers of the quote", .least = 1}, \
    {"sweep", 0, OPT_TEXTS, "NAME=VALUE,...", NULL, OF(fleet.sweep), FLEET_GROUP, \
     "run the command once for each value, such as lr=0.1,0.01 or seed=1..8, in place of {NAME}; " \
     "several make all combinations; each runs on one of the targets, or here"}, \
    {"jobs", 0, OPT_COUNT, "N", NULL, OF(fleet.jobs), FLEET_GROUP, \
     "use N of the places at a time (default 64)", .least = 1}, \
    {"bring", 0, OPT_TEXT, "DIR|REVISION", NULL, OF(fleet.bring), FLEET_GROUP, \
     "copy this folder or git revision for the command to run in (default: the current folder, up " \
     "to 100 MiB packed; .fareignore excludes files)"}, \
    {"no-bring", 0, OPT_FLAG, NULL, NULL, OF(fleet.no_bring), FLEET_GROUP, \
     "copy no folder: there the command runs in an empty one"}, \
    {"bundle", 0, OPT_TEXT, "FILE", NULL, OF(fleet.bundle), FLEET_GROUP, \
     "fare's archive to copy there (default: FARE_BUNDLE, or the one this program is from)"}, \
    {"limit", 0, OPT_DURATION, "TIME", NULL, OF(fleet.limit_ns), FLEET_GROUP, \
     "end a measurement there after this long in any case (default: ten minutes after --max-time; " \
     "for a whole training or a command never)", .least = 1}, \
    {"patience", 0, OPT_DURATION, "TIME", NULL, OF(fleet.patience_ns), FLEET_GROUP, \
     "leave out a machine that has not answered for this long (default 10m), or for a tenth of it " \
     "if it never has", .least = 1}, \
    {"yes", 'y', OPT_FLAG, NULL, NULL, OF(fleet.yes), FLEET_GROUP, \
     "do not ask before machines are rented"}
// clang-format on

// Whether the measurement is for other machines, or many.
bool fleet_wanted(const struct fleet_options *options);

// `fare run` elsewhere. `arguments` are fare's own options for it, a null-terminated list.
struct fleet_job {
    const struct fleet_options *o;
    const char *const *workloads; // or the command of call->rest
    size_t workload_count;
    char *const *arguments;
    int64_t limit_ns; // if --limit was not given; 0: none
    int64_t runs;     // that a task makes at most
};
int fleet_run(const struct cmd_call *call, const struct fleet_job *job, struct err *err) MUST_USE;

// The options of a command as words for another `fare`, without those of the groups FLEET_GROUP and
// "Money" and those of `except` (null-terminated): only those that differ from `defaults`. The list
// is on the heap, as are its words.
char **fleet_arguments(const struct opt *options, const void *values, const void *defaults,
                       const char *const *except, struct err *err) MUST_USE;
void fleet_arguments_free(char **arguments); // null is fine

// Carries a plan out and prints what became of it. The ledger is the plan's if the command names
// none.
int fleet_go(const struct cmd_call *call, struct state *state, bool cancel,
             struct err *err) MUST_USE;

// Where only a log comes back (FARE_FRAME names the task): prints the runs into it, on stderr.
void fleet_frame(const char *key, const struct runs *runs, int code, int64_t began_s);

// ---- fleet_text.c

// The tasks and what became of them; for a sweep also its bill; then the comparison.
int fleet_text(struct out *out, const struct dispatch *dispatch, const struct places *places,
               struct ledger *ledger, struct err *err) MUST_USE;

// "3 waiting, 1 running, 8 done, 0 failed; 0.12 USD so far, about 0.18 USD in all".
void fleet_totals(const struct dispatch *dispatch, const struct places *places, struct buf *out);

// ---- while they go on: lines, and on a terminal a table below them that is redrawn

struct fleet_live {
    const struct places *places;
    bool terminal;
    int drawn;       // lines on the screen
    int64_t told_ns; // the last line of totals
};
void fleet_live_begin(struct fleet_live *live, const struct places *places);
void fleet_live_says(void *live, const char *line);
void fleet_live_draw(void *live, const struct dispatcher *dispatcher);
void fleet_live_end(struct fleet_live *live);

#endif
