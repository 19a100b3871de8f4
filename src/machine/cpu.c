// SPDX-License-Identifier: Apache-2.0
#include "machine/cpu.h"

#include <ctype.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dl.h"
#include "machine/cgroup.h"
#include "machine/probe.h"

#define HWLOC_LIMIT_MS 3000 // a machine with 512 threads takes 150 ms

// The functions used; <hwloc.h> has their types.
// clang-format off
#define FUNCTIONS(X) \
    X(init, hwloc_topology_init) X(set_flags, hwloc_topology_set_flags) \
    X(set_io_filter, hwloc_topology_set_io_types_filter) \
    X(set_icache_filter, hwloc_topology_set_icache_types_filter) X(load, hwloc_topology_load) \
    X(type_depth, hwloc_get_type_depth) X(count, hwloc_get_nbobjs_by_depth) \
    X(object, hwloc_get_obj_by_depth)
// clang-format on
#define MEMBER(name, function) __typeof__(function) *name;
#define SYMBOL(name, function) {#function, offsetof(struct hwloc_api, name), DL_REQUIRED},

struct hwloc_api {
    FUNCTIONS(MEMBER)
};
static const struct dl_symbol hwloc_symbols[] = {FUNCTIONS(SYMBOL)};
static const char *const hwloc_names[] = {"libhwloc.so.15", NULL};
static const struct dl_spec hwloc_spec = {
    .what = "hwloc",
    .variable = "FARE_HWLOC",
    .names = hwloc_names,
    .symbols = hwloc_symbols,
    .symbol_count = sizeof hwloc_symbols / sizeof *hwloc_symbols,
};

// Caches of equal level, kind and size share a row. A processor with two kinds of cores has two
// rows per level.
static void add_cache(struct topology *t, int64_t level, enum topology_cache_kind kind,
                      int64_t size_bytes)
{
    for (int64_t i = 0; i < t->cache_count; i++) {
        struct topology_cache *c = &t->caches[i];
        if (c->level == level && c->kind == kind && c->size_bytes == size_bytes) {
            c->count++;
            return;
        }
    }
    if (t->cache_count < TOPOLOGY_CACHES)
        t->caches[t->cache_count++] = (struct topology_cache){level, kind, size_bytes, 1};
}

static int by_level(const void *a_, const void *b_)
{
    const struct topology_cache *a = a_, *b = b_;
    int level = (a->level > b->level) - (a->level < b->level);
    int kind = (a->kind > b->kind) - (a->kind < b->kind);
    int size = (a->size_bytes < b->size_bytes) - (a->size_bytes > b->size_bytes);
    return level ? level : kind ? kind : size;
}

static int64_t hwloc_count(const struct hwloc_api *api, hwloc_topology_t t, hwloc_obj_type_t type)
{
    int depth = api->type_depth(t, type);
    bool none = depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE;
    return none ? 0 : (int64_t)api->count(t, depth);
}

static void hwloc_caches(const struct hwloc_api *api, hwloc_topology_t t, struct topology *out)
{
    static const hwloc_obj_type_t types[] = {
        HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,  HWLOC_OBJ_L3CACHE,  HWLOC_OBJ_L4CACHE,
        HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2ICACHE, HWLOC_OBJ_L3ICACHE,
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        int64_t count = hwloc_count(api, t, types[i]);
        for (int64_t n = 0; n < count; n++) {
            hwloc_obj_t o = api->object(t, api->type_depth(t, types[i]), (unsigned)n);
            if (!o || !o->attr)
                continue;
            enum topology_cache_kind kind = o->attr->cache.type == HWLOC_OBJ_CACHE_DATA ? CACHE_DATA
                                            : o->attr->cache.type == HWLOC_OBJ_CACHE_INSTRUCTION
                                                ? CACHE_INSTRUCTION
                                                : CACHE_UNIFIED;
            add_cache(out, o->attr->cache.depth, kind, (int64_t)o->attr->cache.size);
        }
    }
}

// hwloc may read only the kernel's files below the root: no CPUID, plug-ins or devices.
static void hwloc_environment(const char *root)
{
    setenv("HWLOC_COMPONENTS", "linux,stop", 1);
    setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
    setenv("HWLOC_HIDE_ERRORS", "2", 1);
    unsetenv("HWLOC_XMLFILE");
    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("HWLOC_FSROOT");
    if (*root)
        setenv("HWLOC_FSROOT", root, 1);
}

