// SPDX-License-Identifier: Apache-2.0
// Real lines of training programs, each with its source, and what a person reads from them: the
// files in tests/follow/corpus. "> LINE" is read as one line of output. "= ..." says what the event
// has, and that it has nothing else: "= step 10 total 500 counts steps loss 2.5"; or "= none".
// Lines are verbatim, except that long ones may lack a part.
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "follow/event.h"
#include "follow/formats.h"
#include "train/meter.h"
#include "follow/shapes.h"

static const char *const phases[METER_PHASES] = {"setup", "kernels",  "load",       "device",
                                                 "train", "evaluate", "checkpoint", "idle"};
static const char *const counts[] = {"unknown", "steps", "epochs", "samples", "other"};

static void add_int(struct buf *out, const char *name, struct maybe_int v)
{
    if (v.known)
        buf_printf(out, " %s %lld", name, (long long)v.v);
}

static void add_real(struct buf *out, const char *name, struct maybe_real v)
{
    if (v.known)
        buf_printf(out, " %s %.10g", name, v.v);
}

static const char *read_line(char *line, struct event *e)
{
    size_t len = event_clean(line, strlen(line));
    for (const struct event_source *s = event_patterns; s->name; s++) {
        memset(e, 0, sizeof *e);
        if (s->read(line, len, e) == EVENT_READ)
            return e->source ? e->source : s->name;
        const struct event untouched = {0};
        if (memcmp(e, &untouched, sizeof *e) != 0)
            fail_msg("%s changed the event: %s", s->name, line);
    }
    return NULL;
}

static void describe(char *line, struct buf *out)
{
    struct event e;
    buf_adds(out, "=");
    if (!read_line(line, &e)) {
        buf_adds(out, " none");
        return;
    }
    add_int(out, "step", e.step);
    add_int(out, "steps", e.steps);
    add_int(out, "total", e.total_steps);
    if (e.step.known || e.steps.known)
        buf_printf(out, " counts %s", counts[e.counts]);
    if (e.phase.known)
        buf_printf(out, " phase %s", phases[e.phase.v]);
    if (e.begins)
        buf_adds(out, " begins");
    add_int(out, "at_step", e.at_step);
    add_real(out, "took", e.took_s);
    add_int(out, "epoch", e.epoch);
    add_int(out, "epochs", e.epochs);
    add_real(out, "epoch_at", e.epoch_at);
    if (e.epoch_ended)
        buf_adds(out, " ended");
    add_real(out, "loss", e.loss);
    add_real(out, "accuracy", e.accuracy);
    add_real(out, "test_loss", e.test_loss);
    add_real(out, "test_accuracy", e.test_accuracy);
    add_real(out, "left", e.left_s);
    if (e.generates)
        buf_adds(out, " generates");
    if (e.loops)
        buf_adds(out, " loops");
    if (e.whole || e.per_epoch)
        buf_adds(out, e.whole ? " whole" : " per_epoch");
    add_int(out, "eval_every", e.eval_every);
    add_int(out, "save_every", e.save_every);
    assert_true(e.step.known == (e.bar != 0));
}

static int wrong, lines, files;

static void read_file(const char *path, const char *name)
{
    struct buf bytes = {0};
    struct err err = {0};
    char line[8192] = "";
    bool pending = false, source = false;
    assert_ok(fs_read(path, BUF_DEFAULT_MAX, &bytes, &err), &err);
    char *text = bytes.data, *next;
    for (; text && *text; text = next) {
        size_t len = strcspn(text, "\n");
        next = text + len + (text[len] == '\n');
        text[len] = '\0';
        source |= strncmp(text, "# source: https://", 18) == 0;
        if (strncmp(text, "> ", 2) == 0) {
            if (pending)
                fail_msg("%s: no expectation of: %s", name, line);
            snprintf(line, sizeof line, "%s", text + 2);
            pending = true;
        } else if (text[0] == '=') {
            struct buf got = {0};
            char copy[sizeof line];
            memcpy(copy, line, sizeof line);
            describe(copy, &got);
            lines++;
            if (strcmp(buf_str(&got), text) != 0) {
                print_error("%s: %s\n    expected %s\n    got      %s\n", name, line, text,
                            buf_str(&got));
                wrong++;
            }
            buf_release(&got);
            pending = false;
        } else if (text[0] != '#' && text[0] != '\0') {
            fail_msg("%s: neither comment, line nor expectation: %s", name, text);
        }
    }
    if (pending || !source)
        fail_msg("%s: %s", name, pending ? "no expectation of the last line" : "no source");
    buf_release(&bytes);
    files++;
}

TEST(every_line_is_read)
{
    char path[4096];
    const char *root = getenv("ROOT") ? getenv("ROOT") : ".";
    snprintf(path, sizeof path, "%s/tests/follow/corpus", root);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/tests/follow/corpus/%s", root, entry->d_name);
        read_file(path, entry->d_name);
    }
    closedir(dir);
    print_message("# %d lines of %d kinds, %d read otherwise\n", lines, files, wrong);
    assert_int_equal(wrong, 0);
    assert_true(files >= 40);
}

// ---- whole trainings

#define COUNTERS 64

// What a simple reader knows of one training. Counters are kept by their identity; the last ones
// are of evaluations that name their step, of steps told without a counter, and of fractions of
// epochs.
struct training {
    char kind[64];
    int64_t truth;
    struct {
        uint32_t bar;
        int64_t last, sum, usual, total;
        int64_t restarts;
    } counters[COUNTERS];
    size_t count;
    struct event announced;
    int64_t epochs;
    double epoch_at;
    struct shapes shapes;
};

