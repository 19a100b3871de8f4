// SPDX-License-Identifier: Apache-2.0
#include "measure/code.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/proc.h"
#include "base/sha256.h"
#include "base/tree.h"
#include "record/run.h"

enum { GIT_FILE_MAX = 4 << 20, GIT_MS = 1000 };

// Reads a small file; its white space at the end is dropped.
static bool read_small(const char *folder, const char *name, struct buf *out)
{
    SCOPED(buf_release) struct buf path = {0};
    buf_printf(&path, "%s/%s", folder, name);
    buf_reset(out);
    bool good = !path.failed && fs_is_file(buf_str(&path)) &&
                fs_read(buf_str(&path), GIT_FILE_MAX, out, NULL) == 0;
    buf_trim(out);
    return good && out->len > 0 && !out->failed;
}

// The folder .git of a work tree; in others (git worktree, submodules) it is a file that names it.
static bool find_git(const char *here, struct buf *git)
{
    char at[PATH_MAX];
    SCOPED(buf_release) struct buf text = {0};
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
    SCOPED(buf_release) struct buf text = {0};
    if (read_small(git, "commondir", &text))
        buf_printf(common, "%s%s%s", text.data[0] == '/' ? "" : git, text.data[0] == '/' ? "" : "/",
                   buf_str(&text));
    else
        buf_adds(common, git);
}

static bool find_commit(const char *git, struct buf *out)
{
    SCOPED(buf_release) struct buf common = {0}, text = {0};
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
    SCOPED(proc_result_release) struct proc_result result = {0};
    struct maybe_bool dirty = {0};
    if (proc_start_call(&proc, run_git, (void *)(uintptr_t)folder, &options, NULL) == 0 &&
        proc_finish(&proc, &result, NULL) == 0 && result.exited && result.exit_code == 0)
        dirty = some_bool(result.out.len > 0);
    return dirty;
}

// Sets `commit` and `dirty` of `code` if the folder (an absolute path) is in a work tree.
static int git_describe(const char *folder, struct run_code *code, struct err *err)
{
    SCOPED(buf_release) struct buf git = {0}, commit = {0};
    if (strlen(folder) < PATH_MAX && find_git(folder, &git) &&
        find_commit(buf_str(&git), &commit)) {
        TRY(text_set(&code->commit, buf_str(&commit), err));
        code->dirty = is_dirty(folder);
    }
    return 0;
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
    SCOPED(buf_release) struct buf git = {0}, common = {0}, config = {0};
    char real[PATH_MAX];
    if (strlen(folder) < PATH_MAX && find_git(folder, &git)) {
        find_common(buf_str(&git), &common);
        bool known =
            read_small(buf_str(&common), "config", &config) && find_origin(buf_str(&config), name);
        if (!known && realpath(buf_str(&common), real))
            add_last_part(real, strlen(real), name);
    }
}

// ---- The command

enum { SCRIPT_MAX = 16 << 20 };

// ---- the parts of a command line

// Programs that start the script among their arguments: with the next program there, with their own
// Python, or with one that they choose.
enum starter { NO_STARTER, WRAPPER, SHELL, PYTHON, LAUNCHER, MANAGER };
static const struct {
    enum starter is;
    const char *names;
} starters[] = {
    {SHELL, "sh bash zsh dash"},
    {WRAPPER, "nohup nice ionice time timeout stdbuf taskset numactl setsid chrt srun mpirun "
              "mpiexec nsys ncu xvfb-run"},
    {LAUNCHER, "torchrun accelerate deepspeed horovodrun composer coverage kernprof ipython"},
    {MANAGER, "uv poetry pdm pipenv conda mamba sudo"},
};

struct code_parts {
    const char *program; // behind `env` and its variables
    enum starter starter;
    const char *script, *module; // null: none
    size_t script_len;
    bool elsewhere;     // relative to a folder that is not known
    const char *python; // null: unknown
    bool launches;      // a Python that only starts another one
};

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static enum starter starter_of(const char *word)
{
    const char *name = base_of(word);
    if (strncmp(name, "python", 6) == 0 || strncmp(name, "pypy", 4) == 0)
        return PYTHON;
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++)
        if (text_has_word(starters[i].names, name, ' '))
            return starters[i].is;
    return NO_STARTER;
}

// `python -m accelerate.commands.launch train.py`, `python /bin/torchrun train.py`: the script is
// yet to come.
static bool is_launcher(const char *word, bool module)
{
    char name[32];
    word = module ? word : base_of(word);
    snprintf(name, sizeof name, "%.*s", (int)(module ? strcspn(word, ".") : strlen(word)), word);
    enum starter is = starter_of(name);
    return is == LAUNCHER || is == MANAGER ||
           (module && strncmp(word, "torch.distributed.", 18) == 0);
}