// Runs in the child and writes the struct to stdout.
static int hwloc_child(void *root)
{
    struct hwloc_api api;
    struct dl dl;
    hwloc_topology_t t;
    hwloc_environment(root);
    if (dl_open(&dl, &hwloc_spec, &api, NULL) != 0 || api.init(&t) != 0)
        return 1;
    unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED |
                          HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
                          HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
    if (api.set_flags(t, flags) != 0 || api.set_io_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE) != 0 ||
        api.set_icache_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL) != 0 || api.load(t) != 0)
        return 1;
    struct topology out = {
        .sockets = hwloc_count(&api, t, HWLOC_OBJ_PACKAGE),
        .cores = hwloc_count(&api, t, HWLOC_OBJ_CORE),
        .threads = hwloc_count(&api, t, HWLOC_OBJ_PU),
        .numa_nodes = hwloc_count(&api, t, HWLOC_OBJ_NUMANODE),
    };
    hwloc_caches(&api, t, &out);
    return write(STDOUT_FILENO, &out, sizeof out) == (ssize_t)sizeof out ? 0 : 1;
}

// Starts hwloc on the machine below the tree's root. Does not wait.
static int topology_start(struct tree *tree, struct proc *child, struct err *err)
{
    memset(child, 0, sizeof *child);
    struct proc_options options = {.timeout_ms = HWLOC_LIMIT_MS};
    void *root = (void *)(uintptr_t)tree->root; // read only
    int rc = proc_start_call(child, hwloc_child, root, &options, NULL);
    // If no process can be started, topology_finish() counts.
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

struct maybe_int cpu_list_count(const char *list)
{
    int64_t count = 0;
    for (const char *at = list; isdigit((unsigned char)*at); at++) {
        char *end;
        long first = strtol(at, &end, 10);
        long last = first;
        if (*end == '-' && isdigit((unsigned char)end[1]))
            last = strtol(end + 1, &end, 10);
        if (last < first || last > INT32_MAX)
            break;
        count += last - first + 1;
        if (*end == '\0')
            return some_int(count);
        if (*end != ',')
            break;
        at = end; // past the comma
    }
    return (struct maybe_int){0};
}

int64_t cpu_mask_first(const char *mask)
{
    if (mask[strspn(mask, "0123456789abcdefABCDEF,")] != '\0')
        return -1;
    int64_t bit = 0;
    for (size_t i = strlen(mask); i-- > 0;) {
        if (mask[i] == ',')
            continue;
        char digit[2] = {mask[i], '\0'};
        unsigned long value = strtoul(digit, NULL, 16);
        if (value != 0)
            return bit + __builtin_ctzl(value);
        bit += 4;
    }
    return -1;
}

// "48K", "1280K", "32M": as /sys writes cache sizes.
static int64_t cache_bytes(const char *text)
{
    char *end;
    long value = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : 0;
    if (value <= 0 || value > INT32_MAX)
        return 0;
    return *end == 'K' ? (int64_t)value << 10 : *end == 'M' ? (int64_t)value << 20 : value;
}

static void count_caches(struct tree *tree, int64_t cpu, struct topology *out, struct buf *text)
{
    for (int index = 0; index < TOPOLOGY_CACHES; index++) {
        const char *dir = "/sys/devices/system/cpu";
        int64_t level;
        long long n = cpu;
        // A shared cache is counted at its first thread.
        if (!tree_text(tree, text, "%s/cpu%lld/cache/index%d/shared_cpu_map", dir, n, index) ||
            cpu_mask_first(buf_str(text)) != cpu ||
            !tree_int(tree, &level, "%s/cpu%lld/cache/index%d/level", dir, n, index) ||
            !tree_text(tree, text, "%s/cpu%lld/cache/index%d/type", dir, n, index))
            continue;
        enum topology_cache_kind kind = strcmp(buf_str(text), "Data") == 0 ? CACHE_DATA
                                        : strcmp(buf_str(text), "Instruction") == 0
                                            ? CACHE_INSTRUCTION
                                            : CACHE_UNIFIED;
        if (tree_text(tree, text, "%s/cpu%lld/cache/index%d/size", dir, n, index))
            add_cache(out, level, kind, cache_bytes(buf_str(text)));
    }
}

// True for names such as "cpu12": `stem` and a number.
static bool numbered(const char *name, const char *stem, int64_t *number)
{
    size_t len = strlen(stem);
    return strncmp(name, stem, len) == 0 && isdigit((unsigned char)name[len]) &&
           text_int(name + len, number);
}

static void count_sys(struct tree *tree, struct topology *out)
{
    SCOPED(buf_release) struct buf names = {0}, text = {0};
    int64_t number;
    char *cursor = tree_list(tree, &names, "/sys/devices/system/cpu") ? names.data : NULL;
    for (char *name; (name = text_line(&cursor));) {
        // An offline processor has a folder, but no topology in it.
        if (!numbered(name, "cpu", &number) ||
            !tree_text(tree, &text, "/sys/devices/system/cpu/%s/topology/thread_siblings", name))
            continue;
        out->threads++;
        out->cores += cpu_mask_first(buf_str(&text)) == number;
        if (tree_text(tree, &text, "/sys/devices/system/cpu/%s/topology/core_siblings", name))
            out->sockets += cpu_mask_first(buf_str(&text)) == number;
        count_caches(tree, number, out, &text);
    }
    cursor = tree_list(tree, &names, "/sys/devices/system/node") ? names.data : NULL;
    for (char *name; (name = text_line(&cursor));)
        out->numa_nodes += numbered(name, "node", &number);
}

// For sandboxes that close /sys. /proc/cpuinfo has one paragraph per thread, with its socket and
// the cores per socket.
static void count_cpuinfo(struct tree *tree, struct topology *out)
{
    SCOPED(buf_release) struct buf text = {0}, value = {0};
    bool seen[1024] = {false};
    int64_t cores = 0;
    char *cursor = tree_text(tree, &text, "/proc/cpuinfo") ? text.data : NULL;
    for (char *line; (line = text_line(&cursor));) {
        int64_t v;
        if (tree_value(tree, line, "processor", ':', &value))
            out->threads++;
        else if (tree_value(tree, line, "physical id", ':', &value) && text_int(value.data, &v) &&
                 v >= 0 && v < (int64_t)sizeof seen) {
            out->sockets += !seen[v];
            seen[v] = true;
        } else if (tree_value(tree, line, "cpu cores", ':', &value) && text_int(value.data, &v) &&
                   v > 0 && v <= INT16_MAX)
            cores = v;
    }
    out->cores = out->sockets * cores;
}

static void fill_missing(int64_t *have, int64_t other)
{
    if (*have <= 0)
        *have = other;
}

static void count_missing(struct tree *tree, struct topology *out)
{
    struct topology sys = {0}, info = {0};
    count_sys(tree, &sys);
    if (sys.threads == 0)
        count_cpuinfo(tree, &info);
    fill_missing(&out->sockets, sys.sockets ? sys.sockets : info.sockets);
    fill_missing(&out->cores, sys.cores ? sys.cores : info.cores);
    fill_missing(&out->threads, sys.threads ? sys.threads : info.threads);
    fill_missing(&out->numa_nodes, sys.numa_nodes);
    if (out->cache_count == 0) {
        out->cache_count = sys.cache_count;
        memcpy(out->caches, sys.caches, sizeof out->caches);
    }
}

int topology_finish(struct tree *tree, struct proc *child, struct topology *out, struct err *err)
{
    memset(out, 0, sizeof *out);
    if (child->pid > 0) {
        struct proc_result result;
        int rc = proc_finish(child, &result, NULL);
        if (rc == 0 && result.exited && result.exit_code == 0 && result.out.len == sizeof *out)
            memcpy(out, result.out.data, sizeof *out);
        proc_result_release(&result);
        if (rc == ERR_MEMORY)
            return err_memory(err);
    }
    if (out->sockets == 0 || out->cores == 0 || out->threads == 0 || out->cache_count == 0)
        count_missing(tree, out);
    if (out->cache_count < 0 || out->cache_count > TOPOLOGY_CACHES)
        out->cache_count = 0;
    qsort(out->caches, (size_t)out->cache_count, sizeof *out->caches, by_level);
    return tree_check(tree, err);
}

// ==== cpu ====
// The processor: model, clocks, topology and the CPUs this process may use. isa.c tests the
// instruction sets.

static int read_model(struct tree *tree, struct machine_cpu *cpu, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0}, value = {0};
    if (tree_text(tree, &text, "/proc/cpuinfo")) {
        if (tree_value(tree, buf_str(&text), "model name", ':', &value))
            TRY(text_set(&cpu->model, buf_str(&value), err));
        if (tree_value(tree, buf_str(&text), "vendor_id", ':', &value))
            TRY(text_set(&cpu->vendor, buf_str(&value), err));
    }
    return 0;
}

