// SPDX-License-Identifier: Apache-2.0
// framework: trains a workload with another framework (--with): runs and measures a script of
// share/frameworks like a user's command, with the samples, their order and the initial parameters
// of fare's own engines.
#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/safetensors.h"
#include "train/data/batcher.h"
#include "train/data/images.h"
#include "machine/cgroup.h"
#include "measure/command.h"
#include "measure/handover.h"
#include "measure/runner.h"

#define IMAGES_AT_ONCE 64 // 17 MB
#define ENTRIES_MAX    6

struct framework_job {
    const struct run_plan *plan;
    int threads;
    struct handover *handover;
    struct safetensors_writer writer;
    struct safetensors_entry entries[ENTRIES_MAX];
    int64_t dims[ENTRIES_MAX][4];
    const void *bytes[ENTRIES_MAX]; // null: images in files
    int count;
    bool stopped;
};

// Distinguishes failures of writing from those of the data.
static int unwritten(int rc, struct err *err)
{
    if (rc == 0 || rc == ERR_MEMORY)
        return rc;
    err_context(err, "cannot write the samples for the framework");
    err_hint(err, "TMPDIR names a folder with more room");
    return rc;
}

static bool over(struct framework_job *job)
{
    job->stopped |= run_plan_over(job->plan);
    return job->stopped;
}

static int write_bytes(struct framework_job *job, const void *bytes, int64_t len, struct err *err)
{
    return unwritten(safetensors_add_bytes(&job->writer, bytes, len, err), err);
}

// ---- what there is

static bool overlap(const struct dataset *set)
{
    return set->time > 0 && !set->starts && set->token_stride < set->time;
}

static int64_t token_count(const struct dataset *set)
{
    return set->starts ? set->starts[set->count]
                       : (set->count - 1) * set->token_stride + set->time + (set->stream != NULL);
}

static void add_entry(struct framework_job *job, const char *name, const char *type,
                      const void *bytes, int rank, const int64_t *dim)
{
    assert(job->count < ENTRIES_MAX);
    int64_t *kept = job->dims[job->count];
    memcpy(kept, dim, (size_t)rank * sizeof *dim);
    job->bytes[job->count] = bytes;
    job->entries[job->count++] = (struct safetensors_entry){name, rank, kept, type};
}

static void add_samples(struct framework_job *job, const char *x, const char *tokens,
                        const struct dataset *set)
{
    const int64_t images[] = {set->count, set->channels, set->height, set->width};
    const int64_t texts[] = {set->count, set->time}, all = set->time > 0 ? token_count(set) : 0;
    if (set->stream)
        add_entry(job, tokens, "I16", set->stream, 1, &all);
    else if (set->time == 0)
        add_entry(job, x, "U8", set->files ? NULL : set->pixels, 4, images);
    else if (set->starts || overlap(set))
        add_entry(job, tokens, "I32", set->tokens, 1, &all);
    else
        add_entry(job, x, "I32", set->tokens, 2, texts);
}

// The widest come first, so that each number lies at a multiple of its size.
static void add_entries(struct framework_job *job, const struct data_pair *data)
{
    static const char *const names[][4] = {
        {"train.starts", "train.y", "train.x", "train.tokens"},
        {"test.starts", "test.y", "test.x", "test.tokens"},
    };
    const struct dataset *sets[] = {&data->train, &data->test};
    for (int i = 0; i < 2; i++) {
        const int64_t places = sets[i]->count + 1;
        assert(!sets[i]->starts || sets[i]->starts[0] == 0);
        if (sets[i]->count > 0 && sets[i]->starts)
            add_entry(job, names[i][0], "I64", sets[i]->starts, 1, &places);
    }
    for (int i = 0; i < 2; i++)
        if (sets[i]->count > 0 && sets[i]->labels)
            add_entry(job, names[i][1], "I32", sets[i]->labels, 1, &sets[i]->count);
    for (int i = 0; i < 2; i++)
        if (sets[i]->count > 0)
            add_samples(job, names[i][2], names[i][3], sets[i]);
}

// ---- images that are normally decoded or drawn on demand

