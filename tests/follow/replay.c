// SPDX-License-Identifier: Apache-2.0
// Replays a training's output on a virtual clock, as tests/follow/corpus.py writes it: JSON lines
// on stdin, the first with the truth ("argv", "whole_s"), the others {"t": seconds, "text":
// output}. Prints what follow/follow.h made of it as one JSON object. A sample ends as that of a
// command does (measure/sampling.h).
//
//     replay [--sample] [--total-steps N] [--total-epochs N] [--within X] [--max-s S]
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/sampling.h"
#include "follow/follow.h"

#define TICK_NS (50 * NS_PER_MS) // the command's loop looks at least this often

static int64_t clock_ns = 1000 * NS_PER_S;

int64_t __wrap_clock_now_ns(void);
int64_t __wrap_clock_now_ns(void)
{
    return clock_ns;
}

// Two followers of one output: a sample that stops, and a run to the end.
struct side {
    struct meter *meter;
    struct follow *follow;
    struct run run;
    struct event_lines lines;
    double stop_s; // -1: it did not stop
    bool sample;
    double within, limit_s;
};

static double number(int argc, char **argv, const char *name, double otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return strtod(argv[i + 1], NULL);
    return otherwise;
}

static void fail(const char *text)
{
    fprintf(stderr, "replay: %s\n", text);
    exit(1);
}

static void begin(struct side *s, const struct follow_options *options)
{
    struct err err = {0};
    s->stop_s = -1;
    s->sample = options->sample;
    s->within = options->within;
    s->limit_s = options->max_s;
    s->lines.line = malloc(EVENT_LINE_MAX + 1);
    if (!s->lines.line || meter_new(&s->meter, clock_ns, &err) != 0 ||
        follow_new(&s->follow, options, s->meter, &s->run, &err) != 0)
        fail(err.text);
}

static void each_line(void *context, char *line, size_t len, bool ended)
{
    struct side *s = context;
    follow_output(s->follow, line, len, ended);
}

static void look(struct side *s)
{
    struct follow_state state;
    struct sampling now;
    if (s->stop_s >= 0)
        return;
    if (!s->sample) {
        follow_enough(s->follow);
        return;
    }
    sampling_look(s->follow, s->meter, s->within, &state, &now);
    now.limit_s = s->limit_s;
    if (!sampling_judge(&now))
        return;
    s->stop_s = (double)(clock_ns - meter_start_ns(s->meter)) / 1e9;
    follow_stop(s->follow);
}

static void advance(struct side *sides, int count, int64_t to_ns)
{
    while (clock_ns < to_ns) {
        clock_ns = clock_ns + TICK_NS < to_ns ? clock_ns + TICK_NS : to_ns;
        for (int i = 0; i < count; i++)
            look(&sides[i]);
    }
}

static json_t *projection(const struct run_projection *p)
{
    if (!p->wall_s.known)
        return json_null();
    return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:b}", "longer_s", p->longer_s.v, "after_s",
                     p->after_s.v, "wall_s", p->wall_s.v, "low_s", p->low_s.v, "high_s",
                     p->high_s.v, "train_s", p->train_s.v, "evaluate_s", p->evaluate_s.v,
                     "assumption", (int)(p->assumption.known && p->assumption.v));
}

static json_t *finish(struct side *s, bool finished)
{
    struct err err = {0};
    struct buf says = {0};
    struct run *run = &s->run;
    if (follow_finish(s->follow, finished, &says, &err) != 0)
        fail(err.text);
    json_t *unseen = json_array(), *checks = json_array();
    for (size_t i = 0; i < run->progress.unseen.count; i++)
        json_array_append_new(unseen, json_string(run->progress.unseen.items[i]));
    for (size_t i = 0; i < run->checks.count; i++)
        json_array_append_new(checks, projection(&run->checks.items[i]));
    const struct run_progress *p = &run->progress;
    json_t *out = json_pack("{s:s?,s:s?,s:s?,s:s?,s:I,s:I,s:I,s:b,s:b,s:f,s:f,s:f,s:o,s:o,s:o}",
                            "source", p->source, "counter", p->counter, "counts", p->counts,
                            "total_from", p->total_from, "steps", (json_int_t)run->steps.v, "total",
                            (json_int_t)run->total_steps.v, "epochs", (json_int_t)run->epochs.v,
                            "unsteady", (int)(p->unsteady.known && p->unsteady.v), "lengthens",
                            (int)(p->lengthens.known && p->lengthens.v), "stop_s", s->stop_s,
                            "step_ms", run->step_ms.v, "loss", run->latest_loss.v, "unseen", unseen,
                            "projection", projection(&run->projection), "checks", checks);
    record_release(run_fields, run);
    follow_free(s->follow);
    meter_free(s->meter);
    free(s->lines.line);
    buf_release(&says);
    return out;
}

// The command's arguments, null-terminated; the texts belong to `truth`.
static char **arguments(json_t *truth)
{
    json_t *list = json_object_get(truth, "argv");
    size_t count = json_array_size(list);
    char **argv = calloc(count + 1, sizeof *argv);
    for (size_t i = 0; argv && i < count; i++)
        argv[i] = strdup(json_string_value(json_array_get(list, i)));
    return argv;
}

int main(int argc, char **argv)
{
    static char line[1 << 20];
    if (!fgets(line, sizeof line, stdin))
        fail("no input");
    json_t *truth = json_loads(line, 0, NULL);
    if (!truth)
        fail("the first line is not JSON");
    struct follow_options options = {
        .argv = arguments(truth),
        .total_steps = (int64_t)number(argc, argv, "--total-steps", 0),
        .total_epochs = (int64_t)number(argc, argv, "--total-epochs", 0),
        .within = number(argc, argv, "--within", 0.05),
        .max_s = number(argc, argv, "--max-s", 0),
        .sample = true,
    };
    struct side sides[2] = {0};
    begin(&sides[0], &options);
    options.sample = false;
    begin(&sides[1], &options);
    int64_t start_ns = clock_ns;
    // With --sample only that follower, up to its end.
    int count = argc > 1 && strcmp(argv[1], "--sample") == 0 ? 1 : 2;
    while ((count == 2 || sides[0].stop_s < 0) && fgets(line, sizeof line, stdin)) {
        json_t *chunk = json_loads(line, 0, NULL);
        const char *text = json_string_value(json_object_get(chunk, "text"));
        if (!text)
            fail("a line has no text");
        advance(sides, count,
                start_ns + (int64_t)(json_number_value(json_object_get(chunk, "t")) * 1e9));
        for (int i = 0; i < count; i++) {
            event_lines_add(&sides[i].lines, text, strlen(text), each_line, &sides[i]);
            look(&sides[i]);
        }
        json_decref(chunk);
    }
    if (count == 2)
        advance(sides, count,
                start_ns + (int64_t)(json_number_value(json_object_get(truth, "whole_s")) * 1e9));
    json_t *out =
        json_pack("{s:o,s:o}", "sample", finish(&sides[0], false), "full", finish(&sides[1], true));
    json_dumpf(out, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(out);
    json_decref(truth);
    for (char **a = options.argv ? (char **)(uintptr_t)options.argv : NULL; a && *a; a++)
        free(*a);
    free((void *)(uintptr_t)options.argv);
    return 0;
}
