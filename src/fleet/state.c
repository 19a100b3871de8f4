// SPDX-License-Identifier: Apache-2.0
#include "fleet/dispatch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "record/read.h"

enum { PLAN_MOST = 1 << 30, ID_LETTERS = 8 };
#define LOCK_WAIT_NS NS_PER_S

int state_home(struct buf *out, struct err *err)
{
    TRY(folder_data(out, err));
    buf_adds(out, "/fleet");
    return buf_check(out, err);
}

static void path_of(const struct state *state, const char *name, struct buf *out)
{
    buf_printf(out, "%s/%s", state->folder, name);
}

static int open_file(const struct state *state, const char *name, int flags, int *fd,
                     struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    path_of(state, name, &path);
    TRY(buf_check(&path, err));
    *fd = open(buf_str(&path), flags | O_CREAT | O_CLOEXEC, 0600);
    return *fd >= 0 ? 0 : err_errno(err, errno, "cannot open '%s'", buf_str(&path));
}

// Of a process that was killed while it started a program, that program has the lock until its
// first instruction.
static int take_lock(struct state *state, struct err *err)
{
    TRY(open_file(state, "lock", O_RDWR, &state->lock, err));
    int64_t until = clock_now_ns() + LOCK_WAIT_NS;
    int rc;
    while ((rc = flock(state->lock, LOCK_EX | LOCK_NB)) != 0 && errno == EWOULDBLOCK &&
           clock_now_ns() < until)
        clock_sleep_ns(LOCK_WAIT_NS / 20);
    if (rc == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return err_errno(err, errno, "cannot lock '%s'", state->folder);
    err_set(err, ERR_USAGE, "dispatch %s is at work in another process", state->dispatch.id);
    return err_hint(err, "wait for it, or end it with Ctrl-C first");
}

static int open_log(struct state *state, struct err *err)
{
    return open_file(state, "log.jsonl", O_WRONLY | O_APPEND, &state->log, err);
}

// Eight letters and digits that nobody mistakes for others; no vowels, so that they form no words.
static int make_id(char id[ID_LETTERS + 1], struct err *err)
{
    static const char letters[] = "bcdfghjkmnpqrstvwxz23456789";
    unsigned char bytes[ID_LETTERS];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return err_errno(err, errno, "cannot get random bytes");
    for (int i = 0; i < ID_LETTERS; i++)
        id[i] = letters[bytes[i] % (sizeof letters - 1)];
    id[ID_LETTERS] = '\0';
    return 0;
}

static int set_folder(struct state *state, const char *id, struct err *err)
{
    struct buf path = {0};
    TRY(state_home(&path, err));
    buf_printf(&path, "/%s", id);
    state->folder = buf_take(&path, err);
    state->lock = state->log = -1;
    return state->folder ? 0 : ERR_MEMORY;
}

int state_new(struct state *state, struct err *err)
{
    char id[ID_LETTERS + 1], date[CLOCK_ISO_BYTES];
    TRY(make_id(id, err));
    TRY(set_folder(state, id, err));
    clock_iso(clock_date_s(), date);
    TRY(TEXTS_SET(err, {&state->dispatch.schema, DISPATCH_SCHEMA}, {&state->dispatch.id, id},
                  {&state->dispatch.made, date}));
    TRY(fs_mkdirs_private(state->folder, err));
    return take_lock(state, err);
}

int state_plan(struct state *state, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0}, text = {0};
    path_of(state, "plan.json", &path);
    TRY(buf_check(&path, err));
    TRY(open_log(state, err));
    text.max = PLAN_MOST;
    TRY(record_to_line(dispatch_fields, &state->dispatch, &text, err));
    return fs_write_private(buf_str(&path), buf_str(&text), text.len, err);
}

// ---- opening

