// SPDX-License-Identifier: Apache-2.0
// What Slurm's programs answer. Everything in it is checked: what has another form is passed over.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/proc.h"
#include "fleet/queues.h"
#include "fleet/script.h"

void slurm_pairs_release(struct slurm_pairs *pairs)
{
    free(pairs->items);
    *pairs = (struct slurm_pairs){0};
}

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '+';
}

// Copies a word of plain characters; the number of bytes, 0 if there is none or no room.
static size_t take_plain(const char *text, size_t len, char *out, size_t size)
{
    size_t n = 0;
    while (n < len && is_plain(text[n]))
        n++;
    if (n >= size)
        return 0;
    memcpy(out, text, n);
    out[n] = '\0';
    return n;
}

static bool read_pair(const char *line, size_t len, const char *word, struct slurm_pair *pair)
{
    size_t at = strlen(word);
    if (len <= at || memcmp(line, word, at) != 0 || line[at] != ' ')
        return false;
    at++;
    size_t n = take_plain(line + at, len - at, pair->key, sizeof pair->key);
    at += n;
    if (n == 0 || at >= len || line[at] != ' ')
        return false;
    at++;
    n = take_plain(line + at, len - at, pair->value, sizeof pair->value);
    return n > 0 && at + n == len;
}

static int by_key(const void *left, const void *right)
{
    const struct slurm_pair *a = left, *b = right;
    return strcmp(a->key, b->key);
}

int slurm_pairs_read(struct slurm_pairs *pairs, const char *word, const char *text, size_t len,
                     struct err *err)
{
    const char *end = text + len;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        if (!newline)
            break; // cut
        TRY(array_grow(&pairs->items, pairs->count, &pairs->capacity, sizeof *pairs->items, err));
        if (read_pair(text, (size_t)(newline - text), word, &pairs->items[pairs->count]))
            pairs->count++;
        text = newline + 1;
    }
    if (pairs->count > 0)
        qsort(pairs->items, pairs->count, sizeof *pairs->items, by_key);
    return 0;
}

const char *slurm_pairs_find(const struct slurm_pairs *pairs, const char *key)
{
    struct slurm_pair want;
    if (pairs->count == 0 || take_plain(key, strlen(key), want.key, sizeof want.key) != strlen(key))
        return NULL;
    const struct slurm_pair *found =
        bsearch(&want, pairs->items, pairs->count, sizeof want, by_key);
    return found ? found->value : NULL;
}

// squeue(1), "JOB STATE CODES". What is not here runs, or is about to. The array's script leaves a
// result however its measurement ended, so a job that FAILED or is COMPLETED without one was not
// launched, or was cut off.
enum report_state slurm_meaning(const char *state, bool *limit)
{
    static const struct {
        const char *state;
        enum report_state means;
        bool limit;
    } states[] = {
        {"PENDING", REPORT_QUEUED, false},      {"REQUEUED", REPORT_QUEUED, false},
        {"REQUEUE_HOLD", REPORT_QUEUED, false}, {"REQUEUE_FED", REPORT_QUEUED, false},
        {"SPECIAL_EXIT", REPORT_QUEUED, false}, {"RESV_DEL_HOLD", REPORT_QUEUED, false},
        {"NODE_FAIL", REPORT_LOST, false},      {"PREEMPTED", REPORT_LOST, false},
        {"BOOT_FAIL", REPORT_LOST, false},      {"REVOKED", REPORT_LOST, false},
        {"TIMEOUT", REPORT_ENDED, true},        {"DEADLINE", REPORT_ENDED, true},
        {"OUT_OF_MEMORY", REPORT_ENDED, false}, {"FAILED", REPORT_LOST, false},
        {"COMPLETED", REPORT_LOST, false},      {"CANCELLED", REPORT_ENDED, false},
    };
    *limit = false;
    if (!state)
        return REPORT_LOST;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(state, states[i].state) == 0) {
            *limit = states[i].limit;
            return states[i].means;
        }
    return REPORT_RUNNING;
}

