// SPDX-License-Identifier: Apache-2.0
#include "measure/git.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/proc.h"

enum { GIT_FILE_MAX = 4 << 20, GIT_MS = 1000 };

// Reads a small file; its white space at the end is dropped.
static bool read_small(const char *folder, const char *name, struct buf *out)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", folder, name);
    buf_reset(out);
    bool good = !path.failed && fs_is_file(buf_str(&path)) &&
                fs_read(buf_str(&path), GIT_FILE_MAX, out, NULL) == 0;
    buf_trim(out);
    buf_release(&path);
    return good && out->len > 0 && !out->failed;
}

// The folder .git of a work tree; in others (git worktree, submodules) it is a file that names it.
static bool find_git(const char *here, struct buf *git)
{
    char at[PATH_MAX];
    struct buf text = {0};
    size_t len = strlen(here);
    memcpy(at, here, len + 1);
    bool found = false;
    for (; !found && len > 0; len = strlen(at)) {
        buf_reset(git);
        buf_printf(git, "%s/.git", at);
        found = !git->failed && access(buf_str(git), F_OK) == 0;
        if (!found)
            *strrchr(at, '/') = '\0';
    }
    if (found && read_small(at, ".git", &text) && strncmp(buf_str(&text), "gitdir: ", 8) == 0) {
        const char *named = buf_str(&text) + 8;
        buf_reset(git);
        buf_printf(git, "%s%s%s", named[0] == '/' ? "" : at, named[0] == '/' ? "" : "/", named);
    }
    buf_release(&text);
    return found && !git->failed;
}

static bool is_commit(const char *text, size_t len)
{
    return (len == 40 || len == 64) && strspn(text, "0123456789abcdef") >= len;
}

// "HASH refs/heads/main" in the list of references.
static bool in_packed(const char *list, const char *name, struct buf *out)
{
    for (const char *line = list; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t hash = strcspn(line, " \n"), rest = strlen(name);
        if (line[hash] == ' ' && strncmp(line + hash + 1, name, rest) == 0 &&
            (line[hash + 1 + rest] == '\n' || line[hash + 1 + rest] == '\0')) {
            buf_reset(out);
            buf_add(out, line, hash);
            return true;
        }
    }
    return false;
}

// A further work tree has only its HEAD; the rest is in the main one's folder.
static void find_common(const char *git, struct buf *common)
{
    struct buf text = {0};
    if (read_small(git, "commondir", &text))
        buf_printf(common, "%s%s%s", text.data[0] == '/' ? "" : git, text.data[0] == '/' ? "" : "/",
                   buf_str(&text));
    else
        buf_adds(common, git);
    buf_release(&text);
}

static bool find_commit(const char *git, struct buf *out)
{
    struct buf common = {0}, text = {0};
    char name[PATH_MAX] = "";
    bool good = read_small(git, "HEAD", out);
    if (good && strncmp(buf_str(out), "ref: ", 5) == 0) {
        find_common(git, &common);
        good = out->len - 5 < sizeof name && !strstr(buf_str(out), "..");
        if (good)
            memcpy(name, buf_str(out) + 5, out->len - 5 + 1);
        good = good && (read_small(git, name, out) || read_small(buf_str(&common), name, out) ||
                        (read_small(buf_str(&common), "packed-refs", &text) &&
                         in_packed(buf_str(&text), name, out)));
    }
    buf_release(&common);
    buf_release(&text);
    return good && is_commit(buf_str(out), out->len);
}

// In a child process. No locks, no hooks, no network.
static int run_git(void *context)
{
    const char *folder = context;
    setenv("GIT_OPTIONAL_LOCKS", "0", 1);
    setenv("GIT_NO_LAZY_FETCH", "1", 1);
    execlp("git", "git", "-C", folder, "-c", "core.fsmonitor=false", "status", "--porcelain",
           "--untracked-files=no", "--ignore-submodules=all", (char *)NULL);
    return 127;
}

static struct maybe_bool is_dirty(const char *folder)
{
    const struct proc_options options = {.timeout_ms = GIT_MS};
    struct proc proc = {0};
    struct proc_result result = {0};
    struct maybe_bool dirty = {0};
    if (proc_start_call(&proc, run_git, (void *)(uintptr_t)folder, &options, NULL) == 0 &&
        proc_finish(&proc, &result, NULL) == 0 && result.exited && result.exit_code == 0)
        dirty = some_bool(result.out.len > 0);
    proc_result_release(&result);
    return dirty;
}

int git_describe(const char *folder, struct run_code *code, struct err *err)
{
    struct buf git = {0}, commit = {0};
    int rc = 0;
    if (strlen(folder) < PATH_MAX && find_git(folder, &git) &&
        find_commit(buf_str(&git), &commit)) {
        rc = text_set(&code->commit, buf_str(&commit), err);
        code->dirty = is_dirty(folder);
    }
    buf_release(&git);
    buf_release(&commit);
    return rc;
}

// ---- the name

// The last part of a path or URL, without ".git": "git@host:team/bert.git" is "bert".
static void add_last_part(const char *path, size_t len, struct buf *name)
{
    while (len > 0 && strchr("/ \t\r", path[len - 1]))
        len--;
    if (len > 4 && strncmp(path + len - 4, ".git", 4) == 0)
        len -= path[len - 5] == '/' ? 5 : 4;
    size_t from = len;
    while (from > 0 && !strchr("/:", path[from - 1]))
        from--;
    buf_add(name, path + from, len - from);
}

// The url in the section [remote "origin"] of git's configuration.
static bool find_origin(const char *config, struct buf *name)
{
    bool within = false;
    for (const char *line = config; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *text = line + strspn(line, " \t");
        size_t len = strcspn(text, "\n");
        if (*text == '[')
            within = strncmp(text, "[remote \"origin\"]", 17) == 0;
        else if (within && strncmp(text, "url", 3) == 0) {
            const char *value = memchr(text, '=', len);
            if (value) {
                value += 1 + strspn(value + 1, " \t");
                add_last_part(value, (size_t)(text + len - value), name);
            }
        }
    }
    return name->len > 0;
}

void git_name(const char *folder, struct buf *name)
{
    struct buf git = {0}, common = {0}, config = {0};
    char real[PATH_MAX];
    if (strlen(folder) < PATH_MAX && find_git(folder, &git)) {
        find_common(buf_str(&git), &common);
        bool known =
            read_small(buf_str(&common), "config", &config) && find_origin(buf_str(&config), name);
        if (!known && realpath(buf_str(&common), real))
            add_last_part(real, strlen(real), name);
    }
    buf_release(&git);
    buf_release(&common);
    buf_release(&config);
}
