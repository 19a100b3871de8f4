// SPDX-License-Identifier: Apache-2.0
// First the records, as files of the site; all pages are then made from those, so that the ledger
// is read once and no two pages differ because it changed in between.
#include "view/site.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "ledger/ledger.h"
#include "bill/market.h"
#include "record/read.h"
#include "record/share.h"
#include "view/site_job.h"

enum { WORKERS_MOST = 8, RUNS_PER_WORKER = 8 };

// ---- records

static int add_training(struct site_job *job, const struct run *run, size_t *number,
                        struct err *err)
{
    const char *title = run->workload ? run->workload : run->name ? run->name : "command";
    size_t before = job->titles.count;
    TRY(array_grow(&job->trainings, before, &job->training_space, sizeof *job->trainings, err));
    TRY(index_number(&job->titles, title, strlen(title), number, err));
    struct site_training *t = &job->trainings[*number];
    if (*number == before) {
        *t = (struct site_training){.title = text_copy(title, err)};
        job->training_count++;
        if (!t->title)
            return ERR_MEMORY;
        site_name(title, t->name);
    }
    t->runs++;
    return 0;
}

static int add_run(struct site_job *job, const struct run *run, struct err *err)
{
    size_t number;
    const char *place = run_place(run);
    TRY(array_grow(&job->runs, job->run_count, &job->run_space, sizeof *job->runs, err));
    struct site_run *to = &job->runs[job->run_count++];
    *to = (struct site_run){.id = text_copy(run->id, err),
                            .started = text_copy(run->started ? run->started : "", err)};
    if (!to->id || !to->started)
        return ERR_MEMORY;
    site_name(run->id, to->name);
    if (place)
        TRY(index_number(&job->machines, place, strlen(place), &number, err));
    if (run->phases.wall_ns.known && run->phases.wall_ns.v < INT64_MAX - job->wall_ns)
        job->wall_ns += run->phases.wall_ns.v;
    return add_training(job, run, &to->training, err);
}

static int put_record(struct site_job *job, const struct buf *text, struct err *err)
{
    struct run run = {0};
    char path[SITE_NAME_BYTES + 16], name[SITE_NAME_BYTES];
    size_t number = 0, before = job->ids.count;
    int rc = record_from_text(record_part(&run_list_part), buf_str(text), text->len, &run, err);
    if (rc == 0 && !run.id)
        rc = err_set(err, ERR_FORMAT, "a record has no id");
    if (rc == 0)
        rc = index_number(&job->ids, run.id, strlen(run.id), &number, err);
    if (rc == 0 && number == before) { // one may be named twice
        site_name(run.id, name);
        snprintf(path, sizeof path, "runs/%s.json", name);
        rc = site_store_put(&job->store, path, run.id, text, err);
        if (rc == 0)
            rc = add_run(job, &run, err);
    }
    record_release(record_part(&run_list_part), &run);
    return rc;
}

struct taking {
    struct site_job *job;
    const char *names[3];
};

static int take(void *arg, const char *id, const char *text, struct err *err)
{
    struct taking *t = arg;
    struct buf shared = {0};
    int rc = 0;
    if (t->job->ask->keep_names)
        buf_adds(&shared, text);
    else
        rc = share_record(text, t->names, &shared, err);
    buf_addc(&shared, '\n');
    if (rc == 0)
        rc = put_record(t->job, &shared, err);
    buf_release(&shared);
    if (rc == ERR_FORMAT)
        err_context(err, "run %s", id);
    return rc;
}

static int take_words(struct taking *t, struct err *err)
{
    const struct page_ask *ask = &t->job->ask->page;
    for (size_t i = 0; i < ask->word_count; i++) {
        SCOPED(buf_release) struct buf text = {0};
        TRY(market_run(ask->market, ask->ledger, ask->words[i], &text, err));
        TRY(take(t, ask->words[i], buf_str(&text), err));
    }
    return 0;
}

