// SPDX-License-Identifier: Apache-2.0
// Slurm's accounting: the output of `sacct --parsable2` (or --parsable, with any --delimiter), with
// its header and any selection of fields. One run per job; the steps of a job (123.batch, 123.0)
// add memory, CPU time and energy to it. Jobs that have not ended or never started are left out.
//
// sacct(1) has the fields. Times without a zone are taken as UTC: sacct prints the local time of
// where it runs, TZ=UTC makes it UTC. The id is made of job and start, so that other fields of the
// same job do not make it another run.
#include "ledger/import.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/units.h"

#define FIELDS(X)                                                                                  \
    X(JobID)                                                                                       \
    X(JobIDRaw)                                                                                    \
    X(JobName)                                                                                     \
    X(User)                                                                                        \
    X(Account)                                                                                     \
    X(Partition)                                                                                   \
    X(Cluster)                                                                                     \
    X(NodeList)                                                                                    \
    X(State)                                                                                       \
    X(ExitCode)                                                                                    \
    X(Submit)                                                                                      \
    X(Eligible)                                                                                    \
    X(Start)                                                                                       \
    X(End)                                                                                         \
    X(Elapsed)                                                                                     \
    X(ElapsedRaw)                                                                                  \
    X(Planned)                                                                                     \
    X(Reserved)                                                                                    \
    X(AllocTRES)                                                                                   \
    X(AllocGRES)                                                                                   \
    X(AllocCPUS)                                                                                   \
    X(NCPUS)                                                                                       \
    X(NNodes)                                                                                      \
    X(MaxRSS)                                                                                      \
    X(TotalCPU)                                                                                    \
    X(ConsumedEnergyRaw)
#define ENUM(name) name,
#define NAME(name) #name,
enum { FIELDS(ENUM) FIELD_COUNT };
static const char *const fields[] = {FIELDS(NAME)};

// sacct writes names as the manual has them; the delimiter is the byte behind the first.
static char delimiter_of(const char *text, size_t len)
{
    size_t at = 0;
    while (at < len && isalnum((unsigned char)text[at]))
        at++;
    return at > 0 && at < len && text[at] != '\n' && text[at] != '"' ? text[at] : '\0';
}

static bool has_word(const char *text, size_t len, char delimiter, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = text; (at = memmem(at, len - (size_t)(at - text), word, size)); at++) {
        bool begins = at == text || at[-1] == delimiter;
        const char *end = at + size;
        if (begins && (end == text + len || *end == delimiter || *end == '\r'))
            return true;
    }
    return false;
}

static bool knows(const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);
    size_t line = end ? (size_t)(end - text) : len;
    char delimiter = delimiter_of(text, line);
    return delimiter &&
           (has_word(text, line, delimiter, "JobID") ||
            has_word(text, line, delimiter, "JobIDRaw")) &&
           (has_word(text, line, delimiter, "State") || has_word(text, line, delimiter, "Start") ||
            has_word(text, line, delimiter, "Elapsed") ||
            has_word(text, line, delimiter, "ElapsedRaw"));
}

// ---- values

// "1-02:03:04", "02:03:04", "03:04.567": days, hours, minutes, seconds. False if it is none.
static bool read_duration(const char *text, int64_t *ns)
{
    int64_t parts[4] = {0}, fraction = 0, scale = NS_PER_S;
    size_t count = 0;
    bool days = false;
    for (;;) {
        char *end;
        if (!isdigit((unsigned char)*text) || count == 4)
            return false;
        long long value = strtoll(text, &end, 10);
        if (value < 0 || value > 1000000)
            return false;
        parts[count++] = value;
        text = end;
        if (*text == '-' && count == 1)
            days = true;
        else if (*text != ':')
            break;
        text++;
    }
    if (*text == '.')
        for (text++; isdigit((unsigned char)*text); text++)
            if (scale > 1) {
                scale /= 10;
                fraction += (*text - '0') * scale;
            }
    if (*text != '\0' || count < 2 || (days && count != 4))
        return false;
    int64_t seconds = days ? parts[0] * 86400 : 0;
    static const int64_t units[] = {1, 60, 3600};
    size_t first = days ? 1 : 0;
    if (count - first > 3)
        return false;
    for (size_t i = first; i < count; i++)
        seconds += parts[i] * units[count - 1 - i];
    *ns = seconds * NS_PER_S + fraction;
    return true;
}

