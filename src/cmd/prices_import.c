// SPDX-License-Identifier: Apache-2.0
// prices import and update: adds files and addresses to the book, and lists the rows left out.
#include "cmd/prices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/fs.h"
#include "base/http.h"
#include "base/progress.h"
#include "base/tree.h"
#include "base/units.h"
#include "cmd/values.h"
#include "book/import.h"
#include "record/price_import.h"
#include "advise/spot/hazard.h"

#define TRACE_FORMAT "availability"
#define CATALOGUE    "https://raw.githubusercontent.com/skypilot-org/skypilot-catalog/master/catalogs/"

// Fetched unless the user lists other addresses in price-sources.
static const char *const default_sources[] = {
    CATALOGUE "v7/aws/vms.csv",
    CATALOGUE "v8/azure/vms.csv",
    CATALOGUE "v8/gcp/vms.csv",
    CATALOGUE "v8/lambda/vms.csv",
    CATALOGUE "v8/paperspace/vms.csv",
    CATALOGUE "v8/runpod/vms.csv",
    CATALOGUE "v8/vast/vms.csv",
    "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-hist-90d.xml", // exchange rates
};

enum { FETCH_STALL_MS = 20000, SOURCES_MAX = 1 << 20 };

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
    struct buf text = {0};
    if (import->unknown_gpus.count == 0)
        return;
    buf_adds(&text, "Unknown GPUs, imported under these names: ");
    for (size_t i = 0; i < import->unknown_gpus.count; i++)
        buf_printf(&text, "%s%s", i > 0 ? ", " : "", import->unknown_gpus.items[i]);
    buf_adds(&text, ". Name them in ~/.config/fare/gpus.csv (docs/adding-a-provider.md).");
    out_wrap_here(out, 0, buf_str(&text));
    buf_release(&text);
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
    for (size_t i = 0; (name = importing_unknown(importing, i)) != NULL; i++)
        TRY(texts_add(&import->unknown_gpus, name, err));
    if (o->common.json)
        return out_record(call->out, price_import_fields, import, err);
    for (size_t i = 0; i < import->files.count; i++)
        print_file(call->out, &import->files.items[i]);
    out_printf(call->out, "The book has %zu new offer%s, %zu changed price%s, %zu seen again",
               counts->offers, counts->offers == 1 ? "" : "s", counts->prices,
               counts->prices == 1 ? "" : "s", counts->seen);
    if (counts->doubles > 0)
        out_printf(call->out, "; %zu had a lower price of the same date", counts->doubles);
    out_printf(call->out, ".\n");
    if (counts->leaps > 0)
        out_styled(call->out, OUT_YELLOW, "%zu changed more than tenfold: check the source.",
                   counts->leaps),
            out_printf(call->out, "\n");
    print_unknown(call->out, import);
    return 0;
}

// ---- import

