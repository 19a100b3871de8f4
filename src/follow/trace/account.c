// SPDX-License-Identifier: Apache-2.0
#include "follow/trace/account.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/stats.h"

// A gap up to SHORT lies between two kernels even where the host is far ahead. A gap before data
// counts as waiting for it from DATA_LEAST and DATA_SHARE of the step on; a shorter one is the
// host's.
#define ACCOUNT_SHORT_NS      5000
#define ACCOUNT_DATA_LEAST_NS 1000000
#define ACCOUNT_DATA_SHARE    0.03

const char *const class_names[CLASSES] = {
#define X(name, text) text,
    TRACE_CLASSES(X)
#undef X
};
const char *const precision_names[PRECISIONS] = {
#define X(name, text) text,
    TRACE_PRECISIONS(X)
#undef X
};

// The first part found in the name decides, whatever its case.
struct class_rule {
    unsigned char is;
    const char *parts; // with a space between two
};

static const struct class_rule classes[] = {
    {CLASS_COLLECTIVE, "nccl nvshmem cross_device_reduce multimem"},
    // Fused loops are named after all that they hold, a convolution's bias for example.
    {CLASS_ATTENTION, "triton_tem_fused_flex_attention"},
    {CLASS_CONVOLUTION, "triton_tem_fused_convolution"},
    {CLASS_MATMUL, "triton_tem_ triton_mm triton_gemm"},
    {CLASS_OPTIMIZER, "triton_for_fused"},
    {CLASS_ELEMENTWISE, "triton_poi_ triton_red_ triton_per_ rmsnorm rotary convertTensor "
                        "nhwcToNchw nchwToNhwc AddPadding"},
    {CLASS_OPTIMIZER, "multi_tensor FusedAdam fused_adam fused_sgd ApplyAdam ApplyMomentum "
                      "ApplyGradientDescent kOptimizer"},
    {CLASS_ATTENTION, "flash fmha sdpa attention attn compute_dot_do_o convert_dq_to_16bits"},
    {CLASS_MATMUL, "splitKreduce"},
    {CLASS_ELEMENTWISE, "elementwise elemwise reduce_kernel softmax"},
    {CLASS_CONVOLUTION, "fprop dgrad wgrad convol scudnn s884cudnn s1688cudnn s16816cudnn "
                        "winograd conv_depthwise conv2d conv3d im2col col2im"},
    {CLASS_MATMUL, "nvjet gemm gemv gemk1 cutlass matmul xmma cublas dot_kernel bmm_ persistRNN "
                   "RNN_blockPersist"},
    // at::native, also mangled; cuDNN's normalisation and pooling; from "fusion" on XLA's; Eigen is
    // TensorFlow's
    {CLASS_ELEMENTWISE, "at6native at::native at_cuda_detail thrust cub cudnn fusion fused_ "
                        "wrapped_ reduce transpose Eigen tensorflow norm"},
};

// "tf32" before "f32", "bf16" before "f16"; 16-bit types before shapes that tensor cores have for
// several types.
static const struct class_rule precisions[] = {
    {PRECISION_FP4, "e2m1 nvfp4"},
    {PRECISION_FP8, "e4m3 e5m2 fp8 _f8_"},
    {PRECISION_INT8, "i8i8 imma int8"},
    // cuDNN's say f16 for both 16-bit types
    {PRECISION_NONE, "sdpa"},
    {PRECISION_BF16, "bf16 bfloat16"},
    {PRECISION_TF32, "tf32"},
    {PRECISION_F16, "f16 fp16 half h884 h1688 h16816 hgemm s884 s16816"},
    {PRECISION_TF32, "s1688"},
    {PRECISION_F64, "dgemm d884 f64"},
    {PRECISION_F32, "sgemm simt scudnn f32 engine<float engineIf engine_float kernel<float"},
};

static int look_up(const struct class_rule *rules, size_t count, const char *name, int otherwise)
{
    for (size_t i = 0; i < count; i++)
        for (const char *at = rules[i].parts; *at; at += strspn(at, " ")) {
            char part[48];
            size_t len = strcspn(at, " ");
            snprintf(part, sizeof part, "%.*s", (int)len, at);
            if (strcasestr(name, part))
                return rules[i].is;
            at += len;
        }
    return otherwise;
}

