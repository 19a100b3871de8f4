// SPDX-License-Identifier: Apache-2.0
#include "cmd/measure.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "ledger/ledger.h"
#include "version.h"

// A machine that has been up for longer was not started for this run.
#define BOOT_MAX_S 3600

int measure_within(const struct measure_options *o, double *within, struct err *err)
{
    *within = MEASURE_WITHIN;
    if (!o->within)
        return 0;
    char *end;
    double percent = strtod(o->within, &end);
    if (end == o->within || (strcmp(end, "%") != 0 && *end != '\0') || !(percent >= 0.1) ||
        !(percent <= 100))
        return err_set(err, ERR_USAGE, "--within '%s': expected a percentage from 0.1%% to 100%%",
                       o->within);
    *within = percent / 100;
    return 0;
}

// How this program was called; the password of an address is left out.
static int note_command_line(struct run_program *program, struct err *err)
{
    struct buf line = {0}, shown = {0};
    if (fs_read("/proc/self/cmdline", 1 << 20, &line, NULL) != 0) {
        buf_release(&line);
        return 0;
    }
    size_t len = line.len;
    char *text = buf_take(&line, err);
    if (!text)
        return ERR_MEMORY;
    for (const char *arg = text; arg < text + len; arg += strlen(arg) + 1) {
        const char *scheme = strstr(arg, "://");
        const char *equals = scheme ? strchr(arg, '=') : NULL;
        const char *url = equals && equals < scheme ? equals + 1 : arg; // --ledger=URL
        buf_adds(&shown, shown.len > 0 ? " " : "");
        buf_add(&shown, arg, scheme ? (size_t)(url - arg) : strlen(arg));
        if (scheme)
            ledger_public(url, &shown);
    }
    int rc = buf_check(&shown, err);
    if (rc == 0)
        rc = text_set(&program->command_line, buf_str(&shown), err);
    buf_release(&shown);
    free(text);
    return rc;
}

static int add_labels(const struct opt_texts *labels, struct run *run, struct err *err)
{
    for (size_t i = 0; i < labels->count; i++) {
        const char *equals = strchr(labels->items[i], '=');
        if (!equals || equals == labels->items[i])
            return err_set(err, ERR_USAGE, "--label '%s': expected KEY=VALUE", labels->items[i]);
        struct run_label *label = LIST_ADD(&run->labels, err);
        char *key = label ? strndup(labels->items[i], (size_t)(equals - labels->items[i])) : NULL;
        if (!key)
            return err_memory(err);
        int rc = text_set(&label->key, key, err);
        if (rc == 0)
            rc = text_set(&label->value, equals + 1, err);
        free(key);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int measure_begin(const struct measure_options *o, const struct machine *machine, bool first,
                  struct run *run, struct err *err)
{
    int64_t now_s = clock_date_s(), launched_s;
    int rc = run_begin_record(run, now_s, err);
    if (rc == 0)
        rc = run_set_machine(run, machine, err);
    if (rc == 0)
        rc = text_set(&run->program.version, FARE_VERSION, err);
    if (rc == 0)
        rc = text_set(&run->program.build, FARE_BUILD, err);
    if (rc == 0)
        rc = note_command_line(&run->program, err);
    if (rc == 0 && o->name)
        rc = text_set(&run->name, o->name, err);
    if (rc == 0)
        rc = add_labels(&o->labels, run, err);
    const char *launched = machine->where.launched_at;
    if (first && launched && clock_parse(launched, &launched_s) && launched_s <= now_s &&
        now_s - launched_s <= BOOT_MAX_S)
        run->phases.boot_ns = some_int((now_s - launched_s) * 1000000000);
    return rc;
}

void measure_keep(const struct measure_options *o, const struct run *runs, size_t count,
                  struct buf *says)
{
    if (o->no_ledger || count == 0)
        return;
    struct ledger *ledger = NULL;
    struct err err = {0};
    int rc = ledger_new(&ledger, o->ledger, &err);
    for (size_t i = 0; i < count && rc == 0; i++)
        if (runs[i].id)
            rc = ledger_record(ledger, &runs[i], says, &err);
    if (rc != 0)
        buf_printf(says, "the run is not kept: %s\n", err.text);
    ledger_free(ledger);
}