enum { BAR_MARKS = 2, BAR_STEPS = 4 }; // no counter has an even number

static void advance(struct training *t, uint32_t bar, int64_t at, int64_t total)
{
    size_t i = 0;
    while (i < t->count && t->counters[i].bar != bar)
        i++;
    assert_true(i < COUNTERS);
    if (i == t->count) {
        t->count++;
        t->counters[i].bar = bar;
    }
    int64_t delta = at - t->counters[i].last;
    if (delta < 0) {
        t->counters[i].sum += t->counters[i].last;
        t->counters[i].restarts++;
    } else if (delta > 0) {
        t->counters[i].usual = delta;
    }
    t->counters[i].last = at;
    if (total > 0)
        t->counters[i].total = total;
}

static void watch_line(void *context, char *line, size_t len, bool ended)
{
    struct training *t = context;
    struct event e;
    (void)ended;
    len = event_clean(line, len);
    if (!read_line(line, &e) && shapes_read(&t->shapes, line, len, &e) != EVENT_READ)
        return;
    bool other = e.phase.known || e.counts == COUNTS_OTHER;
    if (e.step.known && !other)
        advance(t, e.bar, e.step.v, e.total_steps.known ? e.total_steps.v : 0);
    if (e.steps.known)
        advance(t, BAR_STEPS, e.steps.v + (t->count > 0 ? t->counters[0].last : 0), 0);
    if (e.at_step.known)
        advance(t, BAR_MARKS, e.at_step.v, 0);
    if (e.epochs.known)
        t->epochs = e.epochs.v;
    else if (e.counts == COUNTS_EPOCHS && e.total_steps.known)
        t->epochs = e.total_steps.v;
    if (!e.step.known && e.total_steps.known)
        t->announced.total_steps = e.total_steps;
    if (e.epoch_at.known)
        t->epoch_at = e.epoch_at.v;
}

static bool close_to(int64_t got, int64_t truth, int64_t report)
{
    int64_t off = got > truth ? got - truth : truth - got;
    return off <= report + truth / 100;
}

// Whether a counter came to the true number of steps, and whether the total was told.
static void judge(const struct training *t, int *counted, int *totals)
{
    int64_t told = t->announced.total_steps.known ? t->announced.total_steps.v : 0;
    bool steps = t->epochs > 0 &&
                 close_to((int64_t)(t->epoch_at / (double)t->epochs * (double)told), t->truth, 0);
    bool total = close_to(told, t->truth, 1);
    for (size_t i = 0; i < t->count; i++) {
        int64_t made = t->counters[i].sum + t->counters[i].last;
        int64_t report = t->counters[i].usual * (t->counters[i].restarts + 1);
        steps |= close_to(made, t->truth, report);
        int64_t epochs = t->epochs > 0 ? t->epochs : 1;
        total |= close_to(t->counters[i].total, t->truth, 1) ||
                 close_to(t->counters[i].total * epochs, t->truth, 1) ||
                 (t->counters[i].bar == BAR_STEPS &&
                  close_to(t->counters[i].usual * epochs, t->truth, 1)) ||
                 (t->epochs > 0 && t->counters[i].restarts == t->epochs - 1);
    }
    *counted += steps;
    *totals += total;
    if (!steps || !total)
        print_message("# %s:%s%s\n", t->kind, steps ? "" : " not counted",
                      total ? "" : " no total");
}

static void begin_training(struct training *t, const json_t *head)
{
    char *argv[32] = {NULL};
    json_t *list = json_object_get(head, "argv");
    for (size_t i = 0; i < json_array_size(list) && i < 31; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        argv[i] = strdup(text);
    }
    memset(t, 0, sizeof *t);
    snprintf(t->kind, sizeof t->kind, "%s", json_string_value(json_object_get(head, "kind")));
    const json_t *sum = json_object_get(head, "counted");
    t->truth = json_integer_value(sum ? sum : json_object_get(head, "steps"));
    arguments_read(argv, &t->announced);
    t->epochs = t->announced.epochs.known ? t->announced.epochs.v : 0;
    for (size_t i = 0; argv[i]; i++)
        free(argv[i]);
}

TEST(whole_trainings)
{
    char command[4096];
    snprintf(command, sizeof command, "python3 %s/tests/follow/corpus.py --all",
             getenv("ROOT") ? getenv("ROOT") : ".");
    FILE *in = popen(command, "r");
    assert_non_null(in);
    struct event_lines split = {.line = malloc(EVENT_LINE_MAX + 1)};
    struct training *t = calloc(1, sizeof *t);
    int kinds = 0, counted = 0, totals = 0;
    char *line = NULL;
    size_t room = 0;
    for (ssize_t len; (len = getline(&line, &room, in)) > 0;) {
        json_t *json = json_loadb(line, (size_t)len, 0, NULL);
        assert_non_null(json);
        if (json_object_get(json, "kind")) {
            event_lines_end(&split, watch_line, t);
            if (kinds++ > 0)
                judge(t, &counted, &totals);
            begin_training(t, json);
        } else {
            const char *text = json_string_value(json_object_get(json, "text"));
            event_lines_add(&split, text, strlen(text), watch_line, t);
        }
        json_decref(json);
    }
    event_lines_end(&split, watch_line, t);
    judge(t, &counted, &totals);
    free(line);
    free(split.line);
    free(t);
    assert_int_equal(pclose(in), 0);
    print_message("# %d trainings: steps found in %d, totals in %d\n", kinds, counted, totals);
    assert_true(kinds >= 60);
    assert_true(counted >= kinds - 1); // one is silent
    assert_true(totals >= kinds - 16); // the others follow from more than one line
}
