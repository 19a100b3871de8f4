// SPDX-License-Identifier: Apache-2.0
#include "advise/compare.h"

#include <stdlib.h>
#include <string.h>

#include "advise/comparable.h"
#include "advise/compare_parts.h"
#include "record/read.h"

static int read_words(struct comparing *c, const struct compare_options *options, struct err *err)
{
    if (options->word_count == 0)
        return 0;
    c->picks = calloc(options->word_count, sizeof *c->picks);
    int rc = c->picks ? 0 : err_memory(err);
    for (size_t i = 0; i < options->word_count && rc == 0; i++) {
        const char *word = options->words[i];
        rc = selector_init(&c->picks[i].selector, word, strlen(word), err);
        c->pick_count += rc == 0;
    }
    return rc;
}

int comparing_new(struct comparing **out, const struct compare_options *options, struct err *err)
{
    struct comparing *c = calloc(1, sizeof *c);
    if (!c)
        return err_memory(err);
    int rc = 0;
    c->prorated = options->pricing.prorated;
    c->date = options->pricing.date;
    c->workload = options->workload;
    if (options->base)
        rc = selector_init(&c->base, options->base, strlen(options->base), err);
    if (rc == 0)
        rc = read_words(c, options, err);
    if (rc == 0)
        rc = pricing_new(&c->pricing, &options->pricing, err);
    if (rc == 0)
        *out = c;
    else
        comparing_free(c);
    return rc;
}

static void group_release(struct group *group)
{
    record_release(run_fields, &group->run);
    free(group->named);
    free(group->machine);
    free(group->parts.items);
    for (size_t i = 0; i < group->ids.count; i++)
        free(group->ids.items[i]);
    free(group->ids.items);
}

void comparing_free(struct comparing *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->group_count; i++)
        group_release(&c->groups[i]);
    for (size_t i = 0; i < c->section_count; i++) {
        free(c->sections[i].title);
        free(c->sections[i].groups);
    }
    for (size_t i = 0; i < c->pick_count; i++)
        selector_release(&c->picks[i].selector);
    free(c->picks);
    free(c->groups);
    free(c->sections);
    index_release(&c->section_index);
    index_release(&c->group_index);
    selector_release(&c->base);
    pricing_free(c->pricing);
    buf_release(&c->key);
    free(c);
}

// Room for one more item, zeroed.
static void *one_more(void *items, size_t count, size_t *room, size_t size, struct err *err)
{
    if (count < *room)
        return items;
    size_t more = *room ? *room * 2 : 4;
    char *grown = realloc(items, more * size);
    if (!grown) {
        err_memory(err);
        return NULL;
    }
    memset(grown + *room * size, 0, (more - *room) * size);
    *room = more;
    return grown;
}

// ---- which row

static void key_text(struct buf *key, const char *text)
{
    if (text)
        buf_adds(key, text);
    buf_addc(key, '\x1f'); // texts of records hold no control characters
}

static void key_int(struct buf *key, struct maybe_int number)
{
    if (number.known)
        buf_add(key, &number.v, sizeof number.v);
    buf_addc(key, '\x1f');
}

// What was trained: the workload, the command, or at least its name.
static void section_key(const struct run *run, struct buf *key)
{
    buf_reset(key);
    if (run->workload) {
        key_text(key, run->workload);
        return;
    }
    for (size_t i = 0; i < run->command.count; i++) {
        buf_adds(key, i ? " " : "");
        buf_adds(key, run->command.items[i]);
    }
    if (run->command.count == 0)
        buf_adds(key, run->name ? run->name : "unnamed");
    buf_adds(key, "\x1f\x1f");
}

static int find_section(struct comparing *c, const struct run *run, size_t *number, struct err *err)
{
    section_key(run, &c->key);
    int rc = buf_check(&c->key, err);
    if (rc == 0)
        rc = index_number(&c->section_index, buf_str(&c->key), c->key.len, number, err);
    if (rc != 0 || *number < c->section_count)
        return rc;
    struct section *sections =
        one_more(c->sections, c->section_count, &c->section_room, sizeof *sections, err);
    if (!sections)
        return ERR_MEMORY;
    c->sections = sections;
    struct section *section = &sections[c->section_count];
    section->base = NO_GROUP;
    section->title = strndup(buf_str(&c->key), strcspn(buf_str(&c->key), "\x1f"));
    if (!section->title)
        return err_memory(err);
    c->section_count++;
    return 0;
}

