// SPDX-License-Identifier: Apache-2.0
// extras: what a machine needs beside its rate, by tables in share/ and the user's own files of the
// same names, which go first: the time until it is ready, the images it can start with, the power
// of its host, disks and schedulers for a task that it does now and then, remarks; the user's own
// rates, and on which GPUs a framework's build runs.
#ifndef FARE_TABLES_EXTRAS_H
#define FARE_TABLES_EXTRAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tables/device.h"
#include "tables/offer.h"

// ---- start-up: default times from ordering a machine until a training starts, if they were not
// measured, from startup.csv.
//
// The columns are provider ("*": any other), machine (vm, container, bare-metal, any), part (boot,
// image, kernels), seconds with low and high, source, date.

struct startup_row {
    char *provider, *machine, *part, *source; // `source` ends in its date
    int64_t ns, low_ns, high_ns;
};

struct startups;

// ERR_FORMAT names the file, line and column.
int startups_open(struct startups **out, struct err *err) MUST_USE;
void startups_close(struct startups *startups); // null is fine

// The row for that part of the offer's start: its provider's, else that for any; null: none.
const struct startup_row *startup_find(const struct startups *startups, const struct offer *offer,
                                       const char *part);

// ---- images: ready images with drivers, CUDA or a framework, from images.csv.
//
// The columns are provider, image (as one orders it; of gcp PROJECT/FAMILY), machine (vm or
// container), driver, cuda, pytorch (versions; "included": it is there, in a version that is not
// known; empty: not in it, or not known), holds, disk_gb, source, date. The drivers of a container
// are its host's.

struct boot_image {
    char *provider, *image, *machine, *source; // `source` ends in its date
    char *driver, *cuda, *pytorch, *holds;     // null: unknown
    int64_t disk_gb; // with which the source orders it, so that it fits; -1: unknown
};

struct boot_images;

// ERR_FORMAT names the file, line and column.
int boot_images_open(struct boot_images **out, struct err *err) MUST_USE;
void boot_images_close(struct boot_images *images); // null is fine

// The provider's image number `index`, the user's own first; null: it has no more.
const struct boot_image *boot_images_find(const struct boot_images *images, const char *provider,
                                          size_t index);

// ---- links: how several of a machine are linked with each other, from links.csv.
//
// The columns are provider, machine (its name), link ("3.2 Tb/s, EFA"), source, date.

struct link_row {
    char *provider, *machine, *link, *source; // `source` ends in its date
};

struct links;

int links_open(struct links **out, struct err *err) MUST_USE; // ERR_FORMAT names file, line, column
void links_close(struct links *links);                        // null is fine
const char *links_find(const struct links *links, const struct offer *offer); // null: unknown

// ---- remarks: what the user noted about providers, in providers-remarks.csv.
//
// The columns are provider, date and remark.

struct remark {
    char *provider, *date, *text;
};

struct remarks {
    struct remark *items;
    size_t count;
    bool known;
};

// Reads them into a zeroed struct; without a file there are none. ERR_FORMAT names the file, line
// and column.
int remarks_read(struct remarks *out, struct err *err) MUST_USE;
void remarks_release(struct remarks *remarks);

// ---- hosts: the power of a whole machine as a multiple of its GPUs' power, from power.csv.
//
// The columns are gpu (a part of the GPU's name; empty: any), share, machine, source and date. The
// first row that fits counts.

struct hosts;

struct hosts_row {
    char *gpu, *machine; // "workstation", "server"
    int64_t share;       // in billionths
    char *source;
};

int hosts_open(struct hosts **out, struct err *err) MUST_USE;
void hosts_close(struct hosts *hosts); // null is fine

// Null: no row fits.
const struct hosts_row *hosts_find(const struct hosts *hosts, const char *gpu);

// ---- scheduling: the cost of starting and stopping a machine on a schedule, besides the machine:
// disk, scheduler rules, function calls, and free quotas, from scheduling.csv.

