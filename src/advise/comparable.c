// SPDX-License-Identifier: Apache-2.0
#include "advise/comparable.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/tree.h"
#include "base/units.h"

struct maker {
    const struct run *a, *b;
    struct comparison *out;
    struct comparison notes;
    bool silent; // reasons count, but are not said
    int rc;
    struct err *err;
};

static void say(struct maker *m, enum comparable verdict, const char *format, ...)
    PRINTF_LIKE(3, 4);
static void say(struct maker *m, enum comparable verdict, const char *format, ...)
{
    if (verdict > m->out->verdict)
        m->out->verdict = verdict;
    if (m->rc != 0 || m->silent)
        return;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct comparison *to = verdict == COMPARABLE_NOT ? m->out : &m->notes;
    m->rc = texts_add(&to->reasons, text, m->err);
}

static const char *or_unknown(const char *text)
{
    return text ? text : "unknown";
}

size_t comparable_program(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    size_t len = strlen(*name);
    while (len > 1 && strchr("0123456789.", (*name)[len - 1]))
        len--;
    return len;
}

static bool other_script(const struct run *a, const struct run *b)
{
    const char *x = a->code.script_sha256, *y = b->code.script_sha256;
    return x && y && strcmp(x, y) != 0;
}

static bool same_words(const struct run *a, const struct run *b)
{
    const char *first, *second;
    if (a->command.count == 0 || a->command.count != b->command.count)
        return false;
    size_t len = comparable_program(a->command.items[0], &first);
    if (len != comparable_program(b->command.items[0], &second) || strncmp(first, second, len) != 0)
        return false;
    for (size_t i = 1; i < a->command.count; i++)
        if (strcmp(a->command.items[i], b->command.items[i]) != 0)
            return false;
    return true;
}

bool comparable_command(const struct run *a, const struct run *b)
{
    return same_words(a, b) && !other_script(a, b);
}

static void compare_command(struct maker *m)
{
    if (m->a->command.count == 0 && m->b->command.count == 0)
        say(m, COMPARABLE_NOT, "neither run records what was trained");
    else if (!same_words(m->a, m->b))
        say(m, COMPARABLE_NOT, "the commands differ");
    else if (other_script(m->a, m->b))
        say(m, COMPARABLE_NOT,
            "the scripts differ, though both are called %s (sha256 %.12s and %.12s)",
            or_unknown(m->a->code.script), m->a->code.script_sha256, m->b->code.script_sha256);
}

static bool has_word(const char *text, const char *word, size_t len)
{
    for (; *text; text += strspn(text, " ")) {
        size_t have = strcspn(text, " ");
        if (have == len && memcmp(text, word, len) == 0)
            return true;
        text += have;
    }
    return false;
}

// The words of a recipe ("batch=128 decay=0 ...") that the other one lacks.
static void own_words(const char *recipe, const char *other, struct buf *out)
{
    while (*recipe) {
        size_t len = strcspn(recipe, " ");
        if (!has_word(other, recipe, len)) {
            buf_adds(out, out->len ? " " : "");
            buf_add(out, recipe, len);
        }
        recipe += len;
        recipe += strspn(recipe, " ");
    }
}

static void compare_recipes(struct maker *m)
{
    const char *a = m->a->recipe, *b = m->b->recipe;
    SCOPED(buf_release) struct buf only_a = {0}, only_b = {0};
    if (!a || !b || strcmp(a, b) == 0)
        return;
    own_words(a, b, &only_a);
    own_words(b, a, &only_b);
    if (m->rc == 0)
        m->rc = buf_check(only_a.failed ? &only_a : &only_b, m->err);
    if (only_a.len > 0 && only_b.len > 0)
        say(m, COMPARABLE_NOT, "the recipes differ: %s and %s", buf_str(&only_a), buf_str(&only_b));
    else if (only_a.len + only_b.len > 0)
        say(m, COMPARABLE_NOT, "the recipes differ: only one has %s",
            buf_str(only_a.len > 0 ? &only_a : &only_b));
    else // the same words in another order
        say(m, COMPARABLE_NOT, "the recipes differ: %s and %s", a, b);
}

static void compare_definition(struct maker *m)
{
    const struct run *a = m->a, *b = m->b;
    if (!a->workload && !b->workload) {
        compare_command(m);
        return;
    }
    if (!text_same(a->workload, b->workload)) {
        say(m, COMPARABLE_NOT, "different trainings: %s and %s", or_unknown(a->workload),
            or_unknown(b->workload));
        return;
    }
    if (a->net && b->net && strcmp(a->net, b->net) != 0)
        say(m, COMPARABLE_NOT, "the nets differ: %.19s and %.19s", a->net, b->net);
    else if (a->parameters.known && b->parameters.known && a->parameters.v != b->parameters.v)
        say(m, COMPARABLE_NOT, "the nets differ: %lld and %lld parameters",
            (long long)a->parameters.v, (long long)b->parameters.v);
    compare_recipes(m);
    if (a->epochs.known && b->epochs.known && a->epochs.v != b->epochs.v)
        say(m, COMPARABLE_NOTED, "%s and %lld: compare steps, not whole runs",
            units_count(a->epochs.v, "epoch").s, (long long)b->epochs.v);
    else if (a->total_steps.known && b->total_steps.known && a->total_steps.v != b->total_steps.v)
        say(m, COMPARABLE_NOTED, "%s and %lld: compare steps, not whole runs",
            units_count(a->total_steps.v, "step").s, (long long)b->total_steps.v);
}

