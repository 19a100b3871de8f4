// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint/checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fs.h"
#include "base/tree.h"
#include "train/checkpoint/safetensors.h"

// ---------------------------------------------------------------------------------------------
// Describing a training

static const char *precision_name(enum engine_precision precision)
{
    return precision == ENGINE_BF16 ? "bf16" : precision == ENGINE_TF32 ? "tf32" : "f32";
}

// " name=value" with the fewest digits that read back as the same number; nine always suffice.
static void add_number(struct buf *out, const char *name, float value)
{
    char text[32];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    buf_printf(out, " %s=%s", name, text);
}

void checkpoint_recipe_text(const struct recipe *recipe, struct buf *out)
{
    static const char *const names[] = {
        [OPTIMIZER_RMSPROP] = "rmsprop",   [OPTIMIZER_RMSPROP_MOMENTUM] = "rmsprop-momentum",
        [OPTIMIZER_ADADELTA] = "adadelta", [OPTIMIZER_ADAM] = "adam",
        [OPTIMIZER_ADAMW] = "adamw",
    };
    buf_printf(out, "optimizer=%s", names[recipe->optimizer]);
    add_number(out, "rho", recipe->rho);
    add_number(out, "beta2", recipe->beta2);
    add_number(out, "epsilon", recipe->epsilon);
    add_number(out, "decay", recipe->decay);
    add_number(out, "momentum", recipe->momentum);
    add_number(out, "weight_decay", recipe->weight_decay);
    if (recipe->clip > 0)
        add_number(out, "clip", recipe->clip);
    if (recipe->warmup > 0) {
        buf_printf(out, " warmup=%" PRId64, recipe->warmup);
        add_number(out, "floor", recipe->floor);
    }
    buf_printf(out, " batch=%" PRId64, recipe->batch);
    for (int i = 0; i < recipe->stage_count; i++) {
        const struct recipe_stage *stage = &recipe->stages[i];
        char rate[24];
        snprintf(rate, sizeof rate, "phase%d.rate", i);
        buf_printf(out, " phase%d.steps=%" PRId64, i, stage->steps);
        add_number(out, rate, stage->rate);
        if (stage->only)
            buf_printf(out, " phase%d.only=%s", i, stage->only);
    }
}

static void hash_int(struct sha256 *sha, int64_t value)
{
    sha256_add(sha, &value, sizeof value);
}

static void hash_text(struct sha256 *sha, const char *text)
{
    sha256_add(sha, text, strlen(text) + 1); // with its NUL, so that two texts cannot run together
}

static void hash_layer(struct sha256 *sha, const struct net_layer *layer)
{
    hash_text(sha, layer->name);
    hash_int(sha, layer->op);
    hash_int(sha, layer->input_count);
    for (int i = 0; i < layer->input_count; i++)
        hash_int(sha, layer->inputs[i]);
    hash_int(sha, layer->out.rank);
    for (int i = 0; i < layer->out.rank; i++)
        hash_int(sha, layer->out.dim[i]);
    const int numbers[] = {layer->units,   layer->kernel_h, layer->kernel_w,   layer->stride,
                           layer->pad_top, layer->pad_left, layer->pad_bottom, layer->pad_right,
                           layer->relu,    layer->bias,     layer->both_ways,  layer->vocabulary};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hash_int(sha, numbers[i]);
    sha256_add(sha, &layer->rate, sizeof layer->rate);
    sha256_add(sha, &layer->decay, sizeof layer->decay);
    sha256_add(sha, &layer->epsilon, sizeof layer->epsilon);
    // Later additions count only where a net uses them, so that other nets keep their sums.
    if (layer->hard_gates)
        hash_text(sha, "hard gates");
    if (layer->op == NET_AUX)
        sha256_add(sha, &layer->weight, sizeof layer->weight);
    if (layer->op == NET_ATTENTION)
        hash_int(sha, layer->heads);
    if (layer->op == NET_TIED_HEAD)
        hash_int(sha, layer->tied);
}

