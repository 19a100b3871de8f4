// SPDX-License-Identifier: Apache-2.0
#include "advise/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/comparable.h"
#include "advise/compare_parts.h"
#include "base/clock.h"
#include "record/read.h"

// A run without its long lists, and its epochs alone: most of a record's text is passed over.
// Neither the table nor comparable.h needs what the head lacks.
static struct record_part head_part = {
    .of = run_fields,
    .members =
        "schema source seed step_flops step_bytes program libraries exit_code signal "
        "steps_per_epoch step_ms samples_per_s epoch_s first_loss last_loss l1_pairs_per_s "
        "l1_share_of_peak l1_largest_error peak_memory_bytes steady stages checks drift epoch_list "
        "step_plot_ms samples",
    .without = true};
static struct record_part epoch_part = {.of = run_fields, .members = "epoch_list"};

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

static int find_targets(struct comparing *c, const struct compare_options *options, struct err *err)
{
    struct wishes wishes = {
        .clock = CLOCK_MEAN, .prorated = options->pricing.prorated, .currency = options->currency};
    if (options->pricing.date && !clock_parse(options->pricing.date, &wishes.start_s))
        return err_set(err, ERR_USAGE, "'%s' is not a date", options->pricing.date);
    return compare_targets_new(&c->targets, options->estimates, options->estimate_count,
                               options->pricing.market, &wishes, err);
}

int comparing_new(struct comparing **out, const struct compare_options *options, struct err *err)
{
    struct comparing *c = calloc(1, sizeof *c);
    if (!c)
        return err_memory(err);
    int rc = 0;
    c->prorated = options->pricing.prorated;
    c->published = options->published;
    c->date = options->pricing.date;
    c->workload = options->workload;
    c->market = options->pricing.market;
    c->currency = options->currency;
    c->power = options->power;
    if (options->base)
        rc = selector_init(&c->base, options->base, strlen(options->base), err);
    if (rc == 0)
        rc = read_words(c, options, err);
    if (rc == 0)
        rc = pricing_new(&c->pricing, &options->pricing, err);
    if (rc == 0 && options->estimate_count > 0)
        rc = find_targets(c, options, err);
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
        free(c->sections[i].name);
        free(c->sections[i].groups);
    }
    for (size_t i = 0; i < c->pick_count; i++)
        selector_release(&c->picks[i].selector);
    estimate_tables_close(c->tables);
    free(c->picks);
    free(c->groups);
    free(c->sections);
    index_release(&c->section_index);
    index_release(&c->group_index);
    selector_release(&c->base);
    pricing_free(c->pricing);
    compare_targets_free(c->targets);
    buf_release(&c->key);
    free(c);
}

// Makes room for one more item, zeroed.
static void *grow_zeroed(void *items, size_t count, size_t *capacity, size_t size, struct err *err)
{
    if (count < *capacity)
        return items;
    size_t more = *capacity ? *capacity * 2 : 4;
    char *grown = realloc(items, more * size);
    if (!grown) {
        err_memory(err);
        return NULL;
    }
    memset(grown + *capacity * size, 0, (more - *capacity) * size);
    *capacity = more;
    return grown;
}

// ---- time

static bool in_range(double s)
{
    return s >= 0 && s < 9e9; // fits into 64-bit nanoseconds
}

// For a run trained to the end; for a log without a total, the sum of its epochs.
static int full_time(const char *text, size_t len, const struct run *run, struct maybe_int *ns,
                     struct err *err)
{
    *ns = run->phases.wall_ns;
    if (ns->known)
        return 0;
    struct run epochs = {0};
    int rc = record_from_checked(record_part(&epoch_part), text, len, &epochs, err);
    int64_t sum = 0;
    bool timed = epochs.epoch_list.count > 0;
    for (size_t i = 0; i < epochs.epoch_list.count; i++) {
        const struct run_epoch *e = &epochs.epoch_list.items[i];
        timed &= e->train_ns.known && !__builtin_add_overflow(sum, e->train_ns.v, &sum);
        timed &= !e->test_ns.known || !__builtin_add_overflow(sum, e->test_ns.v, &sum);
    }
    if (rc == 0 && timed)
        *ns = some_int(sum);
    record_release(run_fields, &epochs);
    return rc;
}

static int cost_of(const struct run_price *price, const struct run *run, double s, int64_t *nano,
                   bool *costed, struct err *err)
{
    struct err why = {0};
    int rc = run_price_cost(price, run_ordered_ns(run), llround(s * 1e9), nano, &why);
    if (rc == ERR_OVERFLOW || rc == ERR_FORMAT) { // no amount of money is that large
        *costed = false;
        return 0;
    }
    if (rc != 0 && err)
        *err = why;
    return rc;
}

