// SPDX-License-Identifier: Apache-2.0
// slurm_parts: the files and texts of the Slurm target, and the reading of answers; for slurm.c and
// tests.
//
// Each place of a dispatch has one folder on storage that the nodes share with this machine:
//
//     array.sh          the script of every job array; the same for all
//     list-KEY          the keys of an array's tasks, a line for each element
//     KEY/run.sh        makes the measurement of one task
//     KEY/job           "JOB_ELEMENT", once it is queued
//     KEY/owner         a link to "JOB_ELEMENT": that job alone may measure
//     KEY/try-N/        the task's folder in its Nth start (script.h)
//     KEY/result        a link to the try that ended first
//     began/KEY.JOB_ELEMENT, ended/KEY    the same for one look at all tasks
//
// So a task that was queued twice (a dispatcher that was killed while it queued) is measured by one
// of them, and a job that was requeued while its first node still ran it gives one result.
#ifndef FARE_FLEET_SLURM_PARTS_H
#define FARE_FLEET_SLURM_PARTS_H

#include "fleet/place_words.h"
#include "fleet/target.h"

enum slurm_key {
    SLURM_GRES,
    SLURM_CONSTRAINT,
    SLURM_NODELIST,
    SLURM_ACCOUNT,
    SLURM_QOS,
    SLURM_RESERVATION,
    SLURM_CPUS,
    SLURM_MEM,
    SLURM_OPTIONS, // those above become options of sbatch
    SLURM_EACH = SLURM_OPTIONS,
    SLURM_DIR,
    SLURM_PUSH,
    SLURM_TOKEN,
    SLURM_KEYS
};
extern const char *const slurm_keys[SLURM_KEYS + 1];

#define SLURM_ELEMENTS 1000 // of one array; MaxArraySize is 1001 unless set

// Pairs of words from an answer, such as "queue 1234_17 PENDING".
struct slurm_pair {
    char key[48]; // "1234_17", or a task's key
    char value[32];
};

struct slurm_pairs {
    struct slurm_pair *items; // sorted by key
    size_t count, capacity;
};
void slurm_pairs_release(struct slurm_pairs *pairs);

// Reads the lines "WORD KEY VALUE". Lines of any other form, and words that are too long or have
// other characters than letters, digits and -_+, are passed over.
int slurm_pairs_read(struct slurm_pairs *pairs, const char *word, const char *text, size_t len,
                     struct err *err) MUST_USE;
const char *slurm_pairs_find(const struct slurm_pairs *pairs, const char *key); // null: none

// What a job's state means: REPORT_QUEUED, REPORT_RUNNING, or, without a result, REPORT_LOST (the
// node's fault: start it again) or REPORT_ENDED (it will not get better). Null: not listed.
enum report_state slurm_meaning(const char *state, bool *limit);

// Whether to ask again later: slurmctld does not answer, or takes no more jobs now.
bool slurm_passing(const char *text);

// The GPU types, or sets of features, that `sinfo -h -o %G` (or %f) lists, each once, as values for
// --gres ("gpu:a100:1") or --constraint ("zen4&ib"). Calls `add` for each.
int slurm_types(const char *text, bool gres, int (*add)(void *arg, const char *value, struct err *),
                void *arg, struct err *err) MUST_USE;

// The folder on shared storage.
void slurm_base(const struct fleet *fleet, const struct place_words *words, struct buf *out);

// The folder with fare: of the unpacked bundle, or of this program.
void slurm_program(const struct fleet *fleet, const struct place_words *words, struct buf *out);

// Writes array.sh, the lists and KEY/run.sh.
int slurm_write(const struct fleet *fleet, const struct place *place, const char *base,
                const struct chosen *chosen, struct err *err) MUST_USE;

// Texts for `sh -s`.
void slurm_bring_text(const struct fleet *fleet, const struct place_words *words, struct buf *out);
void slurm_start_text(const struct fleet *fleet, const struct place_words *words,
                      const struct chosen *chosen, struct buf *out);
void slurm_look_text(const struct fleet *fleet, const struct place_words *words,
                     const struct chosen *chosen, struct buf *out);
void slurm_cancel_text(const struct fleet *fleet, const struct place_words *words,
                       const struct chosen *chosen, struct buf *out);
void slurm_clean_text(const struct fleet *fleet, const struct place_words *words,
                      const struct chosen *chosen, struct buf *out);

#endif
