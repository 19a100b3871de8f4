// SPDX-License-Identifier: Apache-2.0
// Packages are found as importlib.metadata finds them: by the names of *.dist-info folders, in the
// order of sys.path (docs.python.org/3/library/site.html); libraries of conda by its own list. The
// version of Python itself is a string in its executable or library.
#include "measure/python.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/tree.h"
#include "follow/trace/worker.h"
#include "measure/code.h"

enum { BINARY_MAX = 60 << 20, SMALL_MAX = 1 << 20, VERSION_BYTES = 48 };

// The packages to note, and the names they are shown with. A name of NVIDIA's may end in CUDA's
// major version: nvidia-cudnn-cu12.
static const struct {
    const char *name, *shown;
} packages[] = {
    {"torch", "torch"},
    {"tensorflow", "tensorflow"},
    {"tensorflow_cpu", "tensorflow-cpu"},
    {"jax", "jax"},
    {"jaxlib", "jaxlib"},
    {"keras", "keras"},
    {"flax", "flax"},
    {"mxnet", "mxnet"},
    {"paddlepaddle", "paddlepaddle"},
    {"paddlepaddle_gpu", "paddlepaddle-gpu"},
    {"lightning", "lightning"},
    {"pytorch_lightning", "pytorch-lightning"},
    {"transformers", "transformers"},
    {"accelerate", "accelerate"},
    {"deepspeed", "deepspeed"},
    {"xgboost", "xgboost"},
    {"lightgbm", "lightgbm"},
    {"scikit_learn", "scikit-learn"},
    {"nvidia_cuda_runtime", "CUDA"},
    {"cuda_cudart", "CUDA"}, // conda's names
    {"cudatoolkit", "CUDA"},
    {"nvidia_cudnn", "cuDNN"},
    {"cudnn", "cuDNN"},
    {"nvidia_nccl", "NCCL"},
    {"nccl", "NCCL"},
};
enum { PACKAGES = sizeof packages / sizeof *packages };

struct python_found {
    char version[VERSION_BYTES];
    int place; // the first one counts; 0: not found
};

struct python {
    const struct python_place *place;
    char program[PATH_MAX]; // as found: that of a virtual environment is a link
    char real[PATH_MAX];
    int major, minor;
    struct python_found found[PACKAGES];
    int places;
};

// ---- the program

// A variable of its environment.
static const char *variable(const struct python_place *place, const char *name)
{
    return place->environment ? worker_block(place->environment, name) : getenv(name);
}

static bool find_program(const struct python_place *place, const char *name, char out[PATH_MAX])
{
    const char *path = variable(place, "PATH"), *folder = place->folder;
    bool below = folder && name[0] != '/';
    if (strchr(name, '/'))
        return snprintf(out, PATH_MAX, "%s%s%s", below ? folder : "", below ? "/" : "", name) <
                   PATH_MAX &&
               access(out, X_OK) == 0;
    while (path && *path) {
        size_t len = strcspn(path, ":");
        if (len < PATH_MAX && snprintf(out, PATH_MAX, "%.*s/%s", (int)len, path, name) < PATH_MAX &&
            access(out, X_OK) == 0)
            return true;
        path += len + (path[len] == ':');
    }
    return false;
}

// by its name
static bool python_is(const char *program)
{
    const char *slash = strrchr(program, '/');
    return strncmp(slash ? slash + 1 : program, "python", 6) == 0;
}

// Reads a regular file: a pipe's bytes would be the command's.
static bool read_file(const char *path, size_t max, struct buf *out)
{
    return fs_is_file(path) && fs_read(path, max, out, NULL) == 0;
}

// Follows "#!/venv/bin/python3 -u" and "#!/usr/bin/env python3".
static bool follow_script(const struct python_place *place, const char *script, char out[PATH_MAX])
{
    SCOPED(buf_release) struct buf text = {0};
    if (!read_file(script, SMALL_MAX, &text) || strncmp(buf_str(&text), "#!", 2) != 0)
        return false;
    char *line = text.data + 2, *rest;
    line[strcspn(line, "\n")] = '\0';
    const char *word = strtok_r(line, " \t", &rest);
    const char *slash = word ? strrchr(word, '/') : NULL;
    if (slash && strcmp(slash, "/env") == 0)
        do
            word = strtok_r(NULL, " \t", &rest);
        while (word && word[0] == '-');
    return word && python_is(word) && find_program(place, word, out);
}

