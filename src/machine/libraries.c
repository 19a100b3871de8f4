// SPDX-License-Identifier: Apache-2.0
#include "machine/libraries.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dl.h"
#include "base/proc.h"
#include "machine/libcuda.h"

enum { KINDS = 3, FILES_PER_KIND = 3, PATH_BYTES = 1024, VERSION_BYTES = 32 };

// File names end in the major version. Versions not yet released are searched too.
static const struct library_kind {
    const char *name, *stem, *package, *call;
    int newest, oldest;
    bool into;  // the call writes an int to an address; else it returns a size_t
    bool heavy; // slow to open
} kinds[KINDS] = {
    {"cuDNN", "libcudnn", "nvidia_cudnn", "cudnnGetVersion", 11, 7, false, false},
    {"cuBLASLt", "libcublasLt", "nvidia_cublas", "cublasLtGetVersion", 15, 10, false, true},
    {"NCCL", "libnccl", "nvidia_nccl", "ncclGetVersion", 3, 2, true, false},
};

struct library_file {
    const struct library_kind *kind;
    int major;
    char path[PATH_BYTES], full[PATH_BYTES]; // on that machine; the same below the tree's root
    char place[PATH_BYTES];                  // the environment or CUDA folder it belongs to
    char package[PATH_BYTES];                // (optional) folder of the package's metadata
    const char *found_by;
    dev_t device;
    ino_t inode;
    char named[VERSION_BYTES]; // version from the file name
    struct proc child;
};

struct libraries {
    struct probe *probe;
    size_t count, of_kind[KINDS];
    struct library_file files[KINDS * FILES_PER_KIND];
};

struct library_place {
    const char *path, *found_by;
    const char *package; // (optional)
};

static bool join_path(char *out, size_t size, const char *a, const char *b)
{
    int len = snprintf(out, size, "%s%s", a, b);
    return len >= 0 && (size_t)len < size;
}

// ---- searching

static void add_file(struct libraries *s, const struct library_place *place, const char *folder,
                     size_t kind, int major)
{
    struct library_file file = {.kind = &kinds[kind], .major = major, .found_by = place->found_by};
    struct stat st;
    char name[64];
    snprintf(name, sizeof name, "/%s.so.%d", kinds[kind].stem, major);
    if (s->of_kind[kind] == FILES_PER_KIND || !join_path(file.path, PATH_BYTES, folder, name) ||
        !join_path(file.full, PATH_BYTES, s->probe->tree.root, file.path) ||
        stat(file.full, &st) != 0 || !S_ISREG(st.st_mode) ||
        !join_path(file.place, PATH_BYTES, place->path, "") ||
        !join_path(file.package, PATH_BYTES, place->package ? place->package : "", ""))
        return;
    for (size_t i = 0; i < s->count; i++) // the same file by another path
        if (s->files[i].device == st.st_dev && s->files[i].inode == st.st_ino)
            return;
    file.device = st.st_dev;
    file.inode = st.st_ino;
    s->files[s->count++] = file;
    s->of_kind[kind]++;
}

static void look_in(struct libraries *s, const char *folder, const struct library_place *place)
{
    for (size_t kind = 0; kind < KINDS; kind++)
        for (int major = kinds[kind].newest; major >= kinds[kind].oldest; major--)
            add_file(s, place, folder, kind, major);
}

static void look_in_plain(struct libraries *s, const char *folder, const char *found_by)
{
    const struct library_place place = {.path = folder, .found_by = found_by};
    look_in(s, folder, &place);
}

// Folders in a search path or in the loader's configuration; only absolute ones count.
static void look_in_each(struct libraries *s, const char *text, const char *separators)
{
    char folder[PATH_BYTES];
    while (text && *text) {
        size_t len = strcspn(text, separators);
        if (*text == '/' && len < sizeof folder) {
            memcpy(folder, text, len);
            folder[len] = '\0';
            look_in_plain(s, folder, "loader");
        }
        text += len;
        text += strspn(text, separators);
    }
}