static int begin(const struct cmd_call *call, struct importing **importing,
                 struct price_import *import, struct err *err)
{
    const struct prices_options *o = call->options;
    struct price_import_options options = {.book = o->book, .format = o->format};
    import->files.known = true;
    TRY(value_day(o->date, &options.day, err));
    if (o->book && strcmp(o->book, "-") == 0)
        return err_set(err, ERR_USAGE, "'--book -' names no file to write to");
    TRY(text_set(&import->schema, PRICE_IMPORT_SCHEMA, err));
    return importing_begin(importing, &options, err);
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
    int rc = begin(call, &importing, &done, err);
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

static int fetch(const char *url, const char *path, struct err *err)
{
    char shown[HTTP_SHOWN_BYTES];
    http_shown(url, shown);
    struct progress progress = {0};
    progress_begin(&progress, STDERR_FILENO, shown, PROGRESS_BYTES, 0);
    const struct http_download download = {
        .url = url,
        .path = path,
        .max_bytes = BOUND_PRICES,
        .timeout_ms = BOUND_PRICES_MS,
        .stall_ms = FETCH_STALL_MS,
        .allow_file = true,
        .progress = show_progress,
        .context = &progress,
    };
    int rc = http_download(&download, err);
    progress_end(&progress);
    return rc;
}

struct updating {
    struct importing *importing;
    struct price_import *import;
    const char *dir;
    size_t count, failed;
};

// Adds one source to the stock. Its errors go into the list of files; only errors that concern all
// sources are returned.
static int update_one(struct updating *u, const char *url, struct err *err)
{
    struct buf path = {0};
    struct import_report report;
    struct err why = {0};
    char shown[HTTP_SHOWN_BYTES];
    http_shown(url, shown);
    buf_printf(&path, "%s/fetched", u->dir);
    int rc = buf_check(&path, err);
    if (rc == 0) {
        int got = fetch(url, buf_str(&path), &why);
        if (got == 0)
            got = importing_file(u->importing, buf_str(&path), shown, &report, &why);
        unlink(buf_str(&path));
        u->count++;
        u->failed += got != 0;
        rc = got == ERR_MEMORY
                 ? err_memory(err)
                 : add_file(u->import, shown, &report, got != 0 ? why.text : NULL, err);
    }
    buf_release(&path);
    return rc;
}

// The addresses: those on the command line, those in the user's file, or the usual ones.
static int update_all(struct updating *u, const struct opt_rest *rest, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < rest->count && rc == 0; i++)
        rc = update_one(u, rest->args[i], err);
    if (rest->count > 0)
        return rc;
    struct buf path = {0}, text = {0};
    bool listed = false;
    if (folder_config(&path, NULL) == 0)
        buf_adds(&path, "/price-sources");
    rc = buf_lost(err); // else the user's list would be overlooked
    if (rc == 0 && path.len > 0) {
        if (access(buf_str(&path), F_OK) == 0) {
            rc = fs_read(buf_str(&path), SOURCES_MAX, &text, err);
            listed = true;
        }
    }
    char *cursor = text.data;
    for (char *line; rc == 0 && cursor && (line = text_line(&cursor));) {
        line += strspn(line, " \t");
        line[strcspn(line, " \t\r#")] = '\0';
        if (*line)
            rc = update_one(u, line, err);
    }
    for (size_t i = 0; i < sizeof default_sources / sizeof *default_sources && rc == 0 && !listed;
         i++)
        rc = update_one(u, default_sources[i], err);
    buf_release(&path);
    buf_release(&text);
    return rc;
}

static int update(const struct cmd_call *call, struct err *err)
{
    const char *temporary = getenv("TMPDIR");
    struct scratch dir = {0};
    struct price_import done = {0};
    struct updating u = {.import = &done};
    struct stock_counts counts = {0};
    int rc = scratch_make(&dir, temporary && *temporary ? temporary : "/tmp", err);
    u.dir = dir.path;
    if (rc == 0)
        rc = begin(call, &u.importing, &done, err);
    if (rc == 0)
        rc = update_all(&u, call->rest, err);
    if (rc == 0 && u.count > u.failed)
        rc = importing_commit(u.importing, &counts, err);
    if (rc == 0)
        rc = print_all(call, &done, u.importing, &counts, err);
    if (rc == 0 && u.failed > 0)
        rc = err_set(err, ERR_FAIL, "%zu of %zu source%s failed", u.failed, u.count,
                     u.count == 1 ? "" : "s");
    importing_free(u.importing);
    scratch_remove(&dir);
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
    {"fare prices update", "the public catalogue, or the addresses in price-sources"},
    {NULL, NULL},
};

const struct command prices_update = {
    .name = "prices update",
    .summary = "fetch prices and add them",
    .arguments = "[URL...]",
    .about = "Fetches files of prices and imports them: those at the addresses given, those listed "
             "in price-sources in XDG_CONFIG_HOME/fare or ~/.config/fare, or else SkyPilot's "
             "public catalogue and the European Central Bank's exchange rates of the last 90 "
             "days.",
    .options = options,
    .options_size = sizeof(struct prices_options),
    .max_args = 4096,
    .examples = update_examples,
    .run = update,
};