// A virtual environment's Python is a link to another one: what runs does not tell which link was
// used. The interpreter goes by its first argument, and so does this, if that leads to what runs.
static bool find_running(const struct python_place *place, struct python *p)
{
    const char *environment = variable(place, "VIRTUAL_ENV");
    const bool named = find_program(place, place->program, p->program);
    if (named && realpath(p->program, p->real) && strcmp(p->real, place->running) == 0)
        return true;
    if (environment && snprintf(p->program, PATH_MAX, "%s/bin/python", environment) < PATH_MAX &&
        realpath(p->program, p->real) && strcmp(p->real, place->running) == 0)
        return true;
    snprintf(p->program, PATH_MAX, "%s", place->running);
    return realpath(p->program, p->real) != NULL;
}

static bool find_python(const struct python_place *place, struct python *p)
{
    char script[PATH_MAX];
    if (place->running)
        return find_running(place, p);
    if (!find_program(place, place->program, script))
        return false;
    if (python_is(script))
        memcpy(p->program, script, sizeof script);
    else if (!follow_script(place, script, p->program))
        return false;
    return realpath(p->program, p->real) != NULL;
}

// ---- its version

// A binary has "3.11.2" as a string. Linkers keep a string that is the end of another one only
// there: in ".../Python-3.11.2", say.
static bool version_in(const char *path, const struct python *p, char out[VERSION_BYTES])
{
    char start[32];
    size_t len = (size_t)snprintf(start, sizeof start, "%d.%d.", p->major, p->minor);
    SCOPED(buf_release) struct buf bytes = {0};
    bool found = false, alone = false;
    if (read_file(path, BINARY_MAX, &bytes)) {
        const char *at = bytes.data, *end = bytes.data + bytes.len;
        while (!alone && at && (at = memmem(at, (size_t)(end - at), start, len))) {
            size_t digits = strspn(at + len, "0123456789");
            size_t all = len + digits + strspn(at + len + digits, "abcr0123456789+");
            char before = at > bytes.data ? at[-1] : '.';
            bool whole = digits > 0 && at[all] == '\0' && all < VERSION_BYTES;
            alone = whole && before == '\0';
            if (alone || (whole && !found && strchr("/- ", before)))
                memcpy(out, at, all + 1);
            found |= alone || (whole && strchr("/- ", before));
            at += len;
        }
    }
    return found;
}

static void find_version(const struct python *p, char out[VERSION_BYTES])
{
    static const char *const folders[] = {"lib", "lib64"};
    char path[PATH_MAX + 64];
    const char *bin = strstr(p->real, "/bin/");
    if (version_in(p->real, p, out))
        return;
    for (size_t i = 0; bin && i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%.*s/%s/libpython%d.%d.so.1.0", (int)(bin - p->real), p->real,
                 folders[i], p->major, p->minor);
        if (version_in(path, p, out))
            return;
    }
    snprintf(out, VERSION_BYTES, "%d.%d", p->major, p->minor);
}

// ---- its packages

static bool is_package(const char *name, size_t number)
{
    size_t len = strlen(packages[number].name);
    bool nvidia = strncmp(packages[number].name, "nvidia_", 7) == 0;
    return strncmp(name, packages[number].name, len) == 0 &&
           (name[len] == '\0' || (nvidia && strncmp(name + len, "_cu", 3) == 0 &&
                                  isdigit((unsigned char)name[len + 3])));
}

static void note_package(struct python *p, const char *name, size_t name_len, const char *version,
                         size_t len)
{
    char plain[64];
    if (name_len >= sizeof plain || len == 0 || len >= VERSION_BYTES)
        return;
    for (size_t i = 0; i < name_len; i++)
        plain[i] = name[i] == '-' || name[i] == '.' ? '_' : (char)tolower((unsigned char)name[i]);
    plain[name_len] = '\0';
    for (size_t i = 0; i < PACKAGES; i++) {
        struct python_found *found = &p->found[i];
        char text[VERSION_BYTES];
        snprintf(text, sizeof text, "%.*s", (int)len, version);
        if (!is_package(plain, i) || (found->place > 0 && found->place < p->places) ||
            (found->place == p->places && strverscmp(found->version, text) >= 0))
            continue;
        memcpy(found->version, text, sizeof text);
        found->place = p->places;
    }
}

// "NAME-VERSION.dist-info", "NAME-VERSION-py3.11.egg-info"; conda's "NAME-VERSION-BUILD.json".
static void note_entry(struct python *p, const char *entry)
{
    const char *dash = strchr(entry, '-'), *dot = strrchr(entry, '.');
    if (!dash || !dot || dash > dot)
        return;
    if (strcmp(dot, ".dist-info") == 0 || strcmp(dot, ".egg-info") == 0) {
        size_t len = (size_t)(dot - dash - 1), cut = strcspn(dash + 1, "-");
        note_package(p, entry, (size_t)(dash - entry), dash + 1, cut < len ? cut : len);
    } else if (strcmp(dot, ".json") == 0) {
        const char *build = memrchr(entry, '-', (size_t)(dot - entry));
        const char *version = build ? memrchr(entry, '-', (size_t)(build - entry)) : NULL;
        if (version)
            note_package(p, entry, (size_t)(version - entry), version + 1,
                         (size_t)(build - version - 1));
    }
}

