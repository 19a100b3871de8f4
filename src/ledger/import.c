// SPDX-License-Identifier: Apache-2.0
#include "ledger/import.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/sha256.h"

#define ROW(name) &importer_##name,
const struct importer *const importers[] = {IMPORTERS(ROW) NULL};
#undef ROW

const struct importer *importer_find(const char *name)
{
    for (size_t i = 0; importers[i]; i++)
        if (strcmp(importers[i]->name, name) == 0)
            return importers[i];
    return NULL;
}

const struct importer *importer_guess(const char *text, size_t len)
{
    for (size_t i = 0; importers[i]; i++)
        if (importers[i]->knows(text, len))
            return importers[i];
    return NULL;
}

int import_label(struct run *run, const char *key, const char *value, struct err *err)
{
    struct run_label *label = NULL;
    for (size_t i = 0; i < run->labels.count && !label; i++)
        if (run->labels.items[i].key && strcmp(run->labels.items[i].key, key) == 0)
            label = &run->labels.items[i];
    if (!label) {
        label = LIST_ADD(&run->labels, err);
        if (!label)
            return ERR_MEMORY;
    }
    TRY(text_set(&label->key, key, err));
    return text_set(&label->value, value, err);
}

bool import_number(const char *text, struct maybe_real *out)
{
    *out = (struct maybe_real){0};
    if (*text == '\0')
        return true;
    char *end;
    double value = strtod(text, &end);
    if (*end != '\0' || end == text)
        return false;
    if (isfinite(value))
        *out = some_real(value);
    return true;
}

struct maybe_int import_ns(double value, double unit_s)
{
    double seconds = value * unit_s;
    if (!(seconds >= 0 && seconds <= 100 * 366 * 86400.0))
        return (struct maybe_int){0};
    return some_int(llround(seconds * 1e9));
}

// Only the last extension goes, which begins with a letter: "trainer.v5.0" is a name. Behind a
// copy's there is another.
size_t import_stem_len(const char *base)
{
    size_t len = strlen(base);
    for (bool copy = true; copy;) {
        size_t at = len;
        while (at > 0 && base[at - 1] != '.')
            at--;
        if (at < 2 || !isalpha((unsigned char)base[at]) || len - at > 6)
            break;
        copy = strncmp(base + at, "bak", len - at) == 0 || strncmp(base + at, "old", len - at) == 0;
        len = at - 1;
    }
    return len;
}

void import_stem(const char *file, char *out, size_t size)
{
    const char *slash = strrchr(file, '/');
    const char *base = slash ? slash + 1 : file;
    snprintf(out, size, "%.*s", (int)import_stem_len(base), base);
}

json_t *import_json(const char *text, size_t len, int *line, struct err *err)
{
    json_error_t why = {0};
    json_t *json = json_loadb(text, len, 0, &why);
    // jansson leaves the text empty if it runs out of memory outside its parser.
    if (!json && (why.text[0] == '\0' || json_error_code(&why) == json_error_out_of_memory))
        err_memory(err);
    else if (!json)
        err_set(err, ERR_FORMAT, "%s", why.text);
    *line = why.line;
    return json;
}

static int read_price(const char *option, const char *text, int64_t *nano, struct err *err)
{
    if (money_parse(text, nano, err) != 0)
        return err_context(err, "%s", option);
    return *nano >= 0 ? 0 : err_set(err, ERR_USAGE, "%s: '%.40s' is below 0", option, text);
}

static int add_gpu_price(struct run *run, const char *text, struct err *err)
{
    int64_t nano;
    char price[MONEY_BYTES];
    TRY(read_price("--price-per-gpu-hour", text, &nano, err));
    if (!run->machine.gpus.known || run->machine.gpus.v == 0)
        return 0; // its cost stays unknown
    TRY(money_scale(nano, run->machine.gpus.v, 1, MONEY_HALF_EVEN, &nano, err));
    money_text(nano, price);
    return import_label(run, "price_per_hour_usd", price, err);
}

static int add_labels(struct run *run, const struct import_options *o, struct err *err)
{
    if (o->price_per_hour) {
        int64_t nano;
        TRY(read_price("--price-per-hour", o->price_per_hour, &nano, err));
        TRY(import_label(run, "price_per_hour_usd", o->price_per_hour, err));
    }
    if (o->price_per_gpu_hour)
        TRY(add_gpu_price(run, o->price_per_gpu_hour, err));
    for (size_t i = 0; i < o->label_count; i++) {
        const char *equals = strchr(o->labels[i], '=');
        if (!equals || equals == o->labels[i])
            return err_set(err, ERR_USAGE, "a label is key=value, not '%s'", o->labels[i]);
        SCOPED(free_pointer) char *key = strndup(o->labels[i], (size_t)(equals - o->labels[i]));
        TRY(key ? import_label(run, key, equals + 1, err) : err_memory(err));
    }
    return 0;
}