static int write_files(struct framework_job *job, const struct dataset *set, struct err *err)
{
    SCOPED(free_pointer) uint8_t *pixels = malloc((size_t)IMAGES_AT_ONCE * IMAGES_BYTES);
    if (!pixels)
        return err_memory(err);
    for (int64_t first = 0; first < set->count && !over(job); first += IMAGES_AT_ONCE) {
        int64_t left = set->count - first, count = left < IMAGES_AT_ONCE ? left : IMAGES_AT_ONCE;
        int64_t began_ns = clock_now_ns();
        TRY(images_read(set->files, first, count, job->threads, pixels, err));
        job->handover->took_ns += clock_now_ns() - began_ns;
        TRY(write_bytes(job, pixels, count * IMAGES_BYTES, err));
    }
    return 0;
}

// ---- the file

// Checked first, not after a minute of decoding.
static int check_space(const char *folder, int64_t bytes, struct err *err)
{
    struct statvfs st;
    if (statvfs(folder, &st) != 0 || st.f_blocks == 0)
        return 0; // unknown
    uint64_t free_bytes = (uint64_t)st.f_bavail * st.f_frsize;
    if (free_bytes >= (uint64_t)bytes)
        return 0;
    return err_set(err, ERR_IO, "they need %lld bytes in '%s', which has %llu free",
                   (long long)bytes, folder, (unsigned long long)free_bytes);
}

static int begin_file(struct framework_job *job, const struct data_pair *data, struct err *err)
{
    const struct dataset *train = &data->train;
    add_entries(job, data);
    char classes[24], vocabulary[24], time[24], stride[24];
    snprintf(classes, sizeof classes, "%d", train->classes);
    snprintf(vocabulary, sizeof vocabulary, "%d", train->vocabulary);
    snprintf(time, sizeof time, "%d", train->time);
    snprintf(stride, sizeof stride, "%lld", (long long)train->token_stride);
    const struct safetensors_text texts[] = {
        {"name", data->name},     {"identity", data->identity},
        {"source", data->source}, {"classes", classes},
        {"time", time},           {"vocabulary", vocabulary},
        {"stride", stride},
    };
    int count = train->time == 0 ? 4 : overlap(train) ? 7 : 6;
    TRY(unwritten(safetensors_begin(&job->writer, job->handover->path, texts, count, job->entries,
                                    job->count, err),
                  err));
    int rc = check_space(job->handover->folder.path, job->writer.left, err);
    if (rc != 0)
        safetensors_abandon(&job->writer);
    return unwritten(rc, err);
}

static int write_file(struct framework_job *job, const struct data_pair *data, struct err *err)
{
    TRY(begin_file(job, data, err));
    int rc = 0;
    for (int i = 0; rc == 0 && i < job->count; i++) {
        const struct safetensors_entry *e = &job->entries[i];
        int64_t len = e->type[0] == 'U' ? 1 : e->type[1] == '1' ? 2 : e->type[1] == '6' ? 8 : 4;
        for (int d = 0; d < e->rank; d++)
            len *= e->dim[d];
        if (job->bytes[i])
            rc = write_bytes(job, job->bytes[i], len, err);
        else
            rc = write_files(job, e->name[1] == 'r' ? &data->train : &data->test, err);
    }
    if (rc == 0 && !over(job))
        return unwritten(safetensors_commit(&job->writer, err), err);
    safetensors_abandon(&job->writer);
    return rc;
}

// ---- the start

static int write_orders(struct safetensors_writer *w, int64_t count, uint64_t seed, int64_t epochs,
                        struct err *err)
{
    SCOPED(free_pointer) uint32_t *order = malloc((size_t)count * sizeof *order);
    if (!order)
        return err_memory(err);
    for (int64_t epoch = 0; epoch < epochs; epoch++) {
        batcher_order(seed, epoch, order, count);
        TRY(safetensors_add_bytes(w, order, count * (int64_t)sizeof *order, err));
    }
    return 0;
}

static int write_param(struct safetensors_writer *w, const struct net_param *param, uint64_t seed,
                       struct err *err)
{
    SCOPED(free_pointer) float *values = malloc((size_t)param->count * sizeof *values);
    TRY(values ? net_init_param(param, seed, values, err) : err_memory(err));
    return safetensors_add(w, values, param->count, err);
}