// cuBLAS's newest: nvjet_tst_128x64..., nvjet_sm90_hss_...; letters for the types, inputs first.
static int nvjet_precision(const char *name)
{
    static const struct class_rule letters[] = {
        {PRECISION_BF16, "t"}, {PRECISION_F16, "h"},  {PRECISION_TF32, "s"},
        {PRECISION_F64, "d"},  {PRECISION_FP8, "qr"},
    };
    const char *types = strstr(name, "nvjet_");
    if (!types)
        return PRECISION_NONE;
    types += strlen("nvjet_");
    if (strncmp(types, "sm", 2) == 0 && isdigit((unsigned char)types[2])) {
        types += strcspn(types, "_");
        types += *types == '_';
    }
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (*types && strchr(letters[i].parts, *types))
            return letters[i].is;
    return PRECISION_NONE;
}

struct kernel_class classify_kernel(const char *name)
{
    int class = look_up(classes, sizeof classes / sizeof *classes, name, CLASS_UNKNOWN);
    int precision = PRECISION_NONE;
    if (class == CLASS_MATMUL || class == CLASS_CONVOLUTION || class == CLASS_ATTENTION) {
        precision = nvjet_precision(name);
        if (precision == PRECISION_NONE)
            precision =
                look_up(precisions, sizeof precisions / sizeof *precisions, name, PRECISION_NONE);
    }
    return (struct kernel_class){(unsigned char)class, (unsigned char)precision};
}

// ---- Steps in the order of kernels

enum {
    NAMES_LEAST = 5,   // in a step
    MARKS_LEAST = 3,   // of them, to part steps that updates do not part
    ANCHORS_TRIED = 3, // of a group
    GROUPS_TRIED = 32, // of names with the same number of bursts
};

// The places of one key, or of all optimizer kernels, in the order of the items.
struct trace_places {
    const uint32_t *at;
    size_t count;
};

struct trace_work {
    const struct trace_item *items;
    size_t count;
    uint32_t *at;                   // all places, key by key
    uint32_t first[TRACE_KEYS + 1]; // of each key in `at`
    uint32_t *optimizer;            // places of its kernels
    size_t optimizers;
    uint32_t *lengths; // scratch
    struct vote {
        uint32_t key, bursts;
        int64_t time_ns;
    } votes[TRACE_KEYS];
    size_t voters;
};

struct kernel_group {
    size_t first, last; // in the votes
};

static struct trace_places places_of(const struct trace_work *w, uint32_t key)
{
    return (struct trace_places){w->at + w->first[key], w->first[key + 1] - w->first[key]};
}

// Launches further apart than this are of different bursts: a quarter of the distance such that
// half of the sequence lies in gaps at least as long. By powers of two, so without sorting.
static uint32_t split_at(struct trace_places p)
{
    uint64_t in_gaps[33] = {0}, total = 0, sum = 0;
    for (size_t i = 1; i < p.count; i++) {
        uint32_t gap = p.at[i] - p.at[i - 1];
        in_gaps[32 - __builtin_clz(gap)] += gap;
        total += gap;
    }
    for (int bits = 32; bits > 0; bits--)
        if ((sum += in_gaps[bits]) * 2 >= total && total > 0)
            return (uint32_t)((UINT64_C(1) << (bits - 1)) / 4);
    return 0;
}

static uint32_t count_bursts(struct trace_places p, uint32_t apart)
{
    uint32_t count = p.count > 0;
    for (size_t i = 1; i < p.count; i++)
        count += p.at[i] - p.at[i - 1] > apart;
    return count;
}

// The same for an optimizer, where the scales are known: small gaps within an update, the rest of
// the step between two, and perhaps an evaluation. Of the distances that part the launches in the
// same way, the widest range counts, and the more the finer it is.
static uint32_t split_updates(struct trace_places p)
{
    uint32_t gaps[33] = {0}, bursts = 1, apart = 0;
    double best = 0;
    for (size_t i = 1; i < p.count; i++)
        gaps[32 - __builtin_clz(p.at[i] - p.at[i - 1])]++;
    for (int bits = 32, upper = 32; bits > 0; bits--) {
        if (gaps[bits] == 0)
            continue;
        // Apart from 2^bits up to the next longer gap: `bursts` of them.
        double worth = (upper - bits) * log2(bursts);
        if (bursts >= PATTERN_LEAST && worth > best) {
            best = worth;
            apart = (uint32_t)((UINT64_C(1) << bits) - 1);
        }
        bursts += gaps[bits];
        upper = bits;
    }
    return apart;
}