static int add_started(struct run *run, const char *text, struct err *err)
{
    int64_t date;
    char iso[CLOCK_ISO_BYTES];
    if (!clock_parse(text, &date)) {
        err_set(err, ERR_USAGE, "--started: '%s' is not a date", text);
        return err_hint(err, "a date looks like 2017-11-14 or 2017-11-14T08:00:00Z");
    }
    clock_iso(date, iso);
    return text_set(&run->started, iso, err);
}

static int set_id(struct run *run, struct err *err)
{
    SCOPED(buf_release) struct buf line = {0};
    char sum[SHA256_HEX_BYTES], id[48];
    TRY(record_to_line(run_fields, run, &line, err));
    sha256_hex_of(buf_str(&line), line.len, sum);
    snprintf(id, sizeof id, "import-%.16s", sum);
    return text_set(&run->id, id, err);
}

static int set_name(struct run *run, const char *file, const struct import_options *o,
                    struct err *err)
{
    char stem[128];
    import_stem(file, stem, sizeof stem);
    if (o->name && (!run->name || strcmp(run->name, stem) == 0))
        return text_set(&run->name, o->name, err);
    if (!o->name && (!run->name || o->workload) && run->workload)
        return text_set(&run->name, run->workload, err);
    return 0;
}

static int finish(struct run *run, const struct importer *importer, const char *file,
                  const struct import_options *o, struct err *err)
{
    const struct {
        char **to;
        const char *from;
    } texts[] = {
        {&run->workload, o->workload},         {&run->framework, o->framework},
        {&run->machine.name, o->machine},      {&run->machine.gpu, o->gpu},
        {&run->machine.provider, o->provider},
    };
    TRY(text_set(&run->schema, RUN_SCHEMA, err));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].from)
            TRY(text_set(texts[i].to, texts[i].from, err));
    if (o->gpus > 0)
        run->machine.gpus = some_int(o->gpus);
    if (o->started)
        TRY(add_started(run, o->started, err));
    TRY(add_labels(run, o, err));
    if (!run->id)
        TRY(set_id(run, err));
    // After the id, so that the same log under another name is the same run.
    TRY(set_name(run, file, o, err));
    const char *slash = strrchr(file, '/');
    SCOPED(buf_release) struct buf source = {0};
    buf_printf(&source, "imported from %s (%s)", slash ? slash + 1 : file, importer->name);
    return text_take(&run->source, &source, err);
}

struct completing {
    const struct importer *importer;
    const char *file;
    const struct import_options *options;
    import_run_fn *put;
    void *arg;
};

static int complete(void *arg, struct run *run, struct err *err)
{
    const struct completing *c = arg;
    TRY(finish(run, c->importer, c->file, c->options, err));
    return c->put(c->arg, run, err);
}

int import_runs(const struct importer *importer, const char *file, const char *text, size_t len,
                const struct import_options *options, import_run_fn *put, void *arg,
                struct buf *says, struct err *err)
{
    struct completing c = {importer, file, options, put, arg};
    struct buf ignored = {0};
    if (importer->read_each) {
        says = says ? says : &ignored;
        int rc = importer->read_each(file, text, len, complete, &c, says, err);
        if (rc == 0)
            rc = buf_check(says, err);
        buf_release(&ignored);
        return rc;
    }
    if (!importer->read)
        return err_set(err, ERR_FORMAT, "%s: it is an invoice and has no runs", file);
    struct runs runs = {0};
    int rc = importer->read(file, text, len, &runs, err);
    for (size_t i = 0; i < runs.runs.count && rc == 0; i++)
        rc = complete(&c, &runs.runs.items[i], err);
    record_release(runs_fields, &runs);
    return rc;
}

static int add_to_list(void *arg, struct run *run, struct err *err)
{
    struct runs *runs = arg;
    struct run *to = LIST_ADD(&runs->runs, err);
    if (!to)
        return ERR_MEMORY;
    *to = *run;
    *run = (struct run){0};
    return 0;
}

int import_log(const struct importer *importer, const char *file, const char *text, size_t len,
               const struct import_options *options, struct runs *out, struct err *err)
{
    return import_runs(importer, file, text, len, options, add_to_list, out, NULL, err);
}