static void fill_relative(const struct run *run, const struct run_price *price, struct part *part)
{
    double speed = run_relative_speed(run);
    if (speed == 0)
        return;
    part->timed = part->relative = true;
    part->time_s = 1 / speed;
    part->costed = price->known;
    if (part->costed)
        part->relative_cost = (double)price->hour / speed;
}

// A sample that includes every step is the whole training.
static bool all_steps(const struct run *run)
{
    return run->steps.known && run->total_steps.known && run->steps.v >= run->total_steps.v;
}

static int fill_part(const char *text, size_t len, const struct run *run,
                     const struct run_price *price, struct part *part, struct err *err)
{
    struct maybe_int ns = {0};
    const struct run_projection *p = &run->projection;
    bool full = run->full.known && run->full.v;
    int rc = full ? full_time(text, len, run, &ns, err) : 0;
    if (rc != 0)
        return rc;
    part->timed = ns.known && ns.v >= 0;
    part->accuracy = run->test_accuracy;
    part->early = !full && run->test_accuracy.known && !all_steps(run);
    if (run_score(run))
        part->score = run_score(run)->value;
    part->gpu_percent = run->use.gpu_percent;
    part->share_of_peak = run->use.share_of_peak;
    part->tokens_per_s = run->tokens_per_s;
    part->mfu = run->use.mfu;
    part->joules_per_mtoken = run->use.joules_per_mtoken;
    part->l1_ms[L1_TRANSFER] = run->l1_transfer_ms;
    part->l1_ms[L1_CALCULATION] = run->l1_calculation_ms;
    if (part->timed) {
        part->time_s = (double)ns.v / 1e9;
    } else if (p->wall_s.known && in_range(p->wall_s.v)) {
        part->timed = true;
        part->time_s = p->wall_s.v;
        if (p->low_s.known && p->high_s.known && p->low_s.v > 0 && in_range(p->high_s.v) &&
            p->low_s.v <= p->wall_s.v && p->high_s.v >= p->wall_s.v) {
            part->time_low = p->low_s.v;
            part->time_high = p->high_s.v;
        }
    }
    if (!part->timed) {
        fill_relative(run, price, part);
        return 0;
    }
    if (!price->known)
        return 0;
    part->costed = true;
    part->day = price->priced.day;
    if (ns.known) { // to the nanosecond
        struct err why = {0};
        rc = run_price_cost(price, run_ordered_ns(run), ns.v, &part->cost, &why);
        part->costed = rc == 0;
        rc = 0;
    } else {
        rc = cost_of(price, run, part->time_s, &part->cost, &part->costed, err);
    }
    if (rc == 0 && part->time_high > 0)
        rc = cost_of(price, run, part->time_low, &part->cost_low, &part->costed, err);
    if (rc == 0 && part->time_high > 0)
        rc = cost_of(price, run, part->time_high, &part->cost_high, &part->costed, err);
    return rc;
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

// The workload, the command and its script, or at least the run's name.
static void section_key(const struct run *run, struct buf *key)
{
    buf_reset(key);
    if (run->workload) {
        key_text(key, run->workload);
        return;
    }
    if (run->command.count > 0) {
        const char *program;
        size_t len = comparable_program(run->command.items[0], &program);
        buf_add(key, program, len);
    } else {
        buf_adds(key, run->name ? run->name : "unnamed");
    }
    for (size_t i = 1; i < run->command.count; i++)
        buf_printf(key, " %s", run->command.items[i]);
    buf_addc(key, '\x1f');
    key_text(key, run->command.count > 0 ? run->code.script_sha256 : NULL);
}

// What the key begins with; of a second script of that name with its checksum.
static char *section_title(const struct comparing *c, const struct run *run, struct err *err)
{
    struct buf title = {0};
    bool again = false;
    buf_add(&title, buf_str(&c->key), strcspn(buf_str(&c->key), "\x1f"));
    for (size_t i = 0; i < c->section_count; i++)
        again |= strcmp(c->sections[i].title, buf_str(&title)) == 0;
    if (again && run->code.script_sha256)
        buf_printf(&title, " (script sha256 %.12s)", run->code.script_sha256);
    return buf_take(&title, err);
}

static int section_name(const struct run *run, char **name, struct err *err)
{
    const char *program;
    struct buf own = {0};
    if (run->workload || run->name || run->command.count == 0)
        return text_set(name, run->workload ? run->workload : run->name, err);
    size_t len = comparable_program(run->command.items[0], &program);
    buf_add(&own, program, len);
    return text_take(name, &own, err);
}

static int find_section(struct comparing *c, const struct run *run, size_t *number, struct err *err)
{
    section_key(run, &c->key);
    TRY(buf_check(&c->key, err));
    TRY(index_number(&c->section_index, buf_str(&c->key), c->key.len, number, err));
    if (*number < c->section_count)
        return 0;
    struct section *sections =
        grow_zeroed(c->sections, c->section_count, &c->section_capacity, sizeof *sections, err);
    if (!sections)
        return ERR_MEMORY;
    c->sections = sections;
    struct section *section = &sections[c->section_count];
    section->base = NO_GROUP;
    section->title = section_title(c, run, err);
    if (!section->title)
        return ERR_MEMORY;
    c->section_count++;
    return section_name(run, &section->name, err);
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
        run->threads, run->batch,    run->parameters,         run->epochs, run->total_steps,
        m->gpus,      run->use.gpus, run->data.train_samples, run->ranks,  run->nodes,
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
    size_t *groups =
        grow_zeroed(section->groups, section->count, &section->capacity, sizeof *groups, err);
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
    TRY(buf_check(&c->key, err));
    TRY(index_number(&c->group_index, buf_str(&c->key), c->key.len, &number, err));
    if (number < c->group_count) {
        *out = &c->groups[number];
        return 0;
    }
    struct group *groups =
        grow_zeroed(c->groups, c->group_count, &c->group_capacity, sizeof *groups, err);
    if (!groups)
        return ERR_MEMORY;
    c->groups = groups;
    struct group *group = &groups[number];
    group->named = named ? strdup(named) : NULL;
    int rc = named && !group->named ? err_memory(err) : name_machine(group, run, err);
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
                const struct run_price *price, const struct power *power, struct err *err)
{
    struct part *parts =
        grow_zeroed(group->parts.items, group->parts.count, &group->capacity, sizeof *parts, err);
    if (!parts)
        return ERR_MEMORY;
    group->parts.items = parts;
    if (group->parts.count == 0)
        group->price = *price;
    if (group->parts.count == 0)
        group->power = *power;
    if (group->parts.count == 0 || price->hour < group->least)
        group->least = price->hour;
    if (group->parts.count == 0 || price->hour > group->most)
        group->most = price->hour;
    parts[group->parts.count++] = *part;
    return id && group->ids.count < IDS_MAX ? texts_add(&group->ids, id, err) : 0;
}

static int place_run(struct comparing *c, struct run *run, const struct part *part,
                     const struct run_price *price, const struct power *power, const char *named,
                     struct err *err)
{
    size_t section;
    struct group *group;
    enum selector_fit fit = c->base.text ? selector_fits(&c->base, run) : SELECTOR_NOT;
    // A base that is one run, or one label's, is a row of its own.
    if (!named && fit >= SELECTOR_LABEL)
        named = c->base.text;
    SCOPED(free_pointer) char *id = run->id ? strdup(run->id) : NULL;
    TRY(run->id && !id ? err_memory(err) : find_section(c, run, &section, err));
    TRY(find_group(c, section, run, named, part, &group, err));
    group->base_fit = fit > group->base_fit ? fit : group->base_fit;
    return keep(group, id, part, price, power, err);
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

static void head_release(struct run *run)
{
    record_release(record_part(&head_part), run);
}

int comparing_add(struct comparing *c, const char *text, size_t len, struct err *err)
{
    const char *named = NULL;
    SCOPED(head_release) struct run run = {0};
    struct part part = {0};
    struct run_price price;
    struct power power = {.mw = -1};
    TRY(record_from_checked(record_part(&head_part), text, len, &run, err));
    if (!is_picked(c, &run, &named))
        return 0;
    TRY(pricing_of(c->pricing, &run, &price, err));
    TRY(fill_part(text, len, &run, &price, &part, err));
    if (c->published && part.costed && !part.relative)
        TRY(compare_part_printed(&price, &part, err));
    part.bound = run_price_is_bound(&price, &run);
    if (c->power && !price.known)
        TRY(power_of_run(c->market, &run, c->power, &power, err));
    if (power.mw >= 0)
        part.watts = some_real((double)power.mw / 1000);
    TRY(place_run(c, &run, &part, &price, &power, named, err));
    c->runs++;
    return 0;
}