static void note_folder(struct python *p, const char *prefix, size_t len, const char *rest)
{
    char path[PATH_MAX];
    p->places++;
    bool fits = len < PATH_MAX &&
                snprintf(path, sizeof path, "%.*s%s", (int)len, prefix, rest) < (int)sizeof path;
    SCOPED(fs_close_folder) DIR *dir = fits ? opendir(path) : NULL;
    for (const char *name; (name = fs_next(dir));)
        note_entry(p, name);
}

// The folders of packages below a prefix, as distributions and Debian call them.
static void note_prefix(struct python *p, const char *prefix, size_t len)
{
    static const char *const forms[][2] = {
        {"/local/lib", "dist-packages"}, {"/lib", "site-packages"}, {"/lib64", "site-packages"}};
    char rest[64];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(rest, sizeof rest, "%s/python%d.%d/%s", forms[i][0], p->major, p->minor,
                 forms[i][1]);
        note_folder(p, prefix, len, rest);
    }
    note_folder(p, prefix, len, "/lib/python3/dist-packages");
    note_folder(p, prefix, len, "/conda-meta");
}

// PREFIX of PREFIX/bin/python3; 0: it has none.
static size_t prefix_of(const char *program)
{
    const char *name = strrchr(program, '/');
    const char *bin = name ? memrchr(program, '/', (size_t)(name - program)) : NULL;
    return bin ? (size_t)(bin - program) : 0;
}

// The settings of a virtual environment (docs.python.org/3/library/venv.html).
static bool read_settings(const char *program, struct buf *out)
{
    SCOPED(buf_release) struct buf path = {0};
    size_t len = prefix_of(program);
    buf_add(&path, program, len);
    buf_adds(&path, "/pyvenv.cfg");
    return len > 0 && !path.failed && read_file(buf_str(&path), SMALL_MAX, out);
}

static void find_packages(struct python *p, bool environment, bool system)
{
    const char *paths = variable(p->place, "PYTHONPATH"), *home = variable(p->place, "HOME");
    for (size_t len; paths && *paths; paths += len + (paths[len] == ':')) {
        len = strcspn(paths, ":");
        if (paths[0] == '/')
            note_folder(p, paths, len, "");
    }
    if (environment)
        note_prefix(p, p->program, prefix_of(p->program));
    char rest[64];
    snprintf(rest, sizeof rest, "/.local/lib/python%d.%d/site-packages", p->major, p->minor);
    if (system && home && !variable(p->place, "PYTHONNOUSERSITE"))
        note_folder(p, home, strlen(home), rest);
    if (system)
        note_prefix(p, p->real, prefix_of(p->real));
    // Folders that come to sys.path in other ways: the environment below that of `uv run --with`.
    for (const char *at = p->place->opened; at && *at; at += strcspn(at, "\n") + 1)
        note_folder(p, at, strcspn(at, "\n"), "");
}

// ---- together

static int add_package(struct run_code *code, const char *name, const char *version,
                       struct err *err)
{
    for (size_t i = 0; i < code->packages.count; i++)
        if (strcmp(code->packages.items[i].name, name) == 0)
            return 0;
    struct run_library *to = LIST_ADD(&code->packages, err);
    return to ? TEXTS_SET(err, {&to->name, name}, {&to->version, version}) : ERR_MEMORY;
}

// "2.4.1+cu121" was built for CUDA 12.1.
static int add_cuda(struct run_code *code, const char *torch, struct err *err)
{
    const char *cu = strstr(torch, "+cu");
    size_t digits = cu ? strspn(cu + 3, "0123456789") : 0;
    char version[VERSION_BYTES];
    if (digits < 2 || digits > 4)
        return 0;
    snprintf(version, sizeof version, "%.*s.%c", (int)digits - 1, cu + 3, cu[2 + digits]);
    return add_package(code, "CUDA", version, err);
}