static void look_in_loader(struct libraries *s)
{
    static const char usual[] =
        "/usr/lib/x86_64-linux-gnu:/usr/lib64:/usr/lib:/lib/x86_64-linux-gnu:/lib64:/lib";
    struct tree *tree = &s->probe->tree;
    SCOPED(buf_release) struct buf names = {0}, text = {0};
    look_in_each(s, env_value(s->probe->env, "LD_LIBRARY_PATH"), ":;");
    if (tree_text(tree, &text, "/etc/ld.so.conf"))
        look_in_each(s, buf_str(&text), " \t\n");
    tree_list(tree, &names, "/etc/ld.so.conf.d");
    char *cursor = names.data;
    for (char *name; (name = text_line(&cursor));)
        if (tree_text(tree, &text, "/etc/ld.so.conf.d/%s", name))
            look_in_each(s, buf_str(&text), " \t\n");
    look_in_each(s, usual, ":");
}

static void look_in_cuda(struct libraries *s, const char *home)
{
    static const char *const parts[] = {"/lib64", "/lib", "/targets/x86_64-linux/lib", NULL};
    const struct library_place place = {.path = home, .found_by = "cuda"};
    char folder[PATH_BYTES];
    for (size_t i = 0; home && *home == '/' && parts[i]; i++)
        if (join_path(folder, sizeof folder, home, parts[i]))
            look_in(s, folder, &place);
}

static void look_in_cudas(struct libraries *s)
{
    SCOPED(buf_release) struct buf names = {0};
    char home[PATH_BYTES];
    look_in_cuda(s, env_value(s->probe->env, "CUDA_HOME"));
    look_in_cuda(s, env_value(s->probe->env, "CUDA_PATH"));
    look_in_cuda(s, "/opt/cuda");
    tree_list(&s->probe->tree, &names, "/usr/local");
    char *cursor = names.data;
    for (char *name; (name = text_line(&cursor));)
        if (strncmp(name, "cuda", 4) == 0 && join_path(home, sizeof home, "/usr/local/", name))
            look_in_cuda(s, home);
    for (size_t i = 0; dl_vendor_dirs[i]; i++)
        look_in_plain(s, dl_vendor_dirs[i], "loader");
}

// NVIDIA's packages install into nvidia/PART/lib.
static void look_in_packages(struct libraries *s, const char *prefix, const char *packages)
{
    const struct library_place place = {.path = prefix, .found_by = "python", .package = packages};
    SCOPED(buf_release) struct buf parts = {0};
    char folder[PATH_BYTES];
    tree_list(&s->probe->tree, &parts, "%s/nvidia", packages);
    char *cursor = parts.data;
    for (char *part; (part = text_line(&cursor));) {
        int len = snprintf(folder, sizeof folder, "%s/nvidia/%s/lib", packages, part);
        if (len > 0 && (size_t)len < sizeof folder)
            look_in(s, folder, &place);
    }
}

static void look_in_python(struct libraries *s, const char *prefix)
{
    static const char *const folders[] = {"site-packages", "dist-packages"};
    SCOPED(buf_release) struct buf names = {0};
    char folder[PATH_BYTES];
    if (!prefix || *prefix != '/')
        return;
    const struct library_place place = {.path = prefix, .found_by = "python"};
    if (join_path(folder, sizeof folder, prefix, "/lib")) // conda
        look_in(s, folder, &place);
    tree_list(&s->probe->tree, &names, "%s/lib", prefix);
    char *cursor = names.data;
    for (char *name; (name = text_line(&cursor));)
        for (size_t i = 0; strncmp(name, "python3", 7) == 0 && i < 2; i++) {
            int len = snprintf(folder, sizeof folder, "%s/lib/%s/%s", prefix, name, folders[i]);
            if (len > 0 && (size_t)len < sizeof folder)
                look_in_packages(s, prefix, folder);
        }
}