// Slurm's own words (src/common/slurm_errno.c), whatever the language.
bool slurm_passing(const char *text)
{
    static const char *const words[] = {
        "Unable to contact slurm controller",
        "Socket timed out",
        "Zero Bytes were transmitted",
        "Connection refused",
        "Connection timed out",
        "Communication connection failure",
        "Resource temporarily unavailable",
        "temporarily unable to accept job",
        "job submit limit", // "Job violates accounting/QOS policy (job submit limit, ..."
        "SubmitJob",        // QOSMaxSubmitJobPerUserLimit and its like
        "in standby mode",
        "Unexpected message received",
        NULL,
    };
    return call_says(text, words);
}

// ---- types of nodes

// "gpu:a100:4(S:0-1)" to "gpu:a100:1", "gpu:4" to "gpu:1". False: not a GPU.
static bool gres_of(const char *text, size_t len, struct buf *out)
{
    const char *colon = memchr(text, ':', len);
    size_t type = 0;
    if (len < 3 || strncmp(text, "gpu", 3) != 0 || (len > 3 && text[3] != ':' && text[3] != '('))
        return false;
    buf_adds(out, "gpu:");
    if (colon) {
        const char *word = colon + 1, *end = text + len;
        while (word + type < end && (is_plain(word[type]) || word[type] == '.'))
            type++;
        if (strspn(word, "0123456789") >= type)
            type = 0; // a count
        buf_add(out, word, type);
    }
    buf_adds(out, type > 0 ? ":1" : "1");
    return true;
}

static void features_of(const char *text, size_t len, struct buf *out)
{
    for (size_t i = 0; i < len; i++)
        buf_addc(out, text[i] == ',' ? '&' : text[i]);
}

static bool seen(const struct buf *all, const struct buf *value)
{
    SCOPED(buf_release) struct buf line = {0};
    buf_printf(&line, "\n%s\n", buf_str(value));
    return strstr(buf_str(all), buf_str(&line)) != NULL;
}

int slurm_types(const char *text, bool gres, int (*add)(void *arg, const char *value, struct err *),
                void *arg, struct err *err)
{
    SCOPED(buf_release) struct buf all = {0}, value = {0};
    buf_addc(&all, '\n');
    while (*text) {
        size_t line = strcspn(text, "\n"), len = gres ? strcspn(text, ",\n") : line;
        buf_reset(&value);
        bool good = gres ? gres_of(text, len, &value) : len > 0 && strncmp(text, "(null)", 6) != 0;
        if (!gres && good)
            features_of(text, len, &value);
        if (good && !seen(&all, &value)) {
            buf_printf(&all, "%s\n", buf_str(&value));
            TRY(add(arg, buf_str(&value), err));
        }
        text += len;
        text += *text != '\0';
    }
    return buf_check(&all, err);
}

// ==== slurm ====
// Measurements as job arrays of a Slurm cluster, with results through a shared folder.
//
// Slurm's programs (sinfo, sbatch, squeue, scancel) are found in PATH and called from short texts
// for sh, which also do all work in the shared folder: a storage that hangs holds up that call, not
// the dispatcher. One squeue answers for all tasks. Accounting (sacct) is not needed: a task's end
// is its result in the folder, and squeue tells of those that will never have one.

// A job that is gone without a result: its folder may lag behind on network file systems.
#define GRACE_NS (30 * NS_PER_S)
enum { LOOK_S = 14, LOOK_KEEP = 48 << 20 };

const char *const slurm_keys[SLURM_KEYS + 1] = {
    [SLURM_GRES] = "gres",         [SLURM_CONSTRAINT] = "constraint",
    [SLURM_NODELIST] = "nodelist", [SLURM_ACCOUNT] = "account",
    [SLURM_QOS] = "qos",           [SLURM_RESERVATION] = "reservation",
    [SLURM_CPUS] = "cpus",         [SLURM_MEM] = "mem",
    [SLURM_EACH] = "each",         [SLURM_DIR] = "dir",
    [SLURM_PUSH] = "push",         [SLURM_TOKEN] = "token"};

