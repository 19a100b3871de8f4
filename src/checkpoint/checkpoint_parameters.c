// SPDX-License-Identifier: Apache-2.0
// The parameters of a net from any safetensors file that fits (checkpoint.h). First it is decided
// for each parameter whether its tensor fits, then the values are loaded.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/names.h"

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

static void judge(struct loader *l)
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

static void describe(const struct loader *l, int param, struct buf *out)
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

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

// Optimizer state, the counters of PyTorch's batch norms and the masks of GPT-2's attention are not
// parameters; second biases are added to the first; a tied head is the embedding again.
static bool is_unused(const struct loader *l, const struct safetensors_tensor *tensor)
{
    const char *name = tensor->name;
    if (ends_with(name, ".state0") || ends_with(name, ".state1") ||
        ends_with(name, ".num_batches_tracked") || strstr(name, "bias_hh_l") ||
        ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias") ||
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
            describe(l, i, out);
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
            describe(l, i, out);
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
    struct buf examples = {0};
    add_examples(l, &examples);
    int rc = buf_check(&examples, err);
    if (rc == 0) {
        rc = err_set(err, ERR_FORMAT, "%d of %d tensors fit %s: %s: '%s'", fit, total, l->net->name,
                     buf_str(&examples), l->st.path);
        err_hint(err, "docs/checkpoints.md lists the names that are known");
    }
    buf_release(&examples);
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

static void note(const struct loader *l, struct buf *notes)
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
            describe(l, i, notes);
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

static int load_all(struct loader *l, int *loaded, struct err *err)
{
    int64_t largest = 0;
    for (int i = 0; i < l->net->param_count; i++) {
        const struct net_param *p = &l->net->params[i];
        int64_t with_one_more = p->count + p->count / p->dim[0];
        largest = with_one_more > largest ? with_one_more : largest;
    }
    float *raw = malloc((size_t)largest * sizeof *raw);
    float *values = malloc((size_t)largest * sizeof *values);
    int rc = raw && values ? 0 : err_memory(err);
    for (int i = 0; rc == 0 && i < l->net->param_count; i++)
        if (l->fits[i] == FITS || l->fits[i] == FITS_BUT_FIRST) {
            rc = load_one(l, i, raw, values, err);
            *loaded += rc == 0;
        }
    free(raw);
    free(values);
    return rc;
}

int checkpoint_load_parameters(const char *path, const struct checkpoint_subject *subject,
                               struct engine_program *program, int *loaded, struct buf *notes,
                               struct err *err)
{
    struct loader l = {.net = subject->net, .engine = subject->engine, .program = program};
    *loaded = 0;
    TRY(safetensors_open(&l.st, path, err));
    l.fits = calloc((size_t)l.net->param_count + 1, sizeof *l.fits);
    int rc = l.fits ? names_init(&l.names, &l.st, l.net, err) : err_memory(err);
    if (rc == 0) {
        judge(&l);
        rc = check_share(&l, err);
    }
    if (rc == 0)
        rc = load_all(&l, loaded, err);
    if (rc == 0) {
        note(&l, notes);
        rc = buf_check(notes, err);
    }
    names_release(&l.names);
    safetensors_release(&l.st);
    free(l.fits);
    return rc;
}
