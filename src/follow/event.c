// SPDX-License-Identifier: Apache-2.0
// Shared by the sources: names of phases, splitting bytes into lines.
#include "follow/event.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "ledger/mlperf.h"
#include "follow/formats.h"
#include "train/meter.h"

void event_release(struct event *event)
{
    free(event->about);
    event->about = NULL;
}

// The meter's phase with that name ("train", "eval", "validation"...); false for others.
static bool event_phase(const char *name, struct maybe_int *phase)
{
    static const struct {
        const char *name;
        enum meter_phase phase;
    } names[] = {
        {"setup", METER_SETUP},         {"kernels", METER_KERNELS},
        {"compile", METER_KERNELS},     {"load", METER_LOAD},
        {"device", METER_DEVICE},       {"train", METER_TRAIN},
        {"evaluate", METER_EVALUATE},   {"eval", METER_EVALUATE},
        {"test", METER_EVALUATE},       {"validate", METER_EVALUATE},
        {"validation", METER_EVALUATE}, {"checkpoint", METER_CHECKPOINT},
        {"save", METER_CHECKPOINT},     {"idle", METER_IDLE},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(names[i].name, name) == 0) {
            *phase = some_int(names[i].phase);
            return true;
        }
    return false;
}

// The length of the escape sequence at `p`: ESC [ parameters final, or ESC and one byte.
static size_t escape_length(const char *p, size_t len)
{
    if (len < 2)
        return len;
    if (p[1] != '[')
        return 2;
    size_t i = 2;
    while (i < len && ((unsigned char)p[i] < 0x40 || (unsigned char)p[i] > 0x7e))
        i++;
    return i < len ? i + 1 : len;
}

size_t event_clean(char *line, size_t len)
{
    size_t out = 0;
    for (size_t i = 0; i < len;) {
        unsigned char c = (unsigned char)line[i];
        if (c == 0x1b) {
            i += escape_length(line + i, len - i);
            continue;
        }
        if (c == '\t' || c == '\0')
            line[out++] = ' ';
        else if (c >= 0x20 && c != 0x7f)
            line[out++] = (char)c;
        i++;
    }
    line[out] = '\0';
    return out;
}

static void end_line(struct event_lines *lines, event_line_fn *each, void *context)
{
    lines->line[lines->len] = '\0';
    size_t len = lines->len;
    lines->len = 0;
    lines->cut = false;
    if (len > 0)
        each(context, lines->line, len, true);
}

static void append(struct event_lines *lines, const char *bytes, size_t len)
{
    size_t free_bytes = EVENT_LINE_MAX - lines->len;
    if (len > free_bytes)
        lines->cut = true;
    len = len < free_bytes ? len : free_bytes;
    for (size_t i = 0; i < len; i++)
        lines->line[lines->len + i] = bytes[i] ? bytes[i] : ' ';
    lines->len += len;
}

// A bar has no newline until it is overwritten, long after its text is complete. tqdm's ends with a
// bracket; those of Keras, rich and Ultralytics are drawn.
static bool maybe_bar(const struct event_lines *lines)
{
    const char *line = lines->line;
    size_t len = lines->len;
    return len > 0 && len <= EVENT_PATTERN_MAX &&
           (line[len - 1] == ']' || memmem(line, len, "\xe2\x94\x81", 3) ||
            memmem(line, len, "[=", 2));
}

void event_lines_add(struct event_lines *lines, const char *bytes, size_t len, event_line_fn *each,
                     void *context)
{
    size_t from = 0;
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != '\n' && bytes[i] != '\r' && bytes[i] != '\b')
            continue;
        if (i > from && !lines->cut)
            append(lines, bytes + from, i - from);
        end_line(lines, each, context);
        from = i + 1;
    }
    if (len > from && !lines->cut)
        append(lines, bytes + from, len - from);
    if (maybe_bar(lines)) {
        char copy[EVENT_PATTERN_MAX + 1];
        memcpy(copy, lines->line, lines->len);
        copy[lines->len] = '\0';
        each(context, copy, lines->len, false);
    }
}

void event_lines_end(struct event_lines *lines, event_line_fn *each, void *context)
{
    end_line(lines, each, context);
}

// ---- events: JSON lines written for fare: {"step": 12, "samples": 128, "loss": 0.31}. Unknown
// keys are ignored; a known key with an invalid value makes the line malformed. {"notice": {...}}
// is fare's own line for the command (relay.h).

#define COUNT_MAX 9007199254740992.0 // 2^53: larger JSON numbers may be inexact

