// SPDX-License-Identifier: Apache-2.0
// task: one measurement that is to be made elsewhere, and how far it is (record/dispatch.h).
//
//     waiting ──> starting ──> running ──> done
//        ^           │            ├──────> failed
//        └───────────┴────────────┘        cancelled
//
// `starting` is on disk before the start is asked for, so after a crash it means: perhaps started.
// A task in `starting` or `running` belongs to its place. It goes back to waiting only when that
// place has said that it does not run there, so that none is measured twice.
#ifndef FARE_FLEET_TARGET_H
#define FARE_FLEET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/dispatch.h"

enum task_state {
    TASK_WAITING,
    TASK_STARTING,
    TASK_RUNNING,
    TASK_DONE,   // its records are in the ledger
    TASK_FAILED, // now.problem says why; there may be a record (of a command that failed)
    TASK_CANCELLED,
};
extern const char *const task_states[]; // their names, null-terminated

enum task_state task_state(const struct task *task); // unknown words count as waiting
bool task_over(const struct task *task);             // done, failed or cancelled
bool task_begun(const struct task *task);            // starting or running
bool task_unsettled(const struct task *task);        // given up while it may still run there
bool task_left(const struct task *task);             // over, and its folder is still there

int task_set_state(struct task *task, enum task_state state, struct err *err) MUST_USE;

// The name that the task has elsewhere, unique for each dispatch and start: "7k3m9q2x-12-1". Only
// letters, digits and dashes: it fits into a path, a job's name and a label of Kubernetes.
#define TASK_KEY_BYTES 48
void task_key(const struct dispatch *dispatch, const struct task *task, char out[TASK_KEY_BYTES]);

// Words of a command line keep every byte on disk, though records hold clean text only: bytes other
// than printable ASCII, '%', and spaces at either end are written as %0A; an empty word is "%".
int task_word_add(void *texts, const char *word, struct err *err) MUST_USE;
int task_word_set(char **member, const char *word, struct err *err) MUST_USE;
void task_word(const char *written, struct buf *out); // appends the word itself

// ==== call ====
// Other programs (ssh, sbatch, sky, kubectl), many at a time, without waiting for any.
//
// A call is an argument vector, its standard input and a time limit. The pool starts it, feeds it,
// keeps what it writes up to a cap, and hands back its result. One thread and one epoll descriptor
// serve all of them. Each call leads a session of its own, so that Ctrl-C does not reach it and it
// cannot ask at the terminal; its whole group is killed at the time limit.

#define CALL_KEEP_MAX ((size_t)1 << 20) // bytes kept of each stream, unless told otherwise

struct call {
    char **argv; // null-terminated, on the heap; null: nothing to run
    size_t argc, capacity;
    struct buf input; // its standard input, and then
    char *input_file; // (optional) this file
    int64_t limit_ns; // 0: CALL_LIMIT_NS
    size_t keep_max;  // 0: CALL_KEEP_MAX
    bool failed;      // sticky, as in buf.h: no memory for an argument
};
#define CALL_LIMIT_NS INT64_C(120000000000)

void call_arg(struct call *call, const char *arg); // appends a copy
void call_argf(struct call *call, const char *format, ...) PRINTF_LIKE(2, 3);
void call_args(struct call *call, char *const *args);  // null-terminated
void call_words(struct call *call, const char *words); // the words of a text, between single spaces
int call_check(const struct call *call, struct err *err) MUST_USE;
void call_release(struct call *call);

struct call_result {
    bool exited; // with exit_code; otherwise by `signal`
    int exit_code, signal;
    bool timed_out;
    bool cut; // it wrote more than keep_max
    int64_t wall_ns;
    struct buf out, err_text; // its stdout and stderr
};
void call_result_release(struct call_result *result);

static inline bool call_ended_well(const struct call_result *result)
{
    return result->exited && result->exit_code == 0;
}
bool call_says(const char *text, const char *const *words); // has any of them

// An error from how it ended, with the last line of its stderr: "ssh: connect to host a port 22:
// Connection refused (exit code 255)". `what` comes before it, if not null. ERR_TIMEOUT after its
// time limit, else `code`.
int call_failed(const struct call_result *result, int code, const char *what, struct err *err);

struct calls; // the pool

int calls_new(struct calls **out, struct err *err) MUST_USE;
void calls_free(struct calls *calls); // kills what still runs; null is fine

