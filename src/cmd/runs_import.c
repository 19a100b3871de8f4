// SPDX-License-Identifier: Apache-2.0
// runs export and import: records as JSON lines, and other programs' logs.
#include "cmd/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "ledger/import.h"

enum { LINE_MAX_BYTES = 64 << 20, CHUNK_BYTES = 1 << 20, FLUSH_BYTES = 1 << 20 };

// ---- import

struct importing {
    const struct cmd_call *call;
    struct ledger *ledger;
    int64_t added, there;
};

static int add_text(struct importing *m, const char *text, size_t len, struct err *err)
{
    bool added;
    int rc = ledger_import_add(m->ledger, text, len, &added, err);
    if (rc == 0)
        *(added ? &m->added : &m->there) += 1;
    return rc;
}

// Imports every whole line in the buffer and moves the rest to its beginning.
static int take_lines(struct importing *m, const char *path, struct buf *room, size_t *number,
                      struct err *err)
{
    char *line = room->data, *end = room->data + room->len, *stop;
    int rc = 0;
    while (rc == 0 && line < end && (stop = memchr(line, '\n', (size_t)(end - line)))) {
        ++*number;
        *stop = '\0';
        size_t len = (size_t)(stop - line);
        if (line[strspn(line, " \t\r")] != '\0' || strlen(line) != len)
            rc = add_text(m, line, len, err);
        if (rc == ERR_FORMAT)
            err_context(err, "'%s', line %zu", path, *number);
        line = stop + 1;
    }
    size_t left = line ? (size_t)(end - line) : 0;
    if (left > 0)
        memmove(room->data, line, left);
    room->len = left;
    return rc;
}

// One record per line, in constant memory.
static int import_lines(struct importing *m, const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    struct buf room = {.max = LINE_MAX_BYTES};
    size_t number = 0;
    int rc = 0;
    for (bool ended = false; rc == 0 && !ended;) {
        char *into = buf_room(&room, CHUNK_BYTES);
        ssize_t got = into ? read(fd, into, CHUNK_BYTES) : 0;
        if (!into)
            rc = err_set(err, ERR_MEMORY, "'%s', line %zu is too long", path, number + 1);
        else if (got < 0 && errno != EINTR)
            rc = err_errno(err, errno, "cannot read '%s'", path);
        if (rc != 0 || got < 0)
            continue;
        buf_used(&room, (size_t)got);
        ended = got == 0;
        if (ended && room.len > 0 && room.data[room.len - 1] != '\n')
            buf_addc(&room, '\n'); // the last line may lack it
        rc = take_lines(m, path, &room, &number, err);
    }
    close(fd);
    buf_release(&room);
    return rc;
}

static int add_json(struct importing *m, json_t *json, struct err *err)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text)
        return err_memory(err);
    int rc = add_text(m, text, strlen(text), err);
    free(text);
    return rc;
}

// The output of --json: one record over several lines, or a list of them.
static int import_document(struct importing *m, const char *path, const struct buf *text,
                           struct err *err)
{
    json_error_t why;
    json_t *json = json_loadb(buf_str(text), text->len, 0, &why);
    if (!json)
        return err_set(err, ERR_FORMAT, "'%s', line %d: %s", path, why.line, why.text);
    json_t *runs = json_object_get(json, "runs"), *one;
    size_t index;
    int rc = 0;
    if (!runs)
        rc = add_json(m, json, err);
    json_array_foreach(runs, index, one)
    {
        rc = add_json(m, one, err);
        if (rc != 0) {
            err_context(err, "runs[%zu]", index);
            break;
        }
    }
    json_decref(json);
    if (rc == ERR_FORMAT)
        err_context(err, "'%s'", path);
    return rc;
}

static int import_other(struct importing *m, const struct importer *importer, const char *path,
                        const struct buf *text, struct err *err)
{
    const struct runs_options *o = m->call->options;
    const struct import_options known = {
        .workload = o->workload,
        .framework = o->framework,
        .machine = o->machine,
        .gpu = o->gpu,
        .gpus = o->gpus,
        .provider = o->provider,
        .price_per_hour = o->price_per_hour,
        .started = o->started,
        .labels = o->label.items,
        .label_count = o->label.count,
    };
    struct runs runs = {0};
    int rc = import_log(importer, path, buf_str(text), text->len, &known, &runs, err);
    for (size_t i = 0; i < runs.runs.count && rc == 0; i++) {
        struct buf line = {0};
        rc = ledger_line(&runs.runs.items[i], &line, err);
        if (rc == 0)
            rc = add_text(m, buf_str(&line), line.len, err);
        if (rc == ERR_FORMAT)
            err_context(err, "%s, run %zu", path, i + 1);
        buf_release(&line);
    }
    record_release(runs_fields, &runs);
    return rc;
}

