// SPDX-License-Identifier: Apache-2.0
// prices import and update: adds files and addresses to the book, and lists the rows left out.
#include "cmd/prices.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/http.h"
#include "base/progress.h"
#include "base/units.h"
#include "cmd/values.h"
#include "book/renew.h"
#include "record/price_import.h"
#include "advise/spot/hazard.h"

#define TRACE_FORMAT "availability"

// ---- the report

static int add_notes(const struct import_report *report, struct price_file *file, struct err *err)
{
    file->notes.known = true;
    for (size_t i = 0; i < report->note_count; i++) {
        const struct import_note *note = &report->notes[i];
        struct price_note *to = LIST_ADD(&file->notes, err);
        if (!to)
            return ERR_MEMORY;
        to->left_out = some_bool(note->left_out);
        to->rows = some_int((int64_t)note->count);
        if (note->line > 0)
            to->line = some_int((int64_t)note->line);
        TRY(text_set(&to->why, note->why, err));
        TRY(text_set(&to->example, note->example, err));
    }
    return 0;
}

static int add_file(struct price_import *import, const char *name,
                    const struct import_report *report, const char *error, struct err *err)
{
    struct price_file *file = LIST_ADD(&import->files, err);
    TRY(file ? text_set(&file->file, name, err) : ERR_MEMORY);
    if (error)
        return text_set(&file->error, error, err);
    char date[12];
    offer_date(report->day, date);
    TRY(text_set(&file->format, report->format, err));
    TRY(text_set(&file->date, date, err));
    file->rows = some_int((int64_t)report->rows);
    file->offers = some_int((int64_t)report->offers);
    return add_notes(report, file, err);
}

static void print_file(struct out *out, const struct price_file *file)
{
    if (file->error) {
        out_styled(out, OUT_RED, "%s: nothing imported", file->file);
        out_printf(out, "\n  ");
        out_wrap_here(out, 2, file->error);
        return;
    }
    if (file->unchanged.known) {
        out_printf(out, "%s: unchanged since it was fetched\n", file->file);
        return;
    }
    if (strcmp(file->format, TRACE_FORMAT) == 0) {
        out_printf(out, "%s: %s from %s on (%s)\n", file->file,
                   units_count(file->rows.v, "sample").s, file->date, file->format);
        return;
    }
    bool rates = strcmp(file->format, "ecb") == 0;
    out_printf(out, "%s: %s, %s %s %s (%s)\n", file->file, units_count(file->rows.v, "row").s,
               rates ? "exchange rates" : units_count(file->offers.v, "price").s,
               rates ? "up to" : "of", file->date, file->format);
    for (int imported = 0; imported < 2; imported++) {
        for (size_t i = 0; i < file->notes.count; i++) {
            const struct price_note *note = &file->notes.items[i];
            if (note->left_out.v == imported)
                continue;
            char where[32] = "";
            if (note->line.known)
                snprintf(where, sizeof where, "line %lld: ", (long long)note->line.v);
            out_printf(out, "  %-8s %7lld  ", imported ? "noted" : "left out",
                       (long long)note->rows.v);
            char text[512];
            snprintf(text, sizeof text, "%s (%s%s)", note->why, where,
                     note->example ? note->example : "-");
            out_wrap_here(out, 20, text);
        }
    }
}

static void print_unknown(struct out *out, const struct price_import *import)
{
    SCOPED(buf_release) struct buf text = {0};
    if (import->unknown_gpus.count == 0)
        return;
    buf_adds(&text, "Unknown GPUs, imported under these names: ");
    for (size_t i = 0; i < import->unknown_gpus.count; i++)
        buf_printf(&text, "%s%s", i > 0 ? ", " : "", import->unknown_gpus.items[i]);
    buf_adds(&text, ". Name them in ~/.config/fare/gpus.csv (docs/adding-a-provider.md).");
    out_wrap_here(out, 0, buf_str(&text));
}