static int write_start(const char *path, const struct safetensors_entry *entries, int count,
                       const struct net *net, uint64_t seed, struct err *err)
{
    struct safetensors_writer w;
    TRY(safetensors_begin(&w, path, NULL, 0, entries, count, err));
    int rc = write_orders(&w, entries[0].dim[1], seed, entries[0].dim[0], err);
    for (int i = 0; rc == 0 && i < net->param_count; i++)
        if (net->params[i].trained)
            rc = write_param(&w, &net->params[i], seed, err);
    if (rc == 0)
        return safetensors_commit(&w, err);
    safetensors_abandon(&w);
    return rc;
}

int handover_start(struct handover *h, const struct net *net, const struct dataset *train,
                   uint64_t seed, int64_t epochs, struct err *err)
{
    const int64_t orders[] = {epochs < HANDOVER_ORDERS ? epochs : HANDOVER_ORDERS, train->count};
    SCOPED(free_pointer)
    struct safetensors_entry *entries = calloc((size_t)net->param_count + 1, sizeof *entries);
    struct buf path = {0};
    int count = 0;
    if (!entries)
        return err_memory(err);
    entries[count++] = (struct safetensors_entry){"order", 2, orders, "I32"};
    for (int i = 0; i < net->param_count; i++) {
        const struct net_param *p = &net->params[i];
        if (p->trained)
            entries[count++] = (struct safetensors_entry){p->name, p->rank, p->dim, NULL};
    }
    buf_printf(&path, "%s/start.safetensors", h->folder.path);
    h->start = buf_take(&path, err);
    int rc = h->start ? write_start(h->start, entries, count, net, seed, err) : ERR_MEMORY;
    return unwritten(rc, err);
}

// ---- together

static int make_folder(struct handover *h, struct err *err)
{
    const char *place = getenv("TMPDIR");
    struct buf path = {0};
    place = place && place[0] == '/' ? place : "/tmp";
    TRY(unwritten(scratch_make(&h->folder, place, err), err));
    buf_printf(&path, "%s/data.safetensors", h->folder.path);
    h->path = buf_take(&path, err);
    return h->path ? 0 : ERR_MEMORY;
}

int handover_write(struct handover *h, const struct data_pair *data, const struct run_plan *plan,
                   int threads, struct err *err)
{
    struct framework_job job = {.plan = plan, .threads = threads, .handover = h};
    memset(h, 0, sizeof *h);
    int rc = make_folder(h, err);
    if (rc == 0)
        rc = write_file(&job, data, err);
    if (rc != 0 || job.stopped)
        handover_remove(h);
    return rc;
}

void handover_remove(struct handover *h)
{
    scratch_remove(&h->folder);
    free(h->path);
    free(h->start);
    memset(h, 0, sizeof *h);
}

// ---- The runner

// Keras runs on one of these; its own variable chooses, and the first is its default.
#define KERAS         "keras"
#define KERAS_BACKEND "KERAS_BACKEND"
static const char *const keras_backends[] = {"tensorflow", "jax", "torch"};
enum { KERAS_BACKENDS = sizeof keras_backends / sizeof *keras_backends };

#define PYTORCH_COMPILED "pytorch:compile" // gpt2 alone
#define PLAIN            ":plain"          // after any name; workloads with LSTMs alone

// A framework as --with names it: "pytorch", "keras:jax", "pytorch:plain".
struct framework {
    char name[64];
    char folder[64];     // below share/frameworks
    const char *backend; // null: it has none
    bool compiled;       // PyTorch, through torch.compile()
    bool plain;          // LSTMs cell by cell, without a fused layer
};

static int framework_dir(const char *folder, struct buf *dir, struct err *err)
{
    TRY(folder_share(dir, err));
    buf_printf(dir, "/frameworks/%s", folder);
    return buf_check(dir, err);
}

static void add_names(struct buf *names, const char *folder)
{
    bool keras = strcmp(folder, KERAS) == 0;
    for (int i = 0; i < (keras ? KERAS_BACKENDS : 1); i++)
        buf_printf(names, "%s%s%s%s", names->len ? ", " : "", folder, keras ? ":" : "",
                   keras ? keras_backends[i] : "");
}

static int no_framework(const char *with, struct err *err)
{
    SCOPED(buf_release) struct buf dir = {0}, names = {0};
    struct dirent **entries = NULL;
    int count =
        framework_dir("", &dir, NULL) == 0 ? scandir(buf_str(&dir), &entries, NULL, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        if (!strpbrk(entries[i]->d_name, "._")) { // not handover.py, nor what Python keeps of it
            add_names(&names, entries[i]->d_name);
            if (strcmp(entries[i]->d_name, "pytorch") == 0)
                buf_adds(&names, ", " PYTORCH_COMPILED);
        }
        free(entries[i]);
    }
    free(entries);
    err_set(err, ERR_USAGE, "there is no framework '%s'", with);
    err_hint(err, "available: %s; imdb, tweets and textgen also with " PLAIN " after it",
             names.len ? buf_str(&names) : "none");
    return ERR_USAGE;
}