struct gone { // a task whose job ended or vanished without a result
    int64_t number, attempt, since_ns;
};

struct slurm_place {
    struct gone *gone;
    size_t gone_count, gone_cap;
    bool fresh; // something was queued since the last look, which then does not wait
};

static void slurm_release(struct place *place)
{
    struct slurm_place *own = place->own;
    if (!own)
        return;
    free(own->gone);
    free(own);
    place->own = NULL;
}

// ---- places

static int add_place(struct places *places, const char *value, struct err *err)
{
    SCOPED(place_words_release) struct place_words words = {0};
    SCOPED(free_pointer) struct slurm_place *own = calloc(1, sizeof *own);
    if (!own)
        return err_memory(err);
    TRY(place_words_read(&words, "slurm", value, slurm_keys, err));
    struct place *place = places_add(places, &target_slurm, value, NULL, err);
    if (!place)
        return ERR_MEMORY;
    place->words = words;
    place->own = own;
    words = (struct place_words){0};
    own = NULL;
    return 0;
}

struct adding {
    struct places *places;
    const struct place_words *words;
    enum slurm_key key; // that each type sets
    size_t count;
};

// The same place for one type of node.
static int add_type(void *arg, const char *type, struct err *err)
{
    struct adding *a = arg;
    SCOPED(buf_release) struct buf value = {0};
    buf_adds(&value, a->words->head);
    for (size_t i = 0; i < SLURM_KEYS; i++)
        if (a->words->values[i] && i != SLURM_EACH && i != a->key)
            buf_printf(&value, ",%s=%s", slurm_keys[i], a->words->values[i]);
    buf_printf(&value, ",%s=%s", slurm_keys[a->key], type);
    a->count++;
    TRY(buf_check(&value, err));
    return add_place(a->places, buf_str(&value), err);
}

// each=gpu, each=features: one place for each that sinfo lists.
static int add_each(struct places *places, const struct place_words *words, struct err *err)
{
    const char *each = words->values[SLURM_EACH];
    bool gres = strcmp(each, "gpu") == 0;
    struct adding adding = {places, words, gres ? SLURM_GRES : SLURM_CONSTRAINT, 0};
    SCOPED(call_release) struct call call = {0};
    SCOPED(call_result_release) struct call_result result = {0};
    if (!gres && strcmp(each, "features") != 0)
        return err_set(err, ERR_USAGE, "--on slurm: each=gpu or each=features, not '%.40s'", each);
    call_words(&call, gres ? "sinfo -h -o %G" : "sinfo -h -o %f");
    if (*words->head)
        call_argf(&call, "--partition=%s", words->head);
    TRY(call_run(&call, &result, err));
    if (!call_ended_well(&result))
        return call_failed(&result, ERR_FAIL, "sinfo", err);
    TRY(slurm_types(buf_str(&result.out), gres, add_type, &adding, err));
    if (adding.count == 0)
        return err_set(err, ERR_MISSING, "sinfo lists no %s in %s", gres ? "GPUs" : "features",
                       *words->head ? words->head : "any partition");
    return 0;
}

static int slurm_parse(const char *value, struct places *places, struct err *err)
{
    SCOPED(place_words_release) struct place_words words = {0};
    TRY(place_words_read(&words, "slurm", value, slurm_keys, err));
    const char *dir = words.values[SLURM_DIR], *push = words.values[SLURM_PUSH];
    if (dir && *dir != '/')
        return err_set(err, ERR_USAGE, "--on slurm: dir=%.80s is not a path from the root", dir);
    if (push && strncmp(push, "http://", 7) != 0 && strncmp(push, "https://", 8) != 0)
        return err_set(err, ERR_USAGE, "--on slurm: push=%.80s is not an address (http://...)",
                       push);
    if (!push != !words.values[SLURM_TOKEN])
        return err_set(err, ERR_USAGE,
                       "--on slurm: push= and token= go together: the address of a 'fare serve', "
                       "and a file on the nodes with its token");
    if (!proc_in_path("sbatch")) {
        err_set(err, ERR_MISSING, "--on slurm: sbatch is not in PATH");
        return err_hint(err, "run fare on a machine from which you can submit jobs");
    }
    return words.values[SLURM_EACH] ? add_each(places, &words, err) : add_place(places, value, err);
}