void checkpoint_fingerprint(const struct net *net, char out[SHA256_HEX_BYTES])
{
    struct sha256 sha;
    uint8_t sum[SHA256_BYTES];
    sha256_init(&sha);
    hash_int(&sha, net->loss);
    hash_int(&sha, net->layer_count);
    for (int i = 0; i < net->layer_count; i++)
        hash_layer(&sha, &net->layers[i]);
    hash_int(&sha, net->param_count);
    for (int i = 0; i < net->param_count; i++) {
        const struct net_param *param = &net->params[i];
        hash_text(&sha, param->name);
        hash_int(&sha, param->rank);
        for (int d = 0; d < param->rank; d++)
            hash_int(&sha, param->dim[d]);
    }
    sha256_done(&sha, sum);
    sha256_hex(sum, out);
}

// ---------------------------------------------------------------------------------------------
// Saving

#define TEXTS_MAX 20

struct checkpoint_texts { // `numbers` holds those that are numbers, at most 24 bytes each and a NUL
    struct safetensors_text list[TEXTS_MAX];
    int count;
    char numbers[TEXTS_MAX][32];
};

static void put_text(struct checkpoint_texts *texts, const char *key, const char *value)
{
    assert(texts->count < TEXTS_MAX);
    texts->list[texts->count++] = (struct safetensors_text){key, value};
}

static void put_int(struct checkpoint_texts *texts, const char *key, int64_t value)
{
    char *number = texts->numbers[texts->count];
    snprintf(number, sizeof texts->numbers[0], "%" PRId64, value);
    put_text(texts, key, number);
}

// The texts of the file; each must outlive the list.
static void describe_training(struct checkpoint_texts *texts,
                              const struct checkpoint_subject *subject,
                              const struct checkpoint_place *place, const char *recipe,
                              const char *net)
{
    // transformers opens only files that say "pt".
    bool gpt2 = subject->net->layers[subject->net->layer_count - 1].op == NET_TIED_HEAD;
    put_text(texts, "format", gpt2 ? "pt" : CHECKPOINT_FORMAT);
    if (gpt2)
        put_text(texts, "fare_format", CHECKPOINT_FORMAT);
    put_text(texts, "workload", subject->workload);
    put_text(texts, "data", subject->data);
    put_text(texts, "data_identity", subject->data_identity);
    put_text(texts, "net", net);
    put_text(texts, "recipe", recipe);
    put_int(texts, "epochs", subject->recipe->epochs);
    char *seed = texts->numbers[texts->count];
    snprintf(seed, sizeof texts->numbers[0], "%" PRIu64, subject->options.seed);
    put_text(texts, "seed", seed);
    put_text(texts, "engine", subject->engine->name);
    put_text(texts, "precision", precision_name(subject->options.precision));
    put_int(texts, "threads", subject->options.threads);
    put_int(texts, "epoch", place->epoch);
    put_int(texts, "step", place->step);
    put_int(texts, "iteration", place->iteration);
    put_int(texts, "phase", place->stage);
    char *loss = texts->numbers[texts->count]; // in hexadecimal, which is exact
    snprintf(loss, sizeof texts->numbers[0], "%a", place->score.loss);
    put_text(texts, "loss_sum", loss);
    put_int(texts, "correct", place->score.correct);
    put_int(texts, "count", place->score.count);
}

// The program's tensors, and memory for the largest.
struct tensor_list {
    struct engine_tensor *list;
    int count;
    float *values;
};

static int tensor_list_init(struct tensor_list *tensors, const struct engine *engine,
                            const struct engine_program *program, struct err *err)
{
    int64_t largest = 0;
    tensors->values = NULL;
    tensors->count = engine->tensor_count(program);
    tensors->list = calloc((size_t)tensors->count + 1, sizeof *tensors->list);
    if (!tensors->list)
        return err_memory(err);
    for (int i = 0; i < tensors->count; i++) {
        engine->tensor(program, i, &tensors->list[i]);
        if (tensors->list[i].count > largest)
            largest = tensors->list[i].count;
    }
    tensors->values = malloc(((size_t)largest + 1) * sizeof *tensors->values);
    return tensors->values ? 0 : err_memory(err);
}