int state_apply(struct dispatch *dispatch, const char *line, size_t len, struct err *err)
{
    struct task_now now = {0};
    struct err why = {0};
    int rc = record_from_text(task_now_fields, line, len, &now, &why);
    int64_t number = rc == 0 && now.number.known ? now.number.v : 0;
    if (number >= 1 && (uint64_t)number <= dispatch->tasks.count) {
        struct task *task = &dispatch->tasks.items[number - 1];
        struct task_now old = task->now;
        task->now = now;
        now = old;
    }
    record_release(task_now_fields, &now);
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

static int read_log(struct state *state, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0}, text = {.max = PLAN_MOST};
    struct err why = {0};
    path_of(state, "log.jsonl", &path);
    int rc = fs_read(buf_str(&path), PLAN_MOST, &text, &why);
    if (rc != 0 && rc != ERR_MISSING)
        *err = why;
    const char *at = buf_str(&text), *newline;
    for (; rc == 0 && (newline = strchr(at, '\n')) != NULL; at = newline + 1)
        rc = state_apply(&state->dispatch, at, (size_t)(newline - at), err);
    // A line that was cut off would join the next one.
    if (rc == 0 && *at)
        buf_addc(&state->pending, '\n');
    return rc == ERR_MISSING ? 0 : rc;
}

// Numbers are positions, in the plan and in the log.
static int check_plan(const struct dispatch *d, struct err *err)
{
    bool good = d->schema && strcmp(d->schema, DISPATCH_SCHEMA) == 0 && d->id && d->jobs.known;
    for (size_t i = 0; good && i < d->tasks.count; i++)
        good = d->tasks.items[i].number.known && d->tasks.items[i].number.v == (int64_t)i + 1 &&
               d->tasks.items[i].name &&
               (d->tasks.items[i].workload || d->tasks.items[i].command.count > 0);
    for (size_t i = 0; good && i < d->places.count; i++)
        good = d->places.items[i].name != NULL;
    return good ? 0 : err_set(err, ERR_FORMAT, "the plan of a dispatch is damaged");
}

static int read_plan(struct state *state, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0}, text = {.max = PLAN_MOST};
    path_of(state, "plan.json", &path);
    int rc = fs_read(buf_str(&path), PLAN_MOST, &text, err);
    if (rc == 0)
        rc = record_from_text(dispatch_fields, buf_str(&text), text.len, &state->dispatch, err);
    if (rc == 0)
        rc = check_plan(&state->dispatch, err);
    if (rc != 0)
        err_context(err, "%s", buf_str(&path));
    return rc;
}

static int open_one(struct state *state, const char *id, bool lock, struct err *err)
{
    TRY(set_folder(state, id, err));
    if (lock) {
        TRY(text_set(&state->dispatch.id, id, err)); // for the error of the lock
        TRY(take_lock(state, err));
    }
    TRY(read_plan(state, err));
    TRY(read_log(state, err));
    return lock ? open_log(state, err) : 0;
}

// Whether `a` is to be preferred to `b` where no id was given.
struct candidate {
    char id[32];
    char made[CLOCK_ISO_BYTES];
    struct timespec written; // of its plan: several are made in one second
    bool unfinished;
};

static bool better_state(const struct candidate *a, const struct candidate *b)
{
    if (a->unfinished != b->unfinished)
        return a->unfinished;
    int order = strcmp(a->made, b->made);
    if (order != 0)
        return order > 0;
    return a->written.tv_sec != b->written.tv_sec ? a->written.tv_sec > b->written.tv_sec
                                                  : a->written.tv_nsec > b->written.tv_nsec;
}

static bool describe_state(const char *id, struct candidate *out)
{
    SCOPED(state_close) struct state state = {0};
    struct err why = {0};
    struct state_counts counts;
    struct buf plan = {0};
    struct stat st = {0};
    bool good = strlen(id) < sizeof out->id && open_one(&state, id, false, &why) == 0;
    *out = (struct candidate){0};
    if (good) {
        path_of(&state, "plan.json", &plan);
        if (stat(buf_str(&plan), &st) == 0)
            out->written = st.st_mtim;
        buf_release(&plan);
        state_count(&state.dispatch, &counts);
        snprintf(out->id, sizeof out->id, "%s", id);
        snprintf(out->made, sizeof out->made, "%s", state.dispatch.made ? state.dispatch.made : "");
        out->unfinished =
            counts.of[TASK_DONE] + counts.of[TASK_FAILED] + counts.of[TASK_CANCELLED] <
                counts.all ||
            counts.unsettled > 0;
    }
    return good;
}