// ---- calls

static void check_text(const struct fleet *fleet, const struct place_words *words, struct buf *out)
{
    struct buf base = {0}, program = {0};
    slurm_base(fleet, words, &base);
    slurm_program(fleet, words, &program);
    shell_set(out, "base", buf_str(&base));
    shell_set(out, "to", buf_str(&program));
    buf_adds(out, "sinfo -h -o 'partition %R %a'");
    if (*words->head) {
        buf_adds(out, " --partition=");
        shell_quote(out, words->head);
    }
    buf_adds(out, " || exit 71\n"
                  "mkdir -p -- \"$base\" && cd -- \"$base\" || exit 70\n"
                  "[ ! -x \"$to/fare\" ] || echo fare is there\n");
    if (fleet->dispatch->folder.file)
        buf_adds(out, "[ ! -f folder.tar ] || echo folder is there\n");
    buf_drop(out, &base);
    buf_drop(out, &program);
}

static int slurm_prepare(const struct fleet *fleet, struct place *place, enum verb verb,
                         const struct chosen *chosen, struct call *call, struct err *err)
{
    struct slurm_place *own = place->own;
    const struct place_words *words = &place->words;
    SCOPED(buf_release) struct buf base = {0};
    call_words(call, "sh -s --");
    switch (verb) {
    case VERB_CHECK:
        check_text(fleet, words, &call->input);
        break;
    case VERB_BRING:
        slurm_bring_text(fleet, words, &call->input);
        break;
    case VERB_START:
        slurm_base(fleet, words, &base);
        TRY(buf_check(&base, err));
        TRY(slurm_write(fleet, place, buf_str(&base), chosen, err));
        slurm_start_text(fleet, words, chosen, &call->input);
        break;
    case VERB_LOOK:
        call_argf(call, "%d", own->fresh ? 0 : LOOK_S);
        call->keep_max = LOOK_KEEP;
        slurm_look_text(fleet, words, chosen, &call->input);
        own->fresh = false;
        break;
    case VERB_CANCEL:
        slurm_cancel_text(fleet, words, chosen, &call->input);
        break;
    case VERB_CLEAN:
        slurm_clean_text(fleet, words, chosen, &call->input);
        break;
    default:
        break;
    }
    return call_check(call, err);
}

// ---- answers

// The exit codes of the texts.
static int slurm_failed(const struct place *place, const struct call_result *result,
                        struct err *err)
{
    int code = result->exited ? result->exit_code : -1;
    bool later = slurm_passing(buf_str(&result->err_text)) || code == 70 || code == 73;
    int rc = call_failed(result, later ? ERR_IO : ERR_FAIL, place->name, err);
    if (code == 70)
        err_hint(err, "the shared folder cannot be used; name another with dir=");
    return rc;
}

static int read_check(struct place *place, const struct fleet *fleet,
                      const struct call_result *result, struct err *err)
{
    const char *text = buf_str(&result->out);
    SCOPED(slurm_pairs_release) struct slurm_pairs partitions = {0};
    TRY(slurm_pairs_read(&partitions, "partition", text, result->out.len, err));
    if (partitions.count == 0)
        return err_set(err, ERR_FAIL, "%s: Slurm has no partition '%s'", place->name,
                       place->words.head);
    place->needs_bundle = (fleet->dispatch->bundle.file && !strstr(text, "fare is there\n")) ||
                          (fleet->dispatch->folder.file && !strstr(text, "folder is there\n"));
    return 0;
}