static void tensor_list_release(struct tensor_list *tensors)
{
    free(tensors->list);
    free(tensors->values);
}

static int write_checkpoint(const char *path, const struct checkpoint_texts *texts,
                            const struct engine *engine, struct engine_program *program,
                            const struct tensor_list *tensors, struct err *err)
{
    SCOPED(free_pointer)
    struct safetensors_entry *entries = malloc(((size_t)tensors->count + 1) * sizeof *entries);
    if (!entries)
        return err_memory(err);
    for (int i = 0; i < tensors->count; i++) {
        const struct engine_tensor *t = &tensors->list[i];
        entries[i] = (struct safetensors_entry){t->name, t->rank, t->dim};
    }
    struct safetensors_writer w;
    TRY(safetensors_begin(&w, path, texts->list, texts->count, entries, tensors->count, err));
    int rc = 0;
    for (int i = 0; rc == 0 && i < tensors->count; i++) {
        rc = engine->read(program, i, tensors->values, err);
        if (rc == 0)
            rc = safetensors_add(&w, tensors->values, tensors->list[i].count, err);
    }
    if (rc == 0)
        return safetensors_commit(&w, err);
    safetensors_abandon(&w);
    return rc;
}

int checkpoint_save(const char *path, const struct checkpoint_subject *subject,
                    struct engine_program *program, const struct checkpoint_place *place,
                    struct err *err)
{
    char net[SHA256_HEX_BYTES];
    SCOPED(buf_release) struct buf recipe = {0};
    struct checkpoint_texts texts = {.count = 0};
    SCOPED(tensor_list_release) struct tensor_list tensors = {0};
    checkpoint_fingerprint(subject->net, net);
    checkpoint_recipe_text(subject->recipe, &recipe);
    TRY(buf_check(&recipe, err));
    TRY(tensor_list_init(&tensors, subject->engine, program, err));
    describe_training(&texts, subject, place, buf_str(&recipe), net);
    return write_checkpoint(path, &texts, subject->engine, program, &tensors, err);
}

// ---------------------------------------------------------------------------------------------
// Restoring

static const char *checkpoint_format(const struct safetensors *st)
{
    const char *own = safetensors_text(st, "fare_format");
    return own ? own : safetensors_text(st, "format");
}

static int check_format(const struct safetensors *st, struct err *err)
{
    const char *format = checkpoint_format(st);
    if (format && strcmp(format, CHECKPOINT_FORMAT) == 0)
        return 0;
    if (format && strncmp(format, "fare.checkpoint/", 16) == 0)
        return err_set(err, ERR_FORMAT, "'%s' is a checkpoint of another fare: '%.32s', not '%s'",
                       st->path, format, CHECKPOINT_FORMAT);
    err_set(err, ERR_FORMAT, "'%s' holds tensors, but not a checkpoint of fare", st->path);
    err_hint(err, "--from loads its parameters alone");
    return ERR_FORMAT;
}

static int get_text(const struct safetensors *st, const char *key, const char **value,
                    struct err *err)
{
    *value = safetensors_text(st, key);
    return *value ? 0 : err_set(err, ERR_FORMAT, "'%s' lacks its %s", st->path, key);
}

static int get_int(const struct safetensors *st, const char *key, int64_t max, int64_t *value,
                   struct err *err)
{
    const char *text;
    TRY(get_text(st, key, &text, err));
    if (!text_int(text, value) || *value < 0 || *value > max)
        return err_set(err, ERR_FORMAT, "'%s': its %s is '%.32s'", st->path, key, text);
    return 0;
}

static int get_loss(const struct safetensors *st, double *value, struct err *err)
{
    const char *text;
    TRY(get_text(st, "loss_sum", &text, err));
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end != '\0')
        return err_set(err, ERR_FORMAT, "'%s': its loss_sum is '%.32s'", st->path, text);
    return 0;
}

