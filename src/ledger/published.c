// SPDX-License-Identifier: Apache-2.0
#include "ledger/published.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/folders.h"
#include "base/fs.h"
#include "base/tree.h"
#include "ledger/row.h"

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
        struct row row = {0};
        if (*line == '\0')
            continue;
        rc = row_read(line, strlen(line), &row, err);
        if (rc != 0)
            err_context(err, "'%s'", path);
        else
            rc = visit(arg, row.id, line, err);
        row_release(&row);
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
    struct buf sets = {0};
    for (int i = 0; i < count; i++)
        buf_printf(&sets, "%s%.*s", i > 0 ? ", " : "", (int)strlen(names[i]->d_name) - 6,
                   names[i]->d_name);
    err_set(err, ERR_USAGE, "no set of published results is called '%s'", set);
    err_hint(err, "choose one of %s", buf_str(&sets));
    buf_release(&sets);
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
    struct buf shipped = {0};
    int rc = folder_share(&shipped, err);
    buf_adds(&shipped, "/published");
    if (rc == 0)
        rc = buf_check(&shipped, err);
    if (rc == 0)
        rc = each_in(buf_str(&shipped), set, visit, arg, err);
    buf_release(&shipped);
    return rc;
}

int published_each(const char *dir, ledger_visit_fn *visit, void *arg, struct err *err)
{
    return published_set(dir, NULL, visit, arg, err);
}

struct search {
    const char *word;
    struct buf *text;
    size_t matches;
};

static int compare(void *arg, const char *id, const char *text, struct err *err)
{
    struct search *search = arg;
    size_t len = strlen(search->word);
    if (strncmp(id, search->word, len) != 0)
        return 0;
    search->matches++;
    buf_reset(search->text);
    buf_adds(search->text, text);
    TRY(buf_check(search->text, err));
    if (id[len] == '\0') {
        search->matches = 1;
        return 1; // exact: stop
    }
    return 0;
}

int published_find(const char *dir, const char *word, struct buf *text, struct err *err)
{
    struct search search = {word, text, 0};
    int rc = published_each(dir, compare, &search, err);
    if (rc < 0)
        return rc;
    if (search.matches == 1)
        return 0;
    buf_reset(text);
    if (search.matches > 1)
        err_set(err, ERR_USAGE, "%zu published results start with '%s'", search.matches, word);
    else
        err_set(err, ERR_MISSING, "no published result is called '%s'", word);
    return err_hint(err, "'fare runs --published' lists them");
}

int published_or_ledger(struct ledger *ledger, const char *word, struct buf *text, struct err *err)
{
    struct err why = {0};
    if (strncmp(word, "published-", 10) != 0)
        return ledger_find(ledger, word, text, err);
    int rc = published_find(NULL, word, text, &why);
    if (rc == 0)
        return 0;
    // The user's own run may have such a name.
    struct err ignored = {0};
    if (ledger_find(ledger, word, text, &ignored) == 0)
        return 0;
    *err = why;
    return rc;
}
