// SPDX-License-Identifier: Apache-2.0
// Azure: scheduled events. Those that end this machine or its processes count (Preempt, Terminate,
// Reboot, Redeploy); the list is that of the whole set of machines, so the resources are compared
// with this one's name. NotBefore is empty once an event has started.
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "guard/notice_source.h"

#define EVENTS   "/metadata/scheduledevents?api-version=2020-07-01"
#define NAME     "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
#define METADATA "Metadata: true"

bool notice_date_1123(const char *text, int64_t *date_s)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int day, year, hour, minute, second;
    char month[4], iso[48];
    const char *comma = text ? strchr(text, ',') : NULL;
    if (!comma || strlen(comma) > 40 ||
        sscanf(comma + 1, " %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT", &day, month, &year, &hour, &minute,
               &second) != 6 ||
        strlen(month) != 3)
        return false;
    const char *at = strstr(months, month);
    if (!at || (at - months) % 3 != 0 || day < 0 || year < 0 || hour < 0 || minute < 0 ||
        second < 0)
        return false;
    snprintf(iso, sizeof iso, "%04d-%02d-%02dT%02d:%02d:%02dZ", year, (int)(at - months) / 3 + 1,
             day, hour, minute, second);
    return clock_parse(iso, date_s);
}

static bool concerns(const json_t *event, const char *name)
{
    const json_t *resources = json_object_get(event, "Resources");
    bool any = name[0] == '\0' || !json_is_array(resources) || json_array_size(resources) == 0;
    for (size_t i = 0; !any && i < json_array_size(resources); i++) {
        const char *one = json_string_value(json_array_get(resources, i));
        any = one && strcasecmp(one, name) == 0;
    }
    return any;
}

static bool ends_the_job(const char *type)
{
    static const char *const types[] = {"Preempt", "Terminate", "Reboot", "Redeploy"};
    bool found = false;
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        found |= strcmp(type, types[i]) == 0;
    return found;
}

static void read_event(const json_t *event, struct notice_found *found)
{
    const char *type = json_string_value(json_object_get(event, "EventType"));
    const char *before = json_string_value(json_object_get(event, "NotBefore"));
    int64_t date_s = 0;
    bool dated = notice_date_1123(before, &date_s);
    if (found->kind == NOTICE_END && !(dated && found->dated && date_s < found->date_s))
        return; // the earliest counts
    found->kind = NOTICE_END;
    found->dated = dated;
    found->date_s = date_s;
    snprintf(found->words, sizeof found->words, "Azure will %c%s this machine",
             tolower((unsigned char)type[0]), type + 1);
}

void notice_azure_read(int status, const char *text, size_t len, const char *name,
                       struct notice_found *found)
{
    *found = (struct notice_found){0};
    json_t *json = status == 200 ? json_loadb(text, len, 0, NULL) : NULL;
    const json_t *events = json_object_get(json, "Events");
    found->known = json_is_array(events);
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (ends_the_job(json_string_value(json_object_get(event, "EventType"))) &&
            concerns(event, name))
            read_event(event, found);
    }
    json_decref(json);
}

static void ask(struct notice_asker *a, struct notice_found *found)
{
    struct buf answer = {0};
    if (a->name[0] == '\0' && notice_get(a, NAME, METADATA, 5 * NS_PER_S, &answer) == 200 &&
        answer.len < sizeof a->name) {
        buf_trim(&answer);
        snprintf(a->name, sizeof a->name, "%s", buf_str(&answer));
    }
    buf_reset(&answer);
    // The first question switches the service on, which may take two minutes.
    int64_t within_ns = (a->asked == 0 ? 150 : 10) * NS_PER_S;
    int status = notice_get(a, EVENTS, METADATA, within_ns, &answer);
    notice_azure_read(status, buf_str(&answer), answer.len, a->name, found);
    buf_release(&answer);
}

const struct notice_source notice_azure = {
    .name = "azure",
    .provider = "azure",
    .every_ns = 2 * NS_PER_S,
    .lead_ns = 30 * NS_PER_S,
    .most_ns = 1800 * NS_PER_S,
    .ask = ask,
};