static int get_place(const struct safetensors *st, const struct recipe *recipe,
                     struct checkpoint_place *place, struct err *err)
{
    int64_t stage = 0;
    memset(place, 0, sizeof *place);
    TRY(get_int(st, "epoch", INT64_MAX, &place->epoch, err));
    TRY(get_int(st, "step", INT64_MAX, &place->step, err));
    TRY(get_int(st, "iteration", INT64_MAX, &place->iteration, err));
    TRY(get_int(st, "phase", recipe->stage_count > 0 ? recipe->stage_count - 1 : 0, &stage, err));
    TRY(get_int(st, "count", INT64_MAX, &place->score.count, err));
    TRY(get_int(st, "correct", place->score.count, &place->score.correct, err));
    TRY(get_loss(st, &place->score.loss, err));
    place->stage = (int)stage;
    return 0;
}

// Two recipes as words; the error shows the first that differ.
static int compare_recipes(const char *there, const char *here, const char *path, struct err *err)
{
    while (*there || *here) {
        size_t a = strcspn(there, " "), b = strcspn(here, " ");
        if (a != b || memcmp(there, here, a) != 0)
            return err_set(err, ERR_FAIL, "'%s' was trained with %.*s, not %.*s", path,
                           a ? (int)a : 7, a ? there : "nothing", b ? (int)b : 7,
                           b ? here : "nothing");
        there += a + (there[a] == ' ');
        here += b + (here[b] == ' ');
    }
    return 0;
}

// Nets with different fingerprints: the first parameter that differs.
static int other_net(const struct safetensors *st, const struct net *net, struct err *err)
{
    const struct safetensors_tensor *tensor;
    for (int i = 0; i < net->param_count; i++) {
        const struct net_param *param = &net->params[i];
        TRY(safetensors_want(st, param->name, param->rank, param->dim, &tensor, err));
    }
    return err_set(err, ERR_FAIL,
                   "'%s' is of another net: its parameters have the same shapes, its layers differ",
                   st->path);
}

static int check_subject(const struct safetensors *st, const struct checkpoint_subject *subject,
                         struct err *err)
{
    const char *workload, *data, *identity, *net, *recipe, *seed;
    TRY(get_text(st, "workload", &workload, err));
    TRY(get_text(st, "data", &data, err));
    TRY(get_text(st, "data_identity", &identity, err));
    TRY(get_text(st, "net", &net, err));
    TRY(get_text(st, "recipe", &recipe, err));
    TRY(get_text(st, "seed", &seed, err));
    if (strcmp(workload, subject->workload) != 0)
        return err_set(err, ERR_FAIL, "this checkpoint is of %.64s on %.64s, not %s: '%s'",
                       workload, data, subject->workload, st->path);
    if (strcmp(identity, subject->data_identity) != 0) {
        if (strcmp(data, subject->data) != 0)
            return err_set(err, ERR_FAIL, "this checkpoint is of %s on %.64s, not on %s: '%s'",
                           workload, data, subject->data, st->path);
        return err_set(err, ERR_FAIL,
                       "this checkpoint is of %s on %s with other contents (%.16s, here %.16s): "
                       "'%s'",
                       workload, data, identity, subject->data_identity, st->path);
    }
    char here[SHA256_HEX_BYTES];
    checkpoint_fingerprint(subject->net, here);
    if (strcmp(net, here) != 0)
        return other_net(st, subject->net, err);

    SCOPED(buf_release) struct buf words = {0};
    checkpoint_recipe_text(subject->recipe, &words);
    TRY(buf_check(&words, err));
    TRY(compare_recipes(recipe, buf_str(&words), st->path, err));
    char number[32];
    snprintf(number, sizeof number, "%" PRIu64, subject->options.seed);
    if (strcmp(seed, number) != 0)
        return err_set(err, ERR_FAIL, "this checkpoint is of seed %.32s, not %s: '%s'", seed,
                       number, st->path);
    return 0;
}