static void group_key(struct comparing *c, size_t section, const struct run *run, const char *named,
                      const struct part *part)
{
    struct buf *key = &c->key;
    buf_reset(key);
    buf_add(key, &section, sizeof section);
    const struct run_machine *m = &run->machine;
    const char *const texts[] = {named,
                                 m->name,
                                 m->fingerprint,
                                 m->gpu,
                                 m->cpu,
                                 m->provider,
                                 m->instance_type,
                                 m->region,
                                 run->framework,
                                 run->engine,
                                 run->variant,
                                 run->precision,
                                 run->net,
                                 run->recipe,
                                 run->data.identity ? run->data.identity : run->data.name,
                                 run_label(run, "gates"),
                                 run_label(run, "price_per_hour_usd"),
                                 run_label(run, "price_kind"),
                                 part->relative ? run_label(run, "relative_to") : NULL};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        key_text(key, texts[i]);
    const struct maybe_int numbers[] = {
        run->threads,     run->batch, run->parameters, run->epochs,
        run->total_steps, m->gpus,    run->use.gpus,   run->data.train_samples,
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        key_int(key, numbers[i]);
    buf_addc(key, run->data.made.known && run->data.made.v ? 'm' : '-');
    buf_addc(key, run->full.known && run->full.v ? 'f' : '-');
    buf_addc(key, run->taints.count > 0 ? 't' : '-');
    buf_addc(key, run_failed(run) ? 'x' : run_stopped(run) ? 's' : '-');
    buf_addc(key, !part->timed ? 'u' : part->relative ? 'r' : '-');
}

static int add_to_section(struct section *section, size_t group, struct err *err)
{
    size_t *groups = one_more(section->groups, section->count, &section->room, sizeof *groups, err);
    if (!groups)
        return ERR_MEMORY;
    section->groups = groups;
    groups[section->count++] = group;
    return 0;
}

// "H200", "8× H200".
static int name_machine(struct group *group, const struct run *run, struct err *err)
{
    const char *place = run_place(run);
    struct maybe_int gpus = run->use.gpus.known ? run->use.gpus : run->machine.gpus;
    struct buf name = {0};
    if (place && !run->machine.name && place == run_gpu_name(run) && gpus.known && gpus.v > 1)
        buf_printf(&name, "%lld× ", (long long)gpus.v);
    buf_adds(&name, place ? place : "-");
    group->machine = buf_take(&name, err);
    return group->machine ? 0 : ERR_MEMORY;
}

static int find_group(struct comparing *c, size_t section, struct run *run, const char *named,
                      const struct part *part, struct group **out, struct err *err)
{
    size_t number;
    group_key(c, section, run, named, part);
    int rc = buf_check(&c->key, err);
    if (rc == 0)
        rc = index_number(&c->group_index, buf_str(&c->key), c->key.len, &number, err);
    if (rc != 0)
        return rc;
    if (number < c->group_count) {
        *out = &c->groups[number];
        return 0;
    }
    struct group *groups = one_more(c->groups, c->group_count, &c->group_room, sizeof *groups, err);
    if (!groups)
        return ERR_MEMORY;
    c->groups = groups;
    struct group *group = &groups[number];
    group->named = named ? strdup(named) : NULL;
    if (named && !group->named)
        rc = err_memory(err);
    if (rc == 0)
        rc = name_machine(group, run, err);
    if (rc == 0)
        rc = add_to_section(&c->sections[section], number, err);
    if (rc != 0) {
        group_release(group);
        memset(group, 0, sizeof *group);
        return rc;
    }
    c->group_count++;
    group->section = section;
    group->timed = part->timed;
    group->relative = part->relative;
    group->failed = run_failed(run);
    c->sections[section].timed |= group->timed && !group->relative && !group->failed;
    group->run = *run; // taken over
    memset(run, 0, sizeof *run);
    *out = group;
    return 0;
}

static int keep(struct group *group, const char *id, const struct part *part,
                const struct price *price, struct err *err)
{
    struct part *parts =
        one_more(group->parts.items, group->parts.count, &group->room, sizeof *parts, err);
    if (!parts)
        return ERR_MEMORY;
    group->parts.items = parts;
    if (group->parts.count == 0)
        group->price = *price;
    if (group->parts.count == 0 || price->nano < group->least)
        group->least = price->nano;
    if (group->parts.count == 0 || price->nano > group->most)
        group->most = price->nano;
    parts[group->parts.count++] = *part;
    return id && group->ids.count < IDS_MAX ? texts_add(&group->ids, id, err) : 0;
}

static int place_run(struct comparing *c, struct run *run, const struct part *part,
                     const struct price *price, const char *named, struct err *err)
{
    size_t section;
    struct group *group;
    enum selector_fit fit = c->base.text ? selector_fits(&c->base, run) : SELECTOR_NOT;
    // A base that is one run, or one label's, is a row of its own.
    if (!named && fit >= SELECTOR_LABEL)
        named = c->base.text;
    char *id = run->id ? strdup(run->id) : NULL;
    int rc = run->id && !id ? err_memory(err) : find_section(c, run, &section, err);
    if (rc == 0)
        rc = find_group(c, section, run, named, part, &group, err);
    if (rc == 0) {
        group->base_fit = fit > group->base_fit ? fit : group->base_fit;
        rc = keep(group, id, part, price, err);
    }
    free(id);
    return rc;
}

static bool is_same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

// Whether the run was asked for, and by which id or label.
static bool is_picked(struct comparing *c, const struct run *run, const char **named)
{
    if (c->workload && !is_same(c->workload, run->workload))
        return false;
    bool picked = c->pick_count == 0;
    enum selector_fit most = SELECTOR_NAME;
    for (size_t i = 0; i < c->pick_count; i++) {
        struct pick *pick = &c->picks[i];
        const char *word = pick->selector.text;
        enum selector_fit fit = selector_fits(&pick->selector, run);
        if (fit == SELECTOR_NOT && !is_same(word, run->name) && !is_same(word, run->workload))
            continue;
        picked = pick->used = true;
        if (fit > most) {
            most = fit;
            *named = word;
        }
    }
    return picked;
}

int comparing_add(struct comparing *c, const char *text, size_t len, struct err *err)
{
    const char *named = NULL;
    struct run run = {0};
    struct part part = {0};
    struct price price;
    int rc = record_from_kept(compare_run_fields(), text, len, &run, err);
    if (rc == 0 && !is_picked(c, &run, &named)) {
        record_release(compare_run_fields(), &run);
        return 0;
    }
    if (rc == 0)
        rc = pricing_of(c->pricing, &run, &price, err);
    if (rc == 0)
        rc = compare_part_fill(text, len, &run, &price, &part, err);
    if (rc == 0)
        rc = place_run(c, &run, &part, &price, named, err);
    if (rc == 0)
        c->runs++;
    record_release(compare_run_fields(), &run);
    return rc;
}

// ---- the result

static void estimate_group(struct group *g, struct measured *room)
{
    size_t n = g->parts.count;
    g->costed = g->timed;
    for (size_t i = 0; i < n; i++) {
        const struct part *part = &g->parts.items[i];
        room[i] = (struct measured){part->time_s, part->time_low, part->time_high};
        g->costed &= part->costed;
    }
    if (g->timed)
        estimate_of(room, n, &g->time);
    for (size_t i = 0; i < n; i++) {
        const struct part *part = &g->parts.items[i];
        room[i] = part->relative ? (struct measured){part->relative_cost, 0, 0}
                                 : (struct measured){(double)part->cost, (double)part->cost_low,
                                                     (double)part->cost_high};
    }
    if (g->costed)
        estimate_of(room, n, &g->cost);
}

static int estimate_all(struct comparing *c, struct err *err)
{
    size_t most = 1;
    for (size_t i = 0; i < c->group_count; i++)
        most = c->groups[i].parts.count > most ? c->groups[i].parts.count : most;
    struct measured *room = calloc(most, sizeof *room);
    if (!room)
        return err_memory(err);
    for (size_t i = 0; i < c->group_count; i++)
        estimate_group(&c->groups[i], room);
    free(room);
    return 0;
}

static int by_title(const void *a, const void *b)
{
    return strcmp(((const struct section *)a)->title, ((const struct section *)b)->title);
}

// The base first, then what is cheaper, or where that is not known faster.
static int by_cost(const void *a, const void *b)
{
    const struct compare_row *x = a, *y = b;
    if (x->base.known != y->base.known)
        return x->base.known ? -1 : 1;
    if (x->cost.nano_usd.known != y->cost.nano_usd.known)
        return x->cost.nano_usd.known ? -1 : 1;
    if (x->cost.nano_usd.v != y->cost.nano_usd.v)
        return x->cost.nano_usd.v < y->cost.nano_usd.v ? -1 : 1;
    // Where only speeds are known, by what they are relative to the base.
    bool relative =
        x->kind && y->kind && strcmp(x->kind, "relative") == 0 && strcmp(y->kind, "relative") == 0;
    if (relative && x->money.ratio.known != y->money.ratio.known)
        return x->money.ratio.known ? -1 : 1;
    double first = relative ? x->money.ratio.v : 0, second = relative ? y->money.ratio.v : 0;
    if (first == second) {
        first = relative ? x->time.ratio.v : x->time_s.value.v;
        second = relative ? y->time.ratio.v : y->time_s.value.v;
    }
    if (first < second || second < first)
        return first < second ? -1 : 1;
    int order = strcmp(x->machine, y->machine);
    if (order == 0)
        order = strcmp(x->framework, y->framework);
    return order != 0 ? order : strcmp(x->detail ? x->detail : "", y->detail ? y->detail : "");
}

// What the verdict says of the row. What it says of the base ("the first") is said there, once.
static int add_reasons(struct compare_row *row, const struct comparison *verdict, bool apart,
                       struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < verdict->reasons.count && rc == 0; i++) {
        const char *reason = verdict->reasons.items[i], *about = strstr(reason, "the second");
        if (strstr(reason, "the first"))
            continue;
        struct buf text = {0};
        if (about) {
            buf_add(&text, reason, (size_t)(about - reason));
            buf_printf(&text, "this one%s", about + strlen("the second"));
        } else {
            buf_adds(&text, reason);
        }
        rc = buf_check(&text, err);
        if (rc == 0)
            rc = apart ? texts_add(&row->reasons, buf_str(&text), err)
                       : texts_add(&row->notes, buf_str(&text), err);
        buf_release(&text);
    }
    return rc;
}

