// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "train/checkpoint/checkpoint.h"

#define NAME_BYTES  128
#define GPT2_PREFIX "transformer."

const char *const names_styles[NAMES_STYLES] = {"fare", "timm", "TF-Slim", "Keras"};

// TF-Slim and Keras: convolutions height × width × in × out, dense weights in × out.
static bool names_channels_last(enum names_style style)
{
    return style == NAMES_SLIM || style == NAMES_KERAS;
}

// ---------------------------------------------------------------------------------------------
// Inception v4. Blocks and their convolutions are in the order in which the Keras ports create
// them, which is TF-Slim's: Keras numbers them in that order.

struct unit {
    const char *own, *pytorch, *slim;
};

static const struct unit single[] = {{"", "", ""}, {0}};
static const struct unit stem_3[] = {{".b.1", ".conv", ".Branch_1.Conv2d_0a_3x3"}, {0}};
static const struct unit stem_4[] = {{".b.0.0", ".branch0.0", ".Branch_0.Conv2d_0a_1x1"},
                                     {".b.0.1", ".branch0.1", ".Branch_0.Conv2d_1a_3x3"},
                                     {".b.1.0", ".branch1.0", ".Branch_1.Conv2d_0a_1x1"},
                                     {".b.1.1", ".branch1.1", ".Branch_1.Conv2d_0b_1x7"},
                                     {".b.1.2", ".branch1.2", ".Branch_1.Conv2d_0c_7x1"},
                                     {".b.1.3", ".branch1.3", ".Branch_1.Conv2d_1a_3x3"},
                                     {0}};
static const struct unit stem_5[] = {{".b.0", ".conv", ".Branch_0.Conv2d_1a_3x3"}, {0}};
static const struct unit block_a[] = {{".b.0", ".branch0", ".Branch_0.Conv2d_0a_1x1"},
                                      {".b.1.0", ".branch1.0", ".Branch_1.Conv2d_0a_1x1"},
                                      {".b.1.1", ".branch1.1", ".Branch_1.Conv2d_0b_3x3"},
                                      {".b.2.0", ".branch2.0", ".Branch_2.Conv2d_0a_1x1"},
                                      {".b.2.1", ".branch2.1", ".Branch_2.Conv2d_0b_3x3"},
                                      {".b.2.2", ".branch2.2", ".Branch_2.Conv2d_0c_3x3"},
                                      {".b.3.1", ".branch3.1", ".Branch_3.Conv2d_0b_1x1"},
                                      {0}};
static const struct unit reduction_a[] = {{".b.0", ".branch0", ".Branch_0.Conv2d_1a_3x3"},
                                          {".b.1.0", ".branch1.0", ".Branch_1.Conv2d_0a_1x1"},
                                          {".b.1.1", ".branch1.1", ".Branch_1.Conv2d_0b_3x3"},
                                          {".b.1.2", ".branch1.2", ".Branch_1.Conv2d_1a_3x3"},
                                          {0}};
static const struct unit block_b[] = {{".b.0", ".branch0", ".Branch_0.Conv2d_0a_1x1"},
                                      {".b.1.0", ".branch1.0", ".Branch_1.Conv2d_0a_1x1"},
                                      {".b.1.1", ".branch1.1", ".Branch_1.Conv2d_0b_1x7"},
                                      {".b.1.2", ".branch1.2", ".Branch_1.Conv2d_0c_7x1"},
                                      {".b.2.0", ".branch2.0", ".Branch_2.Conv2d_0a_1x1"},
                                      {".b.2.1", ".branch2.1", ".Branch_2.Conv2d_0b_7x1"},
                                      {".b.2.2", ".branch2.2", ".Branch_2.Conv2d_0c_1x7"},
                                      {".b.2.3", ".branch2.3", ".Branch_2.Conv2d_0d_7x1"},
                                      {".b.2.4", ".branch2.4", ".Branch_2.Conv2d_0e_1x7"},
                                      {".b.3.1", ".branch3.1", ".Branch_3.Conv2d_0b_1x1"},
                                      {0}};
static const struct unit reduction_b[] = {{".b.0.0", ".branch0.0", ".Branch_0.Conv2d_0a_1x1"},
                                          {".b.0.1", ".branch0.1", ".Branch_0.Conv2d_1a_3x3"},
                                          {".b.1.0", ".branch1.0", ".Branch_1.Conv2d_0a_1x1"},
                                          {".b.1.1", ".branch1.1", ".Branch_1.Conv2d_0b_1x7"},
                                          {".b.1.2", ".branch1.2", ".Branch_1.Conv2d_0c_7x1"},
                                          {".b.1.3", ".branch1.3", ".Branch_1.Conv2d_1a_3x3"},
                                          {0}};
