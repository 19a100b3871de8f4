// SPDX-License-Identifier: Apache-2.0
// What comes from other machines and from people: a host's reply, a line of a dispatch's log, the
// value of --on, a sweep. The first byte chooses.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/dispatch.h"
#include "fleet/script.h"
#include "fleet/sweep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void reply(const char *text, size_t len)
{
    struct task_report report = {0};
    struct err err = {0};
    assert(reply_read(text, len, "k-1-1", &report, &err) == 0);
    assert(report.state != REPORT_UNKNOWN || report.records.len == 0);
    assert(report.records.len <= len);
    task_report_release(&report);
}

static void log_line(const char *text, size_t len)
{
    struct dispatch d = {0};
    struct err err = {0};
    assert(LIST_ADD(&d.tasks, &err));
    assert(state_apply(&d, text, len, &err) == 0);
    assert(task_state(&d.tasks.items[0]) <= TASK_CANCELLED);
    record_release(dispatch_fields, &d);
}

static void places(const char *text)
{
    struct places found = {0};
    struct err err = {0};
    bool others = strstr(text, "slurm") || strstr(text, "sky") || strstr(text, "k8s");
    if (!others && !strchr(text, '@') && target_parse(text, &found, &err) == 0) // no files
        for (size_t i = 0; i < found.count; i++)
            assert(!found.items[i].value ||
                   (found.items[i].value[0] != '-' && !strpbrk(found.items[i].value, " ;$'\"\n`")));
    places_release(&found);
}

static void sweeps(const char *text)
{
    struct sweep sweep = {0};
    struct err err = {0};
    if (strlen(text) < 200 && !strstr(text, "..") && sweep_add(&sweep, text, &err) == 0) {
        struct buf word = {0};
        for (size_t i = 0; i < sweep.combinations; i++)
            sweep_fill(&sweep, i, text, &word);
        buf_release(&word);
    }
    sweep_release(&sweep);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = malloc(size);
    assert(text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] % 4 == 0)
        reply(text, size - 1);
    else if (data[0] % 4 == 1)
        log_line(text, size - 1);
    else if (data[0] % 4 == 2)
        places(text);
    else
        sweeps(text);
    free(text);
    return 0;
}