static const char *find_backend(const char *name)
{
    for (int i = 0; i < KERAS_BACKENDS; i++)
        if (strcmp(name, keras_backends[i]) == 0)
            return keras_backends[i];
    return NULL;
}

// Keras without a backend gets the one that Keras itself would take.
static int find_fused(const char *with, struct framework *f, struct err *err)
{
    size_t len = strcspn(with, ":");
    f->compiled = strcmp(with, PYTORCH_COMPILED) == 0;
    if (f->compiled) {
        *f = (struct framework){.name = PYTORCH_COMPILED, .folder = "pytorch", .compiled = true};
        return 0;
    }
    const char *chosen = getenv(KERAS_BACKEND), *colon = "";
    bool keras = len == strlen(KERAS) && strncmp(with, KERAS, len) == 0;
    if (keras && !with[len]) {
        chosen = chosen && *chosen ? chosen : keras_backends[0];
        colon = ":";
    } else {
        chosen = "";
    }
    if (len >= sizeof f->folder || strchr(with, '/') ||
        snprintf(f->name, sizeof f->name, "%s%s%s", with, colon, chosen) >= (int)sizeof f->name)
        return no_framework(with, err);
    snprintf(f->folder, sizeof f->folder, "%.*s", (int)len, with);
    f->backend = keras ? find_backend(f->name + len + 1) : NULL;
    bool named = keras ? f->backend != NULL : !f->name[len];
    return named ? 0 : no_framework(keras ? f->name : with, err);
}

static int find_framework(const char *with, struct framework *f, struct err *err)
{
    const char *colon = strrchr(with, ':');
    bool plain = colon && strcmp(colon, PLAIN) == 0;
    char fused[sizeof f->name - sizeof PLAIN];
    int len = plain ? (int)(colon - with) : (int)strlen(with);
    if (snprintf(fused, sizeof fused, "%.*s", len, with) >= (int)sizeof fused)
        return no_framework(with, err);
    TRY(find_fused(fused, f, err));
    if (plain && f->compiled)
        return no_framework(with, err);
    f->plain = plain;
    if (plain)
        strncat(f->name, PLAIN, sizeof f->name - strlen(f->name) - 1);
    return 0;
}

// share/frameworks/FOLDER/NAME.py.
static int find_script(const struct framework *f, const char *name, struct buf *script,
                       struct err *err)
{
    struct stat st;
    TRY(framework_dir(f->folder, script, err));
    if (stat(buf_str(script), &st) != 0 || !S_ISDIR(st.st_mode))
        return no_framework(f->name, err);
    buf_printf(script, "/%s.py", name);
    TRY(buf_check(script, err));
    if (stat(buf_str(script), &st) != 0)
        return err_set(err, ERR_MISSING, "%s has no %s: there is no '%s'", f->folder, name,
                       buf_str(script));
    return 0;
}

static const char *find_python(void)
{
    const char *python = getenv("FARE_PYTHON");
    return python && *python ? python : "python3";
}

// "--seed 1 --threads 2 ..." for the script. `numbers` holds the digits.
struct arguments {
    char *items[32];
    size_t count;
    char numbers[12][24];
    size_t used;
};

static void add_argument(struct arguments *a, const char *name, const char *value)
{
    a->items[a->count++] = (char *)(uintptr_t)name; // exec() does not change them
    if (value)
        a->items[a->count++] = (char *)(uintptr_t)value;
}

// Skips a value below `least`: it was not given.
static void add_number(struct arguments *a, const char *name, int64_t value, int64_t least)
{
    if (value < least)
        return;
    char *text = a->numbers[a->used++];
    snprintf(text, sizeof a->numbers[0], "%lld", (long long)value);
    add_argument(a, name, text);
}

static struct recipe recipe_of(const struct session *s)
{
    struct recipe recipe = s->workload->recipe;
    recipe.batch = s->batch > 0 ? s->batch : recipe.batch;
    return recipe;
}

