// SPDX-License-Identifier: Apache-2.0
#include "measure/code.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/proc.h"
#include "base/sha256.h"
#include "measure/python.h"

enum { SCRIPT_MAX = 16 << 20, GIT_FILE_MAX = 4 << 20, GIT_MS = 1000 };

// ---- the parts of a command line

// Programs that start the script among their arguments: with the next program there, with their own
// Python, or with one that they choose.
enum starter { NO_STARTER, WRAPPER, SHELL, PYTHON, LAUNCHER, MANAGER };
static const struct {
    const char *name;
    enum starter is;
} starters[] = {
    {"sh", SHELL},           {"bash", SHELL},
    {"zsh", SHELL},          {"dash", SHELL},
    {"nohup", WRAPPER},      {"nice", WRAPPER},
    {"ionice", WRAPPER},     {"time", WRAPPER},
    {"timeout", WRAPPER},    {"stdbuf", WRAPPER},
    {"taskset", WRAPPER},    {"numactl", WRAPPER},
    {"setsid", WRAPPER},     {"chrt", WRAPPER},
    {"srun", WRAPPER},       {"mpirun", WRAPPER},
    {"mpiexec", WRAPPER},    {"nsys", WRAPPER},
    {"ncu", WRAPPER},        {"xvfb-run", WRAPPER},
    {"torchrun", LAUNCHER},  {"accelerate", LAUNCHER},
    {"deepspeed", LAUNCHER}, {"horovodrun", LAUNCHER},
    {"composer", LAUNCHER},  {"coverage", LAUNCHER},
    {"kernprof", LAUNCHER},  {"ipython", LAUNCHER},
    {"uv", MANAGER},         {"poetry", MANAGER},
    {"pdm", MANAGER},        {"pipenv", MANAGER},
    {"conda", MANAGER},      {"mamba", MANAGER},
    {"sudo", MANAGER},
};

struct parts {
    const char *program; // behind `env` and its variables
    enum starter starter;
    const char *script, *module; // null: none
    size_t script_len;
    const char *python; // null: unknown
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
        if (strcmp(starters[i].name, name) == 0)
            return starters[i].is;
    return NO_STARTER;
}

static bool ends_in_py(const char *word, size_t len)
{
    return len > 3 && strncmp(word + len - 3, ".py", 3) == 0;
}

static void set_script(struct parts *p, const char *word, size_t len)
{
    p->script = word;
    p->script_len = len;
}

// The first script in the text after `sh -c`.
static void in_text(struct parts *p, const char *text)
{
    static const char ends[] = " \t\n;&|()'\"=";
    for (text += strspn(text, ends); *text && !p->script; text += strspn(text, ends)) {
        size_t len = strcspn(text, ends);
        if (ends_in_py(text, len))
            set_script(p, text, len);
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

static void take_apart(char *const *argv, struct parts *p)
{
    size_t i = behind_env(argv);
    *p = (struct parts){.program = argv[i], .starter = starter_of(argv[i])};
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
            p->module = argv[i + 1];
        } else if (strncmp(word, "-m", 2) == 0 && len > 2 && now == PYTHON) {
            p->module = word + 2;
        } else if (takes_value(now, word) && argv[i + 1]) {
            i++;
        } else if (word[0] != '-' && !strchr(word, '=') &&
                   (ends_in_py(word, len) || now == SHELL || now == PYTHON)) {
            set_script(p, word, len);
        }
    }
}

int code_name(char *const *argv, char **name, struct err *err)
{
    struct parts p;
    struct buf path = {0}, text = {0};
    take_apart(argv, &p);
    if (p.script)
        buf_add(&path, p.script, p.script_len);
    else
        buf_adds(&path, p.module ? p.module : p.program);
    const char *base = p.module ? buf_str(&path) : base_of(buf_str(&path));
    size_t len = strlen(base);
    buf_add(&text, base, ends_in_py(base, len) ? len - 3 : len);
    text.failed |= path.failed;
    buf_release(&path);
    return text_take(name, &text, err);
}