static bool ends_in_py(const char *word, size_t len)
{
    return len > 3 && strncmp(word + len - 3, ".py", 3) == 0;
}

static void set_script(struct code_parts *p, const char *word, size_t len)
{
    p->script = word;
    p->script_len = len;
}

// The first script in the text after `sh -c`, which may change the folder before.
static void in_text(struct code_parts *p, const char *text)
{
    static const char ends[] = " \t\n;&|()'\"=";
    for (text += strspn(text, ends); *text && !p->script; text += strspn(text, ends)) {
        size_t len = strcspn(text, ends);
        if (ends_in_py(text, len))
            set_script(p, text, len);
        p->elsewhere |= !p->script && len == 2 && strncmp(text, "cd", 2) == 0;
        text += len;
    }
}

static bool takes_value(enum starter starter, const char *option)
{
    return (starter == PYTHON && (strcmp(option, "-W") == 0 || strcmp(option, "-X") == 0)) ||
           (starter == SHELL && strcmp(option, "-o") == 0);
}

// The program text is an argument (`sh -c TEXT`) or standard input (`python -`): all other
// arguments are the program's.
static bool has_no_script(enum starter starter, const char *word)
{
    size_t len = strlen(word);
    bool code = word[0] == '-' && len < 5 && word[len - 1] == 'c';
    return (starter == SHELL && (code || strcmp(word, "-s") == 0)) ||
           (starter == PYTHON && (code || strcmp(word, "-") == 0));
}

// Behind `env`, its options and its variables.
static size_t behind_env(char *const *argv)
{
    size_t i = strcmp(base_of(argv[0]), "env") == 0 ? 1 : 0;
    while (i > 0 && argv[i] && (argv[i][0] == '-' || strchr(argv[i], '=')))
        i += strcmp(argv[i], "-u") == 0 && argv[i + 1] ? 2 : 1;
    return argv[i] ? i : 0;
}

// The module or script that a Python is to run: a launcher takes another one among its arguments.
static void set_runs(struct code_parts *p, enum starter *now, const char *word, bool module)
{
    if (*now == PYTHON && is_launcher(word, module)) {
        *now = LAUNCHER;
        p->launches = true;
    } else if (module) {
        p->module = word;
    } else {
        set_script(p, word, strlen(word));
    }
}

static void take_apart(char *const *argv, struct code_parts *p)
{
    size_t i = behind_env(argv);
    *p = (struct code_parts){.program = argv[i], .starter = starter_of(argv[i])};
    enum starter now = p->starter; // changes in `nice python train.py`
    p->python = now == PYTHON || now == LAUNCHER || now == NO_STARTER ? argv[i] : NULL;
    if (now == NO_STARTER && ends_in_py(argv[i], strlen(argv[i])))
        set_script(p, argv[i], strlen(argv[i]));
    while (now != NO_STARTER && !p->script && !p->module && argv[++i]) {
        const char *word = argv[i];
        size_t len = strlen(word);
        if (now == WRAPPER && starter_of(word) != NO_STARTER) {
            now = starter_of(word);
            p->python = now == PYTHON || now == LAUNCHER ? word : NULL;
        } else if (has_no_script(now, word)) {
            if (now == SHELL && argv[i + 1])
                in_text(p, argv[i + 1]);
            return;
        } else if (strcmp(word, "-m") == 0 && argv[i + 1] && now != SHELL && now != WRAPPER) {
            set_runs(p, &now, argv[++i], true);
        } else if (strncmp(word, "-m", 2) == 0 && len > 2 && now == PYTHON) {
            set_runs(p, &now, word + 2, true);
        } else if (takes_value(now, word) && argv[i + 1]) {
            i++;
        } else if (word[0] != '-' && !strchr(word, '=') &&
                   (ends_in_py(word, len) || now == SHELL || now == PYTHON)) {
            set_runs(p, &now, word, false);
        }
    }
}

int code_name(char *const *argv, char **name, struct err *err)
{
    struct code_parts p;
    SCOPED(buf_release) struct buf path = {0}, text = {0};
    take_apart(argv, &p);
    if (p.script)
        buf_add(&path, p.script, p.script_len);
    else
        buf_adds(&path, p.module ? p.module : p.program);
    const char *base = p.module ? buf_str(&path) : base_of(buf_str(&path));
    size_t len = strlen(base);
    buf_add(&text, base, ends_in_py(base, len) ? len - 3 : len);
    text.failed |= path.failed;
    return text_take(name, &text, err);
}