int python_describe(const struct python_place *place, struct run_code *code, struct err *err)
{
    struct python p = {.place = place};
    SCOPED(buf_release) struct buf settings = {0}, value = {0};
    struct tree tree = {.root = ""};
    char version[VERSION_BYTES];
    if (!find_python(place, &p))
        return 0;
    const char *name = strrchr(p.real, '/');
    bool environment = read_settings(p.program, &settings);
    bool system = !environment || (tree_value(&tree, buf_str(&settings),
                                              "include-system-site-packages", '=', &value) &&
                                   strcmp(buf_str(&value), "true") == 0);
    TRY(tree_check(&tree, err));
    if (sscanf(name, "/python%3d.%3d", &p.major, &p.minor) != 2)
        return 0;
    struct buf interpreter = {0};
    find_version(&p, version);
    find_packages(&p, environment, system);
    TRY(text_set(&code->python, version, err));
    folder_short(&interpreter, p.program);
    TRY(text_take(&code->interpreter, &interpreter, err));
    for (size_t i = 0; i < PACKAGES; i++)
        if (p.found[i].place > 0)
            TRY(add_package(code, packages[i].shown, p.found[i].version, err));
    return add_cuda(code, p.found[0].version, err);
}

// ---- The Python among a command's processes

enum { FIRST_MS = 50, WORDS_MOST = 255, TEXT_MAX = 4 << 20 };

// A Python among the processes.
struct interpreter_found {
    pid_t pid; // 0: none
    int64_t cpu_ticks;
    bool launches;
    struct buf file, arguments; // of /proc/PID: exe, and cmdline with NULs
};

static void found_release(struct interpreter_found *f)
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

static bool is_better(const struct interpreter_found *a, const struct interpreter_found *b)
{
    if (b->pid == 0 || a->launches != b->launches)
        return b->pid == 0 || b->launches;
    return a->cpu_ticks > b->cpu_ticks;
}

// Processes of other users cannot be read, and are left out.
static void consider(struct tree *tree, const struct child_process *process,
                     struct interpreter_found *best)
{
    SCOPED(found_release)
    struct interpreter_found f = {.pid = process->pid, .cpu_ticks = process->cpu_ticks};
    char *words[WORDS_MOST + 1];
    if (tree_link(tree, &f.file, "/proc/%d/exe", (int)f.pid) && python_is(buf_str(&f.file)) &&
        read_proc(f.pid, "cmdline", &f.arguments) && f.arguments.len > 0) {
        split(&f.arguments, words);
        f.launches = code_launches(words);
        if (is_better(&f, best)) {
            struct interpreter_found other = *best;
            *best = f;
            f = other;
        }
    }
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
    SCOPED(buf_release) struct buf maps = {0};
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
}

static int describe_interpreter(struct interpreter *it, struct tree *tree,
                                struct interpreter_found *f, struct run_code *code, struct err *err)
{
    SCOPED(buf_release) struct buf folder = {0}, environment = {0}, opened = {0};
    SCOPED(buf_release) struct buf known = {0};
    char *words[WORDS_MOST + 1];
    find_opened(f->pid, &opened);
    buf_printf(&known, "%s\n%s", buf_str(&f->file), buf_str(&opened));
    buf_add(&known, f->arguments.data, f->arguments.len); // a process may become another program
    bool is_new = it->known.len != known.len || memcmp(it->known.data, known.data, known.len) != 0;
    if (!is_new || !tree_link(tree, &folder, "/proc/%d/cwd", (int)f->pid) ||
        !read_proc(f->pid, "environ", &environment))
        return 0;
    split(&f->arguments, words);
    buf_addc(&environment, '\0');
    const struct python_place place = {.program = words[0],
                                       .folder = buf_str(&folder),
                                       .environment = buf_str(&environment),
                                       .running = buf_str(&f->file),
                                       .opened = buf_str(&opened)};
    bool failed = environment.failed || opened.failed || known.failed;
    struct buf before = it->known;
    it->known = known;
    known = before;
    return failed ? err_memory(err) : code_observe(words, &place, code, err);
}

int interpreter_look(struct interpreter *it, const struct child *child, int64_t start_ns, bool now,
                     struct run_code *code, struct err *err)
{
    int64_t now_ns = clock_now_ns(), passed_ns = now_ns - start_ns;
    struct tree tree = {.root = ""};
    SCOPED(free_pointer) struct child_process *list = NULL;
    SCOPED(found_release) struct interpreter_found best = {0};
    if (!now && (passed_ns < FIRST_MS * NS_PER_MS || now_ns < it->due_ns))
        return 0;
    it->due_ns = now_ns + passed_ns / 2;
    int count = child_list(child, &list);
    for (int i = 0; i < count; i++)
        consider(&tree, &list[i], &best);
    TRY(count == ERR_MEMORY ? err_memory(err)
        : best.pid > 0      ? describe_interpreter(it, &tree, &best, code, err)
                            : 0);
    return tree_check(&tree, err);
}

void interpreter_release(struct interpreter *it)
{
    buf_release(&it->known);
}