// Starts it and takes its contents. `tag` comes back with the result.
int calls_start(struct calls *calls, struct call *call, void *tag, struct err *err) MUST_USE;

// Waits up to `wait_ns` (0: not at all) for the first end of a call; signals end the wait too.
// 1: `result` and `tag` are filled; 0: none has ended; negative: the waiting failed.
int calls_wait(struct calls *calls, int64_t wait_ns, struct call_result *result, void **tag,
               struct err *err) MUST_USE;

// The same for one call, waited for.
int call_run(struct call *call, struct call_result *result, struct err *err) MUST_USE;

// ==== place_words ====
// The value of --on for targets that take settings: "gpu,gres=gpu:a100:1,account=lab".

#define PLACE_WORDS_MOST 24

struct place_words {
    char *text;                           // one piece of memory; the others point into it
    const char *head;                     // before the first comma; "": none
    const char *values[PLACE_WORDS_MOST]; // by their number in the list of keys; null: not given
};

// Splits `value` (null: empty) at its commas. `keys`: null-terminated, at most PLACE_WORDS_MOST. An
// unknown, empty or repeated setting is ERR_USAGE that lists the keys, and so are control
// characters and bytes that are not UTF-8. `target` is for messages.
int place_words_read(struct place_words *words, const char *target, const char *value,
                     const char *const *keys, struct err *err) MUST_USE;
void place_words_release(struct place_words *words);

// ==== target ====
// A kind of place to run: ssh hosts, this machine, Slurm, SkyPilot, Kubernetes. Each is one
// file that ends in one such table. The dispatcher (dispatch.h) decides what to do when; a target
// only says which program does it and what that program's answer means.
//
// Verbs, each one call of a program (target.h):
//
//     CHECK   place   can it be used? sets place->needs_bundle
//     BRING   place   copies the bundle, if needs_bundle
//     START   tasks   starts them, or finds that they were started already: asked twice, it must
//                     not start a task twice (task_key() is the same both times)
//     LOOK    tasks   how far they are; may wait for a change, up to about FLEET_LOOK_S
//     CANCEL  tasks   ends them there, records and all; also right for tasks that never started
//     CLEAN   tasks   their records are in the ledger: removes what is left of them there
//     CLOSE   place   only targets that rent: no task is left for it, so its machine ends
//
// prepare() fills a call for a verb; with no argv nothing is run and read() sees an empty answer of
// exit code 0. read() turns the answer into reports, one for each task. A call for a place ends
// before the next one begins.
//
// What read() returns tells about the place:
//
//     0                       the verb was carried out; reports[] say more
//     ERR_TIMEOUT, ERR_IO,    no answer, no room, no such machine now: asked again later, with
//     ERR_MISSING             growing pauses, until the dispatch's patience is over
//     any other               the place cannot be used: its tasks fail, or go elsewhere
//
// Targets keep nothing on disk: what they need after a restart stands in task->now.handle.

#define FLEET_LOOK_S    20
#define FLEET_RUNS_MOST 1000 // of one task

struct target;

struct place {
    const struct target *target;
    char *name;               // "ssh:user@host"
    char *value;              // "user@host"
    char *offer;              // (optional) PROVIDER/NAME of the book
    int64_t hour_nano;        // its price an hour in nano-USD; -1: unknown
    size_t at_once;           // tasks that may be there at the same time
    bool needs_bundle;        // set by CHECK
    struct place_words words; // of targets that take settings
    void *own;                // (optional) the target's own; target->release frees it
};
void target_release(struct place *place);

struct places {
    struct place *items;
    size_t count, capacity;
    struct market *market; // their prices; the caller's
};
void places_release(struct places *places);

// Appends a place with copies of these texts and at_once = 1. Null: no memory.
struct place *places_add(struct places *places, const struct target *target, const char *value,
                         const char *offer, struct err *err) MUST_USE;

// What a target may need to know of the dispatch.
struct fleet {
    const struct dispatch *dispatch; // id, arguments, limit, bundle, folder
    const char *folder;              // the dispatch's own, for files of a target
};

enum verb {
    VERB_CHECK,
    VERB_BRING,
    VERB_START,
    VERB_LOOK,
    VERB_CANCEL,
    VERB_CLEAN,
    VERB_CLOSE,
    VERBS
};

