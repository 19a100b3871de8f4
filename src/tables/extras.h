// SPDX-License-Identifier: Apache-2.0
// extras: what a machine needs beside its rate, by tables in share/ and the user's own files of the
// same names, which go first: the time until it is ready, the images it can start with, the power
// of its host, and disks and schedulers for a task that it does now and then; and remarks.
#ifndef FARE_TABLES_EXTRAS_H
#define FARE_TABLES_EXTRAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
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

#endif
