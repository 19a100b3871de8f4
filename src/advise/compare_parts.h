// SPDX-License-Identifier: Apache-2.0
// Shared by the files of compare, and private to them.
#ifndef FARE_ADVISE_COMPARE_PARTS_H
#define FARE_ADVISE_COMPARE_PARTS_H

#include "advise/compare.h"
#include "advise/compare_estimates.h"
#include "advise/difference.h"
#include "advise/estimate/estimate.h"
#include "advise/selector.h"
#include "base/array.h"

// Some published runs have only a speed relative to another run's (labels relative_speed and
// relative_to). Their time is then in units of the other's, and their cost is the hourly price
// divided by the speed. That is enough for ratios among runs relative to the same one, no more.
enum { L1_TRANSFER, L1_CALCULATION, L1_PARTS };

struct part {                           // the figures of one run
    double time_s, time_low, time_high; // low and high 0: no interval
    int64_t cost, cost_low, cost_high;  // nano-USD
    int64_t charged;                    // what the provider charges, where `cost` is as published
    int day;                            // of its price
    double relative_cost; // of a relative speed; not money, so not rounded to nano-USD
    bool timed, relative, costed;
    bool bound; // the cost is a lower bound
    bool early; // the accuracy is a sample's, from before the end of the training
    struct maybe_real accuracy, score, gpu_percent, share_of_peak;
    struct maybe_real tokens_per_s, mfu, joules_per_mtoken;
    struct maybe_real l1_ms[L1_PARTS];
    struct maybe_real watts; // of a machine whose price is unknown
};

struct group {        // runs that are one row
    struct run run;   // the first that came, without its long lists
    char *named;      // the id or label the user gave
    char *machine;    // as shown
    unsigned differs; // attributes that differ among rows of its machine and framework
    size_t section;
    LIST_OF(struct part) parts;
    size_t capacity; // of parts
    LIST_OF(char *) ids;
    struct run_price price; // the first one's
    struct power power;     // likewise
    int64_t least, most;    // an hour
    bool timed, relative, failed;
    enum selector_fit base_fit;
    struct figure time, cost, l1[L1_PARTS];
    bool costed, l1_known[L1_PARTS]; // all of them
    bool bound;                      // one of the costs is a lower bound
};

struct section {        // a workload
    char *title, *name; // the name has no arguments
    size_t *groups;     // numbers
    size_t count, capacity;
    size_t base; // the group's number, or NO_GROUP
    bool timed;  // some rows have times, not only relative speeds
};
#define NO_GROUP SIZE_MAX

struct pick { // one of the user's words
    struct selector selector;
    bool used;
};

struct comparing {
    const char *workload; // the options'
    struct pick *picks;
    size_t pick_count;
    struct selector base; // without text: not given
    struct pricing *pricing;
    struct compare_targets *targets; // null: none
    bool prorated, published;
    const char *date; // the options'
    struct market *market;
    const char *currency;            // (optional)
    const struct power_given *power; // (optional)
    struct index section_index, group_index;
    struct section *sections;
    size_t section_count, section_capacity;
    struct group *groups;
    size_t group_count, group_capacity;
    int64_t runs;
    struct buf key;
    struct estimate_tables *tables; // null until a sentence needs them
};

enum { IDS_MAX = 20 };

// The id that a run's speed is relative to; null: it has a time of its own, or none.
const char *group_relative_to(const struct group *group);

// Chooses the base of each section, and its name for the comparison (compare_base.c).
int compare_choose(struct comparing *comparing, struct compare *out, struct err *err) MUST_USE;

// Sorts a section's groups by name, and finds the attributes that tell equal names apart
// (compare_rows.c).
void compare_details(struct comparing *comparing, struct section *section);
int compare_by_name(const struct group *a, const struct group *b);

// A group as a row; then its ratios to the base, and a verdict unless one of the two is noisy.
int compare_row_fill(const struct group *group, const struct power_given *power,
                     struct compare_row *row, struct err *err) MUST_USE;
int compare_row_against(const struct group *group, const struct group *base,
                        struct compare_row *row, struct err *err) MUST_USE;

// The costs in `currency` (optional), each run's at the rate of its own day.
int compare_local_group(struct market *market, const char *currency, const struct group *group,
                        struct compare_row *row, struct err *err) MUST_USE;

// ---- rented machines of several providers (compare_providers.c)

// Replaces the costs of a part by those that comparisons print; the one charged is kept beside.
int compare_part_printed(const struct run_price *price, struct part *part,
                         struct err *err) MUST_USE;

// The machine's provider and GPUs, and the printed cost with a note on how it is reached.
int compare_row_machine(const struct comparing *comparing, const struct group *group,
                        struct compare_row *row, struct err *err) MUST_USE;
int compare_row_printed(const struct group *group, struct compare_row *row,
                        struct err *err) MUST_USE;

// Sets the rows' types, if they are rented machines of several providers, one of which has several.
int compare_types(struct compare_workload *workload, struct err *err) MUST_USE;

// Of such rows, appends which is cheapest and fastest, and when the dear ones pay.
// `shared`: the costs have a month's share.
int compare_say_providers(struct compare_workload *workload, bool shared, struct err *err) MUST_USE;

#endif
