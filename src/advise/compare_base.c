// SPDX-License-Identifier: Apache-2.0
// Chooses the base: the row of each workload that the others are relative to.
#include "advise/compare_parts.h"

#include <stdlib.h>
#include <string.h>

enum { SAID_MAX = 1000 }; // names that a hint looks back at

static bool can_be_base(const struct group *group)
{
    return group->timed && !group->failed;
}

// Among rows of one name: one that is clean, measured to the end, and of many runs.
static bool is_better(const struct group *a, const struct group *b)
{
    bool clean_a = a->run.taints.count == 0, clean_b = b->run.taints.count == 0;
    if (a->relative != b->relative)
        return b->relative;
    bool full_a = a->run.full.known && a->run.full.v, full_b = b->run.full.known && b->run.full.v;
    if (clean_a != clean_b)
        return clean_a;
    if (run_stopped(&a->run) != run_stopped(&b->run))
        return run_stopped(&b->run);
    if (full_a != full_b)
        return full_a;
    return a->parts.count > b->parts.count;
}

static void add_name(const struct group *group, struct buf *out)
{
    buf_printf(out, "%s%s", out->len > 0 ? ", " : "", group->machine);
    if (group->run.framework)
        buf_printf(out, "+%s", group->run.framework);
}

static int several(const struct comparing *c, const struct section *section, const struct group *a,
                   const struct group *b, struct err *err)
{
    SCOPED(buf_release) struct buf names = {0};
    add_name(a, &names);
    add_name(b, &names);
    err_set(err, ERR_USAGE, "--base '%s' fits several rows of %s: %s", c->base.text, section->title,
            buf_str(&names));
    return err_hint(err, "name one by machine+framework or by a run's id");
}

// The best fit of the selector in a section; null where it fits nothing.
static int choose_in(const struct comparing *c, struct section *section, struct err *err)
{
    const struct group *best = NULL;
    enum selector_fit most = SELECTOR_NOT;
    for (size_t i = 0; i < section->count; i++) {
        const struct group *group = &c->groups[section->groups[i]];
        if (can_be_base(group) && group->base_fit > most)
            most = group->base_fit;
    }
    for (size_t i = 0; i < section->count && most != SELECTOR_NOT; i++) {
        const struct group *group = &c->groups[section->groups[i]];
        if (!can_be_base(group) || group->base_fit != most)
            continue;
        if (best && compare_by_name(best, group) != 0)
            return several(c, section, best, group, err);
        if (!best || is_better(group, best)) {
            best = group;
            section->base = section->groups[i];
        }
    }
    return 0;
}

static int fits_nothing(const struct comparing *c, struct err *err)
{
    SCOPED(buf_release) struct buf names = {0};
    err_set(err, ERR_USAGE, "no run that can be compared fits --base '%s'", c->base.text);
    for (size_t i = 0; i < c->group_count && names.len < 120; i++) {
        bool said = !can_be_base(&c->groups[i]);
        for (size_t j = 0; j < i && !said && j < SAID_MAX; j++)
            said = compare_by_name(&c->groups[i], &c->groups[j]) == 0;
        if (!said)
            add_name(&c->groups[i], &names);
    }
    if (names.len > 0)
        err_hint(err, "there are %s", buf_str(&names));
    return ERR_USAGE;
}

static int by_selector(struct comparing *c, struct err *err)
{
    bool found = false;
    for (size_t i = 0; i < c->section_count; i++) {
        int rc = choose_in(c, &c->sections[i], err);
        if (rc != 0)
            return rc;
        found |= c->sections[i].base != NO_GROUP;
    }
    return found ? 0 : fits_nothing(c, err);
}

// ---- without one

// If some rows have times, a row with only a relative speed could be compared with none of them.
static bool can_be_default(const struct comparing *c, const struct group *group)
{
    return can_be_base(group) && !(group->relative && c->sections[group->section].timed);
}

// A record without a date counts as the newest.
static bool is_older(const struct group *a, const struct group *b)
{
    return a->run.started && (!b->run.started || strcmp(a->run.started, b->run.started) < 0);
}

static int by_name_and_section(const void *a, const void *b, void *arg)
{
    const struct comparing *c = arg;
    const struct group *x = &c->groups[*(const size_t *)a], *y = &c->groups[*(const size_t *)b];
    int order = compare_by_name(x, y);
    if (order == 0)
        order = (x->section > y->section) - (x->section < y->section);
    return order != 0 ? order : (x > y) - (x < y);
}

static bool comes_first(const struct group *a, const struct group *b)
{
    return is_older(a, b) || (!is_older(b, a) && a < b);
}

// The oldest row of the machine and framework that most sections have; null: none can be a base.
static int most_common(struct comparing *c, const struct group **out, struct err *err)
{
    size_t count = 0, most = 0, *order = calloc(c->group_count, sizeof *order);
    if (!order)
        return err_memory(err);
    for (size_t i = 0; i < c->group_count; i++)
        if (can_be_default(c, &c->groups[i]))
            order[count++] = i;
    qsort_r(order, count, sizeof *order, by_name_and_section, c);
    for (size_t from = 0, to; from < count; from = to) {
        const struct group *last = &c->groups[order[from]], *oldest = last;
        size_t sections = 1;
        for (to = from + 1; to < count; to++) {
            const struct group *next = &c->groups[order[to]];
            if (compare_by_name(last, next) != 0)
                break;
            sections += next->section != last->section;
            oldest = comes_first(next, oldest) ? next : oldest;
            last = next;
        }
        if (sections > most || (sections == most && comes_first(oldest, *out))) {
            most = sections;
            *out = oldest;
        }
    }
    free(order);
    return 0;
}

static void place_base(struct comparing *c, const struct group *common)
{
    for (size_t i = 0; i < c->section_count; i++) {
        struct section *section = &c->sections[i];
        const struct group *best = NULL;
        for (size_t j = 0; j < section->count; j++) {
            const struct group *group = &c->groups[section->groups[j]];
            if (!can_be_default(c, group))
                continue;
            bool mine = compare_by_name(group, common) == 0;
            bool had = best && compare_by_name(best, common) == 0;
            if (!best || (mine && !had) ||
                (mine == had && (mine ? is_better(group, best) : is_older(group, best)))) {
                best = group;
                section->base = section->groups[j];
            }
        }
    }
}

static int by_itself(struct comparing *c, struct compare *out, struct err *err)
{
    const struct group *common = NULL;
    struct buf name = {0};
    int rc = most_common(c, &common, err);
    if (!common)
        return rc;
    place_base(c, common);
    add_name(common, &name);
    return text_take(&out->base, &name, err);
}

int compare_choose(struct comparing *c, struct compare *out, struct err *err)
{
    if (!c->base.text)
        return by_itself(c, out, err);
    TRY(by_selector(c, err));
    return text_set(&out->base, c->base.text, err);
}
