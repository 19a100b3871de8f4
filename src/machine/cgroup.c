// SPDX-License-Identifier: Apache-2.0
#include "machine/cgroup.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

bool mounts_read(struct tree *tree, struct buf *text)
{
    return tree_text(tree, text, "/proc/self/mountinfo") && text->len > 0;
}

// The kernel writes space, tab, newline, backslash (and # in sources) as three octal digits.
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        bool octal = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
                     from[2] <= '7' && from[3] >= '0' && from[3] <= '7';
        int code = octal ? (from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0') : 0;
        if (code > 0) { // \000 would end the text early
            *to = (char)code;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

static char *next_word(char **cursor)
{
    char *word = *cursor;
    if (!word)
        return NULL;
    char *end = strchr(word, ' ');
    if (end)
        *end++ = '\0';
    *cursor = end;
    return word;
}

// 36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue
static bool parse_line(char *line, struct mount *mount)
{
    memset(mount, 0, sizeof *mount);
    char *words[6];
    for (int i = 0; i < 6; i++) {
        words[i] = next_word(&line);
        if (!words[i])
            return false;
    }
    char more;
    if (sscanf(words[2], "%7u:%7u%c", &mount->major, &mount->minor, &more) != 2)
        return false;
    // Any number of optional fields, up to a lone hyphen.
    char *word;
    do
        word = next_word(&line);
    while (word && strcmp(word, "-") != 0);
    char *type = next_word(&line);
    char *source = next_word(&line);
    char *super_options = next_word(&line);
    if (!type || !source || words[3][0] != '/' || words[4][0] != '/')
        return false;
    unescape(words[3]);
    unescape(words[4]);
    unescape(source);
    mount->root = words[3];
    mount->point = words[4];
    mount->type = type;
    mount->source = source;
    mount->super_options = super_options ? super_options : "";
    return true;
}

bool mounts_next(char **cursor, struct mount *mount)
{
    for (char *line; (line = text_line(cursor));)
        if (parse_line(line, mount))
            return true;
    return false;
}

bool path_is_below(const char *path, const char *above)
{
    size_t len = strlen(above);
    while (len > 0 && above[len - 1] == '/')
        len--;
    return strncmp(path, above, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

bool mounts_over(char *text, const char *path, struct mount *mount)
{
    bool found = false;
    struct mount next;
    for (char *cursor = text; mounts_next(&cursor, &next);) {
        if (!path_is_below(path, next.point))
            continue;
        if (!found || strlen(next.point) >= strlen(mount->point))
            *mount = next;
        found = true;
    }
    return found;
}

bool mount_option(const struct mount *mount, const char *option, const char **value, size_t *len)
{
    size_t name_len = strlen(option);
    for (const char *at = mount->super_options; *at;) {
        size_t word = strcspn(at, ",");
        if (word >= name_len && memcmp(at, option, name_len) == 0 &&
            (word == name_len || at[name_len] == '=')) {
            *value = at + name_len + (word > name_len);
            *len = word - name_len - (word > name_len);
            return true;
        }
        at += word + (at[word] == ',');
    }
    return false;
}

// ==== cgroup ====

// Version 1 writes "no limit" as a huge number that depends on page size and kernel.
#define MEMORY_NO_LIMIT (INT64_C(1) << 60)

// One cgroup hierarchy, and the location of this process's files in it.
struct hierarchy {
    const char *controller; // version 1; "" for version 2
    bool mounted;
    bool fits; // the process's group lies below the mount's root
    struct mount mount;
    char *path; // the process's group in /proc/self/cgroup; null if absent
};

enum { V1_CPU, V1_MEMORY, V2, HIERARCHIES };

static bool in_list(const char *list, size_t len, const char *word)
{
    size_t word_len = strlen(word);
    for (const char *at = list; at < list + len;) {
        const char *comma = memchr(at, ',', (size_t)(list + len - at));
        size_t item = comma ? (size_t)(comma - at) : (size_t)(list + len - at);
        if (item == word_len && memcmp(at, word, item) == 0)
            return true;
        at += item + 1;
    }
    return false;
}

// Lines are "4:cpu,cpuacct:/path"; version 2: "0::/path".
static void find_paths(char *text, struct hierarchy *all)
{
    for (char *line; (line = text_line(&text));) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path || path[1] != '/')
            continue;
        controllers++;
        size_t len = (size_t)(path - controllers);
        for (int h = 0; h < HIERARCHIES; h++) {
            bool match = h == V2 ? len == 0 : in_list(controllers, len, all[h].controller);
            if (match && !all[h].path)
                all[h].path = path + 1;
        }
    }
}

// A hierarchy can be mounted in several places. Prefer a mount that shows the process's own group,
// then the one with the shortest root, which shows most ancestors.
static void consider(struct hierarchy *h, const struct mount *mount)
{
    bool fits = h->path && path_is_below(h->path, mount->root);
    bool better = !h->mounted || (fits && !h->fits) ||
                  (fits == h->fits && strlen(mount->root) < strlen(h->mount.root));
    if (!better)
        return;
    h->mounted = true;
    h->fits = fits;
    h->mount = *mount;
}

static void find_mounts(char *text, struct hierarchy *all)
{
    struct mount mount;
    const char *value;
    size_t len;
    while (mounts_next(&text, &mount)) {
        if (strcmp(mount.type, "cgroup2") == 0)
            consider(&all[V2], &mount);
        if (strcmp(mount.type, "cgroup") != 0)
            continue;
        for (int h = 0; h < V2; h++)
            if (mount_option(&mount, all[h].controller, &value, &len))
                consider(&all[h], &mount);
    }
}

static void smaller_real(struct maybe_real *have, double v)
{
    if (!have->known || v < have->v)
        *have = some_real(v);
}

static void read_v1_cpu(struct tree *tree, const char *dir, void *arg)
{
    struct cgroup *out = arg;
    int64_t quota_us, period_us;
    if (tree_int(tree, &quota_us, "%s/cpu.cfs_quota_us", dir) &&
        tree_int(tree, &period_us, "%s/cpu.cfs_period_us", dir) && quota_us > 0 && period_us > 0)
        smaller_real(&out->limit_cpus, (double)quota_us / (double)period_us);
}

// The number in a line "key number" of memory.stat.
static int64_t stat_of(struct tree *tree, const char *dir, const char *key)
{
    SCOPED(buf_release) struct buf text = {0};
    int64_t number = 0;
    size_t len = strlen(key);
    if (tree_text(tree, &text, "%s/memory.stat", dir) && text.len > 0) {
        char *cursor = text.data;
        for (char *line; (line = text_line(&cursor));)
            if (strncmp(line, key, len) == 0 && line[len] == ' ' && text_int(line + len, &number))
                break;
    }
    return number > 0 ? number : 0;
}

// Keeps the smallest limit, and its usage.
static void read_memory(struct tree *tree, const char *dir, const char *limit, const char *usage,
                        const char *droppable, struct cgroup *out)
{
    int64_t bytes, used;
    if (!tree_int(tree, &bytes, "%s/%s", dir, limit) || bytes <= 0 || bytes >= MEMORY_NO_LIMIT ||
        (out->limit_bytes.known && out->limit_bytes.v <= bytes))
        return;
    out->limit_bytes = some_int(bytes);
    out->used_bytes = (struct maybe_int){0};
    if (!tree_int(tree, &used, "%s/%s", dir, usage) || used < 0)
        return;
    int64_t cache = stat_of(tree, dir, droppable);
    out->used_bytes = some_int(cache < used ? used - cache : 0);
}

static void read_v1_memory(struct tree *tree, const char *dir, void *arg)
{
    struct cgroup *out = arg;
    read_memory(tree, dir, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
                out);
}

// cpu.max is "max 100000" or "200000 100000"; memory.max is "max" or a number of bytes.
static void read_v2(struct tree *tree, const char *dir, void *arg)
{
    struct cgroup *out = arg;
    int64_t quota_us, period_us;
    read_memory(tree, dir, "memory.max", "memory.current", "inactive_file", out);
    SCOPED(buf_release) struct buf text = {0};
    if (tree_text(tree, &text, "%s/cpu.max", dir) && text.len > 0) {
        char *space = strchr(text.data, ' ');
        if (space)
            *space = '\0';
        if (space && text_int(text.data, &quota_us) && text_int(space + 1, &period_us) &&
            quota_us > 0 && period_us > 0)
            smaller_real(&out->limit_cpus, (double)quota_us / (double)period_us);
    }
}

static bool has_dots(const char *path)
{
    for (const char *at = path; (at = strstr(at, "/..")); at += 3)
        if (at[3] == '/' || at[3] == '\0')
            return true;
    return false;
}

// Walks from the process's group up to the mount's root. A path outside that root (from another
// namespace) cannot be followed; then the root's own files have to do.
static void read_upwards(struct tree *tree, const struct hierarchy *h,
                         void (*read)(struct tree *, const char *, void *), void *out)
{
    SCOPED(buf_release) struct buf dir = {0};
    buf_adds(&dir, h->mount.point);
    size_t top = dir.len;
    if (h->fits && !has_dots(h->path)) {
        size_t skip = strcmp(h->mount.root, "/") == 0 ? 0 : strlen(h->mount.root);
        buf_adds(&dir, h->path + skip);
    }
    tree->failed |= dir.failed;
    while (!dir.failed) {
        while (dir.len > top && dir.data[dir.len - 1] == '/')
            dir.data[--dir.len] = '\0';
        read(tree, dir.data, out);
        if (dir.len <= top)
            break;
        while (dir.len > top && dir.data[dir.len - 1] != '/')
            dir.data[--dir.len] = '\0';
    }
}

// Finds the process's groups. The paths in `all` point into the two texts.
static void find_all(struct tree *tree, pid_t pid, struct hierarchy *all, struct buf *groups,
                     struct buf *mounts)
{
    bool found = pid == 0 ? tree_text(tree, groups, "/proc/self/cgroup")
                          : tree_text(tree, groups, "/proc/%d/cgroup", (int)pid);
    if (found && groups->len > 0)
        find_paths(groups->data, all);
    if (mounts_read(tree, mounts))
        find_mounts(mounts->data, all);
}

#define NO_HIERARCHIES                                                                             \
    {                                                                                              \
        [V1_CPU] = {.controller = "cpu"}, [V1_MEMORY] = {.controller = "memory"}, [V2] = {         \
            .controller = ""                                                                       \
        }                                                                                          \
    }

int cgroup_read(struct tree *tree, struct cgroup *out, struct err *err)
{
    memset(out, 0, sizeof *out);
    struct hierarchy all[HIERARCHIES] = NO_HIERARCHIES;
    SCOPED(buf_release) struct buf groups = {0}, mounts = {0};
    find_all(tree, 0, all, &groups, &mounts);
    if (all[V1_CPU].mounted)
        read_upwards(tree, &all[V1_CPU], read_v1_cpu, out);
    if (all[V1_MEMORY].mounted)
        read_upwards(tree, &all[V1_MEMORY], read_v1_memory, out);
    if (all[V2].mounted)
        read_upwards(tree, &all[V2], read_v2, out);
    if (all[V1_CPU].mounted || all[V1_MEMORY].mounted)
        out->version = "v1";
    else if (all[V2].mounted)
        out->version = "v2";
    return tree_check(tree, err);
}

int cgroup_each_cpu(struct tree *tree, pid_t pid,
                    void (*each)(struct tree *tree, const char *dir, void *arg), void *arg,
                    struct err *err)
{
    struct hierarchy all[HIERARCHIES] = NO_HIERARCHIES;
    SCOPED(buf_release) struct buf groups = {0}, mounts = {0};
    find_all(tree, pid, all, &groups, &mounts);
    if (all[V1_CPU].mounted)
        read_upwards(tree, &all[V1_CPU], each, arg);
    if (all[V2].mounted)
        read_upwards(tree, &all[V2], each, arg);
    return tree_check(tree, err);
}

// ==== cpus ====

struct maybe_real cpus_within(struct maybe_int threads, struct maybe_real limit)
{
    if (threads.known && (!limit.known || (double)threads.v <= limit.v))
        return some_real((double)threads.v);
    return limit;
}

int cpus_usable(void)
{
    cpu_set_t set;
    struct tree tree = {.root = ""};
    struct cgroup cgroup = {0};
    CPU_ZERO(&set);
    int threads = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    if (cgroup_read(&tree, &cgroup, NULL) != 0)
        return threads;
    double cpus = cpus_within(some_int(threads), cgroup.limit_cpus).v;
    return cpus < 1 ? 1 : (int)cpus;
}