static int note_difference(const struct safetensors *st, const char *key, const char *here,
                           struct buf *notes, struct err *err)
{
    const char *there;
    TRY(get_text(st, key, &there, err));
    if (strcmp(there, here) == 0)
        return 0;
    buf_printf(notes, "%s was ", key);
    safetensors_printable(notes, there);
    buf_printf(notes, ", is %s: the run does not end in the same bits as one that never stopped\n",
               here);
    return buf_check(notes, err);
}

static int note_differences(const struct safetensors *st, const struct checkpoint_subject *subject,
                            struct buf *notes, struct err *err)
{
    char threads[16];
    snprintf(threads, sizeof threads, "%d", subject->options.threads);
    TRY(note_difference(st, "engine", subject->engine->name, notes, err));
    TRY(note_difference(st, "precision", precision_name(subject->options.precision), notes, err));
    return note_difference(st, "threads", threads, notes, err);
}

static int restore_tensors(const struct safetensors *st, const struct engine *engine,
                           struct engine_program *program, struct err *err)
{
    SCOPED(tensor_list_release) struct tensor_list tensors = {0};
    const struct safetensors_tensor *found;
    TRY(tensor_list_init(&tensors, engine, program, err));
    for (int i = 0; i < tensors.count; i++) {
        const struct engine_tensor *t = &tensors.list[i];
        TRY(safetensors_want(st, t->name, t->rank, t->dim, &found, err));
    }
    for (int i = 0; i < tensors.count; i++) {
        found = safetensors_find(st, tensors.list[i].name);
        TRY(safetensors_floats(st, found, tensors.values, err));
        TRY(engine->write(program, i, tensors.values, err));
    }
    return 0;
}

int checkpoint_restore(const char *path, const struct checkpoint_subject *subject,
                       struct engine_program *program, struct checkpoint_place *place,
                       struct buf *notes, struct err *err)
{
    SCOPED(safetensors_release) struct safetensors st = {0};
    TRY(safetensors_open(&st, path, err));
    TRY(check_format(&st, err));
    TRY(check_subject(&st, subject, err));
    TRY(get_place(&st, subject->recipe, place, err));
    TRY(note_differences(&st, subject, notes, err));
    // The phase first, because it resets the optimizer's state.
    TRY(subject->engine->set_stage(program, place->stage, err));
    TRY(restore_tensors(&st, subject->engine, program, err));
    subject->engine->set_iteration(program, place->iteration);
    return 0;
}

// ==== checkpoint_folder ====
// Folders of checkpoints: finds the newest complete one and removes old ones. The iterations in the
// names give the order, because clocks and copies make file times unreliable.

#define SUFFIX      ".safetensors"
#define DIGITS      12
#define STRAY_AGE_S 3600
#define TEMPORARY   ".fare-tmp-" // the prefix that base/fs uses

int checkpoint_path(const char *dir, const char *name, int64_t iteration, struct buf *out,
                    struct err *err)
{
    assert(iteration >= 0);
    size_t len = strlen(dir);
    buf_reset(out);
    buf_printf(out, "%s%s%s-%0*" PRId64 SUFFIX, dir, len && dir[len - 1] == '/' ? "" : "/", name,
               DIGITS, iteration);
    return buf_check(out, err);
}

// NAME-DIGITS at the start of `text`, exactly as checkpoint_path() writes it; returns the rest, or
// null.
static const char *parse_name(const char *text, const char *name, int64_t *iteration)
{
    size_t len = strlen(name);
    if (strncmp(text, name, len) != 0 || text[len] != '-')
        return NULL;
    const char *digits = text + len + 1;
    size_t count = strspn(digits, "0123456789");
    // Zeros fill it up to twelve digits; a longer number has none in front.
    if (count < DIGITS || count > 18 || (count > DIGITS && digits[0] == '0'))
        return NULL;
    *iteration = strtoll(digits, NULL, 10);
    return digits + count;
}

struct iterations {
    int64_t *list; // the highest first
    size_t count, cap;
};

