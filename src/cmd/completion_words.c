// SPDX-License-Identifier: Apache-2.0
#include "cmd/completion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/folders.h"
#include "base/tree.h"
#include "data/sets.h"
#include "market/desk.h"
#include "price/book.h"
#include "price/device.h"
#include "record/read.h"
#include "workload/workload.h"

#define RUNS 50 // the newest

struct words {
    completion_fn *each;
    void *context;
    char last[256]; // offer
};

static void list_workloads(struct words *w)
{
    for (size_t i = 0; workloads[i]; i++)
        w->each(w->context, workloads[i]->name, workloads[i]->summary);
}

static void list_workloads_and_all(struct words *w)
{
    list_workloads(w);
    w->each(w->context, "all", "every workload");
}

static void list_data(struct words *w)
{
    for (const struct public_set *set = public_sets; set->name; set++)
        w->each(w->context, set->name, set->format);
}

static void list_gpus(struct words *w)
{
    struct devices *devices = NULL;
    const struct device *d;
    if (devices_open(&devices, NULL) != 0)
        return;
    for (size_t i = 0; (d = device_at(devices, i)); i++)
        if (d->vector_bits == 0) // no processor
            w->each(w->context, d->name, d->architecture);
    devices_close(devices);
}

// They come in the order of their names, once for each region.
static int add_offer(void *arg, const struct offer *offer, struct err *err)
{
    (void)err;
    struct words *w = arg;
    char name[sizeof w->last];
    snprintf(name, sizeof name, "%s/%s", offer->provider, offer->name);
    if (strcmp(name, w->last) == 0)
        return 0;
    memcpy(w->last, name, sizeof name);
    w->each(w->context, name, offer->gpu);
    return 0;
}

static void list_offers(struct words *w)
{
    struct book *book = NULL;
    const struct book_filter all = {0};
    if (book_open(&book, NULL, NULL) == 0)
        (void)!book_each(book, &all, add_offer, w, NULL);
    book_close(book);
}

static int add_run(void *arg, const char *id, const char *text, struct err *err)
{
    struct words *w = arg;
    struct run run = {0};
    int rc = record_from_text(run_fields, text, strlen(text), &run, err);
    if (rc == 0)
        w->each(w->context, id, run.name ? run.name : "");
    record_release(run_fields, &run);
    return rc;
}

// A database on another machine may be slow to answer.
static void list_runs(struct words *w)
{
    const char *where = getenv("FARE_LEDGER");
    const struct ledger_filter newest = {.limit = RUNS, .heads = true};
    struct ledger *ledger;
    struct desk desk;
    w->each(w->context, "last", "the newest");
    if (where && strstr(where, "://"))
        return;
    if (desk_open(&desk, NULL, NULL, NULL) == 0 && desk_ledger(&desk, &ledger, NULL) == 0)
        (void)!ledger_each(ledger, &newest, add_run, w, NULL);
    desk_close(&desk);
}

static void list_published(struct words *w)
{
    struct buf share = {0}, names = {0};
    if (folder_share(&share, NULL) == 0) {
        struct tree tree = {.root = buf_str(&share)};
        char *cursor = tree_list(&tree, &names, "/published") ? names.data : NULL;
        for (char *name; cursor && (name = text_line(&cursor));) {
            char *end = strstr(name, ".jsonl");
            if (end)
                *end = '\0';
            if (end)
                w->each(w->context, name, "published results");
        }
    }
    buf_release(&share);
    buf_release(&names);
}

void completion_values(const struct opt *opt, completion_fn *each, void *context)
{
    static const struct {
        const char *option, *value; // null: any
        void (*list)(struct words *words);
    } rows[] = {{"gpu", NULL, list_gpus},
                {"workload", NULL, list_workloads},
                {"published", "SET", list_published},
                {NULL, "OFFER", list_offers},
                {NULL, "RUN", list_runs}};
    struct words words = {.each = each, .context = context};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((!rows[i].option || strcmp(rows[i].option, opt->name) == 0) && opt->value &&
            (!rows[i].value || strcmp(rows[i].value, opt->value) == 0))
            rows[i].list(&words);
}

void completion_arguments(const struct command *command, const char *typed, completion_fn *each,
                          void *context)
{
    static const struct {
        const char *command, *argument; // the beginning of its name, and a part of its arguments
        void (*list)(struct words *words);
        bool many; // only for a word that was begun
    } rows[] = {{"run", "NAME...|all", list_workloads_and_all, false},
                {"workloads data", "NAME", list_data, false},
                {"workloads", "NAME", list_workloads, false},
                {"", "WORKLOAD", list_workloads, false},
                {"", "RUN", list_runs, false},
                {"", "OFFER", list_offers, true}};
    struct words words = {.each = each, .context = context};
    if (!command->name || !command->arguments)
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strncmp(command->name, rows[i].command, strlen(rows[i].command)) != 0 ||
            !strstr(command->arguments, rows[i].argument) || (rows[i].many && !*typed))
            continue;
        rows[i].list(&words);
        if (*rows[i].command)
            return;
    }
}
