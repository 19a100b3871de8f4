// SPDX-License-Identifier: Apache-2.0
// Real lines of training programs, each with its source, and what a person reads from them: the
// files in tests/run/corpus. "> LINE" is read as one line of output; "= ..." says what the event
// must have, and that it has nothing else: "= step 10 total 500 counts steps loss 2.5", or "=
// none".
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "run/event.h"
#include "run/meter.h"

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

static void every_line_is_read(void **state)
{
    (void)state;
    char path[4096];
    const char *root = getenv("ROOT") ? getenv("ROOT") : ".";
    snprintf(path, sizeof path, "%s/tests/run/corpus", root);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/tests/run/corpus/%s", root, entry->d_name);
        read_file(path, entry->d_name);
    }
    closedir(dir);
    print_message("# %d lines of %d kinds, %d read otherwise\n", lines, files, wrong);
    assert_int_equal(wrong, 0);
    assert_true(files >= 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_line_is_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