// Python writes NaN and Infinity, which are not JSON: a diverged loss must not hide the step number
// in the same line.
static json_t *without_nan(const char *line, size_t len)
{
    SCOPED(buf_release) struct buf text = {0};
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
    return buf_check(&text, NULL) == 0 ? json_loadb(buf_str(&text), text.len, 0, NULL) : NULL;
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

static bool event_fill(const json_t *json, struct event *event)
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
    event->about = about ? json_dumps(about, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    return !about || event->about;
}

static enum event_result read_json(const char *line, size_t len, struct event *event)
{
    size_t blank = strspn(line, " \t");
    if (blank == len)
        return EVENT_NONE;
    json_auto_t *json = json_loadb(line, len, 0, NULL);
    if (!json && line[blank] == '{')
        json = without_nan(line, len);
    return json_is_object(json_object_get(json, "notice")) ? EVENT_NONE
           : event_fill(json, event)                       ? EVENT_READ
                                                           : EVENT_MALFORMED;
}

const struct event_source event_json = {"FARE_EVENTS", read_json};

// ---- mllog: log lines of MLPerf submissions, as written by mlperf_logging:
//
//     :::MLLOG {"key": "epoch_stop", "value": null, "metadata": {"epoch_num": 3}, ...}
//
// Keys give the benchmark, phases and qualities. Steps come from step_num, else from samples_count
// and global_batch_size, else from epochs of train_samples.

#define MARK ":::MLLOG"

static struct maybe_int count_of(const json_t *v)
{
    double number = json_is_number(v) ? json_number_value(v) : -1;
    if (number >= 0 && number <= 9e15 && number == floor(number))
        return some_int((int64_t)number);
    return (struct maybe_int){0};
}

static struct maybe_real real_of(const json_t *v)
{
    if (json_is_number(v) && isfinite(json_number_value(v)))
        return some_real(json_number_value(v));
    return (struct maybe_real){0};
}

static void fill_key(const char *key, const json_t *value, struct event *event)
{
    static const struct {
        const char *key;
        enum meter_phase phase;
    } phases[] = {
        {"init_start", METER_SETUP},  {"init_stop", METER_LOAD},    {"run_start", METER_TRAIN},
        {"epoch_start", METER_TRAIN}, {"block_start", METER_TRAIN}, {"eval_start", METER_EVALUATE},
        {"eval_stop", METER_TRAIN},   {"run_stop", METER_IDLE},
    };
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (strcmp(phases[i].key, key) == 0)
            event->phase = some_int(phases[i].phase);
    event->begins = event->phase.known;
    if (strcmp(key, "global_batch_size") == 0)
        event->batch = count_of(value);
    else if (strcmp(key, "train_samples") == 0)
        event->epoch_samples = count_of(value);
    else if (strcmp(key, "eval_accuracy") == 0)
        event->quality = real_of(value);
    else if (strcmp(key, "submission_benchmark") == 0 && json_is_string(value))
        event->benchmark = mlperf_find(json_string_value(value), 0);
    else if (strcmp(key, "eval_loss") == 0)
        event->test_loss = real_of(value);
    else if (strcmp(key, "train_loss") == 0 || strcmp(key, "loss") == 0)
        event->loss = real_of(value);
    event->epoch_ended = strcmp(key, "epoch_stop") == 0;
}

static enum event_result read_mllog(const char *line, size_t len, struct event *event)
{
    const char *mark = memmem(line, len, MARK, sizeof MARK - 1);
    if (!mark)
        return EVENT_NONE;
    const char *text = mark + sizeof MARK - 1;
    json_auto_t *json = json_loadb(text, len - (size_t)(text - line), 0, NULL);
    const json_t *metadata = json_object_get(json, "metadata");
    const char *key = json_string_value(json_object_get(json, "key"));
    if (key) {
        fill_key(key, json_object_get(json, "value"), event);
        event->step = count_of(json_object_get(metadata, "step_num"));
        event->all_samples = count_of(json_object_get(metadata, "samples_count"));
        // Submissions without epochs use epoch_num for other counts; only these keys mean epochs.
        if (strncmp(key, "epoch_", 6) == 0)
            event->epoch = count_of(json_object_get(metadata, "epoch_num"));
    }
    return key ? EVENT_READ : EVENT_MALFORMED;
}

const struct event_source event_mllog = {"MLLOG", read_mllog};

// ---- patterns: the table of built-in formats, and the user's own pattern.

const struct event_source event_patterns[] = {
    {"progress bar", formats_bar},
    {"Hugging Face Trainer", formats_trainer},
    {"log lines", formats_line},
    {"scikit-learn", formats_row},
    {NULL, NULL},
};

// ---- how large it gets: regcomp() copies what is repeated, and takes memory by the square of it

#define DEPTH_MAX     64
#define TIMES_MAX     32768
#define POSITIONS_MAX 2000 // positions: a few megabytes

struct size {
    int64_t all, last; // positions of the group so far, and of its last part
};

static void add_part(struct size *s, int64_t positions)
{
    s->last = positions;
    s->all += positions;
}

static void repeat_part(struct size *s, int64_t times)
{
    s->all += s->last * (times > 1 ? times - 1 : 0);
    s->last *= times > 1 ? times : 1;
}

// "[^]a-z]", from its bracket to the last one.
static const char *skip_set(const char *p)
{
    p += p[1] == '^' ? 2 : 1;
    p += *p == ']';
    while (*p && *p != ']') {
        const char kind = p[0] == '[' ? p[1] : '\0'; // "[:digit:]"
        const char *end = NULL;
        if (kind == ':' || kind == '.' || kind == '=')
            end = strstr(p + 2, (const char[]){kind, ']', '\0'});
        p = end ? end + 2 : p + 1;
    }
    return *p ? p : p - 1;
}

// "{3}", "{3,}" or "{3,5}": how often at most. 1 for other text.
static int64_t times_of(const char *p)
{
    char *end;
    long low = strtol(p + 1, &end, 10), high = low;
    if (*end == ',')
        high = end[1] == '}' ? low + 1 : strtol(end + 1, &end, 10);
    high = low > high ? low : high;
    return high < TIMES_MAX ? high : TIMES_MAX;
}

// Whether a pattern is too large to compile. Errors of syntax are regcomp()'s.
static bool is_absurd(const char *pattern)
{
    struct size levels[DEPTH_MAX] = {{0}};
    int depth = 0;
    for (const char *p = pattern; *p; p++) {
        struct size *s = &levels[depth];
        if (p[0] == '\\' && p[1]) {
            p++;
            add_part(s, 1);
        } else if (*p == '[') {
            p = skip_set(p);
            add_part(s, 1);
        } else if (*p == '(') {
            if (++depth == DEPTH_MAX)
                return true;
            levels[depth] = (struct size){0};
        } else if (*p == ')' && depth > 0) {
            add_part(&levels[--depth], s->all + 1);
        } else if (*p == '{') {
            repeat_part(s, times_of(p));
        } else if (*p == '+') {
            repeat_part(s, 2);
        } else if (*p != '*' && *p != '?') {
            add_part(s, 1);
        }
        if (levels[depth].all > POSITIONS_MAX)
            return true;
    }
    return false;
}

int event_pattern_compile(const char *pattern, regex_t *out, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    if (is_absurd(pattern)) {
        err_set(err, ERR_USAGE, "--step-pattern '%.40s%s' is too large to compile", pattern,
                strlen(pattern) > 40 ? "..." : "");
        return err_hint(err, "repeat less: '[0-9]+' instead of '[0-9]{1,1000}'");
    }
    for (const char *p = pattern; *p; p++) {
        if (p[0] == '\\' && p[1] == 'd') {
            buf_adds(&text, "[0-9]");
            p++;
        } else {
            buf_addc(&text, *p);
            if (p[0] == '\\' && p[1])
                buf_addc(&text, *++p);
        }
    }
    int rc = buf_check(&text, err);
    int failed = rc == 0 ? regcomp(out, buf_str(&text), REG_EXTENDED) : 0;
    if (failed == REG_ESPACE) {
        rc = err_memory(err);
    } else if (failed != 0) {
        char why[128];
        regerror(failed, out, why, sizeof why);
        rc = err_set(err, ERR_USAGE, "--step-pattern '%s' is not a regular expression: %s", pattern,
                     why);
        err_hint(err, "use the syntax of grep -E: 'step ([0-9]+)/([0-9]+)'");
    }
    return rc;
}

static void group(const char *line, const regmatch_t *at, struct maybe_int *out)
{
    int64_t v;
    if (at->rm_so >= 0 && formats_digits(line + at->rm_so, &v) == line + at->rm_eo)
        *out = some_int(v);
}

enum event_result event_pattern_read(const regex_t *pattern, const char *line, size_t len,
                                     struct event *event)
{
    regmatch_t at[3];
    if (len > EVENT_PATTERN_MAX || regexec(pattern, line, 3, at, 0) != 0)
        return EVENT_NONE;
    if (pattern->re_nsub == 0) {
        event->steps = some_int(1);
        return EVENT_READ;
    }
    group(line, &at[1], &event->step);
    if (pattern->re_nsub > 1)
        group(line, &at[2], &event->total_steps);
    return event->step.known ? EVENT_READ : EVENT_MALFORMED;
}