// Of a run with a time and one with a relative speed neither tells anything of the other.
static const char *not_on_one_scale(const struct group *base, const struct group *group)
{
    const char *to = group_relative_to(group), *base_to = group_relative_to(base);
    if (!group->timed || !base->timed || (!to && !base_to))
        return NULL;
    if (!base_to)
        return "only its speed relative to others is known, not its time";
    if (!to)
        return "of the base only a speed relative to others is known, not its time";
    return strcmp(to, base_to) == 0 ? NULL : "its speed is relative to another machine's";
}

// One row of a section: beside the base, or apart from it.
static int add_row(const struct comparing *c, const struct section *section, size_t number,
                   size_t reference, struct compare_workload *to, struct err *err)
{
    const struct group *group = &c->groups[number], *against = &c->groups[reference];
    bool is_base = number == section->base;
    struct comparison verdict;
    int rc = comparison_make(&against->run, &group->run, &verdict, err);
    bool alone = number == reference; // against itself there are notes only
    const char *scale = not_on_one_scale(against, group);
    bool apart = !group->timed || group->failed || scale ||
                 (!alone && verdict.verdict == COMPARABLE_NOT) ||
                 !comparable_length(&against->run, &group->run);
    struct compare_row *row = NULL;
    if (rc == 0) {
        row = apart ? LIST_ADD(&to->apart, err) : LIST_ADD(&to->rows, err);
        rc = row ? compare_row_fill(group, row, err) : ERR_MEMORY;
    }
    if (rc == 0 && is_base)
        row->base = some_bool(true);
    if (rc == 0 && !apart && section->base != NO_GROUP)
        rc = compare_row_against(group, &c->groups[section->base], row, err);
    if (rc == 0 && !(alone && verdict.verdict == COMPARABLE_NOT && !apart))
        rc = add_reasons(row, &verdict, apart, err);
    if (rc == 0 && apart && !group->failed && !group->timed)
        rc = texts_add(&row->reasons,
                       "its time is not known: it was neither trained to the end nor projected",
                       err);
    if (rc == 0 && scale && !group->failed)
        rc = texts_add(&row->reasons, scale, err);
    comparison_release(&verdict);
    return rc;
}