// The beginning of a file, to tell its format.
static int read_head(const char *path, char *head, size_t room, size_t *len, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    *len = 0;
    ssize_t got;
    while (*len < room && (got = read(fd, head + *len, room - *len)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        *len += (size_t)got;
    }
    int rc = got < 0 ? err_errno(err, errno, "cannot read '%s'", path) : 0;
    close(fd);
    return rc;
}

// A record on each line has its end on the first; a document goes on, or is a list.
static bool is_lines(const char *head, size_t len)
{
    const char *end = memchr(head, '\n', len);
    size_t line = end ? (size_t)(end - head) : len;
    while (line > 0 && (head[line - 1] == '\r' || head[line - 1] == ' '))
        line--;
    bool list = memmem(head, line, "\"" RUNS_SCHEMA "\"", strlen(RUNS_SCHEMA) + 2) ||
                memmem(head, line, "\"" REPORT_SCHEMA "\"", strlen(REPORT_SCHEMA) + 2);
    return line > 2 && !list && (!end || head[line - 1] == '}');
}

static int import_file(struct importing *m, const char *path, struct err *err)
{
    const struct runs_options *o = m->call->options;
    enum { HEAD = 1 << 16 };
    char *head = malloc(HEAD);
    size_t len = 0;
    if (!head)
        return err_memory(err);
    int rc = read_head(path, head, HEAD, &len, err);
    const struct importer *importer = NULL;
    if (rc == 0)
        importer = o->format ? importer_find(o->format) : importer_guess(head, len);
    bool lines = rc == 0 && !importer && is_lines(head, len);
    if (rc == 0 && !importer && !o->format && !lines && !memchr(head, '{', len)) {
        err_set(err, ERR_FORMAT, "'%s' is in none of the formats that fare reads", path);
        rc = err_hint(err, "name it with --format: 'fare runs import --help' lists them");
    }
    free(head);
    if (rc != 0 || lines)
        return rc == 0 ? import_lines(m, path, err) : rc;
    struct buf text = {0};
    rc = fs_read(path, IMPORT_MAX, &text, err);
    if (rc == 0)
        rc = importer ? import_other(m, importer, path, &text, err)
                      : import_document(m, path, &text, err);
    buf_release(&text);
    return rc;
}

static int import_files(const struct cmd_call *call, struct ledger *ledger, struct err *err)
{
    const struct opt_rest *rest = call->rest;
    struct importing m = {call, ledger, 0, 0};
    int rc = ledger_import_begin(ledger, err);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < rest->count && rc == 0; i++)
        rc = import_file(&m, rest->args[i], err);
    if (rc == 0)
        rc = ledger_import_end(ledger, err);
    else
        ledger_import_abandon(ledger);
    if (rc != 0)
        return err_hint(err, "nothing was imported");
    runs_say_added(call->out, "added", m.added, m.there);
    return 0;
}

static int import(const struct cmd_call *call, struct err *err)
{
    struct ledger *ledger = NULL;
    if (call->rest->count == 0) {
        err_set(err, ERR_USAGE, "'fare runs import' needs a file");
        return err_hint(err, "a file from 'fare runs export', or a log of another program");
    }
    int rc = runs_open(call->options, true, &ledger, err);
    if (rc == 0)
        rc = import_files(call, ledger, err);
    ledger_free(ledger);
    return rc;
}

static const char *format_name(size_t i)
{
    return i == 0 ? "fare" : importers[i - 1] ? importers[i - 1]->name : NULL;
}

