// SPDX-License-Identifier: Apache-2.0
#include "guard/lease_text.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/field.h"

#define EPOCH_DIGITS 10

// Takes `json`.
static int dump(json_t *json, struct buf *out, struct err *err)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    int rc = text ? 0 : err_memory(err);
    if (text)
        buf_adds(out, text);
    free(text);
    json_decref(json);
    return rc == 0 ? buf_check(out, err) : rc;
}

int lease_claim_write(const struct lease_holder *holder, struct buf *out, struct err *err)
{
    char *host = NULL, *job = NULL; // without control characters
    int rc = TEXTS_SET(err, {&host, holder->host}, {&job, holder->job});
    if (rc == 0)
        rc = dump(json_pack("{s:s, s:I, s:s, s:s, s:s}", "format", LEASE_FORMAT, "epoch",
                            (json_int_t)holder->epoch, "id", holder->id, "host", host ? host : "",
                            "job", job ? job : ""),
                  out, err);
    free(host), free(job);
    return rc;
}

int lease_beat_write(const struct lease_beat *beat, struct buf *out, struct err *err)
{
    return dump(json_pack("{s:s, s:I, s:s}", "format", LEASE_FORMAT, "count",
                          (json_int_t)beat->count, "state",
                          beat->done    ? "done"
                          : beat->ended ? "released"
                                        : "held"),
                out, err);
}

static json_t *load(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    const char *format = json_string_value(json_object_get(json, "format"));
    if (format && strcmp(format, LEASE_FORMAT) == 0)
        return json;
    json_decref(json);
    return NULL;
}

static void copy(json_t *json, const char *name, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(json, name));
    snprintf(out, size, "%s", text ? text : "");
    for (char *p = out; *p; p++) // for messages
        if ((unsigned char)*p < 32 || *p == 127)
            *p = '?';
}

bool lease_claim_read(const char *text, struct lease_holder *holder)
{
    json_t *json = load(text);
    bool ours = json != NULL;
    if (ours) {
        copy(json, "id", holder->id, sizeof holder->id);
        copy(json, "host", holder->host, sizeof holder->host);
        copy(json, "job", holder->job, sizeof holder->job);
    }
    json_decref(json);
    return ours;
}

bool lease_beat_read(const char *text, struct lease_beat *beat)
{
    json_t *json = load(text), *count = json_object_get(json, "count");
    const char *state = json_string_value(json_object_get(json, "state"));
    bool ours = json_is_integer(count) && json_integer_value(count) >= 0 && state;
    if (ours)
        *beat = (struct lease_beat){.count = json_integer_value(count),
                                    .ended = strcmp(state, "held") != 0,
                                    .done = strcmp(state, "done") == 0};
    json_decref(json);
    return ours;
}

void lease_name(int64_t epoch, const char *what, char out[STORE_NAME_BYTES])
{
    snprintf(out, STORE_NAME_BYTES, "lease/%0*lld/%s", EPOCH_DIGITS, (long long)epoch, what);
}

int64_t lease_name_read(const char *name, const char **what)
{
    int64_t epoch = 0;
    if (strncmp(name, "lease/", 6) != 0)
        return 0;
    name += 6;
    for (int i = 0; i < EPOCH_DIGITS; i++, name++) {
        if (!isdigit((unsigned char)*name))
            return 0;
        epoch = epoch * 10 + (*name - '0');
    }
    if (*name != '/')
        return 0;
    *what = name + 1;
    return epoch;
}