// A pipe must not be read: its bytes are the command's.
static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

// ---- git

// Reads a small file; its white space at the end is dropped.
static bool read_small(const char *folder, const char *name, struct buf *out)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", folder, name);
    buf_reset(out);
    bool good = !path.failed && is_file(buf_str(&path)) &&
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

static bool find_commit(const char *git, struct buf *out)
{
    struct buf common = {0}, text = {0};
    char name[PATH_MAX] = "";
    bool good = read_small(git, "HEAD", out);
    if (good && strncmp(buf_str(out), "ref: ", 5) == 0) {
        // A further work tree has only its HEAD; the references are in the main one's folder.
        if (read_small(git, "commondir", &text))
            buf_printf(&common, "%s%s%s", text.data[0] == '/' ? "" : git,
                       text.data[0] == '/' ? "" : "/", buf_str(&text));
        else
            buf_adds(&common, git);
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
    (void)context;
    setenv("GIT_OPTIONAL_LOCKS", "0", 1);
    setenv("GIT_NO_LAZY_FETCH", "1", 1);
    execlp("git", "git", "-c", "core.fsmonitor=false", "status", "--porcelain",
           "--untracked-files=no", "--ignore-submodules=all", (char *)NULL);
    return 127;
}

static struct maybe_bool is_dirty(void)
{
    const struct proc_options options = {.timeout_ms = GIT_MS};
    struct proc proc = {0};
    struct proc_result result = {0};
    struct maybe_bool dirty = {0};
    if (proc_start_call(&proc, run_git, NULL, &options, NULL) == 0 &&
        proc_finish(&proc, &result, NULL) == 0 && result.exited && result.exit_code == 0)
        dirty = some_bool(result.out.len > 0);
    proc_result_release(&result);
    return dirty;
}

static int describe_git(const char *here, struct run_code *code, struct err *err)
{
    struct buf git = {0}, commit = {0};
    int rc = 0;
    if (find_git(here, &git) && find_commit(buf_str(&git), &commit)) {
        rc = text_set(&code->commit, buf_str(&commit), err);
        code->dirty = is_dirty();
    }
    buf_release(&git);
    buf_release(&commit);
    return rc;
}

// ---- the script

static int describe_script(const struct parts *p, struct run_code *code, struct err *err)
{
    struct buf path = {0}, text = {0};
    char sum[SHA256_HEX_BYTES];
    buf_add(&path, p->script, p->script_len);
    int rc = buf_check(&path, err);
    if (rc == 0 && is_file(buf_str(&path)) &&
        fs_read(buf_str(&path), SCRIPT_MAX, &text, NULL) == 0) {
        sha256_hex_of(buf_str(&text), text.len, sum);
        rc = TEXTS_SET(err, {&code->script, buf_str(&path)}, {&code->script_sha256, sum});
    }
    buf_release(&path);
    buf_release(&text);
    return rc;
}

// ---- together

static int set_folder(const char *here, struct run_code *code, struct err *err)
{
    const char *home = getenv("HOME");
    size_t len = home ? strlen(home) : 0;
    bool within = len > 1 && strncmp(here, home, len) == 0 && (here[len] == '/' || !here[len]);
    struct buf folder = {0};
    buf_printf(&folder, "%s%s", within ? "~" : "", here + (within ? len : 0));
    return text_take(&code->folder, &folder, err);
}

int code_describe(char *const *argv, struct run_code *code, struct err *err)
{
    struct parts p;
    char here[PATH_MAX];
    take_apart(argv, &p);
    if (getcwd(here, sizeof here) && here[0] == '/') {
        TRY(set_folder(here, code, err));
        TRY(describe_git(here, code, err));
    }
    if (p.script)
        TRY(describe_script(&p, code, err));
    return p.python ? python_describe(p.python, code, err) : 0;
}