// The next letter or digit in lower case, past everything in brackets; 0 at the end.
static int next_letter(const char **at)
{
    for (int depth = 0; **at; ++*at) {
        unsigned char c = (unsigned char)**at;
        depth += c == '(' ? 1 : c == ')' && depth > 0 ? -1 : 0;
        if (depth == 0 && (isalnum(c) || c >= 0x80)) {
            ++*at;
            return tolower(c);
        }
    }
    return 0;
}

// "MNIST (idx)" is "mnist", "CIFAR-10" is "cifar10".
static bool same_name(const char *a, const char *b)
{
    if (!a || !b)
        return a == b;
    for (size_t letters = 0;; letters++) {
        int x = next_letter(&a), y = next_letter(&b);
        if (x != y || x == 0)
            return x == y && letters > 0;
    }
}

int64_t comparable_samples(const struct run *run)
{
    int64_t rows = 0;
    if (run->data.train_samples.known)
        return run->data.train_samples.v;
    const char *label = run_label(run, "data_rows");
    return label && text_int(label, &rows) && rows >= 0 && (double)rows <= range_count.most ? rows
                                                                                            : 0;
}

// A published number of rows may count the held-out part too.
static bool same_size(const struct run *a, const struct run *b)
{
    int64_t x = comparable_samples(a), y = comparable_samples(b);
    if (!a->data.train_samples.known && b->data.test_samples.known &&
        x == y + b->data.test_samples.v)
        return true;
    if (!b->data.train_samples.known && a->data.test_samples.known &&
        y == x + a->data.test_samples.v)
        return true;
    return x == 0 || y == 0 || x == y;
}

static bool is_made(const struct run *run)
{
    return run->data.made.known && run->data.made.v;
}

static bool same_count(const struct run_data *a, const struct run_data *b)
{
    return !a->train_samples.known || !b->train_samples.known ||
           a->train_samples.v == b->train_samples.v;
}

bool comparable_data(const struct run *a, const struct run *b)
{
    const char *first = a->data.identity, *second = b->data.identity;
    if (is_made(a) != is_made(b))
        return false;
    if (first && second)
        return strcmp(first, second) == 0 && same_count(&a->data, &b->data);
    return same_size(a, b) &&
           (!a->data.name || !b->data.name || same_name(a->data.name, b->data.name));
}

static void compare_data(struct maker *m)
{
    const struct run_data *a = &m->a->data, *b = &m->b->data;
    bool checked = a->identity && b->identity;
    bool same_set = checked && strcmp(a->identity, b->identity) == 0;
    long long first = comparable_samples(m->a), second = comparable_samples(m->b);
    if (comparable_data(m->a, m->b)) {
        if (!a->identity != !b->identity)
            say(m, COMPARABLE_NOTED, "the data may differ: only one run recorded a checksum");
    } else if (is_made(m->a) != is_made(m->b)) {
        say(m, COMPARABLE_NOT, "one trained on generated data, the other on a real set");
    } else if (same_set) {
        say(m, COMPARABLE_NOT, "one trained on a part of the data: %lld and %lld samples", first,
            second);
    } else if (!checked && !same_size(m->a, m->b)) {
        say(m, COMPARABLE_NOT, "different amounts of data: %lld and %lld samples", first, second);
    } else if (!a->name || !b->name) {
        say(m, COMPARABLE_NOT, "the data differ, by their checksums");
    } else if (same_name(a->name, b->name)) {
        say(m, COMPARABLE_NOT, "the data differ, though both are called %s", a->name);
    } else {
        say(m, COMPARABLE_NOT, "different data: %s and %s", a->name, b->name);
    }
}

// The activation of an LSTM's gates, from a label or the net's description. Null: unknown.
static const char *gates(const struct run *run)
{
    const char *label = run_label(run, "gates");
    if (label)
        return label;
    if (run->variant && strcmp(run->variant, "hard gates") == 0)
        return "hard sigmoid";
    if (run->net && strstr(run->net, "hard sigmoid"))
        return "hard sigmoid";
    if (run->net && strstr(run->net, "LSTM") && strstr(run->net, "sigmoid"))
        return "sigmoid";
    return NULL;
}