enum report_state {
    REPORT_UNKNOWN, // the answer does not say: asked again later
    REPORT_ABSENT,  // not started there, or nothing is left of it: may be started anywhere
    REPORT_QUEUED,  // started, and waits for a machine
    REPORT_RUNNING,
    REPORT_ENDED, // `code` and `records` are filled
    REPORT_LOST,  // it was ended from outside: a reboot, a preempted job. May be started again
};

struct task_report {
    enum report_state state;
    int code;           // exit code of `fare run`; -1: it has none (killed, time limit)
    bool limit;         // ended at the time limit
    struct buf records; // runs as JSON lines; may be empty
    struct buf words;   // (optional) for people: why it was lost, its last output; what CANCEL and
                        // CLEAN could not remove
    struct buf warning; // (optional) for people, though it ended well
    double run_s;       // from its start to its end or till now; below 0: unknown
    double queue_s;     // time in the target's own queue; below 0: unknown
    char handle[64];    // (optional) replaces task->now.handle
};

// The tasks that a verb is for; none for CHECK and BRING.
struct chosen {
    struct task **tasks;
    size_t count;
};

struct target {
    const char *name;  // "ssh"; before the colon of --on
    const char *value; // after it: "USER@HOST"
    // Adds the places of one word of --on, without "ssh:" (null: there was no colon).
    int (*parse)(const char *value, struct places *places, struct err *err);
    int (*prepare)(const struct fleet *fleet, struct place *place, enum verb verb,
                   const struct chosen *chosen, struct call *call, struct err *err);
    int (*read)(const struct fleet *fleet, struct place *place, enum verb verb,
                const struct chosen *chosen, const struct call_result *result,
                struct task_report *reports, struct err *err);
    // (optional) Appends what starting them costs and how it ends, a line each. A target with it
    // rents machines: the user confirms before anything starts.
    int (*describe)(const struct fleet *fleet, const struct places *places, struct buf *out,
                    struct err *err);
    // (optional) The command with which a person ends what may still run of a task (null: of the
    // place), appended.
    void (*by_hand)(const struct fleet *fleet, const struct place *place, const struct task *task,
                    struct buf *out);
    void (*release)(struct place *place); // (optional)
    bool unlimited;  // START takes all waiting tasks at once: a queue of its own orders them
    bool look_waits; // LOOK waits for a change by itself: it is asked again at once
    bool no_bundle;  // it brings none (fare is in the image, or this machine's own)
};

// The targets: one row each, with its words in the help of --on.
#define TARGETS(ROW)                                                                               \
    ROW(here, "")                                                                                  \
    ROW(ssh, "ssh:[USER@]HOST[=OFFER],..., or ssh:@FILE with a host on each line; ")               \
    ROW(slurm, "slurm[:PARTITION]; ")                                                              \
    ROW(sky, "sky:OFFER,...; ")                                                                    \
    ROW(k8s, "k8s[:CONTEXT]; ")
#define ROW(name, words) extern const struct target target_##name;
TARGETS(ROW)
#undef ROW
extern const struct target *const targets[]; // null-terminated

// Adds the places of a word such as "ssh:a,ssh:b" or "slurm:gpu". A comma begins the next place if
// a target's name and a colon, or a target's name alone, follow; otherwise it is part of the value.
int target_parse(const char *word, struct places *places, struct err *err) MUST_USE;

void task_report_release(struct task_report *report);

// ==== frame ====
// Bytes inside a log that other programs wrote to, cut and put prefixes to.
//
// SkyPilot and Kubernetes hand back what a job printed, not its files. So the reply of a task
// (script.h) is printed as lines of base64 between marks, with its sum:
//
//     fare-frame KEY 1 ZmFyZS1yZXBseSA...
//     fare-frame KEY 2 ...
//     fare-frame KEY end 2 SHA256
//
// A line may have anything before its mark and after its last word, other lines may come in
// between, and the frame may be printed more than once. What is cut off or damaged does not count.

void frame_write(struct buf *out, const char *key, const void *bytes, size_t len);

// Appends the definition of a shell function `fare_frame KEY FILE` that does the same.
void frame_script(struct buf *out);

// Appends the bytes of the first whole frame of this key; false: there is none. ERR_MEMORY sticks
// to `out`.
bool frame_read(const char *text, size_t len, const char *key, struct buf *out);

#endif
