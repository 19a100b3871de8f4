// SPDX-License-Identifier: Apache-2.0
#include "measure/interpreter.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/tree.h"
#include "measure/code.h"

enum { FIRST_MS = 50, WORDS_MOST = 255, TEXT_MAX = 4 << 20 };

// A Python among the processes.
struct found {
    pid_t pid; // 0: none
    int64_t cpu_ticks;
    bool launches;
    struct buf file, arguments; // of /proc/PID: exe, and cmdline with NULs
};

static void found_release(struct found *f)
{
    buf_release(&f->file);
    buf_release(&f->arguments);
}

static bool read_proc(pid_t pid, const char *name, struct buf *out)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fs_read(path, TEXT_MAX, out, NULL) == 0 && !out->failed;
}

static void split(struct buf *arguments, char *words[WORDS_MOST + 1])
{
    size_t count = 0;
    char *end = arguments->data + arguments->len;
    for (char *at = arguments->data; at && at < end && count < WORDS_MOST; at += strlen(at) + 1)
        words[count++] = at;
    words[count] = NULL;
}

static bool is_better(const struct found *a, const struct found *b)
{
    if (b->pid == 0 || a->launches != b->launches)
        return b->pid == 0 || b->launches;
    return a->cpu_ticks > b->cpu_ticks;
}

// Processes of other users cannot be read, and are left out.
static void consider(struct tree *tree, const struct child_process *process, struct found *best)
{
    struct found f = {.pid = process->pid, .cpu_ticks = process->cpu_ticks};
    char *words[WORDS_MOST + 1];
    if (tree_link(tree, &f.file, "/proc/%d/exe", (int)f.pid) && python_is(buf_str(&f.file)) &&
        read_proc(f.pid, "cmdline", &f.arguments) && f.arguments.len > 0) {
        split(&f.arguments, words);
        f.launches = code_launches(words);
        if (is_better(&f, best)) {
            struct found other = *best;
            *best = f;
            f = other;
        }
    }
    found_release(&f);
}

static bool has_line(const struct buf *lines, const char *line, size_t len)
{
    for (const char *at = buf_str(lines); *at; at += strcspn(at, "\n") + 1)
        if (strcspn(at, "\n") == len && strncmp(at, line, len) == 0)
            return true;
    return false;
}

// The folders of packages with libraries that it has opened, by proc_pid_maps(5): each path begins
// with the line's first slash.
static void find_opened(pid_t pid, struct buf *out)
{
    static const char *const names[] = {"/site-packages/", "/dist-packages/"};
    struct buf maps = {0};
    if (!read_proc(pid, "maps", &maps))
        buf_reset(&maps);
    char *cursor = maps.data;
    for (const char *line; cursor && (line = text_line(&cursor));) {
        const char *path = strchr(line, '/');
        for (size_t i = 0; path && i < sizeof names / sizeof *names; i++) {
            const char *at = strstr(path, names[i]);
            size_t len = at ? (size_t)(at - path) + strlen(names[i]) - 1 : 0;
            if (len > 0 && !has_line(out, path, len)) {
                buf_add(out, path, len);
                buf_addc(out, '\n');
            }
        }
    }
    buf_release(&maps);
}

static int describe(struct interpreter *it, struct tree *tree, struct found *f,
                    struct run_code *code, struct err *err)
{
    struct buf folder = {0}, environment = {0}, opened = {0}, known = {0};
    char *words[WORDS_MOST + 1];
    int rc = 0;
    find_opened(f->pid, &opened);
    buf_printf(&known, "%s\n%s", buf_str(&f->file), buf_str(&opened));
    buf_add(&known, f->arguments.data, f->arguments.len); // a process may become another program
    bool is_new = it->known.len != known.len || memcmp(it->known.data, known.data, known.len) != 0;
    if (is_new && tree_link(tree, &folder, "/proc/%d/cwd", (int)f->pid) &&
        read_proc(f->pid, "environ", &environment)) {
        split(&f->arguments, words);
        buf_addc(&environment, '\0');
        const struct python_place place = {.program = words[0],
                                           .folder = buf_str(&folder),
                                           .environment = buf_str(&environment),
                                           .running = buf_str(&f->file),
                                           .opened = buf_str(&opened)};
        rc = environment.failed || opened.failed || known.failed
                 ? err_memory(err)
                 : code_observe(words, &place, code, err);
        buf_release(&it->known);
        it->known = known;
        known = (struct buf){0};
    }
    buf_release(&folder);
    buf_release(&environment);
    buf_release(&opened);
    buf_release(&known);
    return rc;
}

int interpreter_look(struct interpreter *it, const struct child *child, int64_t start_ns, bool now,
                     struct run_code *code, struct err *err)
{
    int64_t now_ns = clock_now_ns(), passed_ns = now_ns - start_ns;
    struct tree tree = {.root = ""};
    struct child_process *list = NULL;
    struct found best = {0};
    if (!now && (passed_ns < FIRST_MS * NS_PER_MS || now_ns < it->due_ns))
        return 0;
    it->due_ns = now_ns + passed_ns / 2;
    int count = child_list(child, &list);
    for (int i = 0; i < count; i++)
        consider(&tree, &list[i], &best);
    int rc = count == ERR_MEMORY ? err_memory(err)
             : best.pid > 0      ? describe(it, &tree, &best, code, err)
                                 : 0;
    if (rc == 0)
        rc = tree_check(&tree, err);
    found_release(&best);
    free(list);
    return rc;
}

void interpreter_release(struct interpreter *it)
{
    buf_release(&it->known);
}
