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
#ifndef FARE_FLEET_QUEUES_H
#define FARE_FLEET_QUEUES_H

#include "fleet/target.h"
#include "ledger/ledger.h"
#include "tables/offer.h"

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

// ==== sky_parts ====
// The SkyPilot target's offers, task files and texts; for sky.c and tests.
//
// fare speaks no cloud's API: SkyPilot's program `sky` (found in PATH) rents the machine, copies
// files to it, runs the task and takes the machine down. Each place is one machine, which a cluster
// name stands for; its tasks run there one after the other. The result comes back through the job's
// log (target.h), which needs nothing but `sky logs`.
//
// The user's words are in begin.sh, which SkyPilot copies as a file. The task file holds only texts
// of ours, the offer's names and paths, each quoted.

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

// ==== k8s_parts ====
// The manifests of the Kubernetes target, and the reading of answers; for k8s.c and
// tests.
//
// A task is a Job of one Pod that runs `fare run` without any shell: the image needs only fare. Its
// words are an argument vector in JSON, with "$" doubled, because Kubernetes expands $(NAME) in it.
// The record comes back through the Pod's log (target.h): copying files needs a Pod that still
// runs, logs stay until the Job is deleted.

enum k8s_key {
    K8S_IMAGE,
    K8S_PROGRAM,
    K8S_NAMESPACE,
    K8S_GPU,
    K8S_GPUS,
    K8S_TYPE,
    K8S_SELECT,
    K8S_CPU,
    K8S_MEMORY,
    K8S_RUNTIME,
    K8S_KEYS
};
extern const char *const k8s_keys[K8S_KEYS + 1];

// A quantity such as 500m, 4, 16Gi.
bool k8s_is_quantity(const char *text);

// Checks what Kubernetes would refuse; ERR_USAGE.
int k8s_check(const struct place_words *words, struct err *err) MUST_USE;

// "fare-KEY": the Job's name.
#define K8S_NAME_BYTES (TASK_KEY_BYTES + 8)

// A Pod as k8s.c asks for it; "" where kubectl says <none>.
struct k8s_pod {
    char job[64], phase[16], reason[40], waiting[40];
    int code;                              // of its container; -1: it has none yet
    int64_t created_s, started_s, ended_s; // since 1970; -1: unknown
};

// Reads one line "pod JOB PHASE REASON WAITING CODE CREATED STARTED ENDED", of `len` bytes. False:
// it is not one.
bool k8s_pod_read(const char *line, size_t len, struct k8s_pod *pod);

// What a Pod without a result means. `words` gets why.
enum report_state k8s_meaning(const struct k8s_pod *pod, int64_t now_s, bool *limit,
                              struct buf *words);

#endif
