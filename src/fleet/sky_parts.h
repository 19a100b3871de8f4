// SPDX-License-Identifier: Apache-2.0
// sky_parts: the SkyPilot target's offers, task files and texts; for sky.c and tests.
//
// fare speaks no cloud's API: SkyPilot's program `sky` (found in PATH) rents the machine, copies
// files to it, runs the task and takes the machine down. Each place is one machine, which a cluster
// name stands for; its tasks run there one after the other. The result comes back through the job's
// log (frame.h), which needs nothing but `sky logs`.
//
// The user's words are in begin.sh, which SkyPilot copies as a file. The task file holds only texts
// of ours, the offer's names and paths, each quoted.
#ifndef FARE_FLEET_SKY_PARTS_H
#define FARE_FLEET_SKY_PARTS_H

#include "fleet/target.h"
#include "ledger/ledger.h"
#include "price/offer.h"

struct sky_offer {               // what SkyPilot is told of an offer
    char *name;                  // as book_find() takes it, region included
    char *cloud, *region, *zone; // "aws", "us-east-1", ""
    char *instance;              // "p3.2xlarge"
    char *accelerators;          // "T4:1" where the name of the machine does not include them; ""
    bool spot;
};
void sky_offer_release(struct sky_offer *offer);

// Whether SkyPilot can rent it; if not, `err` (optional) says why.
bool sky_rents(const struct offer *offer, struct err *err);

// Whether a machine of this cloud takes itself down when it has been idle.
bool sky_takes_down(const char *cloud);

int sky_offer_of(const struct offer *offer, struct sky_offer *out, struct err *err) MUST_USE;

// "fare-7k3m9q2x-1a2b3c4d": the name of the place's machine.
#define SKY_CLUSTER_BYTES 40
void sky_cluster(const struct dispatch *dispatch, const struct place *place,
                 char out[SKY_CLUSTER_BYTES]);

// Appends the folder of a task's files on this machine.
void sky_folder(const struct fleet *fleet, const struct task *task, struct buf *out);

// The task file, and all files of a task.
int sky_yaml(const struct fleet *fleet, const struct sky_offer *offer, const struct task *task,
             struct buf *out, struct err *err) MUST_USE;
int sky_write(const struct fleet *fleet, const struct place *place, const struct sky_offer *offer,
              const struct task *task, struct err *err) MUST_USE;

// Appends `text`, which must be UTF-8, as a double-quoted scalar of YAML 1.1 and 1.2. ERR_FORMAT if
// it is not.
int yaml_quote(struct buf *out, const char *text, struct err *err) MUST_USE;

// Adds a place for each of the `top` most promising offers of the quote that SkyPilot can rent: for
// a workload, or for a command whose sample is the ledger's last run. ERR_MISSING if there are
// none.
int sky_top(struct places *places, const char *workload, char *const *command,
            struct ledger *ledger, size_t top, struct err *err) MUST_USE;

// What `sky status -o json` says of a cluster: its status ("UP"), "" if it does not exist, null if
// the answer cannot be read. The text may have other lines before it.
const char *sky_status(const char *text, const char *cluster, char out[24]);

// Whether the answer of `sky check CLOUD -o json` has the cloud. False if it cannot be read.
bool sky_enabled(const char *text, const char *cloud);

#endif