bool code_launches(char *const *argv)
{
    struct code_parts p;
    take_apart(argv, &p);
    return p.launches;
}

// ---- the script

// Whether the file at folder/name is a script; one without a known ending must begin with #!.
static bool read_script(const char *folder, const char *name, bool marked, struct buf *path,
                        struct buf *text)
{
    buf_reset(path);
    buf_reset(text);
    buf_printf(path, "%s%s%s", name[0] == '/' ? "" : folder, name[0] == '/' ? "" : "/", name);
    return !path->failed && fs_is_file(buf_str(path)) &&
           fs_read(buf_str(path), SCRIPT_MAX, text, NULL) == 0 &&
           (!marked || strncmp(buf_str(text), "#!", 2) == 0);
}

// Finds what the command runs and reads it: a script, the file of a module, or a program that is a
// script. `name`: as the command says, or the module's path.
static bool find_script(const struct code_parts *p, const char *folder, struct buf *name,
                        struct buf *path, struct buf *text)
{
    static const char *const ends[] = {".py", "/__main__.py"};
    bool program = p->starter == NO_STARTER && strchr(p->program, '/');
    for (size_t i = 0; p->module && !p->script && i < sizeof ends / sizeof *ends; i++) {
        buf_reset(name);
        for (const char *at = p->module; *at; at++)
            buf_addc(name, *at == '.' ? '/' : *at);
        buf_adds(name, ends[i]);
        if (!name->failed && read_script(folder, buf_str(name), false, path, text))
            return true;
    }
    if ((!p->script && !program) || (p->elsewhere && p->script[0] != '/'))
        return false;
    buf_reset(name);
    buf_add(name, p->script ? p->script : p->program,
            p->script ? p->script_len : strlen(p->program));
    return !name->failed && read_script(folder, buf_str(name), !p->script, path, text);
}

// The training loop of a library, or the framework of its own one, as share/estimate/launches.csv
// names it; null: none is seen.
static const char *loop_of(const char *script)
{
    bool trainer = strstr(script, "transformers") && strstr(script, "Trainer(") &&
                   !strstr(script, "lightning"); // which has a Trainer too
    bool torch = strstr(script, "import torch") || strstr(script, "from torch");
    bool others = strstr(script, "jax") || strstr(script, "tensorflow") || strstr(script, "keras");
    return trainer ? "transformers.Trainer" : torch && !others ? "pytorch" : NULL;
}

// And the commit of its folder, which may be another one's.
static int describe_script(const struct code_parts *p, const char *folder, struct run_code *code,
                           struct err *err)
{
    SCOPED(buf_release) struct buf name = {0}, path = {0}, text = {0};
    char sum[SHA256_HEX_BYTES];
    if (!find_script(p, folder, &name, &path, &text))
        return 0;
    sha256_hex_of(buf_str(&text), text.len, sum);
    TRY(TEXTS_SET(err, {&code->script, buf_str(&name)}, {&code->script_sha256, sum},
                  {&code->loop, loop_of(buf_str(&text))}));
    SCOPED(free_pointer) char *real = realpath(buf_str(&path), NULL);
    if (!real)
        return 0;
    *strrchr(real, '/') = '\0';
    return git_describe(real, code, err);
}

// ---- together

int code_describe(char *const *argv, struct run_code *code, struct err *err)
{
    struct code_parts p;
    struct buf folder = {0};
    char here[PATH_MAX];
    take_apart(argv, &p);
    if (getcwd(here, sizeof here) && here[0] == '/') {
        folder_short(&folder, here);
        TRY(text_take(&code->folder, &folder, err));
        TRY(describe_script(&p, here, code, err));
        if (!code->commit)
            TRY(git_describe(here, code, err));
    }
    const struct python_place place = {.program = p.python};
    return p.python ? python_describe(&place, code, err) : 0;
}

int code_observe(char *const *argv, const struct python_place *place, struct run_code *code,
                 struct err *err)
{
    struct code_parts p;
    SCOPED(run_release) struct run seen = {0};
    int rc = python_describe(place, &seen.code, err);
    take_apart(argv, &p);
    if (rc == 0 && !code->script)
        rc = describe_script(&p, place->folder, code, err);
    if (rc == 0 && seen.code.python) {
        const struct run_code before = *code;
        code->interpreter = seen.code.interpreter;
        code->python = seen.code.python;
        code->packages = seen.code.packages;
        seen.code.interpreter = before.interpreter;
        seen.code.python = before.python;
        seen.code.packages = before.packages;
    }
    return rc;
}