// cpufreq has one policy per group of cores that share a clock.
static int read_clocks(struct tree *tree, struct machine_cpu *cpu, struct err *err)
{
    SCOPED(buf_release) struct buf names = {0}, text = {0}, governors = {0};
    char *cursor = tree_list(tree, &names, "/sys/devices/system/cpu/cpufreq") ? names.data : NULL;
    for (char *name; (name = text_line(&cursor));) {
        int64_t khz;
        if (tree_int(tree, &khz, "/sys/devices/system/cpu/cpufreq/%s/cpuinfo_max_freq", name) &&
            khz > 0 && (!cpu->max_mhz.known || khz / 1000 > cpu->max_mhz.v))
            cpu->max_mhz = some_int(khz / 1000);
        if (tree_text(tree, &text, "/sys/devices/system/cpu/cpufreq/%s/scaling_governor", name) &&
            text.len > 0 && !text_has_word(buf_str(&governors), text.data, ','))
            buf_printf(&governors, "%s%s", governors.len > 0 ? "," : "", text.data);
    }
    TRY(buf_check(&governors, err));
    return governors.len > 0 ? text_set(&cpu->governor, governors.data, err) : 0;
}

static void read_allowed(struct tree *tree, struct machine_cpu *cpu)
{
    SCOPED(buf_release) struct buf text = {0}, value = {0};
    if (tree_text(tree, &text, "/proc/self/status") &&
        tree_value(tree, buf_str(&text), "Cpus_allowed_list", ':', &value))
        cpu->allowed_threads = cpu_list_count(buf_str(&value));
}