static void compare_computation(struct maker *m)
{
    const struct run *a = m->a, *b = m->b;
    if (a->precision && b->precision && strcmp(a->precision, b->precision) != 0)
        say(m, COMPARABLE_NOTED, "precision %s and %s", a->precision, b->precision);
    else if (!a->precision != !b->precision)
        say(m, COMPARABLE_NOTED, "one used %s, the precision of the other is unknown",
            a->precision ? a->precision : b->precision);
    if (a->batch.known && b->batch.known && a->batch.v != b->batch.v)
        say(m, COMPARABLE_NOTED, "batches of %lld and %lld: compare samples per second, not steps",
            (long long)a->batch.v, (long long)b->batch.v);
    const char *gates_a = gates(a), *gates_b = gates(b);
    if (gates_a && gates_b && strcmp(gates_a, gates_b) != 0)
        say(m, COMPARABLE_NOTED, "not the same computation: gates are %s and %s", gates_a, gates_b);
}

bool comparable_length(const struct run *a, const struct run *b)
{
    if (a->epochs.known && b->epochs.known)
        return a->epochs.v == b->epochs.v;
    return !a->total_steps.known || !b->total_steps.known || a->total_steps.v == b->total_steps.v;
}

static bool is_full(const struct run *run)
{
    return run->full.known && run->full.v;
}

static void compare_extent(struct maker *m)
{
    const struct run *a = m->a, *b = m->b;
    if (a->full.known && b->full.known && a->full.v != b->full.v)
        say(m, COMPARABLE_NOTED,
            "one time is projected from a sample, the other measured to the end");
    else if (is_full(a) && is_full(b) && a->reached.known && b->reached.known &&
             a->reached.v != b->reached.v)
        say(m, COMPARABLE_NOTED, "only one reached the accuracy of a correct training");
}

static void judge_one(struct maker *m, const struct run *run, const char *name)
{
    m->silent = !name;
    name = name ? name : "";
    if (run_failed(run))
        say(m, COMPARABLE_NOT, "%s failed%s%s", name, run->problem ? ": " : "",
            run->problem ? run->problem : "");
    else if (run_stopped(run))
        say(m, COMPARABLE_NOTED, "%s was stopped early", name);
    for (size_t i = 0; i < run->taints.count; i++)
        say(m, COMPARABLE_NOISY, "%s is noisy: %s", name, run->taints.items[i]);
    const struct run_use *use = &run->use;
    // Less than a hundredth of the time does not show in the figures.
    if (use->throttled_ns.known && run->phases.wall_ns.known &&
        use->throttled_ns.v > run->phases.wall_ns.v / 100)
        say(m, COMPARABLE_NOTED, "%s was held back by its CPU quota", name);
    for (size_t i = 0; i < use->gpu_list.count && !run_throttled(run); i++) {
        const struct run_gpu *gpu = &use->gpu_list.items[i];
        if (gpu->throttling.count > 0) {
            say(m, COMPARABLE_NOTED, "a GPU of %s was throttled: %s", name,
                gpu->throttling.items[0]);
            break;
        }
    }
}

int comparison_make(const struct run *a, const struct run *b, struct comparison_names names,
                    struct comparison *out, struct err *err)
{
    memset(out, 0, sizeof *out);
    out->reasons.known = true;
    struct maker m = {.a = a, .b = b, .out = out, .err = err};
    compare_definition(&m);
    compare_data(&m);
    compare_computation(&m);
    compare_extent(&m);
    judge_one(&m, a, names.a);
    judge_one(&m, b, names.b);
    for (size_t i = 0; i < m.notes.reasons.count && m.rc == 0; i++)
        m.rc = texts_add(&out->reasons, m.notes.reasons.items[i], err);
    comparison_release(&m.notes);
    static const char *const words[] = {[COMPARABLE_SAME] = "same",
                                        [COMPARABLE_NOTED] = "comparable with a note",
                                        [COMPARABLE_NOISY] = "no verdict: noisy",
                                        [COMPARABLE_NOT] = "not comparable"};
    if (m.rc == 0)
        m.rc = TEXTS_SET(err, {&out->schema, COMPARISON_SCHEMA}, {&out->first, a->id},
                         {&out->second, b->id}, {&out->words, words[out->verdict]});
    return m.rc;
}

#define T struct comparison
const struct field comparison_fields[] = {
    FIELD(FIELD_TEXT, T, schema, "`" COMPARISON_SCHEMA "`"),
    FIELD(FIELD_TEXT, T, first, "id of a run"),
    FIELD(FIELD_TEXT, T, second, "id of the run it is compared with"),
    FIELD(FIELD_TEXT, T, words, "same, comparable with a note, no verdict: noisy, not comparable"),
    FIELD(FIELD_TEXTS, T, reasons, "why, those that rule it out first"),
    FIELD_END,
};
#undef T

void comparison_release(struct comparison *comparison)
{
    record_release(comparison_fields, comparison);
}