static int prepare(struct trace_work *w, struct err *err)
{
    w->at = malloc(w->count * sizeof *w->at);
    w->optimizer = malloc(w->count * sizeof *w->optimizer);
    w->lengths = malloc(w->count * sizeof *w->lengths);
    if (!w->at || !w->optimizer || !w->lengths)
        return err_memory(err);
    for (size_t i = 0; i < w->count; i++)
        w->first[w->items[i].key + 1]++;
    for (size_t key = 0; key < TRACE_KEYS; key++)
        w->first[key + 1] += w->first[key];
    uint32_t next[TRACE_KEYS];
    memcpy(next, w->first, sizeof next);
    for (uint32_t i = 0; i < w->count; i++) {
        w->at[next[w->items[i].key]++] = i;
        if (w->items[i].class == CLASS_OPTIMIZER)
            w->optimizer[w->optimizers++] = i;
    }
    return 0;
}

// By number of bursts; the longest running first.
static int order(const void *a, const void *b)
{
    const struct vote *one = a, *two = b;
    if (one->bursts != two->bursts)
        return one->bursts < two->bursts ? -1 : 1;
    return (one->time_ns < two->time_ns) - (one->time_ns > two->time_ns);
}

static void collect_votes(struct trace_work *w)
{
    for (uint32_t key = 1; key < TRACE_NAMES; key++) {
        struct trace_places p = places_of(w, key);
        uint32_t bursts = count_bursts(p, split_at(p));
        if (bursts < PATTERN_LEAST)
            continue;
        struct vote *v = &w->votes[w->voters++];
        *v = (struct vote){.key = key, .bursts = bursts};
        for (size_t i = 0; i < p.count; i++)
            v->time_ns += w->items[p.at[i]].end_ns - w->items[p.at[i]].start_ns;
    }
    qsort(w->votes, w->voters, sizeof *w->votes, order);
}

// Whether a key is launched in at least four of five intervals between the anchor's bursts.
static bool takes_turns(struct trace_places anchor, struct trace_places other)
{
    uint32_t apart = split_at(anchor);
    size_t turns = 0, intervals = 0, next = 0;
    uint32_t begin = anchor.at[0];
    for (size_t i = 1; i < anchor.count; i++) {
        if (anchor.at[i] - anchor.at[i - 1] <= apart)
            continue;
        while (next < other.count && other.at[next] < begin)
            next++;
        turns += next < other.count && other.at[next] < anchor.at[i];
        intervals++;
        begin = anchor.at[i];
    }
    return turns * 5 >= intervals * 4;
}

static int by_length(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, two = *(const uint32_t *)b;
    return (one > two) - (one < two);
}

// Whether three of five intervals between the anchor's bursts are within a quarter of their median.
// Of kernels in no order at all, one in five or so is.
static bool is_regular(const struct trace_work *w, struct trace_places anchor)
{
    uint32_t apart = split_at(anchor), begin = anchor.at[0];
    size_t count = 0, close = 0;
    for (size_t i = 1; i < anchor.count; i++)
        if (anchor.at[i] - anchor.at[i - 1] > apart) {
            w->lengths[count++] = anchor.at[i] - begin;
            begin = anchor.at[i];
        }
    if (count == 0)
        return false;
    qsort(w->lengths, count, sizeof *w->lengths, by_length);
    uint32_t median = w->lengths[count / 2];
    for (size_t i = 0; i < count; i++)
        close += w->lengths[i] >= median - median / 4 && w->lengths[i] <= median + median / 4;
    return close * 5 >= count * 3;
}