// The net and recipe are those of the definition for this data, in every framework.
static int note_definition(const struct session *s, const struct net *net, struct err *err)
{
    char net_sum[SHA256_HEX_BYTES], identity[SHA256_HEX_BYTES + 8];
    struct recipe recipe = recipe_of(s);
    SCOPED(buf_release) struct buf words = {0};
    checkpoint_fingerprint(net, net_sum);
    checkpoint_recipe_text(&recipe, &words);
    snprintf(identity, sizeof identity, "sha256:%s", net_sum);
    TRY(buf_check(&words, err));
    TRY(text_set(&s->run->net, identity, err));
    return text_set(&s->run->recipe, buf_str(&words), err);
}

// Stages count steps; they begin with an epoch each.
static int64_t count_epochs(const struct session *s, int64_t samples)
{
    const struct recipe recipe = recipe_of(s);
    int64_t steps = (samples + recipe.batch - 1) / recipe.batch, epochs = 0;
    for (int i = 0; steps > 0 && i < recipe.stage_count; i++)
        epochs += (recipe.stages[i].steps + steps - 1) / steps;
    return s->o->epochs > 0 ? s->o->epochs : recipe.epochs > 0 ? recipe.epochs : epochs;
}

// Operations of a step, by the definition.
static void note_flops(const struct session *s)
{
    struct net net;
    struct net_cost cost;
    if (!s->workload->build ||
        workload_net_as_defined(s->workload, &s->o->variant, &net, NULL) != 0)
        return;
    net_cost(&net, s->batch > 0 ? s->batch : s->workload->recipe.batch, &cost);
    s->run->step_flops = some_real(cost.forward_flops + cost.backward_flops);
    net_release(&net);
}

static bool is_l1(const struct session *s)
{
    return s->workload->metric == WORKLOAD_L1;
}

static void add_options(struct arguments *a, const struct session *s, const struct framework *f)
{
    const struct measure_options *o = s->o;
    bool l1 = is_l1(s);
    if (!o->full && s->workload->recipe.stage_count > 1)
        add_argument(a, "--sample", NULL);
    if (o->precision)
        add_argument(a, "--precision", o->precision);
    add_number(a, "--seed", o->seed, 0);
    add_number(a, "--threads", o->threads > 0 ? o->threads : cpus_usable(), 1); // as fare's own
    add_number(a, "--epochs", o->epochs, 1);
    add_number(a, "--batch", s->batch, 1);
    add_number(a, "--steps", o->full || l1 ? 0 : o->steps, 1);
    if (f->compiled)
        add_argument(a, "--compile", NULL);
    if (f->plain)
        add_argument(a, "--plain", NULL);
    if (o->variant.size)
        add_argument(a, "--size", o->variant.size);
    add_number(a, "--micro-batch", o->micro_batch, 1);
    add_number(a, "--n", l1 ? o->n : 0, 1);
    add_number(a, "--m", l1 ? o->m : 0, 1);
    add_number(a, "--dim", l1 ? o->dim : 0, 1);
}

// A script that exits with 0 without a step has failed.
static int check_end(const struct session *s, struct err *err)
{
    struct run *run = s->run;
    if (strcmp(run->ended, "finished") == 0 && !(run->steps.known && run->steps.v > 0)) {
        TRY(text_set(&run->ended, "failed", err));
        TRY(text_set(&run->problem, "it ended without reporting a step", err));
    }
    if (strcmp(run->ended, "failed") != 0)
        return 0;
    err_set(err, ERR_FAIL, "%s with '%s' failed: %s", s->o->with, find_python(), run->problem);
    return err_hint(err, "its messages are above; FARE_PYTHON names another Python");
}

static int run_script(struct session *s, const char *script, const struct framework *f,
                      const struct handover *handover, struct err *err)
{
    struct arguments a = {.count = 0};
    add_argument(&a, find_python(), NULL);
    add_argument(&a, script, NULL);
    if (handover->path)
        add_argument(&a, "--data", handover->path);
    if (handover->start)
        add_argument(&a, "--start", handover->start);
    add_options(&a, s, f);
    const struct command_options options = {
        .argv = a.items, .output_to_stderr = s->o->json, .load_ns = handover->took_ns};
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1); // do not write to share/
    s->plan.max_s_given = false;               // the script reports its total
    if (is_l1(s))
        s->plan =
            (struct run_plan){.full = true, .until_ns = s->plan.until_ns, .stop = s->plan.stop};
    note_flops(s);
    int rc = command_run(&options, s, err);
    s->exit_code = 0;
    return rc == 0 ? check_end(s, err) : rc;
}