// A time by any of sacct's formats: ISO with or without a zone, or seconds since 1970
// (SLURM_TIME_FORMAT=%s). "Unknown" and "None" are absent.
static int read_time(const struct csv *csv, int column, struct maybe_int *out, struct err *err)
{
    const char *text = csv_text(csv, column);
    char iso[40];
    int64_t date;
    *out = (struct maybe_int){0};
    if (!text || !*text || strcmp(text, "Unknown") == 0 || strcmp(text, "None") == 0)
        return 0;
    size_t len = strlen(text);
    if (strspn(text, "0123456789") == len && len > 8 && len < 12) {
        *out = some_int(strtoll(text, NULL, 10));
        return 0;
    }
    snprintf(iso, sizeof iso, "%.30s%s", text, len == 19 ? "Z" : "");
    if (!clock_parse(iso, &date))
        return csv_fault(csv, column, err, "bad time '%.40s'", text);
    *out = some_int(date);
    return 0;
}

static int read_span(const struct csv *csv, int column, struct maybe_int *ns, struct err *err)
{
    const char *text = csv_text(csv, column);
    if (!text || !*text || strcmp(text, "INVALID") == 0 || strcmp(text, "UNLIMITED") == 0)
        return 0;
    if (!read_duration(text, &ns->v))
        return csv_fault(csv, column, err, "bad time '%.40s': expected 1-02:03:04", text);
    ns->known = true;
    return 0;
}

// ---- what a job had

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

struct tres {
    int64_t gpus, typed; // below 0: not said
    bool absurd;         // more GPUs than anybody has
    int64_t cpus, nodes, memory;
    char gpu[128]; // "a100", several joined
    char billing[24];
};

enum { GPUS_MOST = 1 << 20 }; // of one kind; more is nonsense

static void add_gpu(struct tres *t, const char *name, size_t len, int64_t count)
{
    size_t used = strlen(t->gpu);
    t->absurd |= count > GPUS_MOST || t->typed > GPUS_MOST;
    if (t->absurd)
        return;
    t->typed = (t->typed < 0 ? 0 : t->typed) + count;
    if (count > 0 && used + len + 4 < sizeof t->gpu)
        snprintf(t->gpu + used, sizeof t->gpu - used, "%s%.*s", used ? " + " : "", (int)len, name);
}

// "billing=19,cpu=1,gres/gpu:a100=1,gres/gpu=1,mem=32G,node=1"
static void read_tres(const char *text, struct tres *t)
{
    while (text && *text) {
        size_t len = strcspn(text, ",");
        const char *equals = memchr(text, '=', len);
        char value[32];
        int64_t number = -1;
        if (equals) {
            snprintf(value, sizeof value, "%.*s", (int)(len - (size_t)(equals + 1 - text)),
                     equals + 1);
            number = units_parse_bytes(value, &number) ? number : -1;
        }
        if (number < 0 || number > INT64_C(1) << 50)
            ;
        else if (starts(text, "gres/gpu="))
            t->gpus = number;
        else if (starts(text, "gres/gpu:"))
            add_gpu(t, text + 9, (size_t)(equals - text) - 9, number);
        else if (starts(text, "cpu="))
            t->cpus = number;
        else if (starts(text, "node="))
            t->nodes = number;
        else if (starts(text, "mem="))
            t->memory = number;
        else if (starts(text, "billing="))
            snprintf(t->billing, sizeof t->billing, "%s", value);
        text += len + (text[len] == ',');
    }
}

// Before Slurm 21.08: "gpu:2", "gpu:tesla:2", "gres:gpu:v100:2(S:0-1)".
static void read_gres(const char *text, struct tres *t)
{
    const char *gpu = text ? strstr(text, "gpu:") : NULL;
    if (!gpu || t->gpus >= 0 || t->typed >= 0)
        return;
    gpu += 4;
    size_t len = strcspn(gpu, ",(");
    const char *colon = memchr(gpu, ':', len);
    const char *number = colon ? colon + 1 : gpu;
    if (!isdigit((unsigned char)*number))
        return;
    int64_t count = strtoll(number, NULL, 10);
    if (count >= 0)
        add_gpu(t, gpu, colon ? (size_t)(colon - gpu) : 0, count);
}