// The names of a group that take turns with its best anchor.
static size_t count_turns(const struct trace_work *w, const struct kernel_group *g,
                          const struct vote **anchor)
{
    size_t most = 0;
    for (size_t a = g->first; a < g->last && a < g->first + ANCHORS_TRIED; a++) {
        struct trace_places at = places_of(w, w->votes[a].key);
        size_t agree = 0;
        if (!is_regular(w, at))
            continue;
        for (size_t i = g->first; i < g->last; i++)
            agree += takes_turns(at, places_of(w, w->votes[i].key));
        if (agree > most) {
            most = agree;
            *anchor = &w->votes[a];
        }
    }
    return most;
}

static struct kernel_group largest_after(const struct trace_work *w, size_t least,
                                         const bool *tried)
{
    struct kernel_group best = {0};
    for (size_t first = 0; first < w->voters; first++) {
        uint32_t bursts = w->votes[first].bursts;
        size_t last = first;
        if (tried[first] || (first > 0 && w->votes[first - 1].bursts == bursts))
            continue;
        while (last < w->voters && w->votes[last].bursts <= bursts + 1 + bursts * 3 / 100)
            last++;
        if (last - first > least) {
            least = last - first;
            best = (struct kernel_group){first, last};
        }
    }
    return best;
}

// The number of bursts that most names agree on, give or take 3 % or one, is the number of steps.
static const struct vote *elect(const struct trace_work *w)
{
    bool tried[TRACE_KEYS] = {false};
    const struct vote *best = NULL, *anchor = NULL;
    size_t most = NAMES_LEAST - 1;
    for (int i = 0; i < GROUPS_TRIED; i++) {
        struct kernel_group g = largest_after(w, most, tried);
        if (g.last == 0)
            break;
        tried[g.first] = true;
        size_t agree = count_turns(w, &g, &anchor);
        if (agree > most) {
            most = agree;
            best = anchor;
        }
    }
    return best;
}

// Names that are launched once in each step as elected: its beginning or its loss. Evaluations
// alone part the launches in another way: each part then has many of all.
static bool has_marks(const struct trace_work *w, const struct vote *elected)
{
    size_t marks = 0;
    uint32_t most = elected->bursts + 1 + elected->bursts * 3 / 100;
    for (size_t i = 0; i < w->voters; i++)
        marks += w->votes[i].bursts >= elected->bursts && w->votes[i].bursts <= most &&
                 places_of(w, w->votes[i].key).count <= most;
    return marks >= MARKS_LEAST;
}

static int keep_ends(const struct trace_work *w, struct trace_places p, uint32_t apart,
                     struct pattern *out, struct err *err)
{
    out->ends = malloc((p.count + 1) * sizeof *out->ends);
    out->launches = malloc((p.count + 1) * sizeof *out->launches);
    if (!out->ends || !out->launches)
        return err_memory(err);
    int64_t end_ns = INT64_MIN;
    for (size_t i = 0; i < p.count; i++) {
        const struct trace_item *item = &w->items[p.at[i]];
        end_ns = item->end_ns > end_ns ? item->end_ns : end_ns;
        uint32_t next = i + 1 < p.count ? p.at[i + 1] : (uint32_t)w->count;
        if (next - p.at[i] > apart) {
            out->launches[out->count] = item->launch;
            out->ends[out->count++] = end_ns;
        }
    }
    if (out->count < PATTERN_LEAST)
        pattern_release(out);
    return 0;
}

int pattern_find(const struct trace_item *items, size_t count, struct pattern *out, struct err *err)
{
    *out = (struct pattern){0};
    if (count < PATTERN_LEAST * NAMES_LEAST || count > UINT32_MAX)
        return 0;
    SCOPED(free_pointer) struct trace_work *w = calloc(1, sizeof *w);
    if (!w)
        return err_memory(err);
    w->items = items;
    w->count = count;
    int rc = prepare(w, err);
    if (rc == 0) {
        collect_votes(w);
        const struct vote *elected = elect(w);
        struct trace_places optimizer = {w->optimizer, w->optimizers};
        uint32_t apart = split_updates(optimizer), updates = count_bursts(optimizer, apart);
        // Several bursts of "optimizer" kernels a step are something else: copies of lists, say.
        if (updates >= PATTERN_LEAST && count / updates >= NAMES_LEAST &&
            (!elected || updates <= elected->bursts + elected->bursts / 2 ||
             !has_marks(w, elected)))
            rc = keep_ends(w, optimizer, apart, out, err);
        else if (elected) {
            struct trace_places p = places_of(w, elected->key);
            rc = keep_ends(w, p, split_at(p), out, err);
        }
    }
    free(w->at);
    free(w->optimizer);
    free(w->lengths);
    return rc;
}