// Opens or generates the set as fare's own training does, and writes it to a file for the script.
static int hand_over(struct session *s, struct handover *handover, bool *target, struct err *err)
{
    SCOPED(data_release) struct data_pair data = {0};
    SCOPED(net_release) struct net net = {0};
    int64_t began_ns = clock_now_ns();
    TRY(workload_data_open(s->workload, s->o->data, &s->o->variant, (int)s->o->threads, &data,
                           err));
    TRY(describe_data(&data, s->run, err));
    if (data.train.stream)
        s->run->step_tokens = some_int(recipe_of(s).batch * data.train.time);
    TRY(workload_net(s->workload, &data, &s->o->variant, &net, err));
    TRY(note_definition(s, &net, err));
    int64_t opened_ns = clock_now_ns();
    TRY(handover_write(handover, &data, &s->plan, (int)s->o->threads, err));
    handover->took_ns += opened_ns - began_ns;
    *target = workload_is_target(s->workload, &data);
    return handover->path ? handover_start(handover, &net, &data.train, (uint64_t)s->o->seed,
                                           count_epochs(s, data.train.count), err)
                          : 0;
}

// For the script, whatever Keras's own settings say.
static int choose_backend(const struct session *s, const struct framework *f, struct err *err)
{
    if (!f->backend)
        return 0;
    if (strcmp(s->o->with, f->name) != 0)
        buf_printf(s->says, "Keras on %s: --with keras:BACKEND or " KERAS_BACKEND " chooses\n",
                   f->backend);
    return setenv(KERAS_BACKEND, f->backend, 1) == 0 ? 0 : err_memory(err);
}

// Describes the run and writes what its script reads. `*target`: the definition's own set.
static int prepare_framework(struct session *s, struct framework *framework, struct buf *script,
                             struct handover *handover, bool *target, struct err *err)
{
    const struct measure_options *o = s->o;
    TRY(find_framework(o->with, framework, err));
    TRY(find_script(framework, s->workload->name, script, err));
    if (o->engine || o->checkpoint || o->from || o->generate > 0 || o->variant.hard_gates ||
        o->variant.auxiliary)
        return err_set(err, ERR_USAGE,
                       "engines, checkpoints, generated text, hard gates and auxiliary heads are "
                       "features of fare's own engines: --with has none of them");
    TRY(choose_backend(s, framework, err));
    TRY(workload_check_options(s->workload, &o->variant, err));
    if (framework->compiled && !s->workload->takes.size)
        return err_set(err, ERR_USAGE, "only gpt2 is compiled: --with pytorch trains '%s'",
                       s->workload->name);
    if (framework->plain && !s->workload->takes.hard_gates)
        return err_set(err, ERR_USAGE,
                       "'%s' has no LSTM: " PLAIN " is for imdb, tweets and textgen",
                       s->workload->name);
    TRY(describe_workload(s, framework->name, err));
    TRY(describe_variant(s, err));
    session_keep(s); // handing over the data may take a while
    return is_l1(s) ? describe_l1(o, s->run, err) : hand_over(s, handover, target, err);
}

static int framework_run(struct session *s, struct err *err)
{
    SCOPED(buf_release) struct buf script = {0};
    SCOPED(handover_remove) struct handover handover = {0};
    struct framework framework;
    bool target = false;
    int rc = prepare_framework(s, &framework, &script, &handover, &target, err);
    if (rc == 0 && run_plan_over(&s->plan)) // before it began
        rc = text_set(&s->run->ended, run_plan_ended(&s->plan), err);
    else if (rc == 0)
        rc = run_script(s, buf_str(&script), &framework, &handover, err);
    if (rc == 0 && s->run->steps.v == s->run->total_steps.v) // else it ended early
        describe_reached(s, target);
    bool undescribed = s->run->workload && !s->run->ended; // its data could not be written
    return rc != 0 && undescribed ? describe_failure(s->run, rc, err) : rc;
}

static bool framework_takes(const struct session *s)
{
    return s->workload && s->o->with;
}

const struct runner runner_framework = {.takes = framework_takes, .run = framework_run};