static int64_t count_in(const struct csv *csv, int column)
{
    const char *text = csv_text(csv, column);
    if (!text || !isdigit((unsigned char)*text))
        return -1;
    long long value = strtoll(text, NULL, 10);
    return value <= 1 << 30 ? value : -1;
}

static int set_machine(const struct csv *csv, const int at[FIELD_COUNT], struct run *run,
                       struct err *err)
{
    struct tres t = {.gpus = -1, .typed = -1, .cpus = -1, .nodes = -1, .memory = -1};
    struct run_machine *m = &run->machine;
    char nodes[24];
    read_tres(csv_text(csv, at[AllocTRES]), &t);
    read_gres(csv_text(csv, at[AllocGRES]), &t);
    bool told = at[AllocTRES] >= 0 || at[AllocGRES] >= 0;
    int64_t gpus = t.gpus >= 0 ? t.gpus : t.typed >= 0 ? t.typed : told ? 0 : -1;
    int64_t cpus = t.cpus >= 0          ? t.cpus
                   : at[AllocCPUS] >= 0 ? count_in(csv, at[AllocCPUS])
                                        : count_in(csv, at[NCPUS]);
    int64_t node_count = t.nodes >= 0 ? t.nodes : count_in(csv, at[NNodes]);
    if (gpus >= 0 && gpus <= GPUS_MOST && !t.absurd)
        m->gpus = some_int(gpus);
    if (cpus > 0)
        m->usable_cpus = some_real((double)cpus);
    if (t.memory > 0)
        m->memory_bytes = some_int(t.memory);
    TRY(text_set(&m->gpu, t.gpu[0] ? t.gpu : gpus > 0 ? "GPU" : "", err));
    if (t.billing[0])
        TRY(import_label(run, "slurm_billing", t.billing, err));
    snprintf(nodes, sizeof nodes, "%lld", (long long)node_count);
    return node_count > 1 ? import_label(run, "slurm_nodes", nodes, err) : 0;
}

// ---- how it ended

static const struct {
    const char *state, *ended, *stopped_by;
} states[] = {
    {"COMPLETED", "finished", NULL},        {"FAILED", "failed", NULL},
    {"TIMEOUT", "stopped", "max-time"},     {"DEADLINE", "stopped", "max-time"},
    {"CANCELLED", "interrupted", "signal"}, {"PREEMPTED", "interrupted", "notice"},
    {"REVOKED", "interrupted", "signal"},   {"NODE_FAIL", "failed", NULL},
    {"BOOT_FAIL", "failed", NULL},          {"OUT_OF_MEMORY", "failed", NULL},
    {"LAUNCH_FAILED", "failed", NULL},      {"REQUEUED", "interrupted", "signal"},
};

// "CANCELLED by 1000" and "CANCELLED+" too. False: it has not ended, or the state is not known.
static bool has_ended(const char *text, size_t *which)
{
    size_t len = text ? strcspn(text, " +") : 0;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strlen(states[i].state) == len && strncmp(states[i].state, text, len) == 0) {
            *which = i;
            return true;
        }
    return false;
}

static int set_end(const struct csv *csv, const int at[FIELD_COUNT], struct run *run,
                   struct err *err)
{
    const char *state = csv_text(csv, at[State]), *code = csv_text(csv, at[ExitCode]);
    size_t which = 0;
    if (at[State] >= 0 && has_ended(state, &which)) {
        TRY(TEXTS_SET(err, {&run->ended, states[which].ended},
                      {&run->stopped_by, states[which].stopped_by}));
        if (strcmp(states[which].ended, "failed") == 0)
            TRY(text_set(&run->problem, state, err));
        TRY(import_label(run, "slurm_state", state, err));
        run->full = some_bool(which == 0);
    }
    if (code && isdigit((unsigned char)*code)) { // "1:0", code and signal
        char *end;
        long number = strtol(code, &end, 10);
        run->exit_code = some_int(number);
        long sent = *end == ':' ? strtol(end + 1, NULL, 10) : 0;
        if (sent > 0 && sent < 128)
            run->signal = some_int(sent);
    }
    return 0;
}

// ---- jobs

enum seen { RAN, UNFINISHED, NEVER_STARTED };