void pattern_release(struct pattern *pattern)
{
    free(pattern->ends);
    free(pattern->launches);
    *pattern = (struct pattern){0};
}

// ---- The account of a step

// A step is left out from this multiple of the median on if something else happened in it: other
// kernels (an evaluation) or a large copy to the host (a checkpoint). Waiting for data is a part of
// the training, however long it takes.
#define LONG         2.5
#define LAUNCHES_OFF 0.05
#define SAVED_KIB    1024

enum {
    LOOK_AHEAD = 4,   // records after a gap in which data may come,
    SOON_NS = 200000, // if they start soon
    DATA_KIB = 4,     // smaller copies are parameters
};

static uint8_t busiest(const struct trace_item *items, size_t count)
{
    int64_t time_ns[256] = {0};
    uint8_t most = 0;
    for (size_t i = 0; i < count; i++)
        time_ns[items[i].device] += items[i].end_ns - items[i].start_ns;
    for (int d = 1; d < 256; d++)
        if (time_ns[d] > time_ns[most])
            most = (uint8_t)d;
    return most;
}

static bool brings_data(const struct trace_item *items, size_t count)
{
    int64_t until_ns = items[0].start_ns + SOON_NS;
    for (size_t i = 0; i < count && i < LOOK_AHEAD && items[i].start_ns <= until_ns; i++)
        if (items[i].kind == TRACE_COPY_IN && items[i].size >= DATA_KIB)
            return true;
    return false;
}

static enum account_gap kind_of_gap(int64_t gap_ns, int64_t step_ns, bool after_result, bool data)
{
    if (gap_ns <= ACCOUNT_SHORT_NS)
        return GAP_SHORT;
    if (data && gap_ns >= ACCOUNT_DATA_LEAST_NS &&
        (double)gap_ns >= ACCOUNT_DATA_SHARE * (double)step_ns)
        return GAP_DATA;
    return after_result ? GAP_SYNC : GAP_HOST;
}

// One step, from `begin_ns` to `end_ns`; `*next` is the first item at or after its begin.
// `*until_ns` is how far the device is busy, `*others_until_ns` how far with anything but
// collectives, `*result` whether a copy to the host was the last to end.
struct trace_walk {
    const struct trace_item *items;
    size_t count, next;
    uint8_t device;
    int64_t until_ns, others_until_ns, step_ns;
    bool result;
};

struct trace_step {
    int64_t launches, work_ns, saved_kib;
};

static void look_at_steps(const struct trace_item *items, size_t count, uint8_t device,
                          const struct pattern *pattern, struct trace_step *steps)
{
    size_t next = 0;
    for (size_t i = 0; i < pattern->count; i++)
        for (; next < count && items[next].start_ns < pattern->ends[i]; next++) {
            const struct trace_item *item = &items[next];
            if (item->device != device || i == 0)
                continue;
            steps[i].launches += item->kind == TRACE_KERNEL;
            steps[i].work_ns += item->end_ns - item->start_ns;
            steps[i].saved_kib += item->kind == TRACE_COPY_OUT ? item->size : 0;
        }
}

// How much longer something runs within [*at_ns, end_ns) if it runs until `until_ns`.
static int64_t grow(int64_t *at_ns, int64_t start_ns, int64_t until_ns, int64_t end_ns)
{
    int64_t from = start_ns > *at_ns ? start_ns : *at_ns;
    int64_t until = until_ns < end_ns ? until_ns : end_ns;
    if (until <= from)
        return 0;
    *at_ns = until;
    return until - from;
}

static void see(struct trace_walk *w, const struct trace_item *item)
{
    if (item->end_ns >= w->until_ns) {
        w->until_ns = item->end_ns;
        w->result = item->kind == TRACE_COPY_OUT;
    }
    if (item->class != CLASS_COLLECTIVE && item->end_ns > w->others_until_ns)
        w->others_until_ns = item->end_ns;
}

