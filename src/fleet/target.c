// SPDX-License-Identifier: Apache-2.0
#include "fleet/target.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define ROW(name) &target_##name,
const struct target *const targets[] = {TARGETS(ROW) NULL};
#undef ROW

void target_release(struct place *place)
{
    if (place->target && place->target->release)
        place->target->release(place);
    free(place->name);
    free(place->value);
    free(place->offer);
    *place = (struct place){0};
}

void places_release(struct places *places)
{
    for (size_t i = 0; i < places->count; i++)
        target_release(&places->items[i]);
    free(places->items);
    *places = (struct places){0};
}

struct place *places_add(struct places *places, const struct target *target, const char *value,
                         const char *offer, struct err *err)
{
    struct buf name = {0};
    if (array_grow(&places->items, places->count, &places->capacity, sizeof *places->items, err))
        return NULL;
    struct place *place = &places->items[places->count];
    *place = (struct place){.target = target, .hour_nano = -1, .at_once = 1};
    buf_printf(&name, "%s%s%s", target->name, value ? ":" : "", value ? value : "");
    place->name = buf_take(&name, err);
    place->value = value ? text_copy(value, err) : NULL;
    place->offer = offer ? text_copy(offer, err) : NULL;
    if (!place->name || (value && !place->value) || (offer && !place->offer)) {
        target_release(place);
        return NULL;
    }
    places->count++;
    return place;
}

void task_report_release(struct task_report *report)
{
    buf_release(&report->records);
    buf_release(&report->words);
    buf_release(&report->warning);
}

// The target whose name the text begins with, followed by ':', ',' or the end; null: none.
static const struct target *named(const char *text)
{
    size_t len = strcspn(text, ":,");
    for (size_t i = 0; targets[i]; i++)
        if (strlen(targets[i]->name) == len && memcmp(targets[i]->name, text, len) == 0)
            return targets[i];
    return NULL;
}

static int unknown(const char *word, struct err *err)
{
    struct buf names = {0};
    for (size_t i = 0; targets[i]; i++)
        buf_printf(&names, "%s%s%s%s", i > 0 ? ", " : "", targets[i]->name,
                   targets[i]->value ? ":" : "", targets[i]->value ? targets[i]->value : "");
    err_set(err, ERR_USAGE, "--on: '%.100s' names no target", word);
    err_hint(err, "%s; a host is ssh:HOST", buf_str(&names));
    buf_release(&names);
    return ERR_USAGE;
}

int target_parse(const char *word, struct places *places, struct err *err)
{
    const struct target *target = named(word);
    if (!target)
        return unknown(word, err);
    const char *value = word + strlen(target->name);
    const char *end = value;
    while (*end && !(*end == ',' && named(end + 1)))
        end++;
    struct buf text = {0};
    buf_add(&text, value, (size_t)(end - value));
    int rc = buf_check(&text, err);
    if (rc == 0)
        rc = target->parse(*value == ':'  ? buf_str(&text) + 1
                           : text.len > 0 ? buf_str(&text)
                                          : NULL,
                           places, err);
    buf_release(&text);
    if (rc != 0 || *end == '\0')
        return rc;
    return target_parse(end + 1, places, err);
}