#define AT(member) offsetof(struct runs_options, member)
static const struct opt import_options[] = {
    LEDGER_ROW,
    {"format", 0, OPT_CHOICE, "NAME", NULL, AT(format), NULL,
     "the files' format, instead of guessing it", .choice = format_name},
    {"workload", 0, OPT_TEXT, "NAME", NULL, AT(workload), "Of logs that do not say it",
     "the workload"},
    {"framework", 0, OPT_TEXT, "NAME", NULL, AT(framework), "Of logs that do not say it",
     "the framework"},
    {"machine", 0, OPT_TEXT, "NAME", NULL, AT(machine), "Of logs that do not say it",
     "the machine's name"},
    {"gpu", 0, OPT_TEXT, "NAME", NULL, AT(gpu), "Of logs that do not say it", "the GPU's name"},
    {"gpus", 0, OPT_COUNT, "N", NULL, AT(gpus), "Of logs that do not say it", "the number of GPUs",
     .least = 1},
    {"provider", 0, OPT_TEXT, "NAME", NULL, AT(provider), "Of logs that do not say it",
     "the provider of the machine, such as aws or gcp"},
    {"price-per-hour", 0, OPT_TEXT, "USD", NULL, AT(price_per_hour), "Of logs that do not say it",
     "the machine's price, kept as a label"},
    {"started", 0, OPT_TEXT, "DATE", NULL, AT(started), "Of logs that do not say it",
     "the date of the training"},
    {"label", 0, OPT_TEXTS, "KEY=VALUE", NULL, AT(label), "Of logs that do not say it",
     "a label to add; may be given several times"},
    {NULL},
};

static const struct cmd_example import_examples[] = {
    {"fare runs import runs.jsonl --ledger postgresql://team@db/fare", "into the team's ledger"},
    {"fare runs import mnist_mlp_tensorflow.csv --machine p2.xlarge --price-per-hour 0.90",
     "a log of Keras"},
    {NULL, NULL},
};

const struct command runs_import = {
    .name = "runs import",
    .summary = "add runs from files, and from logs of other programs",
    .arguments = "FILE...",
    .about = "Reads files of 'fare runs export' and logs of Keras (CSVLogger), DAWNBench, MLPerf "
             "and hyperfine into the ledger: all of them, or none if one is wrong. A run that is "
             "there already is not added again.",
    .options = import_options,
    .options_size = sizeof(struct runs_options),
    .max_args = 4096,
    .examples = import_examples,
    .run = import,
};

// ---- export

struct exporting {
    struct out *out;
    struct fs_writer *writer; // null: to stdout
};

static int put(void *arg, const char *id, const char *text, struct err *err)
{
    (void)id;
    struct exporting *e = arg;
    if (!e->writer) {
        out_printf(e->out, "%s\n", text);
        return e->out->text.len > FLUSH_BYTES ? out_write(e->out, err) : 0;
    }
    int rc = fs_add(e->writer, text, strlen(text), err);
    return rc == 0 ? fs_add(e->writer, "\n", 1, err) : rc;
}

static int put_all(const struct cmd_call *call, struct ledger *ledger, struct exporting *e,
                   struct err *err)
{
    const struct opt_rest *rest = call->rest;
    int rc = 0;
    if (rest->count == 0) {
        struct runs_which which;
        runs_which(call->options, &which);
        return ledger_each(ledger, &which.filter, put, e, err);
    }
    for (size_t i = 0; i < rest->count && rc == 0; i++) {
        struct buf text = {0};
        rc = runs_find(ledger, rest->args[i], &text, err);
        if (rc == 0)
            rc = put(e, "", buf_str(&text), err);
        buf_release(&text);
    }
    return rc;
}

static int export(const struct cmd_call *call, struct err *err)
{
    const struct runs_options *o = call->options;
    struct ledger *ledger = NULL;
    struct fs_writer writer;
    struct exporting e = {call->out, NULL};
    int rc = runs_open(o, false, &ledger, err);
    if (rc == 0 && o->output) {
        rc = fs_begin(&writer, o->output, 0666, err);
        e.writer = rc == 0 ? &writer : NULL;
    }
    if (rc == 0)
        rc = put_all(call, ledger, &e, err);
    if (e.writer && rc == 0)
        rc = fs_commit(&writer, err);
    else if (e.writer)
        fs_abandon(&writer);
    ledger_free(ledger);
    return rc;
}

static const struct opt export_options[] = {
    LEDGER_ROW,
    {"output", 'o', OPT_TEXT, "FILE", NULL, AT(output), NULL,
     "write to this file, whole or not at all, instead of standard output"},
    RUNS_WHICH,
    {NULL},
};

static const struct cmd_example export_examples[] = {
    {"fare runs export -o runs.jsonl", "all of them"},
    {"fare runs export last", "the newest, to standard output"},
    {NULL, NULL},
};

const struct command runs_export = {
    .name = "runs export",
    .summary = "write runs as JSON lines",
    .arguments = "[RUN...]",
    .about = "Writes runs as JSON, one object per line, as they are kept: those that are named, "
             "those that the options select, or all.",
    .options = export_options,
    .options_size = sizeof(struct runs_options),
    .max_args = 4096,
    .examples = export_examples,
    .run = export,
};