// The id that `word` begins, or the best one; empty: none.
static int choose_state(const char *word, char id[32], struct err *err)
{
    SCOPED(buf_release) struct buf home = {0};
    struct candidate best = {0}, one;
    size_t fitting = 0;
    TRY(state_home(&home, err));
    SCOPED(fs_close_folder) DIR *dir = opendir(buf_str(&home));
    for (const char *name; (name = fs_next(dir));) {
        bool fits = name[0] != '.' && (!word || strncmp(name, word, strlen(word)) == 0);
        if (!fits || !describe_state(name, &one))
            continue;
        fitting++;
        if (!best.id[0] || better_state(&one, &best))
            best = one;
    }
    if (word && fitting > 1)
        return err_set(err, ERR_USAGE, "several dispatches begin with '%s'", word);
    memcpy(id, best.id, 32);
    return 0;
}

int state_open(struct state *state, const char *id, bool lock, struct err *err)
{
    char found[32];
    if (id && (!*id || strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789") != strlen(id)))
        return err_set(err, ERR_USAGE, "'%.40s' is not the id of a dispatch", id);
    TRY(choose_state(id, found, err));
    if (found[0])
        return open_one(state, found, lock, err);
    if (id)
        err_set(err, ERR_MISSING, "there is no dispatch '%.40s'", id);
    else
        err_set(err, ERR_MISSING, "nothing was sent to other machines yet");
    return err_hint(err, "'fare run --on ssh:HOST mlp' measures on another machine");
}

void state_close(struct state *state)
{
    if (state->folder) {
        fs_close(&state->log);
        fs_close(&state->lock);
    }
    record_release(dispatch_fields, &state->dispatch);
    buf_release(&state->pending);
    free(state->folder);
    *state = (struct state){0};
}

// ---- changes

int state_note(struct state *state, const struct task *task, struct err *err)
{
    struct task_now now = task->now; // shares its texts
    now.number = task->number;
    TRY(record_to_line(task_now_fields, &now, &state->pending, err));
    buf_addc(&state->pending, '\n');
    return buf_check(&state->pending, err);
}

int state_flush(struct state *state, struct err *err)
{
    if (state->pending.len == 0)
        return 0;
    TRY(buf_check(&state->pending, err));
    TRY(fs_write_fd(state->log, buf_str(&state->pending), state->pending.len, "the dispatch's log",
                    err));
    if (fdatasync(state->log) != 0 && errno != EINVAL && errno != EROFS)
        return err_errno(err, errno, "cannot write the dispatch's log");
    buf_reset(&state->pending);
    return 0;
}

void state_remove(struct state *state)
{
    static const char *const names[] = {"plan.json", "log.jsonl", "folder.tar.gz", "lock"};
    for (size_t i = 0; state->folder && i < sizeof names / sizeof *names; i++)
        unlink(short_text("%s/%s", state->folder, names[i]).s);
    if (state->folder) {
        rmdir(short_text("%s/tasks", state->folder).s);
        rmdir(state->folder);
    }
}

void state_count(const struct dispatch *dispatch, struct state_counts *counts)
{
    *counts = (struct state_counts){.all = dispatch->tasks.count};
    for (size_t i = 0; i < counts->all; i++) {
        const struct task *task = &dispatch->tasks.items[i];
        counts->of[task_state(task)]++;
        counts->unsettled += task_unsettled(task);
    }
}

bool state_ended(const struct dispatch *dispatch)
{
    for (size_t i = 0; i < dispatch->tasks.count; i++) {
        const struct task *task = &dispatch->tasks.items[i];
        if (!task_over(task) || task_unsettled(task) || task_left(task))
            return false;
    }
    return true;
}