static int take_all(struct site_job *job, struct err *err)
{
    const struct page_ask *ask = &job->ask->page;
    const struct ledger_filter filter = {.workload = ask->workload,
                                         .limit = ask->all || ask->workload ? 0 : PAGE_NEWEST};
    struct share_here here;
    struct taking t = {job, {here.host, here.user, NULL}};
    share_here(&here);
    if (ask->published)
        return published_set(NULL, ask->published, take, &t, err);
    TRY(ledger_connect(ask->ledger, ask->says, err));
    return ask->word_count > 0 ? take_words(&t, err)
                               : ledger_each(ask->ledger, &filter, take, &t, err);
}

// ---- their order

static int newest_first(const void *a, const void *b)
{
    const struct site_run *x = a, *y = b;
    int order = strcmp(y->started, x->started);
    return order ? order : strcmp(y->id, x->id);
}

static int most_runs_first(const void *a, const void *b, void *trainings)
{
    const struct site_training *all = trainings, *x = &all[*(const size_t *)a],
                               *y = &all[*(const size_t *)b];
    return x->runs != y->runs ? (x->runs < y->runs) - (x->runs > y->runs)
                              : strcmp(x->title, y->title);
}

// Puts both into their order; runs name their trainings by number.
static int sort_all(struct site_job *job, struct err *err)
{
    size_t count = job->training_count;
    SCOPED(free_pointer) size_t *order = calloc(count + 1, sizeof *order);
    SCOPED(free_pointer) size_t *place = calloc(count + 1, sizeof *place);
    SCOPED(free_pointer) struct site_training *sorted = calloc(count + 1, sizeof *sorted);
    bool good = order && place && sorted;
    for (size_t i = 0; good && i < count; i++)
        order[i] = i;
    if (good && count > 0)
        qsort_r(order, count, sizeof *order, most_runs_first, job->trainings);
    for (size_t i = 0; good && i < count; i++) {
        place[order[i]] = i;
        sorted[i] = job->trainings[order[i]];
        sorted[i].compared = sorted[i].runs > 1 && i < SITE_COMPARED_MOST;
    }
    if (good && count > 0) {
        free(job->trainings);
        job->trainings = sorted;
        sorted = NULL;
        qsort(job->runs, job->run_count, sizeof *job->runs, newest_first);
    }
    for (size_t i = job->run_count; good && i-- > 0;) {
        job->runs[i].training = place[job->runs[i].training];
        job->trainings[job->runs[i].training].newest = i;
    }
    return good ? 0 : err_memory(err);
}

// ---- for the pages

int site_record(struct site_job *job, const struct site_run *run, struct buf *out, struct err *err)
{
    char path[SITE_NAME_BYTES + 16];
    snprintf(path, sizeof path, "runs/%s.json", run->name);
    pthread_mutex_lock(&job->lock);
    int rc = site_store_read(&job->store, path, out, err);
    pthread_mutex_unlock(&job->lock);
    if (rc == 0 && out->len > 0 && out->data[out->len - 1] == '\n')
        out->data[--out->len] = '\0';
    return rc;
}

int site_keep(struct site_job *job, const struct site_run *run, const char *path, bool *kept,
              struct err *err)
{
    const struct site_training *t = &job->trainings[run->training];
    char record[SITE_NAME_BYTES + 16], compared[SITE_NAME_BYTES + 16];
    snprintf(record, sizeof record, "runs/%s.json", run->name);
    snprintf(compared, sizeof compared, "compare/%s.html", t->name);
    *kept = false;
    pthread_mutex_lock(&job->lock);
    bool same = t->runs > 1 && site_store_same(&job->store, record) &&
                site_store_had(&job->store, compared) == t->compared;
    pthread_mutex_unlock(&job->lock);
    int rc = same ? site_store_intact(&job->store, path, kept, err) : 0;
    if (rc != 0 || !*kept)
        return rc;
    pthread_mutex_lock(&job->lock);
    rc = site_store_keep(&job->store, path, err);
    pthread_mutex_unlock(&job->lock);
    return rc;
}

int site_put(struct site_job *job, const char *path, const struct buf *bytes, struct err *err)
{
    TRY(buf_lost(err));
    pthread_mutex_lock(&job->lock);
    int rc = site_store_put(&job->store, path, NULL, bytes, err);
    pthread_mutex_unlock(&job->lock);
    return rc;
}