// "/opt/env/bin/python3" → "/opt/env".
static void look_around(struct libraries *s, char *program)
{
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(program, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
    look_in_python(s, program);
}

// The first python3 in PATH, and the file it links to. Starting it would take too long.
static void look_in_path(struct libraries *s)
{
    const char *root = s->probe->tree.root, *path = env_value(s->probe->env, "PATH");
    char program[PATH_BYTES], full[PATH_BYTES], real[PATH_MAX];
    while (path && *path) {
        size_t len = strcspn(path, ":");
        int wrote = snprintf(program, sizeof program, "%.*s/python3", (int)len, path);
        path += len + (path[len] == ':');
        if (*program != '/' || (size_t)wrote >= sizeof program ||
            !join_path(full, sizeof full, root, program) || access(full, X_OK) != 0)
            continue;
        look_around(s, program);
        if (realpath(full, real) && strncmp(real, root, strlen(root)) == 0)
            look_around(s, real + strlen(root));
        return;
    }
}

static void search_all(struct libraries *s)
{
    char home[PATH_BYTES];
    look_in_loader(s);
    look_in_cudas(s);
    look_in_python(s, env_value(s->probe->env, "VIRTUAL_ENV"));
    look_in_python(s, env_value(s->probe->env, "CONDA_PREFIX"));
    look_in_path(s);
    look_in_python(s, "/usr/local"); // where Debian's own python3 installs packages
    const char *user = env_value(s->probe->env, "HOME");
    if (user && join_path(home, sizeof home, user, "/.local"))
        look_in_python(s, home);
}

// ---- querying

// Runs in the child. The library's own output is discarded.
static int query_version(void *file_)
{
    struct library_file *file = file_;
    union {
        size_t (*give)(void);
        int (*write)(int *);
    } api = {0};
    const struct dl_symbol symbol = {file->kind->call, 0, DL_REQUIRED};
    const char *const names[] = {file->full, NULL};
    const struct dl_spec spec = {
        .what = file->kind->name, .names = names, .symbols = &symbol, .symbol_count = 1};
    struct dl dl;
    struct err err = {0};
    int answer = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (answer < 0 || nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0 ||
        dup2(nowhere, STDERR_FILENO) < 0)
        return 1;
    if (dl_open(&dl, &spec, &api, &err) != 0) {
        dprintf(answer, "problem %s\n", err.text);
        return 1;
    }
    int number = 0;
    if (file->kind->into && api.write(&number) != 0)
        return 1;
    dprintf(answer, "version %lld\n", file->kind->into ? (long long)number : (long long)api.give());
    return 0;
}

void library_version(int64_t number, int major, char *out, size_t size)
{
    int64_t minor = number / 100 % 100, above = number / 10000;
    out[0] = '\0';
    if (above != major) {
        minor = number / 100 - 10 * (int64_t)major;
        above = minor >= 0 && minor < 100 ? major : -1;
    }
    if (number > 0 && above == major)
        snprintf(out, size, "%d.%d.%d", major, (int)minor, (int)(number % 100));
}

// Takes "9.19.0.56" from the text, if its major version is right.
static void version_from(const char *text, int major, char *out)
{
    char *end;
    size_t len = strspn(text, "0123456789.");
    while (len > 0 && text[len - 1] == '.')
        len--;
    if (strtol(text, &end, 10) == major && end < text + len && len < VERSION_BYTES) {
        memcpy(out, text, len);
        out[len] = '\0';
    }
}

// A link leads to "libcudnn.so.9.19.0"; a package has "nvidia_cudnn_cu13-9.19.0.56.dist-info".
static void version_by_name(struct tree *tree, const struct library_file *file, char *out)
{
    char real[PATH_MAX];
    const char *so = realpath(file->full, real) ? strstr(strrchr(real, '/'), ".so.") : NULL;
    if (so)
        version_from(so + 4, file->major, out);
    SCOPED(buf_release) struct buf names = {0};
    if (*out == '\0' && *file->package)
        tree_list(tree, &names, "%s", file->package);
    char *cursor = names.data;
    size_t len = strlen(file->kind->package);
    for (char *name; *out == '\0' && (name = text_line(&cursor));) {
        const char *dash = strchr(name, '-');
        if (strncmp(name, file->kind->package, len) == 0 && strchr("-_", name[len]) && dash &&
            strstr(dash, ".dist-info"))
            version_from(dash + 1, file->major, out);
    }
}

// Reads the child's one line, or says how it ended.
static void read_answer(const struct proc_result *result, const struct library_file *file,
                        char *version, struct buf *problem)
{
    char *cursor = result->out.data;
    const char *line = text_line(&cursor);
    bool ended = result->exited && !result->timed_out;
    if (ended && line && strncmp(line, "version ", 8) == 0)
        library_version(strtoll(line + 8, NULL, 10), file->major, version, VERSION_BYTES);
    if (ended && line && strncmp(line, "problem ", 8) == 0)
        buf_adds(problem, line + 8);
    else if (!ended || result->exit_code != 0)
        proc_result_words(result, problem);
    else if (*version == '\0')
        buf_printf(problem, "%s returns no version %d", file->kind->call, file->major);
}

static int record(const struct library_file *file, const char *version, const char *problem,
                  struct machine *machine, struct err *err)
{
    struct machine_gpu_library *row = LIST_ADD(&machine->gpu_libraries, err);
    if (!row)
        return ERR_MEMORY;
    return TEXTS_SET(err, {&row->name, file->kind->name}, {&row->version, version},
                     {&row->path, file->path}, {&row->place, file->place},
                     {&row->found_by, file->found_by}, {&row->problem, problem});
}

static int finish_file(struct tree *tree, struct library_file *file, struct machine *machine,
                       struct err *err)
{
    SCOPED(proc_result_release) struct proc_result result = {0};
    SCOPED(buf_release) struct buf problem = {0};
    char version[VERSION_BYTES] = "";
    if (file->child.pid > 0) {
        TRY(proc_finish(&file->child, &result, err));
        read_answer(&result, file, version, &problem);
    } else if (*file->named == '\0') {
        buf_adds(&problem, "cannot start a process");
    }
    if (*version == '\0' && *file->named == '\0')
        version_by_name(tree, file, file->named);
    TRY(buf_check(&problem, err));
    return record(file, *version ? version : file->named, buf_str(&problem), machine, err);
}

static int start_file(struct tree *tree, struct library_file *file, int64_t limit_ms)
{
    const struct proc_options options = {.timeout_ms = limit_ms, .keep_max = 2048};
    if (file->kind->heavy)
        version_by_name(tree, file, file->named);
    return *file->named ? 0 : proc_start_call(&file->child, query_version, file, &options, NULL);
}

bool library_file(const char *name, int index, char *out, size_t size)
{
    struct probe probe = {.tree = {.root = ""}, .env = environ};
    SCOPED(free_pointer) struct libraries *s = calloc(1, sizeof *s);
    bool found = false;
    if (!s)
        return false;
    s->probe = &probe;
    search_all(s);
    for (size_t i = 0; i < s->count && !found; i++)
        if (strcmp(s->files[i].kind->name, name) == 0 && index-- == 0)
            found = join_path(out, size, s->files[i].path, "");
    return found;
}

int libraries_start(struct probe *probe, int64_t limit_ms, struct libraries **libraries,
                    struct err *err)
{
    *libraries = NULL;
    if (probe->no_children)
        return 0;
    struct libraries *s = *libraries = calloc(1, sizeof *s);
    if (!s)
        return err_memory(err);
    s->probe = probe;
    search_all(s);
    for (size_t i = 0; !probe->tree.failed && i < s->count; i++)
        if (start_file(&probe->tree, &s->files[i], limit_ms) == ERR_MEMORY)
            return err_memory(err);
    return tree_check(&probe->tree, err);
}

int libraries_finish(struct libraries *s, struct machine *machine, struct err *err)
{
    if (!s)
        return 0;
    machine->gpu_libraries.known = true;
    for (size_t i = 0; i < s->count; i++)
        TRY(finish_file(&s->probe->tree, &s->files[i], machine, err));
    return tree_check(&s->probe->tree, err);
}

void libraries_free(struct libraries *s)
{
    for (size_t i = 0; s && i < s->count; i++)
        proc_kill(&s->files[i].child);
    free(s);
}

// ==== libcuda ====

#define SYMBOL(need, name, args) {#name, offsetof(struct libcuda, name), need},
static const struct dl_symbol symbols[] = {LIBCUDA_FUNCTIONS(SYMBOL)};

static const char *const names[] = {"libcuda.so.1", NULL};

const struct dl_spec libcuda_spec = {
    .what = "the NVIDIA driver",
    .variable = "FARE_CUDA",
    .names = names,
    .dirs = dl_vendor_dirs,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .hint = "it comes with the GPU's driver; 'fare check' shows what is installed, --engine cpu "
            "trains without it",
};