static int set_times(const struct csv *csv, const int at[FIELD_COUNT], struct run *run,
                     enum seen *seen, struct err *err)
{
    struct maybe_int submit, eligible, start, end, wall = {0}, queue = {0};
    char iso[CLOCK_ISO_BYTES];
    TRY(read_time(csv, at[Submit], &submit, err));
    TRY(read_time(csv, at[Eligible], &eligible, err));
    TRY(read_time(csv, at[Start], &start, err));
    TRY(read_time(csv, at[End], &end, err));
    TRY(read_span(csv, at[Elapsed], &wall, err));
    TRY(read_span(csv, at[Planned], &queue, err));
    if (!queue.known)
        TRY(read_span(csv, at[Reserved], &queue, err));
    int64_t raw = count_in(csv, at[ElapsedRaw]);
    if (raw >= 0)
        wall = some_int(raw * NS_PER_S);
    if (!wall.known && start.known && end.known && end.v >= start.v &&
        end.v - start.v < INT64_C(3155760000))
        wall = some_int((end.v - start.v) * NS_PER_S);
    const char *nodes = csv_text(csv, at[NodeList]);
    if ((at[Start] >= 0 && !start.known) || (wall.known && wall.v == 0 && !start.known) ||
        (nodes && strcmp(nodes, "None assigned") == 0))
        *seen = NEVER_STARTED;
    const struct maybe_int since = eligible.known && submit.known && eligible.v < submit.v ? submit
                                   : eligible.known ? eligible
                                                    : submit;
    if (!queue.known && since.known && start.known && start.v >= since.v &&
        start.v - since.v < INT64_C(3155760000))
        queue = some_int((start.v - since.v) * NS_PER_S);
    run->phases.wall_ns = wall;
    run->phases.queue_ns = queue;
    const struct maybe_int when = start.known ? start : submit;
    if (!when.known)
        return 0;
    clock_iso(when.v, iso);
    return text_set(&run->started, iso, err);
}

static int set_id(struct run *run, const char *job, struct err *err)
{
    struct buf id = {0};
    buf_adds(&id, "slurm-");
    for (size_t i = 0; job[i] && i < 64; i++)
        buf_addc(&id, isalnum((unsigned char)job[i]) || strchr("_.", job[i]) ? job[i] : '.');
    for (size_t i = 0; run->started && run->started[i]; i++)
        if (i == 0 || !strchr("-:", run->started[i]))
            buf_printf(&id, "%s%c", i == 0 ? "-" : "", run->started[i]);
    return text_take(&run->id, &id, err);
}

static int read_job(const struct csv *csv, const int at[FIELD_COUNT], const char *job,
                    struct run *run, enum seen *seen, struct err *err)
{
    size_t which;
    const char *state = csv_text(csv, at[State]), *end = csv_text(csv, at[End]);
    *seen = RAN;
    TRY(set_times(csv, at, run, seen, err));
    if (at[State] >= 0 && !has_ended(state, &which))
        *seen = UNFINISHED;
    else if (at[State] < 0 && at[End] >= 0 && (!end || strcmp(end, "Unknown") == 0)) // or cut off
        *seen = UNFINISHED;
    if (*seen != RAN)
        return 0;
    TRY(set_end(csv, at, run, err));
    TRY(set_machine(csv, at, run, err));
    TRY(TEXTS_SET(err, {&run->name, csv_text(csv, at[JobName])}, {&run->framework, "command"},
                  {&run->user, csv_text(csv, at[User])}, {&run->host, csv_text(csv, at[NodeList])},
                  {&run->project, csv_text(csv, at[Account])}));
    const struct {
        const char *key, *value;
    } labels[] = {{"slurm_job", job},
                  {"slurm_partition", csv_text(csv, at[Partition])},
                  {"slurm_cluster", csv_text(csv, at[Cluster])}};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (labels[i].value && *labels[i].value)
            TRY(import_label(run, labels[i].key, labels[i].value, err));
    return set_id(run, job, err);
}