static struct maybe_int counted(int64_t n)
{
    return n > 0 ? some_int(n) : (struct maybe_int){0};
}

static int copy_topology(const struct topology *t, struct machine_cpu *cpu, struct err *err)
{
    static const char *const kinds[] = {
        [CACHE_UNIFIED] = "unified", [CACHE_DATA] = "data", [CACHE_INSTRUCTION] = "instruction"};
    cpu->sockets = counted(t->sockets);
    cpu->cores = counted(t->cores);
    cpu->threads = counted(t->threads);
    cpu->numa_nodes = counted(t->numa_nodes);
    for (int64_t i = 0; i < t->cache_count; i++) {
        struct machine_cache *cache = LIST_ADD(&cpu->caches, err);
        if (!cache)
            return ERR_MEMORY;
        cache->level = counted(t->caches[i].level);
        cache->size_bytes = counted(t->caches[i].size_bytes);
        cache->count = counted(t->caches[i].count);
        TRY(text_set(&cache->kind, kinds[t->caches[i].kind], err));
    }
    return 0;
}

int probe_cpu(struct probe *probe, struct machine_cpu *cpu, struct err *err)
{
    SCOPED(proc_kill) struct proc child = {0};
    struct topology topology;
    struct cgroup cgroup;
    TRY(topology_start(&probe->tree, &child, err));
    TRY(read_model(&probe->tree, cpu, err));
    TRY(read_clocks(&probe->tree, cpu, err));
    TRY(cgroup_read(&probe->tree, &cgroup, err));
    cpu->limit_cpus = cgroup.limit_cpus;
    read_allowed(&probe->tree, cpu);
    TRY(topology_finish(&probe->tree, &child, &topology, err));
    TRY(copy_topology(&topology, cpu, err));
    cpu->usable_cpus = cpus_within(cpu->allowed_threads.known ? cpu->allowed_threads : cpu->threads,
                                   cpu->limit_cpus);
    return 0;
}

// ==== speed ====

#define CHAINS 16
#define ROUNDS (SPEED_LOOP_OPS / CHAINS)
#define TRY_NS (5 * NS_PER_MS)

void speed_loop(void)
{
    static volatile double sink; // keeps the compiler from removing the loop
    double x[CHAINS];
    for (int k = 0; k < CHAINS; k++)
        x[k] = 1 + k * 0.01;
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < CHAINS; k++)
            x[k] = x[k] * 0.999999 + 1e-6;
    double sum = 0;
    for (int k = 0; k < CHAINS; k++)
        sum += x[k];
    sink = sum;
    (void)sink;
}

double speed_thread(void)
{
    int64_t start_ns = clock_now_ns(), best_ns = TRY_NS, now_ns = start_ns;
    while (now_ns - start_ns < TRY_NS) {
        int64_t began_ns = now_ns;
        speed_loop();
        now_ns = clock_now_ns();
        if (now_ns > began_ns && now_ns - began_ns < best_ns)
            best_ns = now_ns - began_ns;
    }
    return SPEED_LOOP_OPS / ((double)best_ns / (double)NS_PER_S);
}
