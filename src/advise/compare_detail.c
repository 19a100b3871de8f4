// SPDX-License-Identifier: Apache-2.0
// What tells rows of one machine and framework apart: only what differs is said.
#include "advise/compare_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *group_framework(const struct group *group)
{
    return group->run.framework ? group->run.framework : "-";
}

const char *group_relative_to(const struct group *group)
{
    return group->relative ? run_label(&group->run, "relative_to") : NULL;
}

void compare_label(const struct compare_row *row, struct buf *out)
{
    buf_adds(out, row->machine);
    if (strcmp(row->framework, "-") != 0)
        buf_printf(out, " + %s", row->framework);
    if (row->detail)
        buf_printf(out, " (%s)", row->detail);
}

int compare_by_name(const struct group *a, const struct group *b)
{
    int order = strcmp(a->machine, b->machine);
    return order != 0 ? order : strcmp(group_framework(a), group_framework(b));
}

#define ATTRIBUTE_BYTES 96
enum attribute {
    NAMED,
    EXTENT,
    TAINTED,
    FAILED,
    UNTIMED,
    ENGINE,
    VARIANT,
    PRECISION,
    BATCH,
    THREADS,
    GPUS,
    GATES,
    EPOCHS,
    STEPS,
    DATA,
    DATA_IDENTITY,
    PROVIDER,
    INSTANCE,
    REGION,
    PRICE,
    FINGERPRINT,
    NET,
    PARAMETERS,
    RECIPE,
    ATTRIBUTES
};

static void put_text(char out[ATTRIBUTE_BYTES], const char *before, const char *text, int most)
{
    if (text)
        snprintf(out, ATTRIBUTE_BYTES, "%s%.*s", before, most, text);
}

// The word behind is in the singular.
static void put_int(char out[ATTRIBUTE_BYTES], const char *before, struct maybe_int number,
                    const char *after)
{
    if (number.known)
        snprintf(out, ATTRIBUTE_BYTES, "%s%lld%s%s", before, (long long)number.v, after,
                 *after && number.v != 1 ? "s" : "");
}

static void put_data(char out[ATTRIBUTE_BYTES], const struct run_data *data)
{
    if (data->made.known && data->made.v)
        snprintf(out, ATTRIBUTE_BYTES, "made data");
    else
        put_text(out, "", data->name, 40);
}

// The attribute in words; empty where there is none.
static void attribute(const struct group *g, enum attribute which, char out[ATTRIBUTE_BYTES])
{
    const struct run *run = &g->run;
    out[0] = '\0';
    switch (which) {
    case NAMED:
        return put_text(out, "", g->named, 60);
    case EXTENT:
        return put_text(out, "",
                        g->relative                      ? "relative"
                        : run->full.known && run->full.v ? "measured"
                                                         : "projected",
                        20);
    case TAINTED:
        return put_text(out, "", run->taints.count > 0 ? "perhaps spoiled" : NULL, 20);
    case FAILED:
        return put_text(out, "", g->failed ? "failed" : run_stopped(run) ? "stopped" : NULL, 20);
    case UNTIMED:
        return put_text(out, "", g->timed ? NULL : "without a time", 20);
    case ENGINE:
        return put_text(out, "", run->engine, 20);
    case VARIANT:
        return put_text(out, "", run->variant, 40);
    case PRECISION:
        return put_text(out, "", run->precision, 20);
    case BATCH:
        return put_int(out, "batch ", run->batch, "");
    case THREADS:
        return put_int(out, "", run->threads, " thread");
    case GPUS:
        return put_int(out, "", run->use.gpus.known ? run->use.gpus : run->machine.gpus, " GPU");
    case GATES:
        return put_text(out, "gates ", run_label(run, "gates"), 40);
    case EPOCHS:
        return put_int(out, "", run->epochs, " epoch");
    case STEPS:
        return put_int(out, "", run->total_steps, " step");
    case DATA:
        return put_data(out, &run->data);
    case DATA_IDENTITY:
        return put_text(out, "data ", run->data.identity, 8);
    case PROVIDER:
        return put_text(out, "", run->machine.provider, 20);
    case INSTANCE:
        return put_text(out, "", run->machine.instance_type, 40);
    case REGION:
        return put_text(out, "", run->machine.region, 20);
    case PRICE:
        return put_text(out, "$", run_label(run, "price_per_hour_usd"), 20);
    case FINGERPRINT:
        return put_text(out, "machine ", run->machine.fingerprint, 8);
    case NET:
        return put_text(out, "net ", run->net, 24);
    case PARAMETERS:
        return put_int(out, "", run->parameters, " parameter");
    case RECIPE:
        return put_text(out, "", run->recipe, 40);
    case ATTRIBUTES:
        break;
    }
}

static int by_name(const void *a, const void *b, void *arg)
{
    const struct comparing *c = arg;
    size_t first = *(const size_t *)a, second = *(const size_t *)b;
    int order = compare_by_name(&c->groups[first], &c->groups[second]);
    return order != 0 ? order : first < second ? -1 : 1;
}

void compare_details(struct comparing *c, struct section *section)
{
    qsort_r(section->groups, section->count, sizeof *section->groups, by_name, c);
    for (size_t from = 0, to; from < section->count; from = to) {
        struct group *first = &c->groups[section->groups[from]];
        char mine[ATTRIBUTE_BYTES], other[ATTRIBUTE_BYTES];
        unsigned differs = 0;
        for (to = from + 1; to < section->count; to++) {
            const struct group *next = &c->groups[section->groups[to]];
            if (compare_by_name(first, next) != 0)
                break;
            for (enum attribute a = 0; a < ATTRIBUTES; a++) {
                attribute(first, a, mine);
                attribute(next, a, other);
                differs |= strcmp(mine, other) != 0 ? 1u << a : 0;
            }
        }
        for (size_t i = from; i < to; i++)
            c->groups[section->groups[i]].differs = differs;
    }
}

void compare_detail(const struct group *group, struct buf *out)
{
    for (enum attribute a = 0; a < ATTRIBUTES; a++) {
        char text[ATTRIBUTE_BYTES];
        attribute(group, a, text);
        // What the user called it by is said even where nothing else is called so.
        if (text[0] && (group->differs & 1u << a || a == NAMED))
            buf_printf(out, "%s%s", out->len > 0 ? ", " : "", text);
    }
}