static const struct unit block_c[] = {{".b.0", ".branch0", ".Branch_0.Conv2d_0a_1x1"},
                                      {".b.1.0", ".branch1_0", ".Branch_1.Conv2d_0a_1x1"},
                                      {".b.1.1.b.0", ".branch1_1a", ".Branch_1.Conv2d_0b_1x3"},
                                      {".b.1.1.b.1", ".branch1_1b", ".Branch_1.Conv2d_0c_3x1"},
                                      {".b.2.0", ".branch2_0", ".Branch_2.Conv2d_0a_1x1"},
                                      {".b.2.1", ".branch2_1", ".Branch_2.Conv2d_0b_3x1"},
                                      {".b.2.2", ".branch2_2", ".Branch_2.Conv2d_0c_1x3"},
                                      {".b.2.3.b.0", ".branch2_3a", ".Branch_2.Conv2d_0d_1x3"},
                                      {".b.2.3.b.1", ".branch2_3b", ".Branch_2.Conv2d_0e_3x1"},
                                      {".b.3.1", ".branch3.1", ".Branch_3.Conv2d_0b_1x1"},
                                      {0}};
static const struct unit auxiliary[] = {
    {".0", NULL, ".Conv2d_1b_1x1"}, {".1", NULL, ".Conv2d_2a"}, {0}};

static const struct block {
    const char *own, *pytorch, *slim;
    const struct unit *units;
} blocks[] = {
    {"f.0", "features.0", "InceptionV4.Conv2d_1a_3x3", single},
    {"f.1", "features.1", "InceptionV4.Conv2d_2a_3x3", single},
    {"f.2", "features.2", "InceptionV4.Conv2d_2b_3x3", single},
    {"f.3", "features.3", "InceptionV4.Mixed_3a", stem_3},
    {"f.4", "features.4", "InceptionV4.Mixed_4a", stem_4},
    {"f.5", "features.5", "InceptionV4.Mixed_5a", stem_5},
    {"f.6", "features.6", "InceptionV4.Mixed_5b", block_a},
    {"f.7", "features.7", "InceptionV4.Mixed_5c", block_a},
    {"f.8", "features.8", "InceptionV4.Mixed_5d", block_a},
    {"f.9", "features.9", "InceptionV4.Mixed_5e", block_a},
    {"f.10", "features.10", "InceptionV4.Mixed_6a", reduction_a},
    {"f.11", "features.11", "InceptionV4.Mixed_6b", block_b},
    {"f.12", "features.12", "InceptionV4.Mixed_6c", block_b},
    {"f.13", "features.13", "InceptionV4.Mixed_6d", block_b},
    {"f.14", "features.14", "InceptionV4.Mixed_6e", block_b},
    {"f.15", "features.15", "InceptionV4.Mixed_6f", block_b},
    {"f.16", "features.16", "InceptionV4.Mixed_6g", block_b},
    {"f.17", "features.17", "InceptionV4.Mixed_6h", block_b},
    {"f.18", "features.18", "InceptionV4.Mixed_7a", reduction_b},
    {"f.19", "features.19", "InceptionV4.Mixed_7b", block_c},
    {"f.20", "features.20", "InceptionV4.Mixed_7c", block_c},
    {"f.21", "features.21", "InceptionV4.Mixed_7d", block_c},
    {"aux", NULL, "InceptionV4.AuxLogits", auxiliary},
};

#define KERAS_UNITS 149 // all but the auxiliary head's, which no port has

enum keras_layer { CONVOLUTION, NORM, DENSE, LAYERS }; // of Keras, each kind with its own numbers

// What follows the path of a convolution, or of its batch norm.
static const struct leaf {
    const char *own, *pytorch, *slim, *keras;
    enum keras_layer layer;
} leaves[] = {
    {".c.weight", ".conv.weight", ".weights", ".kernel", CONVOLUTION},
    {".b.weight", ".bn.weight", ".BatchNorm.gamma", ".gamma", NORM},
    {".b.bias", ".bn.bias", ".BatchNorm.beta", ".beta", NORM},
    {".b.running_mean", ".bn.running_mean", ".BatchNorm.moving_mean", ".moving_mean", NORM},
    {".b.running_var", ".bn.running_var", ".BatchNorm.moving_variance", ".moving_variance", NORM},
};