// What the job's own row lacks, or steps have more of.
static int add_use(const struct csv *csv, const int at[FIELD_COUNT], struct run *run,
                   struct err *err)
{
    const char *memory = csv_text(csv, at[MaxRSS]), *energy = csv_text(csv, at[ConsumedEnergyRaw]);
    struct maybe_int cpu = {0};
    int64_t bytes;
    TRY(read_span(csv, at[TotalCPU], &cpu, err));
    if (memory && units_parse_bytes(memory, &bytes) && bytes > 0 &&
        (!run->peak_memory_bytes.known || bytes > run->peak_memory_bytes.v))
        run->peak_memory_bytes = some_int(bytes);
    if (cpu.known && run->phases.wall_ns.v > 0) {
        double percent = 100 * (double)cpu.v / (double)run->phases.wall_ns.v;
        if (!run->use.cpu_percent.known || percent > run->use.cpu_percent.v)
            run->use.cpu_percent = some_real(percent);
    }
    if (energy && isdigit((unsigned char)*energy) && strcmp(energy, "0") != 0 &&
        !run_label(run, "slurm_energy_j"))
        TRY(import_label(run, "slurm_energy_j", energy, err));
    return 0;
}

struct sacct_reading {
    import_run_fn *put;
    void *arg;
    struct run run; // the job at hand
    char job[128];  // its number; "": none
    bool kept;      // it ran
    int64_t jobs, unfinished, never_started;
};

static int put_job(struct sacct_reading *r, struct err *err)
{
    int rc = r->kept ? r->put(r->arg, &r->run, err) : 0;
    record_release(run_fields, &r->run);
    r->run = (struct run){0};
    r->kept = false;
    return rc;
}

static int read_sacct_row(struct sacct_reading *r, const struct csv *csv, const int at[FIELD_COUNT],
                          struct err *err)
{
    const char *id = csv_text(csv, at[JobID] >= 0 ? at[JobID] : at[JobIDRaw]);
    enum seen seen;
    if (!id || !isdigit((unsigned char)*id))
        return csv_fault(csv, at[JobID] >= 0 ? at[JobID] : at[JobIDRaw], err, "no job number");
    const char *dot = strchr(id, '.');
    size_t len = dot ? (size_t)(dot - id) : strlen(id);
    if (dot) { // a step: of the job at hand, or of one that was left out
        bool ours = r->kept && strlen(r->job) == len && strncmp(r->job, id, len) == 0;
        return ours ? add_use(csv, at, &r->run, err) : 0;
    }
    TRY(put_job(r, err));
    snprintf(r->job, sizeof r->job, "%s", id);
    TRY(read_job(csv, at, id, &r->run, &seen, err));
    r->jobs++;
    r->kept = seen == RAN;
    r->unfinished += seen == UNFINISHED;
    r->never_started += seen == NEVER_STARTED;
    return r->kept ? add_use(csv, at, &r->run, err) : 0;
}

static int read_log(const char *file, const char *text, size_t len, import_run_fn *put, void *arg,
                    struct buf *says, struct err *err)
{
    struct csv csv;
    struct sacct_reading r = {.put = put, .arg = arg};
    int at[FIELD_COUNT];
    const struct csv_options options = {
        .separator = delimiter_of(text, len), .no_quotes = true, .short_rows = true};
    if (!options.separator)
        return err_set(err, ERR_FORMAT, "%s: it has no header of sacct", file);
    if (options.separator == ' ') // columns of a fixed width, which cuts what is longer
        return err_set(err, ERR_FORMAT, "%s: sacct cuts its tables: use 'sacct --parsable2'", file);
    TRY(csv_init_text(&csv, file, text, len, &options, err));
    for (size_t i = 0; i < FIELD_COUNT; i++)
        at[i] = csv_column(&csv, fields[i]);
    int rc = 0;
    if (at[JobID] < 0 && at[JobIDRaw] < 0)
        rc = csv_need(&csv, "JobID", &at[JobID], err);
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0)
        rc = read_sacct_row(&r, &csv, at, err);
    if (rc == 0)
        rc = put_job(&r, err);
    if (rc == 0 && r.jobs == 0)
        rc = err_set(err, ERR_FORMAT, "%s: it has no jobs", file);
    if (r.unfinished > 0)
        buf_printf(says, "left out: %s that had not ended\n", units_count(r.unfinished, "job").s);
    if (r.never_started > 0)
        buf_printf(says, "left out: %s that never started\n",
                   units_count(r.never_started, "job").s);
    record_release(run_fields, &r.run);
    csv_release(&csv);
    return rc;
}

const struct importer importer_sacct = {
    .name = "sacct",
    .about = "Slurm's accounting: sacct --parsable2",
    .knows = knows,
    .read_each = read_log,
};