static int print_all(const struct cmd_call *call, struct price_import *import,
                     const struct importing *importing, const struct stock_counts *counts,
                     struct err *err)
{
    const struct prices_options *o = call->options;
    import->new_offers = some_int((int64_t)counts->offers);
    import->changed_prices = some_int((int64_t)counts->prices);
    import->leaps = some_int((int64_t)counts->leaps);
    import->seen_again = some_int((int64_t)counts->seen);
    import->doubles = some_int((int64_t)counts->doubles);
    const char *name;
    for (size_t i = 0; importing && (name = importing_unknown(importing, i)) != NULL; i++)
        TRY(texts_add(&import->unknown_gpus, name, err));
    if (o->common.json)
        return out_record(call->out, price_import_fields, import, err);
    for (size_t i = 0; i < import->files.count; i++)
        print_file(call->out, &import->files.items[i]);
    for (size_t i = 0; i < import->without.count; i++)
        out_wrap(call->out, 0, import->without.items[i]);
    out_printf(call->out, "The book has %zu new offer%s, %zu changed price%s, %zu seen again",
               counts->offers, counts->offers == 1 ? "" : "s", counts->prices,
               counts->prices == 1 ? "" : "s", counts->seen);
    if (counts->doubles > 0)
        out_printf(call->out, "; %zu had a lower price of the same date", counts->doubles);
    out_printf(call->out, ".\n");
    if (counts->leaps > 0)
        out_styled(call->out, OUT_YELLOW, "%zu changed more than fivefold: check the source.",
                   counts->leaps),
            out_printf(call->out, "\n");
    print_unknown(call->out, import);
    return 0;
}

// ---- import

static int begin(const struct cmd_call *call, struct price_import_options *options,
                 struct price_import *import, struct err *err)
{
    const struct prices_options *o = call->options;
    *options = (struct price_import_options){.book = o->book, .format = o->format};
    import->files.known = true;
    TRY(value_day(o->date, &options->day, err));
    if (o->book && strcmp(o->book, "-") == 0)
        return err_set(err, ERR_USAGE, "'--book -' names no file to write to");
    return text_set(&import->schema, PRICE_IMPORT_SCHEMA, err);
}

// Availability traces are kept beside the book, once every file is read.
static int add_trace(struct price_import *done, const char *path, struct err *err)
{
    struct availability trace;
    TRY(availability_open(path, &trace, err));
    const struct import_report report = {
        .format = TRACE_FORMAT, .rows = trace.sample_count, .day = (int)(trace.first_s / 86400)};
    availability_release(&trace);
    TRY(availability_named(path, err));
    return add_file(done, path, &report, NULL, err);
}

static int keep_traces(const struct price_import *done, struct err *err)
{
    for (size_t i = 0; i < done->files.count; i++)
        if (strcmp(done->files.items[i].format, TRACE_FORMAT) == 0)
            TRY(availability_keep(done->files.items[i].file, err));
    return 0;
}

static int import(const struct cmd_call *call, struct err *err)
{
    const struct opt_rest *rest = call->rest;
    if (rest->count == 0) {
        err_set(err, ERR_USAGE, "'fare prices import' needs a file");
        return err_hint(err, "a catalogue of SkyPilot or gpuhunt, AWS's spot prices, or a table");
    }
    struct importing *importing = NULL;
    struct price_import done = {0};
    struct stock_counts counts;
    struct price_import_options options;
    int rc = begin(call, &options, &done, err);
    if (rc == 0)
        rc = importing_begin(&importing, &options, err);
    for (size_t i = 0; i < rest->count && rc == 0; i++) {
        struct import_report report;
        if (availability_file(rest->args[i])) {
            rc = add_trace(&done, rest->args[i], err);
            continue;
        }
        rc = importing_file(importing, rest->args[i], NULL, &report, err);
        if (rc == 0)
            rc = add_file(&done, rest->args[i], &report, NULL, err);
    }
    if (rc == 0)
        rc = importing_commit(importing, &counts, err);
    if (rc == 0)
        rc = keep_traces(&done, err);
    if (rc == 0)
        rc = print_all(call, &done, importing, &counts, err);
    else
        err_hint(err, "nothing was imported");
    importing_free(importing);
    record_release(price_import_fields, &done);
    return rc;
}

// ---- update

static bool show_progress(void *context, int64_t done, int64_t total)
{
    progress_update(context, done, total);
    return true;
}