static int add_section(struct comparing *c, struct section *section, struct compare *out,
                       struct err *err)
{
    struct compare_workload *to = LIST_ADD(&out->workloads, err);
    int rc = to ? text_set(&to->workload, section->title, err) : ERR_MEMORY;
    if (rc != 0)
        return rc;
    to->rows.known = to->apart.known = true;
    compare_details(c, section);
    // Without a base, what the first can stand beside.
    size_t reference = section->base;
    for (size_t i = 0; i < section->count && reference == NO_GROUP; i++)
        if (c->groups[section->groups[i]].timed && !c->groups[section->groups[i]].failed)
            reference = section->groups[i];
    if (reference == NO_GROUP)
        reference = section->groups[0];
    for (size_t i = 0; i < section->count && rc == 0; i++)
        rc = add_row(c, section, section->groups[i], reference, to, err);
    if (rc == 0 && to->rows.count > 0)
        qsort(to->rows.items, to->rows.count, sizeof *to->rows.items, by_cost);
    if (rc == 0 && to->apart.count > 0)
        qsort(to->apart.items, to->apart.count, sizeof *to->apart.items, by_cost);
    if (rc == 0 && section->base != NO_GROUP && to->rows.count > 0) {
        struct buf label = {0};
        compare_label(&to->rows.items[0], &label);
        rc = buf_check(&label, err);
        if (rc == 0)
            rc = text_set(&to->base, buf_str(&label), err);
        buf_release(&label);
    }
    return rc == 0 ? compare_sentences(to, err) : rc;
}