// Classifiers, by whole names. The only dense layer of a Keras file is one too.
static const struct head {
    const char *own;
    const char *names[NAMES_STYLES];
} heads[] = {
    {"d.weight",
     {NULL, "last_linear.weight", "InceptionV4.Logits.Logits.weights", "predictions.kernel"}},
    {"d.bias", {NULL, "last_linear.bias", "InceptionV4.Logits.Logits.biases", "predictions.bias"}},
    {"d.weight", {NULL, "classif.weight", NULL, NULL}},
    {"d.bias", {NULL, "classif.bias", NULL, NULL}},
    {"d.weight", {NULL, "fc.weight", NULL, NULL}},
    {"d.bias", {NULL, "fc.bias", NULL, NULL}},
    {"aux.d.weight", {NULL, NULL, "InceptionV4.AuxLogits.Aux_logits.weights", NULL}},
    {"aux.d.bias", {NULL, NULL, "InceptionV4.AuxLogits.Aux_logits.biases", NULL}},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

// ---------------------------------------------------------------------------------------------
// The file's names

struct names_entry {
    char *key; // the name without what does not matter
    const struct safetensors_tensor *tensor;
};

struct names_file {
    const struct safetensors *st;
    struct names_entry *entries; // by key
    int *numbers[LAYERS];        // of Keras' layers, in their order
    int number_count[LAYERS];
};

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static char *make_key(const char *name, struct err *err)
{
    while (starts_with(name, "module.") || starts_with(name, "model."))
        name = strchr(name, '.') + 1;
    size_t first = strcspn(name, "./");
    if (name[first] != '\0' && strncmp(name, name + first + 1, first) == 0 &&
        name[2 * first + 1] == name[first] && first > 0)
        name += first + 1;
    char *key = text_copy(name, err);
    if (!key)
        return NULL;
    size_t len = strlen(key);
    if (len > 2 && strcmp(key + len - 2, ":0") == 0)
        key[len - 2] = '\0';
    for (char *p = key; *p; p++)
        if (*p == '/')
            *p = '.';
    return key;
}

static int by_names_key(const void *a_, const void *b_)
{
    const struct names_entry *a = a_, *b = b_;
    return strcmp(a->key, b->key);
}

static int by_layer_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static const char *const keras_layers[LAYERS] = {"conv2d", "batch_normalization", "dense"};

// The layer's number in "conv2d_17.kernel"; 0 in "conv2d.kernel"; -1 for any other key.
static int keras_number(const char *key, enum keras_layer layer)
{
    static const char *const ends[LAYERS] = {".kernel", ".moving_mean", ".kernel"};
    if (!starts_with(key, keras_layers[layer]))
        return -1;
    key += strlen(keras_layers[layer]);
    if (strcmp(key, ends[layer]) == 0)
        return 0;
    size_t digits = *key == '_' ? strspn(key + 1, "0123456789") : 0;
    if (digits == 0 || digits > 9 || key[1] == '0' || strcmp(key + 1 + digits, ends[layer]) != 0)
        return -1;
    return (int)strtol(key + 1, NULL, 10);
}

static int collect_numbers(struct names_file *file, enum keras_layer layer, struct err *err)
{
    int count = 0, *list = malloc(((size_t)file->st->count + 1) * sizeof *list);
    if (!list)
        return err_memory(err);
    for (int i = 0; i < file->st->count; i++) {
        int number = keras_number(file->entries[i].key, layer);
        if (number >= 0)
            list[count++] = number;
    }
    qsort(list, (size_t)count, sizeof *list, by_layer_number);
    file->numbers[layer] = list;
    file->number_count[layer] = count;
    return 0;
}

static void file_release(struct names_file *file)
{
    for (int i = 0; file->entries && i < file->st->count; i++)
        free(file->entries[i].key);
    for (int i = 0; i < LAYERS; i++)
        free(file->numbers[i]);
    free(file->entries);
}

static int file_init(struct names_file *file, const struct safetensors *st, struct err *err)
{
    *file = (struct names_file){.st = st};
    file->entries = calloc((size_t)st->count + 1, sizeof *file->entries);
    if (!file->entries)
        return err_memory(err);
    for (int i = 0; i < st->count; i++) {
        file->entries[i] =
            (struct names_entry){make_key(st->tensors[i].name, err), &st->tensors[i]};
        if (!file->entries[i].key)
            return ERR_MEMORY;
    }
    qsort(file->entries, (size_t)st->count, sizeof *file->entries, by_names_key);
    for (int i = 1; i < st->count; i++) {
        const struct names_entry *a = &file->entries[i - 1], *b = &file->entries[i];
        if (strcmp(a->key, b->key) == 0)
            return err_set(err, ERR_FORMAT, "'%.64s' and '%.64s' name the same tensor: '%s'",
                           a->tensor->name, b->tensor->name, st->path);
    }
    for (int i = 0; i < LAYERS; i++)
        TRY(collect_numbers(file, (enum keras_layer)i, err));
    return 0;
}

static int key_order(const void *key, const void *entry)
{
    return strcmp(key, ((const struct names_entry *)entry)->key);
}

static const struct safetensors_tensor *find_key(const struct names_file *file, const char *key)
{
    const struct names_entry *entry =
        bsearch(key, file->entries, (size_t)file->st->count, sizeof *file->entries, key_order);
    return entry ? entry->tensor : NULL;
}

// ---------------------------------------------------------------------------------------------
// The net's parameters

// Keras' name of layer `index` of its kind; false where the file has none.
static bool keras_name(const struct names_file *file, enum keras_layer layer, int index,
                       const char *leaf, char out[NAME_BYTES])
{
    if (index >= file->number_count[layer])
        return false;
    int number = file->numbers[layer][index];
    if (number > 0)
        snprintf(out, NAME_BYTES, "%s_%d%s", keras_layers[layer], number, leaf);
    else
        snprintf(out, NAME_BYTES, "%s%s", keras_layers[layer], leaf);
    return true;
}

static bool join_name(const char *block, const char *unit, const char *leaf, char out[NAME_BYTES])
{
    if (!block)
        return false;
    snprintf(out, NAME_BYTES, "%s%s%s", block, unit, leaf);
    return true;
}

static const struct leaf *leaf_of(const char *own, size_t *path_bytes)
{
    size_t len = strlen(own);
    for (size_t i = 0; i < COUNT(leaves); i++) {
        size_t end = strlen(leaves[i].own);
        if (len > end && strcmp(own + len - end, leaves[i].own) == 0) {
            *path_bytes = len - end;
            return &leaves[i];
        }
    }
    return NULL;
}

// The name in `style` of a parameter of a convolution or its batch norm.
static bool unit_name(const struct names_file *file, const char *own, enum names_style style,
                      char out[NAME_BYTES])
{
    size_t bytes;
    const struct leaf *leaf = leaf_of(own, &bytes);
    int index = 0;
    for (size_t i = 0; leaf && i < COUNT(blocks); i++) {
        const struct block *block = &blocks[i];
        size_t first = strlen(block->own);
        for (const struct unit *unit = block->units; unit->own; unit++, index++) {
            if (first + strlen(unit->own) != bytes || strncmp(own, block->own, first) != 0 ||
                strncmp(own + first, unit->own, bytes - first) != 0)
                continue;
            if (style == NAMES_PYTORCH)
                return join_name(block->pytorch, unit->pytorch, leaf->pytorch, out);
            if (style == NAMES_SLIM)
                return join_name(block->slim, unit->slim, leaf->slim, out);
            return index < KERAS_UNITS && keras_name(file, leaf->layer, index, leaf->keras, out);
        }
    }
    return false;
}

// Two tensors for one parameter are an error: which one is meant?
static int add_found(const struct names_file *file, const char *own, const char *key,
                     const struct safetensors_tensor **found, struct err *err)
{
    const struct safetensors_tensor *tensor = find_key(file, key);
    if (tensor && *found)
        return err_set(err, ERR_FORMAT, "'%.64s' and '%.64s' are both '%s' here: '%s'",
                       (*found)->name, tensor->name, own, file->st->path);
    if (tensor)
        *found = tensor;
    return 0;
}

static int find_in_style(const struct names_file *file, const char *own, enum names_style style,
                         const struct safetensors_tensor **found, struct err *err)
{
    char name[NAME_BYTES];
    *found = NULL;
    if (style == NAMES_OWN) {
        TRY(add_found(file, own, own, found, err));
        // A GPT-2 without its head has the same names without the first part.
        return starts_with(own, GPT2_PREFIX)
                   ? add_found(file, own, own + strlen(GPT2_PREFIX), found, err)
                   : 0;
    }
    if (unit_name(file, own, style, name))
        return add_found(file, own, name, found, err);
    for (size_t i = 0; i < COUNT(heads); i++)
        if (strcmp(heads[i].own, own) == 0 && heads[i].names[style])
            TRY(add_found(file, own, heads[i].names[style], found, err));
    // Keras: with several dense layers nothing says which one is the classifier.
    if (style == NAMES_KERAS && starts_with(own, "d.") && file->number_count[DENSE] == 1 &&
        keras_name(file, DENSE, 0, strcmp(own, "d.weight") == 0 ? ".kernel" : ".bias", name))
        TRY(add_found(file, own, name, found, err));
    return 0;
}

static int find_all(struct names *names, const struct names_file *file, const struct net *net,
                    struct err *err)
{
    const struct safetensors_tensor *any = NULL, *found;
    for (int style = 0; style < NAMES_STYLES; style++)
        for (int i = 0; i < net->param_count; i++) {
            TRY(find_in_style(file, net->params[i].name, (enum names_style)style, &found, err));
            if (!found)
                continue;
            if (any && names->style != (enum names_style)style)
                return err_set(err, ERR_FORMAT,
                               "it mixes names of %s ('%.64s') and of %s ('%.64s'): '%s'",
                               names_styles[names->style], any->name, names_styles[style],
                               found->name, file->st->path);
            any = names->found[i] = found;
            names->style = (enum names_style)style;
        }
    const int *count = file->number_count;
    if (names->style == NAMES_KERAS &&
        (count[CONVOLUTION] != KERAS_UNITS || count[NORM] != KERAS_UNITS))
        return err_set(err, ERR_FORMAT,
                       "Inception v4 has %d convolutions and batch norms, not %d and %d as in '%s'",
                       KERAS_UNITS, count[CONVOLUTION], count[NORM], file->st->path);
    return 0;
}

int names_init(struct names *names, const struct safetensors *st, const struct net *net,
               struct err *err)
{
    SCOPED(file_release) struct names_file file = {.st = st};
    *names = (struct names){.found = calloc((size_t)net->param_count + 1, sizeof *names->found)};
    if (!names->found)
        return err_memory(err);
    TRY(file_init(&file, st, err));
    return find_all(names, &file, net, err);
}

void names_release(struct names *names)
{
    free(names->found);
}

// ==== checkpoint_parameters ====
// The parameters of a net from any safetensors file that fits (checkpoint.h). First it is decided
// for each parameter whether its tensor fits, then the values are loaded.

#define LEAST_PERCENT 95
#define EXAMPLES      3
#define BACKGROUND    1001 // classes of ImageNet with the background, which comes first

enum fit {
    MISSING,
    OTHER_SHAPE,
    FITS,
    FITS_BUT_FIRST, // without the first class
    SCALE_OF_ONE,   // a batch norm without scale
    UNTRAINED,      // a classifier for other classes
};

struct loader {
    struct safetensors st;
    struct names names;
    const struct net *net;
    const struct engine *engine;
    struct engine_program *program;
    enum fit *fits; // of each parameter
};

// ---------------------------------------------------------------------------------------------
// What fits

// The parameter's shape in the file's layout.
static void file_dim(const struct loader *l, const struct net_param *p, int64_t dim[4])
{
    memcpy(dim, p->dim, sizeof p->dim);
    if (!names_channels_last(l->names.style))
        return;
    if (p->rank == 2)
        memcpy(dim, (const int64_t[]){p->dim[1], p->dim[0]}, 2 * sizeof *dim);
    if (p->rank == 4)
        memcpy(dim, (const int64_t[]){p->dim[2], p->dim[3], p->dim[1], p->dim[0]}, 4 * sizeof *dim);
}

static enum fit fit_of(const struct loader *l, int param)
{
    const struct net_param *p = &l->net->params[param];
    const struct safetensors_tensor *found = l->names.found[param];
    int64_t dim[4];
    if (!found)
        return MISSING;
    file_dim(l, p, dim);
    if (safetensors_fits(found, p->rank, dim))
        return FITS;
    int classes = names_channels_last(l->names.style) ? p->rank - 1 : 0;
    dim[classes]++;
    return dim[classes] == BACKGROUND && safetensors_fits(found, p->rank, dim) ? FITS_BUT_FIRST
                                                                               : OTHER_SHAPE;
}

// A dense layer whose outputs are classes: the net's last, or its auxiliary head.
static bool is_classifier(const struct net *net, int layer)
{
    const struct net_layer *last = &net->layers[net->layer_count - 1];
    if (net->layers[layer].op != NET_DENSE)
        return false;
    return layer == net->layer_count - 1 ||
           (last->op == NET_AUX && (layer == last->inputs[0] || layer == last->inputs[1]));
}

static bool is_scale(const struct net *net, const struct net_param *p)
{
    return net->layers[p->layer].op == NET_BATCH_NORM && p->trained && p->init == NET_ONE;
}

// Classifiers are taken as a whole or not at all.
static void judge_classifier(struct loader *l, int layer)
{
    int count = 0, fit = 0, but_first = 0;
    for (int i = 0; i < l->net->param_count; i++)
        if (l->net->params[i].layer == layer) {
            count++;
            fit += l->fits[i] == FITS;
            but_first += l->fits[i] == FITS_BUT_FIRST;
        }
    for (int i = 0; i < l->net->param_count; i++)
        if (l->net->params[i].layer == layer && fit < count && but_first < count)
            l->fits[i] = UNTRAINED;
}

static void judge_fits(struct loader *l)
{
    bool scales = !names_channels_last(l->names.style);
    for (int i = 0; i < l->net->param_count; i++) {
        l->fits[i] = fit_of(l, i);
        scales |= is_scale(l->net, &l->net->params[i]) && l->names.found[i];
    }
    for (int i = 0; i < l->net->param_count; i++) {
        const struct net_param *p = &l->net->params[i];
        if (!is_classifier(l->net, p->layer) && l->fits[i] == FITS_BUT_FIRST)
            l->fits[i] = OTHER_SHAPE;
        if (!scales && is_scale(l->net, p))
            l->fits[i] = SCALE_OF_ONE;
    }
    for (int i = 0; i < l->net->layer_count; i++)
        if (is_classifier(l->net, i))
            judge_classifier(l, i);
}

// ---------------------------------------------------------------------------------------------
// What does not, in words

static void describe_param(const struct loader *l, int param, struct buf *out)
{
    const struct net_param *p = &l->net->params[param];
    const struct safetensors_tensor *found = l->names.found[param];
    int64_t dim[4];
    buf_addc(out, '\'');
    safetensors_printable(out, found ? found->name : p->name);
    buf_adds(out, "' is ");
    if (!found) {
        buf_adds(out, "missing");
        return;
    }
    file_dim(l, p, dim);
    safetensors_shape(out, found->rank < 8 ? found->rank : 8, found->dim);
    buf_adds(out, ", not ");
    safetensors_shape(out, p->rank, dim);
}

// Optimizer state, the counters of PyTorch's batch norms and the masks of GPT-2's attention are not
// parameters; second biases are added to the first; a tied head is the embedding again.
static bool is_unused(const struct loader *l, const struct safetensors_tensor *tensor)
{
    const char *name = tensor->name;
    if (text_ends(name, ".state0") || text_ends(name, ".state1") ||
        text_ends(name, ".num_batches_tracked") || strstr(name, "bias_hh_l") ||
        text_ends(name, ".attn.bias") || text_ends(name, ".attn.masked_bias") ||
        (l->net->layers[l->net->layer_count - 1].op == NET_TIED_HEAD &&
         strcmp(name, "lm_head.weight") == 0))
        return false;
    for (int i = 0; i < l->net->param_count; i++)
        if (l->names.found[i] == tensor)
            return false;
    return true;
}

// Up to three examples of tensors that do not fit: by their shape, then names only in the file,
// then names only in the net.
static void add_examples(const struct loader *l, struct buf *out)
{
    int count = 0;
    for (int i = 0; i < l->net->param_count && count < EXAMPLES; i++)
        if (l->fits[i] == OTHER_SHAPE) {
            buf_adds(out, count++ ? "; " : "");
            describe_param(l, i, out);
        }
    for (int i = 0; i < l->st.count && count < EXAMPLES; i++)
        if (is_unused(l, &l->st.tensors[i])) {
            buf_adds(out, count++ ? "; '" : "'");
            safetensors_printable(out, l->st.tensors[i].name);
            buf_adds(out, "' is of no layer");
        }
    for (int i = 0; i < l->net->param_count && count < EXAMPLES; i++)
        if (l->fits[i] == MISSING) {
            buf_adds(out, count++ ? "; " : "");
            describe_param(l, i, out);
        }
}

static int check_share(const struct loader *l, struct err *err)
{
    int total = 0, fit = 0;
    for (int i = 0; i < l->net->param_count; i++) {
        total += l->fits[i] != UNTRAINED;
        fit += l->fits[i] >= FITS && l->fits[i] < UNTRAINED;
    }
    if (fit > 0 && fit * 100 >= total * LEAST_PERCENT)
        return 0;
    SCOPED(buf_release) struct buf examples = {0};
    add_examples(l, &examples);
    int rc = buf_check(&examples, err);
    if (rc == 0) {
        rc = err_set(err, ERR_FORMAT, "%d of %d tensors fit %s: %s: '%s'", fit, total, l->net->name,
                     buf_str(&examples), l->st.path);
        err_hint(err, "docs/checkpoints.md lists the names that are known");
    }
    return rc;
}

static void note_unused(const struct loader *l, struct buf *notes)
{
    int count = 0;
    for (int i = 0; i < l->st.count; i++)
        if (is_unused(l, &l->st.tensors[i]) && count++ < EXAMPLES) {
            buf_adds(notes, count == 1 ? "'" : ", '");
            safetensors_printable(notes, l->st.tensors[i].name);
            buf_addc(notes, '\'');
        }
    if (count > EXAMPLES)
        buf_printf(notes, " and %d more", count - EXAMPLES);
    if (count > 0)
        buf_adds(notes, ": only in the file, not used\n");
}

static void note_fits(const struct loader *l, struct buf *notes)
{
    int layer = -1;
    bool no_scales = false;
    for (int i = 0; i < l->net->param_count; i++) {
        const struct net_param *p = &l->net->params[i];
        no_scales |= l->fits[i] == SCALE_OF_ONE;
        if (l->fits[i] == FITS_BUT_FIRST && p->layer != layer)
            buf_printf(notes,
                       "the classifier has %d classes in the file: the first, the "
                       "background, is left out\n",
                       BACKGROUND);
        if (l->fits[i] == MISSING || l->fits[i] == OTHER_SHAPE ||
            (l->fits[i] == UNTRAINED && fit_of(l, i) != FITS && p->layer != layer)) {
            describe_param(l, i, notes);
            buf_adds(notes, l->fits[i] == UNTRAINED ? ": the classifier starts untrained\n"
                                                    : ": it starts untrained\n");
        }
        if (l->fits[i] >= FITS_BUT_FIRST)
            layer = p->layer;
    }
    if (no_scales)
        buf_adds(notes, "the file has no scales of batch norms: they start at 1\n");
    note_unused(l, notes);
    if (l->names.style != NAMES_OWN)
        buf_printf(notes, "the file has the tensor names of %s\n", names_styles[l->names.style]);
}

// ---------------------------------------------------------------------------------------------
// Values

// From the file's layout to the net's, without the first `skip` classes.
static void arrange(const struct net_param *p, bool channels_last, int64_t skip, const float *raw,
                    float *values)
{
    int64_t out = p->dim[0], in = p->rank > 1 ? p->dim[1] : 1;
    int64_t window = p->rank == 4 ? p->dim[2] * p->dim[3] : 1;
    for (int64_t o = 0; o < out; o++)
        for (int64_t i = 0; i < in; i++)
            for (int64_t w = 0; w < window; w++)
                *values++ = raw[channels_last ? (w * in + i) * (out + skip) + o + skip
                                              : ((o + skip) * in + i) * window + w];
}

// The second of PyTorch's two biases of an LSTM: bias_hh_l0 for bias_ih_l0. Null where `p` is not
// the first of them, or where the file has no second of that shape.
static const struct safetensors_tensor *second_bias(const struct loader *l,
                                                    const struct net_param *p)
{
    char name[sizeof p->name];
    memcpy(name, p->name, sizeof name);
    char *part = strstr(name, "bias_ih_l");
    if (!part)
        return NULL;
    memcpy(part, "bias_hh_l", 9);
    const struct safetensors_tensor *found = safetensors_find(&l->st, name);
    return found && found->rank == 1 && found->count == p->count ? found : NULL;
}

// The program's number of that parameter. Programs list their parameters in the net's order.
static int program_index(const struct loader *l, int param)
{
    struct engine_tensor t;
    int count = l->engine->tensor_count(l->program);
    for (int k = 0; k < count; k++) {
        int index = (param + k) % count;
        l->engine->tensor(l->program, index, &t);
        if (t.role == ENGINE_PARAMETER && strcmp(t.name, l->net->params[param].name) == 0)
            return index;
    }
    return -1;
}

// `raw` and `values` have space for any parameter, with one more class.
static int load_one(struct loader *l, int param, float *raw, float *values, struct err *err)
{
    const struct net_param *p = &l->net->params[param];
    TRY(safetensors_floats(&l->st, l->names.found[param], raw, err));
    arrange(p, names_channels_last(l->names.style), l->fits[param] == FITS_BUT_FIRST, raw, values);
    const struct safetensors_tensor *second = second_bias(l, p);
    if (second) {
        TRY(safetensors_floats(&l->st, second, raw, err));
        for (int64_t i = 0; i < p->count; i++)
            values[i] += raw[i];
    }
    return l->engine->write(l->program, program_index(l, param), values, err);
}

static void loader_release(struct loader *l)
{
    names_release(&l->names);
    safetensors_release(&l->st);
    free(l->fits);
}

static int load_all(struct loader *l, int *loaded, struct err *err)
{
    int64_t largest = 0;
    for (int i = 0; i < l->net->param_count; i++) {
        const struct net_param *p = &l->net->params[i];
        int64_t with_one_more = p->count + p->count / p->dim[0];
        largest = with_one_more > largest ? with_one_more : largest;
    }
    SCOPED(free_pointer) float *raw = malloc((size_t)largest * sizeof *raw);
    SCOPED(free_pointer) float *values = malloc((size_t)largest * sizeof *values);
    if (!raw || !values)
        return err_memory(err);
    for (int i = 0; i < l->net->param_count; i++)
        if (l->fits[i] == FITS || l->fits[i] == FITS_BUT_FIRST) {
            TRY(load_one(l, i, raw, values, err));
            ++*loaded;
        }
    return 0;
}

int checkpoint_load_parameters(const char *path, const struct checkpoint_subject *subject,
                               struct engine_program *program, int *loaded, struct buf *notes,
                               struct err *err)
{
    SCOPED(loader_release)
    struct loader l = {.net = subject->net, .engine = subject->engine, .program = program};
    *loaded = 0;
    TRY(safetensors_open(&l.st, path, err));
    l.fits = calloc((size_t)l.net->param_count + 1, sizeof *l.fits);
    TRY(l.fits ? names_init(&l.names, &l.st, l.net, err) : err_memory(err));
    judge_fits(&l);
    TRY(check_share(&l, err));
    TRY(load_all(&l, loaded, err));
    note_fits(&l, notes);
    return buf_check(notes, err);
}

// ==== transformers ====
// The two files beside a GPT-2's checkpoints that the transformers library looks for: its
// config.json, and model.safetensors, here a link to the newest checkpoint.

#define LINK      "model.safetensors"
#define TEMPORARY ".fare-tmp-" LINK

struct gpt2_shape { // of a GPT-2
    int layers, heads, width, positions, vocabulary;
    float epsilon;
};

static bool is_gpt2(const struct net *net, struct gpt2_shape *shape)
{
    *shape = (struct gpt2_shape){0};
    for (int i = 0; i < net->layer_count; i++) {
        const struct net_layer *layer = &net->layers[i];
        if (layer->op == NET_ATTENTION) {
            shape->layers++;
            shape->heads = layer->heads;
            shape->width = layer->units;
        }
        if (layer->op == NET_POSITION)
            shape->positions = (int)net->params[layer->first_param].dim[0];
        if (layer->op == NET_LAYER_NORM)
            shape->epsilon = layer->epsilon;
    }
    shape->vocabulary = net_classes(&net->layers[net->layer_count - 1]);
    return net->layers[net->layer_count - 1].op == NET_TIED_HEAD && shape->layers > 0 &&
           shape->positions > 0;
}

static int write_config(const char *dir, const struct gpt2_shape *s, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0}, path = {0};
    buf_adds(&text, "{\"architectures\": [\"GPT2LMHeadModel\"], \"model_type\": \"gpt2\",\n");
    buf_printf(&text,
               " \"n_layer\": %d, \"n_head\": %d, \"n_embd\": %d, \"n_positions\": %d, "
               "\"n_ctx\": %d, \"vocab_size\": %d,\n",
               s->layers, s->heads, s->width, s->positions, s->positions, s->vocabulary);
    buf_printf(&text,
               " \"activation_function\": \"gelu_new\", \"layer_norm_epsilon\": %g,\n"
               " \"attn_pdrop\": 0.0, \"embd_pdrop\": 0.0, \"resid_pdrop\": 0.0,\n"
               " \"initializer_range\": 0.02, \"tie_word_embeddings\": true}\n",
               (double)s->epsilon);
    buf_printf(&path, "%s/config.json", dir);
    TRY(buf_check(&text, err));
    TRY(buf_check(&path, err));
    return fs_write(buf_str(&path), text.data, text.len, err);
}

static int link_newest(const char *dir, const char *checkpoint, struct err *err)
{
    const char *slash = strrchr(checkpoint, '/');
    SCOPED(buf_release) struct buf link = {0}, temporary = {0};
    buf_printf(&link, "%s/" LINK, dir);
    buf_printf(&temporary, "%s/" TEMPORARY, dir);
    TRY(buf_check(&link, err));
    TRY(buf_check(&temporary, err));
    unlink(buf_str(&temporary));
    if (symlink(slash ? slash + 1 : checkpoint, buf_str(&temporary)) != 0 ||
        rename(buf_str(&temporary), buf_str(&link)) != 0)
        return err_errno(err, errno, "cannot make the link '%s'", buf_str(&link));
    return 0;
}

int checkpoint_for_transformers(const char *dir, const char *checkpoint, const struct net *net,
                                struct err *err)
{
    struct gpt2_shape shape;
    if (!is_gpt2(net, &shape))
        return 0;
    TRY(write_config(dir, &shape, err));
    return link_newest(dir, checkpoint, err);
}