static int add_source(struct price_import *import, const struct renewal_source *s, struct err *err)
{
    char shown[HTTP_SHOWN_BYTES];
    if (!s->url) {
        const struct short_text line = short_text("%s: %s", s->provider, s->none);
        return texts_add(&import->without, line.s, err);
    }
    http_shown(s->url, shown);
    if (!s->unchanged)
        return add_file(import, shown, &s->report, s->err.code != 0 ? s->err.text : NULL, err);
    struct price_file *file = LIST_ADD(&import->files, err);
    TRY(file ? text_set(&file->file, shown, err) : ERR_MEMORY);
    file->unchanged = some_bool(true);
    return 0;
}

static int fetch(struct renewal *r, const struct opt_rest *rest, struct err *err)
{
    SCOPED(progress_end) struct progress progress = {0};
    r->progress = show_progress;
    r->context = &progress;
    TRY(renewal_open(r, rest->args, rest->count, err));
    progress_begin(&progress, STDERR_FILENO, "catalogues of prices", PROGRESS_BYTES, 0);
    return renewal_run(r, err);
}

static int update(const struct cmd_call *call, struct err *err)
{
    const struct prices_options *o = call->options;
    struct price_import done = {0};
    struct renewal r = {.again = o->date || o->format};
    int rc = begin(call, &r.options, &done, err);
    if (rc == 0)
        rc = fetch(&r, call->rest, err);
    for (size_t i = 0; i < r.count && rc == 0; i++)
        rc = add_source(&done, &r.items[i], err);
    if (rc == 0)
        rc = print_all(call, &done, r.importing, &r.counts, err);
    if (rc == 0 && r.failed > 0)
        rc = err_set(err, ERR_FAIL, "%zu of %s failed", r.failed,
                     units_count((int64_t)r.asked, "source").s);
    renewal_release(&r);
    record_release(price_import_fields, &done);
    return rc;
}

// ---- the subcommands

#define AT(member) offsetof(struct prices_options, member)
static const struct opt options[] = {
    BOOK_ROW,
    {"date", 0, OPT_TEXT, "DATE", NULL, AT(date), NULL,
     "the date of the prices (default: the date in the file name, or of the file's last change)"},
    {"format", 0, OPT_CHOICE, "NAME", NULL, AT(format), NULL,
     "the files' format, instead of guessing it", .choice = import_format},
    {NULL},
};

static const struct cmd_example import_examples[] = {
    {"fare prices import aws.csv.gz --date 2026-08-22", "a file of prices"},
    {NULL, NULL},
};

const struct command prices_import = {
    .name = "prices import",
    .summary = "add prices from files",
    .arguments = "FILE...",
    .about = "Reads catalogues of SkyPilot and gpuhunt, AWS's spot price history and spot advisor, "
             "exchange rates of the European Central Bank (eurofxref-hist.csv, or its XML files), "
             "availability traces of spot machines (DATE_ZONE_GPU_COUNT.txt) and fare's own "
             "tables, and reports the rows it left out. A changed price adds a dated row.",
    .options = options,
    .options_size = sizeof(struct prices_options),
    .max_args = 4096,
    .examples = import_examples,
    .run = import,
};

static const struct cmd_example update_examples[] = {
    {"fare prices update", "the public catalogues, or the addresses in price-sources"},
    {NULL, NULL},
};

const struct command prices_update = {
    .name = "prices update",
    .summary = "fetch prices and add them",
    .arguments = "[URL...]",
    .about = "Fetches files of prices and imports them: those at the addresses given, those listed "
             "in price-sources in XDG_CONFIG_HOME/fare or ~/.config/fare, or else the public "
             "catalogue of every provider that has one and the European Central Bank's exchange "
             "rates of the last 90 days. What has not changed is not fetched again. 'fare quote', "
             "'fare prices' and 'fare' do the same once a day and wait three seconds at most; what "
             "comes later serves the next command. 'prices.update = never' in config in "
             "the same folder turns that off.",
    .options = options,
    .options_size = sizeof(struct prices_options),
    .max_args = 4096,
    .examples = update_examples,
    .run = update,
};