static int read_start(const struct fleet *fleet, struct place *place, const struct chosen *chosen,
                      const struct call_result *result, struct task_report *reports,
                      struct err *err)
{
    struct slurm_place *own = place->own;
    SCOPED(slurm_pairs_release) struct slurm_pairs jobs = {0};
    size_t queued = 0;
    TRY(slurm_pairs_read(&jobs, "job", buf_str(&result->out), result->out.len, err));
    for (size_t i = 0; i < chosen->count; i++) {
        char key[TASK_KEY_BYTES];
        task_key(fleet->dispatch, chosen->tasks[i], key);
        const char *id = slurm_pairs_find(&jobs, key);
        reports[i] =
            (struct task_report){.state = REPORT_UNKNOWN, .code = -1, .run_s = -1, .queue_s = -1};
        if (!id)
            continue;
        reports[i].state = REPORT_QUEUED;
        snprintf(reports[i].handle, sizeof reports[i].handle, "%s", id);
        queued++;
    }
    own->fresh = true;
    if (queued == 0 && !call_ended_well(result))
        TRY(slurm_failed(place, result, err));
    return 0;
}

// Since when a task is gone, noted when it is asked first.
static int gone_since(struct slurm_place *own, const struct task *task, int64_t *since_ns,
                      struct err *err)
{
    int64_t attempt = task->now.attempts.v;
    *since_ns = clock_now_ns();
    for (size_t i = 0; i < own->gone_count; i++)
        if (own->gone[i].number == task->number.v && own->gone[i].attempt == attempt) {
            *since_ns = own->gone[i].since_ns;
            return 0;
        }
    TRY(array_grow(&own->gone, own->gone_count, &own->gone_cap, sizeof *own->gone, err));
    own->gone[own->gone_count++] = (struct gone){task->number.v, attempt, *since_ns};
    return 0;
}

// A job without a result (yet), by its state in squeue; null: not listed.
static int by_state(const struct fleet *fleet, struct place *place, const struct task *task,
                    const char *id, const char *state, struct task_report *report, struct err *err)
{
    bool limit;
    enum report_state means = slurm_meaning(state, &limit);
    int64_t since_ns;
    report->state = means;
    if (means == REPORT_QUEUED || means == REPORT_RUNNING)
        return 0;
    TRY(gone_since(place->own, task, &since_ns, err));
    if (clock_now_ns() - since_ns < GRACE_NS) {
        report->state = REPORT_UNKNOWN;
        return 0;
    }
    report->limit = limit;
    if (!state) {
        buf_printf(&report->words, "job %s is no longer in squeue and left no result", id);
    } else if (strcmp(state, "FAILED") == 0 || strcmp(state, "COMPLETED") == 0) {
        struct buf base = {0};
        slurm_base(fleet, &place->words, &base);
        buf_printf(&report->words,
                   "job %s ended without a result; does its node share %s? (dir= names another "
                   "folder; slurm-%s.out there has what it said)",
                   id, buf_str(&base), id);
        buf_drop(&report->words, &base);
    } else {
        buf_printf(&report->words, "Slurm ended job %s: %s", id, state);
    }
    return buf_check(&report->words, err);
}

// The kinds of lines in an answer to LOOK.
enum { QUEUE, BEGAN, WAITED, LATER, TROUBLE, TOLD };
static const char *const told_words[TOLD] = {"queue", "began", "waited", "later", "squeue"};

struct looking {
    const struct fleet *fleet;
    struct place *place;
    const struct call_result *result;
    struct slurm_pairs told[TOLD];
    bool asked; // squeue answered
};

static void looking_release(struct looking *l)
{
    for (size_t i = 0; i < TOLD; i++)
        slurm_pairs_release(&l->told[i]);
}