// ---- the pages of runs, by several threads

struct worker {
    pthread_t thread;
    bool started;
    struct site_job *job;
    struct err err;
    int rc;
};

// The number of the next run, or the number of runs: there is none, or another thread failed.
static size_t next_run(struct site_job *job, bool failed)
{
    const struct site_ask *ask = job->ask;
    pthread_mutex_lock(&job->lock);
    job->stops |= failed;
    size_t number = job->stops ? job->run_count : job->next;
    job->next += number < job->run_count;
    if (ask->progress && number < job->run_count)
        ask->progress(ask->progress_arg, (int64_t)number, (int64_t)job->run_count);
    pthread_mutex_unlock(&job->lock);
    return number;
}

static void work(struct worker *w, struct market *market)
{
    struct site_job *job = w->job;
    for (size_t i; (i = next_run(job, w->rc != 0)) < job->run_count;)
        w->rc = site_run_page(job, market, &job->runs[i], &w->err);
}

static void *work_beside(void *arg)
{
    struct worker *w = arg;
    struct desk desk;
    w->rc = desk_open(&desk, NULL, w->job->ask->book, &w->err);
    work(w, desk.market);
    desk_close(&desk);
    return NULL;
}

static size_t cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

static int run_pages(struct site_job *job, struct err *err)
{
    struct worker workers[WORKERS_MOST] = {{.started = false}};
    size_t count = cpus() < WORKERS_MOST ? cpus() : WORKERS_MOST;
    int rc = 0;
    if (count > job->run_count / RUNS_PER_WORKER + 1)
        count = job->run_count / RUNS_PER_WORKER + 1;
    for (size_t i = 0; i < count; i++)
        workers[i].job = job;
    for (size_t i = 1; i < count; i++) // a thread less is only slower
        workers[i].started =
            pthread_create(&workers[i].thread, NULL, work_beside, &workers[i]) == 0;
    work(&workers[0], job->ask->page.market);
    for (size_t i = 0; i < count; i++) {
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
        if (rc == 0 && workers[i].rc != 0) {
            rc = workers[i].rc;
            if (err)
                *err = workers[i].err;
        }
    }
    return rc;
}

static int make_pages(struct site_job *job, struct err *err)
{
    TRY(sort_all(job, err));
    TRY(run_pages(job, err));
    for (size_t i = 0; i < job->training_count; i++)
        if (job->trainings[i].compared)
            TRY(site_compare_page(job, i, err));
    TRY(site_lists(job, err));
    return site_overview(job, err);
}

static void job_release(struct site_job *job)
{
    for (size_t i = 0; i < job->run_count; i++) {
        free(job->runs[i].id);
        free(job->runs[i].started);
    }
    for (size_t i = 0; i < job->training_count; i++)
        free(job->trainings[i].title);
    free(job->runs);
    free(job->trainings);
    index_release(&job->ids);
    index_release(&job->titles);
    index_release(&job->machines);
    site_store_close(&job->store);
    pthread_mutex_destroy(&job->lock);
}

int site_write(const struct site_ask *ask, struct site_done *done, struct err *err)
{
    SCOPED(job_release) struct site_job job = {.ask = ask, .lock = PTHREAD_MUTEX_INITIALIZER};
    char inputs[SHA256_HEX_BYTES];
    int rc = site_store_open(&job.store, ask->folder, err);
    if (rc == 0)
        rc = site_inputs(ask, inputs, err);
    if (rc == 0)
        rc = site_store_inputs(&job.store, inputs, err);
    if (rc == 0)
        rc = take_all(&job, err);
    if (rc == 0 && job.run_count > 0)
        rc = make_pages(&job, err);
    if (rc == 0 && job.run_count > 0)
        rc = site_store_commit(&job.store, err);
    *done = (struct site_done){.runs = (int64_t)job.run_count,
                               .files = (int64_t)job.store.now.files.count + 1,
                               .bytes = job.store.bytes,
                               .written = job.store.written,
                               .removed = job.store.removed};
    return rc;
}
