// SPDX-License-Identifier: Apache-2.0
#include "ledger/published.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/tree.h"
#include "ledger/row.h"
#include "record/read.h"

static int is_lines(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return entry->d_name[0] != '.' && len > 6 && strcmp(entry->d_name + len - 6, ".jsonl") == 0;
}

static int each_line(const char *path, char *text, ledger_visit_fn *visit, void *arg,
                     struct err *err)
{
    int rc = 0;
    for (char *line; rc == 0 && (line = text_line(&text));) {
        SCOPED(row_release) struct run row = {0};
        if (*line == '\0')
            continue;
        rc = row_read(line, strlen(line), &row, err);
        if (rc != 0)
            err_context(err, "'%s'", path);
        else
            rc = visit(arg, row.id, line, err);
    }
    return rc;
}

static bool is_set(const char *file, const char *set)
{
    size_t len = strlen(set);
    return strncmp(file, set, len) == 0 && strcmp(file + len, ".jsonl") == 0;
}

static int no_set(struct dirent *const *names, int count, const char *set, struct err *err)
{
    SCOPED(buf_release) struct buf sets = {0};
    for (int i = 0; i < count; i++)
        buf_printf(&sets, "%s%.*s", i > 0 ? ", " : "", (int)strlen(names[i]->d_name) - 6,
                   names[i]->d_name);
    err_set(err, ERR_USAGE, "no set of published results is called '%s'", set);
    err_hint(err, "choose one of %s", buf_str(&sets));
    return ERR_USAGE;
}

// `set` null: all of them.
static int each_in(const char *dir, const char *set, ledger_visit_fn *visit, void *arg,
                   struct err *err)
{
    struct dirent **names;
    int count = scandir(dir, &names, is_lines, alphasort);
    if (count < 0)
        return err_errno(err, errno, "cannot open the published results in '%s'", dir);
    int rc = 0;
    bool found = !set;
    for (int i = 0; i < count; i++)
        found |= set && is_set(names[i]->d_name, set);
    if (!found)
        rc = no_set(names, count, set, err);
    for (int i = 0; i < count; i++) { // each name is freed here
        if (set && !is_set(names[i]->d_name, set)) {
            free(names[i]);
            continue;
        }
        struct buf path = {0}, text = {0};
        buf_printf(&path, "%s/%s", dir, names[i]->d_name);
        if (rc == 0)
            rc = buf_check(&path, err);
        if (rc == 0)
            rc = fs_read(buf_str(&path), BUF_DEFAULT_MAX, &text, err);
        if (rc == 0 && text.len > 0)
            rc = each_line(buf_str(&path), text.data, visit, arg, err);
        buf_release(&path);
        buf_release(&text);
        free(names[i]);
    }
    free(names);
    return rc;
}

int published_set(const char *dir, const char *set, ledger_visit_fn *visit, void *arg,
                  struct err *err)
{
    if (dir)
        return each_in(dir, set, visit, arg, err);
    SCOPED(buf_release) struct buf shipped = {0};
    TRY(folder_share(&shipped, err));
    buf_adds(&shipped, "/published");
    TRY(buf_check(&shipped, err));
    return each_in(buf_str(&shipped), set, visit, arg, err);
}

int published_each(const char *dir, ledger_visit_fn *visit, void *arg, struct err *err)
{
    return published_set(dir, NULL, visit, arg, err);
}

// ---- read once

struct published {
    LIST_OF(struct run) runs;
    LIST_OF(char *) texts; // their records
};

static int keep(void *arg, const char *id, const char *text, struct err *err)
{
    struct published *all = arg;
    (void)id;
    struct run *run = LIST_ADD(&all->runs, err);
    TRY(run ? record_from_checked(run_fields, text, strlen(text), run, err) : ERR_MEMORY);
    return texts_add(&all->texts, text, err);
}

int published_open(struct published **out, const char *dir, struct err *err)
{
    struct published *all = calloc(1, sizeof *all);
    *out = NULL;
    if (!all)
        return err_memory(err);
    int rc = published_each(dir, keep, all, err);
    if (rc == 0)
        *out = all;
    else
        published_close(all);
    return rc;
}

void published_close(struct published *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->runs.count; i++)
        record_release(run_fields, &all->runs.items[i]);
    for (size_t i = 0; i < all->texts.count; i++)
        free(all->texts.items[i]);
    free(all->runs.items);
    free(all->texts.items);
    free(all);
}

size_t published_count(const struct published *all)
{
    return all->runs.count;
}

const struct run *published_run(const struct published *all, size_t i)
{
    return &all->runs.items[i];
}

// ---- one of them

int published_find(const struct published *all, const char *word, struct buf *text, struct err *err)
{
    size_t len = strlen(word), matches = 0, found = 0;
    bool exact = false;
    for (size_t i = 0; i < all->runs.count && !exact; i++) {
        const char *id = all->runs.items[i].id;
        if (strncmp(id, word, len) != 0)
            continue;
        exact = id[len] == '\0';
        matches = exact ? 1 : matches + 1;
        found = i;
    }
    buf_reset(text);
    if (matches == 1) {
        buf_adds(text, all->texts.items[found]);
        return buf_check(text, err);
    }
    if (matches > 1)
        err_set(err, ERR_USAGE, "%zu published results start with '%s'", matches, word);
    else
        err_set(err, ERR_MISSING, "no published result is called '%s'", word);
    return err_hint(err, "'fare runs --published' lists them");
}

bool published_has_name(const char *word)
{
    return strncmp(word, "published-", 10) == 0;
}

int published_or_ledger(const struct published *all, struct ledger *ledger, const char *word,
                        struct buf *text, struct err *err)
{
    struct err why = {0};
    struct published *own = NULL;
    if (!published_has_name(word))
        return ledger_find(ledger, word, text, err);
    int rc = all ? 0 : published_open(&own, NULL, &why);
    if (rc == 0)
        rc = published_find(all ? all : own, word, text, &why);
    published_close(own);
    if (rc == 0)
        return 0;
    // The user's own run may have such a name.
    struct err ignored = {0};
    if (ledger_find(ledger, word, text, &ignored) == 0)
        return 0;
    *err = why;
    return rc;
}
