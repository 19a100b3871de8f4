// SPDX-License-Identifier: Apache-2.0
// hyperfine --export-json: one run per command. Its time is the mean of the executions, labels hold
// their spread, and the plot shows each of them.
#include "ledger/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Its only key is "results".
static bool knows(const char *text, size_t len)
{
    static const char key[] = "\"results\"";
    size_t at = 0;
    while (at < len && strchr(" \t\r\n{", text[at]) && text[at])
        at++;
    return at > 0 && len - at > sizeof key && memcmp(text + at, key, sizeof key - 1) == 0;
}

static int label_number(struct run *run, const json_t *result, const char *key, const char *label,
                        struct err *err)
{
    const json_t *value = json_object_get(result, key);
    char text[32];
    if (!json_is_number(value))
        return 0;
    snprintf(text, sizeof text, "%.9g", json_number_value(value));
    return import_label(run, label, text, err);
}

static int read_times(struct run *run, const json_t *result, struct err *err)
{
    const json_t *times = json_object_get(result, "times");
    size_t count = json_array_size(times);
    if (count == 0)
        return 0;
    // Keep every n-th execution so that the plot has at most 200 points.
    size_t every = (count + 199) / 200, points = 0;
    double *ms = malloc((count / every + 1) * sizeof *ms);
    if (!ms)
        return err_memory(err);
    for (size_t i = 0; i < count; i += every)
        ms[points++] = json_number_value(json_array_get(times, i)) * 1000;
    int rc = reals_set(&run->step_plot_ms, ms, points, err);
    free(ms);
    char text[24];
    snprintf(text, sizeof text, "%zu", count);
    return rc == 0 ? import_label(run, "executions", text, err) : rc;
}

static int read_result(const json_t *result, struct run *run, struct err *err)
{
    const char *command = json_string_value(json_object_get(result, "command"));
    const json_t *mean = json_object_get(result, "mean");
    struct maybe_int wall = {0};
    if (json_is_number(mean))
        wall = import_ns(json_number_value(mean), 1);
    if (!command || !json_is_number(mean))
        return err_set(err, ERR_FORMAT, "a result needs 'command' and 'mean'");
    if (!wall.known)
        return err_set(err, ERR_FORMAT, "mean: %.12g is not a time", json_number_value(mean));
    run->phases.wall_ns = wall;
    run->full = some_bool(true);
    run->exit_code = some_int(0);
    size_t index;
    json_t *code;
    json_array_foreach(json_object_get(result, "exit_codes"), index, code)
    {
        if (json_is_integer(code) && json_integer_value(code) != 0)
            run->exit_code = some_int(json_integer_value(code));
    }
    bool failed = run->exit_code.v != 0;
    if (!json_is_array(json_object_get(result, "exit_codes")))
        run->exit_code.known = false;
    TRY(TEXTS_SET(err, {&run->ended, failed ? "failed" : "finished"}, {&run->framework, "command"},
                  {&run->name, command}));
    TRY(texts_add(&run->command, command, err));
    static const char *const labels[][2] = {{"stddev", "stddev_s"}, {"median", "median_s"},
                                            {"min", "min_s"},       {"max", "max_s"},
                                            {"user", "user_s"},     {"system", "system_s"}};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        TRY(label_number(run, result, labels[i][0], labels[i][1], err));
    return read_times(run, result, err);
}

static int read_log(const char *file, const char *text, size_t len, struct runs *out,
                    struct err *err)
{
    int line;
    json_t *json = import_json(text, len, &line, err);
    if (!json)
        return err_context(err, "%s, line %d", file, line);
    json_t *results = json_object_get(json, "results"), *result;
    size_t index;
    int rc =
        json_array_size(results) > 0 ? 0 : err_set(err, ERR_FORMAT, "%s: it has no results", file);
    json_array_foreach(results, index, result)
    {
        struct run *run = LIST_ADD(&out->runs, err);
        rc = run ? read_result(result, run, err) : ERR_MEMORY;
        if (rc == ERR_FORMAT)
            err_context(err, "%s, result %zu", file, index + 1);
        if (rc != 0)
            break;
    }
    json_decref(json);
    return rc;
}

const struct importer importer_hyperfine = {
    .name = "hyperfine",
    .about = "hyperfine --export-json",
    .knows = knows,
    .read = read_log,
};