static void iterations_release(struct iterations *found)
{
    free(found->list);
}

static int add_iteration(struct iterations *found, int64_t iteration, struct err *err)
{
    TRY(array_grow(&found->list, found->count, &found->cap, sizeof *found->list, err));
    found->list[found->count++] = iteration;
    return 0;
}

static int highest_first(const void *a_, const void *b_)
{
    const int64_t *a = a_, *b = b_;
    return (*a < *b) - (*a > *b);
}

// A temporary file of a dead writer: a live one keeps writing to its file.
static void remove_stray(int dir, const char *file)
{
    struct stat status;
    if (strncmp(file, TEMPORARY, strlen(TEMPORARY)) == 0 &&
        fstatat(dir, file, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
        time(NULL) - status.st_mtime > STRAY_AGE_S)
        unlinkat(dir, file, 0);
}

// A missing folder holds none.
static int list_iterations(const char *path, const char *name, bool remove_strays,
                           struct iterations *found, struct err *err)
{
    SCOPED(fs_close_folder) DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0 : err_errno(err, errno, "cannot open the folder '%s'", path);
    for (const char *file; (file = fs_next(dir));) {
        int64_t iteration;
        const char *rest = parse_name(file, name, &iteration);
        if (rest && strcmp(rest, SUFFIX) == 0)
            TRY(add_iteration(found, iteration, err));
        else if (remove_strays)
            remove_stray(dirfd(dir), file);
    }
    if (errno != 0)
        return err_errno(err, errno, "cannot read the folder '%s'", path);
    if (found->count > 0)
        qsort(found->list, found->count, sizeof *found->list, highest_first);
    return 0;
}

// 1: complete; 0: not, and `why` says what is missing; negative: unknown.
static int is_whole(const char *path, struct err *why)
{
    SCOPED(safetensors_release) struct safetensors st = {0};
    int rc = safetensors_open(&st, path, why);
    if (rc == ERR_FORMAT || rc == ERR_MISSING) // it may have been removed meanwhile
        return 0;
    TRY(rc);
    const char *format = checkpoint_format(&st);
    if (format && strcmp(format, CHECKPOINT_FORMAT) == 0)
        return 1;
    err_set(why, ERR_FORMAT, "'%s' is not a checkpoint of this fare", path);
    return 0;
}

int checkpoint_newest(const char *dir, const char *name, struct buf *path, struct buf *damaged,
                      struct err *err)
{
    SCOPED(iterations_release) struct iterations found = {0};
    TRY(list_iterations(dir, name, false, &found, err));
    for (size_t i = 0; i < found.count; i++) {
        struct err why = {0};
        TRY(checkpoint_path(dir, name, found.list[i], path, err));
        int whole = is_whole(buf_str(path), &why);
        if (whole > 0)
            return 1;
        buf_reset(path);
        if (whole < 0)
            return err_pass(err, whole, &why);
        if (damaged) {
            buf_printf(damaged, "%s\n", why.text);
            TRY(buf_check(damaged, err));
        }
    }
    buf_reset(path);
    return 0;
}

int checkpoint_prune(const char *dir, const char *name, int keep, int64_t current, struct err *err)
{
    assert(keep >= 1);
    SCOPED(iterations_release) struct iterations found = {0};
    SCOPED(buf_release) struct buf path = {0};
    int kept = 0;
    TRY(list_iterations(dir, name, true, &found, err));
    for (size_t i = 0; i < found.count; i++) {
        if (found.list[i] > current)
            continue;
        TRY(checkpoint_path(dir, name, found.list[i], &path, err));
        if (kept < keep) {
            struct err why = {0};
            int whole = is_whole(buf_str(&path), &why);
            if (whole < 0)
                return err_pass(err, whole, &why);
            kept += whole;
        } else if (unlink(buf_str(&path)) != 0 && errno != ENOENT) {
            return err_errno(err, errno, "cannot remove '%s'", buf_str(&path));
        }
    }
    return 0;
}