static void walk_step(struct trace_walk *w, int64_t begin_ns, int64_t end_ns, bool counts,
                      struct account *a)
{
    int64_t at_ns = begin_ns, others_at_ns = begin_ns; // accounted for up to here
    int64_t busy_ns = grow(&at_ns, begin_ns, w->until_ns, end_ns);
    int64_t others_ns = grow(&others_at_ns, begin_ns, w->others_until_ns, end_ns);
    for (; w->next < w->count && w->items[w->next].start_ns < end_ns; w->next++) {
        const struct trace_item *item = &w->items[w->next];
        if (item->device != w->device)
            continue;
        if (item->start_ns > at_ns) {
            int64_t gap = item->start_ns - at_ns;
            bool data = brings_data(item, w->count - w->next);
            if (counts)
                a->gap_ns[kind_of_gap(gap, w->step_ns, w->result, data)] += gap;
            at_ns = item->start_ns;
        }
        busy_ns += grow(&at_ns, item->start_ns, item->end_ns, end_ns);
        if (item->class != CLASS_COLLECTIVE)
            others_ns += grow(&others_at_ns, item->start_ns, item->end_ns, end_ns);
        see(w, item);
        if (counts)
            a->work_ns[item->class][item->precision] += item->end_ns - item->start_ns;
    }
    if (!counts)
        return;
    if (end_ns > at_ns) // only where the step's end is on another device
        a->gap_ns[GAP_HOST] += end_ns - at_ns;
    a->busy_ns += busy_ns;
    a->exposed_ns += busy_ns - others_ns;
    a->covered_ns += end_ns - begin_ns;
    a->steps++;
}

static struct trace_step usual_step(const struct trace_step *steps, size_t count, double *scratch)
{
    struct trace_step usual = {0};
    for (size_t i = 1; i < count; i++)
        scratch[i - 1] = (double)steps[i].launches;
    usual.launches = (int64_t)stats_median_of(scratch, count - 1);
    for (size_t i = 1; i < count; i++)
        scratch[i - 1] = (double)steps[i].work_ns;
    usual.work_ns = (int64_t)stats_median_of(scratch, count - 1);
    return usual;
}

static bool counts(const struct trace_step *step, const struct trace_step *usual, int64_t took_ns,
                   int64_t usual_ns)
{
    double off = fabs((double)(step->launches - usual->launches));
    bool alike = off <= LAUNCHES_OFF * (double)usual->launches && step->saved_kib < SAVED_KIB &&
                 (double)step->work_ns <= LONG * (double)usual->work_ns;
    return took_ns > 0 && (alike || (double)took_ns <= LONG * (double)usual_ns);
}

static void walk(struct trace_walk *w, const struct pattern *pattern,
                 const struct trace_step *steps, const struct trace_step *usual,
                 struct account *out)
{
    for (; w->next < w->count && w->items[w->next].start_ns < pattern->ends[0]; w->next++) {
        if (w->items[w->next].device == w->device)
            see(w, &w->items[w->next]);
    }
    for (size_t i = 1; i < pattern->count; i++) {
        int64_t begin = pattern->ends[i - 1], end = pattern->ends[i];
        walk_step(w, begin, end, counts(&steps[i], usual, end - begin, w->step_ns), out);
    }
}

int account_make(const struct trace_item *items, size_t count, const struct pattern *pattern,
                 struct account *out, struct err *err)
{
    *out = (struct account){0};
    if (pattern->count < 2)
        return 0;
    SCOPED(free_pointer) double *each = malloc(pattern->count * sizeof *each);
    SCOPED(free_pointer) struct trace_step *steps = calloc(pattern->count, sizeof *steps);
    if (each && steps) {
        struct trace_walk w = {items,     count,     0, busiest(items, count),
                               INT64_MIN, INT64_MIN, 0, false};
        look_at_steps(items, count, w.device, pattern, steps);
        struct trace_step usual = usual_step(steps, pattern->count, each);
        out->launches = (double)usual.launches;
        for (size_t i = 1; i < pattern->count; i++)
            each[i - 1] = (double)(pattern->ends[i] - pattern->ends[i - 1]);
        w.step_ns = (int64_t)stats_median_of(each, pattern->count - 1);
        walk(&w, pattern, steps, &usual, out);
        out->step_ns = out->steps > 0 ? out->covered_ns / out->steps : 0;
    }
    return each && steps ? 0 : err_memory(err);
}

