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

// Of rows that are called alike the base is one that is clean, measured, and of many runs.
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
    struct buf names = {0};
    add_name(a, &names);
    add_name(b, &names);
    err_set(err, ERR_USAGE, "--base '%s' fits several rows of %s: %s", c->base.text, section->title,
            buf_str(&names));
    buf_release(&names);
    return err_hint(err, "machine+framework names one, or a run's id");
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
    struct buf names = {0};
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
    buf_release(&names);
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

// Where there are times, what only has a relative speed would push them all apart.
static bool can_be_default(const struct comparing *c, const struct group *group)
{
    return can_be_base(group) && !(group->relative && c->sections[group->section].timed);
}

struct candidate { // a machine and framework
    size_t group;  // the oldest of them
    size_t sections;
};

// Records without a date are taken as older than none, in the order in which they came.
static bool is_older(const struct group *a, const struct group *b)
{
    return a->run.started && (!b->run.started || strcmp(a->run.started, b->run.started) < 0);
}

// A number for the group's machine and framework, and whether this section had not yet been seen
// with them.
static int number_name(struct comparing *c, const struct group *group, struct index *names,
                       struct index *pairs, size_t *number, bool *is_new, struct err *err)
{
    size_t before = pairs->count, pair;
    buf_reset(&c->key);
    buf_printf(&c->key, "%s\x1f%s", group->machine, group_framework(group));
    int rc = buf_check(&c->key, err);
    if (rc == 0)
        rc = index_number(names, buf_str(&c->key), c->key.len, number, err);
    buf_printf(&c->key, "\x1f%zu", group->section);
    if (rc == 0)
        rc = buf_check(&c->key, err);
    if (rc == 0)
        rc = index_number(pairs, buf_str(&c->key), c->key.len, &pair, err);
    *is_new = rc == 0 && pair == before;
    return rc;
}

static int count_candidates(struct comparing *c, struct candidate *candidates, struct index *names,
                            struct err *err)
{
    struct index pairs = {0};
    int rc = 0;
    for (size_t i = 0; i < c->group_count && rc == 0; i++) {
        const struct group *group = &c->groups[i];
        size_t number;
        bool is_new;
        if (!can_be_default(c, group))
            continue;
        rc = number_name(c, group, names, &pairs, &number, &is_new, err);
        if (rc != 0)
            break;
        struct candidate *candidate = &candidates[number];
        if (candidate->sections == 0 || is_older(group, &c->groups[candidate->group]))
            candidate->group = i;
        candidate->sections += is_new;
    }
    index_release(&pairs);
    return rc;
}

static const struct group *most_common(const struct comparing *c,
                                       const struct candidate *candidates, size_t count)
{
    const struct candidate *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct candidate *one = &candidates[i];
        bool older = best && one->sections == best->sections &&
                     is_older(&c->groups[one->group], &c->groups[best->group]);
        if (!best || one->sections > best->sections || older)
            best = one;
    }
    return best ? &c->groups[best->group] : NULL;
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
    struct index names = {0};
    struct candidate *candidates = calloc(c->group_count, sizeof *candidates);
    int rc = candidates ? count_candidates(c, candidates, &names, err) : err_memory(err);
    const struct group *common = rc == 0 ? most_common(c, candidates, names.count) : NULL;
    if (common) {
        struct buf name = {0};
        place_base(c, common);
        add_name(common, &name);
        rc = buf_check(&name, err);
        if (rc == 0)
            rc = text_set(&out->base, buf_str(&name), err);
        buf_release(&name);
    }
    free(candidates);
    index_release(&names);
    return rc;
}

int compare_choose(struct comparing *c, struct compare *out, struct err *err)
{
    if (!c->base.text)
        return by_itself(c, out, err);
    int rc = by_selector(c, err);
    return rc == 0 ? text_set(&out->base, c->base.text, err) : rc;
}