static int look_task(struct looking *l, const struct task *task, struct task_report *report,
                     bool *ended, struct err *err)
{
    char key[TASK_KEY_BYTES];
    task_key(l->fleet->dispatch, task, key);
    TRY(reply_read(buf_str(&l->result->out), l->result->out.len, key, report, err));
    const char *waited = slurm_pairs_find(&l->told[WAITED], key);
    if (waited)
        report->queue_s = strtod(waited, NULL) >= 0 ? strtod(waited, NULL) : 0;
    if (report->state == REPORT_ENDED) {
        *ended = true;
        return 0;
    }
    buf_reset(&report->words);
    report->state = REPORT_UNKNOWN;
    const char *owner = slurm_pairs_find(&l->told[BEGAN], key);
    const char *id = owner ? owner : task->now.handle;
    if (!id || !l->asked || slurm_pairs_find(&l->told[LATER], key)) // with another look
        return 0;
    if (owner)
        snprintf(report->handle, sizeof report->handle, "%s", owner);
    return by_state(l->fleet, l->place, task, id, slurm_pairs_find(&l->told[QUEUE], id), report,
                    err);
}

static int read_look(const struct fleet *fleet, struct place *place, const struct chosen *chosen,
                     const struct call_result *result, struct task_report *reports, struct err *err)
{
    const char *text = buf_str(&result->out);
    size_t len = result->out.len;
    SCOPED(looking_release)
    struct looking l = {.fleet = fleet, .place = place, .result = result};
    bool ended = false;
    if (!call_ended_well(result))
        return slurm_failed(place, result, err);
    for (size_t i = 0; i < TOLD; i++)
        TRY(slurm_pairs_read(&l.told[i], told_words[i], text, len, err));
    bool trouble = l.told[TROUBLE].count > 0;
    l.asked = !trouble && !result->cut;
    for (size_t i = 0; i < chosen->count; i++)
        TRY(look_task(&l, chosen->tasks[i], &reports[i], &ended, err));
    if (trouble && !ended) // results count also while slurmctld is away
        return err_set(err, ERR_IO, "%s: %.300s", place->name,
                       result->err_text.len > 0 ? buf_str(&result->err_text) : "squeue failed");
    return 0;
}

// They are gone once squeue lists none of them; the text has waited for that.
static int read_cancel(const struct fleet *fleet, const struct chosen *chosen,
                       const struct call_result *result, struct task_report *reports,
                       struct err *err)
{
    SCOPED(slurm_pairs_release) struct slurm_pairs still = {0};
    TRY(slurm_pairs_read(&still, "still", buf_str(&result->out), result->out.len, err));
    for (size_t i = 0; i < chosen->count; i++) {
        char key[TASK_KEY_BYTES];
        task_key(fleet->dispatch, chosen->tasks[i], key);
        reports[i].state = slurm_pairs_find(&still, key) ? REPORT_RUNNING : REPORT_ABSENT;
    }
    return 0;
}

static int slurm_read(const struct fleet *fleet, struct place *place, enum verb verb,
                      const struct chosen *chosen, const struct call_result *result,
                      struct task_report *reports, struct err *err)
{
    if (verb == VERB_START)
        return read_start(fleet, place, chosen, result, reports, err);
    if (verb == VERB_LOOK)
        return read_look(fleet, place, chosen, result, reports, err);
    if (!call_ended_well(result))
        return slurm_failed(place, result, err);
    if (verb == VERB_CANCEL)
        TRY(read_cancel(fleet, chosen, result, reports, err));
    if (verb == VERB_CANCEL || verb == VERB_CLEAN)
        return script_left(result, &reports[0], err);
    place->needs_bundle = false;
    return verb == VERB_CHECK ? read_check(place, fleet, result, err) : 0;
}

static void slurm_by_hand(const struct fleet *fleet, const struct place *place,
                          const struct task *task, struct buf *out)
{
    (void)place;
    if (task->now.handle)
        buf_printf(out, "scancel %s", task->now.handle);
    else
        buf_printf(out, "scancel --name=fare-%s", fleet->dispatch->id);
}

const struct target target_slurm = {
    .name = "slurm",
    .value = "PARTITION",
    .parse = slurm_parse,
    .prepare = slurm_prepare,
    .read = slurm_read,
    .by_hand = slurm_by_hand,
    .release = slurm_release,
    .unlimited = true,
};