void account_add(struct account *to, const struct account *other)
{
    if (other->steps > to->steps) // few steps may not be whole ones
        to->launches = other->launches;
    to->steps += other->steps;
    to->covered_ns += other->covered_ns;
    to->step_ns = to->steps > 0 ? to->covered_ns / to->steps : 0;
    to->busy_ns += other->busy_ns;
    to->exposed_ns += other->exposed_ns;
    for (int i = 0; i < GAPS; i++)
        to->gap_ns[i] += other->gap_ns[i];
    for (int c = 0; c < CLASSES; c++)
        for (int p = 0; p < PRECISIONS; p++)
            to->work_ns[c][p] += other->work_ns[c][p];
}

static int larger_first(const void *a, const void *b)
{
    double one = ((const struct run_work *)a)->share.v, two = ((const struct run_work *)b)->share.v;
    return (one < two) - (one > two);
}

static const char *main_precision(const struct account *a)
{
    int64_t best_ns = 0;
    const char *best = NULL;
    for (int p = PRECISION_NONE + 1; p < PRECISIONS; p++) {
        int64_t ns = a->work_ns[CLASS_MATMUL][p] + a->work_ns[CLASS_CONVOLUTION][p] +
                     a->work_ns[CLASS_ATTENTION][p];
        if (ns > best_ns) {
            best_ns = ns;
            best = precision_names[p];
        }
    }
    return best;
}

static int record_work(const struct account *a, struct run_account *r, struct err *err)
{
    int64_t total_ns = 0;
    for (int c = 0; c < CLASSES; c++)
        for (int p = 0; p < PRECISIONS; p++)
            total_ns += a->work_ns[c][p];
    r->work.items = calloc(CLASSES * PRECISIONS, sizeof *r->work.items);
    if (!r->work.items)
        return err_memory(err);
    r->work.known = true;
    double busy = (double)a->busy_ns / (double)a->covered_ns;
    for (int c = 0; c < CLASSES; c++)
        for (int p = 0; p < PRECISIONS; p++) {
            if (a->work_ns[c][p] == 0)
                continue;
            struct run_work *w = &r->work.items[r->work.count++];
            w->share = some_real(busy * (double)a->work_ns[c][p] / (double)total_ns);
            TRY(TEXTS_SET(err, {&w->name, class_names[c]}, {&w->precision, precision_names[p]}));
        }
    qsort(r->work.items, r->work.count, sizeof *r->work.items, larger_first);
    return text_set(&r->precision, main_precision(a), err);
}

int64_t account_collectives_ns(const struct account *a)
{
    int64_t sum = 0;
    for (int p = 0; p < PRECISIONS; p++)
        sum += a->work_ns[CLASS_COLLECTIVE][p];
    return sum;
}

int account_record(const struct account *a, struct run_account *r, struct err *err)
{
    if (a->steps == 0 || a->covered_ns <= 0)
        return 0;
    double covered_ns = (double)a->covered_ns;
    r->steps = some_int(a->steps);
    r->traced_s = some_real(covered_ns / 1e9);
    r->step_ms = some_real((double)a->step_ns / 1e6);
    r->launches_per_step = some_real(a->launches);
    r->busy_share = some_real((double)a->busy_ns / covered_ns);
    if (account_collectives_ns(a) > 0)
        r->exposed_share = some_real((double)a->exposed_ns / covered_ns);
    r->data_share = some_real((double)a->gap_ns[GAP_DATA] / covered_ns);
    r->sync_share = some_real((double)a->gap_ns[GAP_SYNC] / covered_ns);
    r->host_share = some_real((double)a->gap_ns[GAP_HOST] / covered_ns);
    r->short_share = some_real((double)a->gap_ns[GAP_SHORT] / covered_ns);
    return record_work(a, r, err);
}