static int check_words(const struct comparing *c, struct err *err)
{
    for (size_t i = 0; i < c->pick_count; i++)
        if (!c->picks[i].used) {
            err_set(err, ERR_MISSING, "no run fits '%s'", c->picks[i].selector.text);
            return err_hint(err, "a run's id, a label key=value, a machine, GPU or framework; "
                                 "'fare runs' lists them");
        }
    return pricing_check(c->pricing, err);
}

int comparing_finish(struct comparing *c, struct compare *out, struct err *err)
{
    out->workloads.known = true;
    out->runs = some_int(c->runs);
    int rc = check_words(c, err);
    if (rc == 0)
        rc = text_set(&out->schema, COMPARE_SCHEMA, err);
    if (rc == 0)
        rc = text_set(&out->rule, c->prorated ? "prorated" : "paid", err);
    if (rc == 0 && c->date)
        rc = text_set(&out->date, c->date, err);
    if (rc == 0)
        rc = estimate_all(c, err);
    if (rc == 0 && c->group_count > 0)
        rc = compare_choose(c, out, err);
    if (rc == 0 && c->section_count > 0)
        qsort(c->sections, c->section_count, sizeof *c->sections, by_title);
    for (size_t i = 0; i < c->section_count && rc == 0; i++)
        rc = add_section(c, &c->sections[i], out, err);
    return rc == 0 ? compare_summary(out, err) : rc;
}
