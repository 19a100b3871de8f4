// SPDX-License-Identifier: Apache-2.0
// events: JSON lines written for fare: {"step": 12, "samples": 128, "loss": 0.31}. Unknown keys are
// ignored; a known key with an invalid value makes the line malformed. {"notice": {...}} is fare's
// own line for the command (tail.h).
#include "run/event.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"

#define COUNT_MAX 9007199254740992.0 // 2^53: larger JSON numbers may be inexact

// Python writes NaN and Infinity, which are not JSON: a diverged loss must not hide the step number
// in the same line.
static json_t *without_nan(const char *line, size_t len)
{
    struct buf text = {0};
    bool quoted = false;
    for (size_t i = 0; i < len; i++) {
        size_t word = 0;
        if (line[i] == '"')
            quoted = !quoted;
        else if (quoted && line[i] == '\\' && i + 1 < len)
            buf_addc(&text, line[i++]);
        else if (!quoted && strncmp(line + i, "NaN", 3) == 0)
            word = 3;
        else if (!quoted && strncmp(line + i, "Infinity", 8) == 0)
            word = 8;
        else if (!quoted && strncmp(line + i, "-Infinity", 9) == 0)
            word = 9;
        if (word > 0) {
            buf_adds(&text, "null");
            i += word - 1;
        } else {
            buf_addc(&text, line[i]);
        }
    }
    json_t *json =
        buf_check(&text, NULL) == 0 ? json_loadb(buf_str(&text), text.len, 0, NULL) : NULL;
    buf_release(&text);
    return json;
}

static bool get_count(const json_t *json, const char *key, struct maybe_int *out)
{
    const json_t *v = json_object_get(json, key);
    if (!v || json_is_null(v))
        return true;
    double number = json_is_number(v) ? json_number_value(v) : -1;
    if (!(number >= 0 && number <= COUNT_MAX) || number != floor(number))
        return false;
    *out = some_int((int64_t)number);
    return true;
}

static bool get_real(const json_t *json, const char *key, struct maybe_real *out)
{
    const json_t *v = json_object_get(json, key);
    if (!v || json_is_null(v))
        return true;
    if (!json_is_number(v) || !isfinite(json_number_value(v)))
        return false;
    *out = some_real(json_number_value(v));
    return true;
}

// 3 is the third epoch; 2.5 is halfway through the third.
static bool get_epoch(const json_t *json, struct maybe_int *out)
{
    struct maybe_real epoch = {0};
    if (!get_real(json, "epoch", &epoch) || (epoch.known && !(epoch.v >= 0 && epoch.v < 1e9)))
        return false;
    if (epoch.known)
        *out = some_int((int64_t)ceil(epoch.v));
    return true;
}

static bool get_phase(const json_t *json, struct maybe_int *out)
{
    const json_t *v = json_object_get(json, "phase");
    return !v || (json_is_string(v) && event_phase(json_string_value(v), out));
}

static bool get_worker(const json_t *json, struct event *event)
{
    if (!get_count(json, "world", &event->world) || !get_count(json, "pid", &event->worker) ||
        !get_count(json, "rank", &event->worker))
        return false;
    return !event->world.known || (event->world.v >= 1 && event->world.v <= 1000000);
}

static bool fill(const json_t *json, struct event *event)
{
    if (!json_is_object(json))
        return false;
    bool good = get_count(json, "step", &event->step) && get_count(json, "steps", &event->steps) &&
                get_count(json, "total_steps", &event->total_steps) &&
                get_count(json, "samples", &event->samples) && get_epoch(json, &event->epoch) &&
                get_count(json, "epochs", &event->epochs) &&
                get_count(json, "stage", &event->stage) && get_phase(json, &event->phase) &&
                get_real(json, "at", &event->at) && get_real(json, "loss", &event->loss) &&
                get_real(json, "accuracy", &event->accuracy) &&
                get_real(json, "test_loss", &event->test_loss) &&
                get_real(json, "test_accuracy", &event->test_accuracy) && get_worker(json, event);
    json_t *about = json_object_get(json, "about");
    if (!good || (about && !json_is_object(about)))
        return false;
    event->begins = event->phase.known;
    event->about = json_incref(about);
    return true;
}

static enum event_result read_json(const char *line, size_t len, struct event *event)
{
    size_t blank = strspn(line, " \t");
    if (blank == len)
        return EVENT_NONE;
    json_t *json = json_loadb(line, len, 0, NULL);
    if (!json && line[blank] == '{')
        json = without_nan(line, len);
    enum event_result result = json_is_object(json_object_get(json, "notice")) ? EVENT_NONE
                               : fill(json, event)                             ? EVENT_READ
                                                                               : EVENT_MALFORMED;
    json_decref(json);
    return result;
}

const struct event_source event_json = {"FARE_EVENTS", read_json};