struct scheduling {                       // amounts are nano-USD; -1: unknown
    int64_t disk_rate, free_disk_gb;      // per GB and month
    int64_t rules, rule_rate, free_rules; // number per task; price of each per month
    int64_t function_ms;                  // per start, and again per stop
    int64_t function_rate, function_unit_ms, free_function_ms;
    int64_t fixed_server;      // a small server that is always up, per month
    const char *source;        // with the row's start date; belongs to the table
    int since;                 // that date, in days since 1970
    int64_t disk_stopped_rate; // of a machine that is off; -1: the same
};

#define SCHEDULING_UNKNOWN                                                                         \
    ((struct scheduling){-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, NULL, 0, -1})

struct schedulings;

// `shipped` and `own` null: the default files. ERR_FORMAT names the file, line and column.
int schedulings_open(struct schedulings **out, const char *shipped, const char *own,
                     struct err *err) MUST_USE;
void schedulings_close(struct schedulings *schedulings); // null is fine

// The provider's newest row that starts on or before that day (since 1970; 0: today), or else its
// first row; all unknown if there is none.
struct scheduling scheduling_find(const struct schedulings *schedulings, const char *provider,
                                  int day);

// ---- rates: a user's own prices: negotiated rates, discounts and credits from rates.csv in the
// configuration folder. Its columns are provider, offer, discount_percent, credit, rate, currency,
// from and to; fields may be empty.
//
// `offer` is the provider's name, with ":spot" for spot ("p4d.24xlarge:spot"). "p4d.*" matches all
// names with this start, spot included; empty matches all offers of the provider. `rate` is per
// hour of the whole machine; `currency` applies to `rate` and `credit` (empty: USD). `from` is the
// first valid date, `to` the first date after that (for a credit: its expiry).

struct rates_row {
    char *provider, *offer; // belong to the table
    char *currency;
    int64_t discount_permille; // 0: none
    int64_t credit;            // nano-units; 0: none. See rates_credit()
    int64_t rate;              // nano-units per hour; -1: the list price
    int64_t from;              // the first valid day; 0: no limit
    int64_t to;                // the first day after the last valid one; INT64_MAX: no limit
    size_t line;               // in the file
};

struct rates;

// `path` null: the user's own file. A missing file is an empty table.
int rates_open(struct rates **out, const char *path, struct err *err) MUST_USE;
void rates_close(struct rates *rates); // null is fine

// The row for that offer ("p4d.24xlarge", "p4d.24xlarge:spot") on that day (days since 1970; 0:
// today); null if the list price applies. A row that names the offer wins over one for all of the
// provider's offers, then the later row over the earlier. A discount also applies to a negotiated
// rate. Skips rows with only a credit: they change no price.
const struct rates_row *rates_find(const struct rates *rates, const char *provider,
                                   const char *offer, int day);

// Iterates over the rows with a credit for that offer on that day: the first if `after` is null,
// else the next one after it; null at the end.
const struct rates_row *rates_credit(const struct rates *rates, const char *provider,
                                     const char *offer, int day, const struct rates_row *after);

// All rows; whether a row is valid on that day, and whether it applies to that offer.
size_t rates_count(const struct rates *rates);
const struct rates_row *rates_row(const struct rates *rates, size_t i);
bool rates_holds(const struct rates_row *row, int day);
bool rates_fits(const struct rates_row *row, const char *provider, const char *offer);

// ---- support: on which GPUs a framework's build runs, from share/gpu-support.csv and the user's
// own.
//
// A build for CUDA 13 has no kernels for a V100: the training would end with an error on a machine
// that was cheap for a reason.

struct support;
int support_open(struct support **out, struct err *err) MUST_USE;
void support_close(struct support *support); // null is fine

// What is known of a program; unknown texts are null.
struct support_ask {
    const char *framework; // "pytorch", "jax", "fare"
    const char *version;   // "2.11.0+cu130"
    const char *cuda;      // "13.0.96"
};

// Whether it runs on this GPU, as far as the tables know. False: `why` says why not.
enum { SUPPORT_WHY = 200 };
bool support_runs(const struct support *support, const struct support_ask *ask,
                  const struct device *device, char why[SUPPORT_WHY]);

#endif
