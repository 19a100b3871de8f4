// SPDX-License-Identifier: Apache-2.0
// The processor: model, clocks, topology and the CPUs this process may use. isa.c tests the
// instruction sets.
#include <string.h>

#include "machine/cgroup.h"
#include "machine/cpus.h"
#include "machine/probe.h"
#include "machine/topology.h"

static int read_model(struct tree *tree, struct machine_cpu *cpu, struct err *err)
{
    struct buf text = {0}, value = {0};
    int rc = 0;
    if (tree_text(tree, &text, "/proc/cpuinfo")) {
        if (tree_value(tree, buf_str(&text), "model name", ':', &value))
            rc = text_set(&cpu->model, buf_str(&value), err);
        if (rc == 0 && tree_value(tree, buf_str(&text), "vendor_id", ':', &value))
            rc = text_set(&cpu->vendor, buf_str(&value), err);
    }
    buf_release(&text);
    buf_release(&value);
    return rc;
}

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += len)
        if ((at == list || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

// cpufreq has one policy per group of cores that share a clock.
static int read_clocks(struct tree *tree, struct machine_cpu *cpu, struct err *err)
{
    struct buf names = {0}, text = {0}, governors = {0};
    int rc = 0;
    char *cursor = tree_list(tree, &names, "/sys/devices/system/cpu/cpufreq") ? names.data : NULL;
    for (char *name; (name = text_line(&cursor));) {
        int64_t khz;
        if (tree_int(tree, &khz, "/sys/devices/system/cpu/cpufreq/%s/cpuinfo_max_freq", name) &&
            khz > 0 && (!cpu->max_mhz.known || khz / 1000 > cpu->max_mhz.v))
            cpu->max_mhz = some_int(khz / 1000);
        if (tree_text(tree, &text, "/sys/devices/system/cpu/cpufreq/%s/scaling_governor", name) &&
            text.len > 0 && !has_word(buf_str(&governors), text.data))
            buf_printf(&governors, "%s%s", governors.len > 0 ? "," : "", text.data);
    }
    rc = buf_check(&governors, err);
    if (rc == 0 && governors.len > 0)
        rc = text_set(&cpu->governor, governors.data, err);
    buf_release(&names);
    buf_release(&text);
    buf_release(&governors);
    return rc;
}

static void read_allowed(struct tree *tree, struct machine_cpu *cpu)
{
    struct buf text = {0}, value = {0};
    if (tree_text(tree, &text, "/proc/self/status") &&
        tree_value(tree, buf_str(&text), "Cpus_allowed_list", ':', &value))
        cpu->allowed_threads = cpu_list_count(buf_str(&value));
    buf_release(&text);
    buf_release(&value);
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
        int rc = text_set(&cache->kind, kinds[t->caches[i].kind], err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int probe_cpu(struct probe *probe, struct machine_cpu *cpu, struct err *err)
{
    struct proc child = {0};
    struct topology topology;
    struct cgroup cgroup;
    int rc = topology_start(&probe->tree, &child, err);
    if (rc == 0)
        rc = read_model(&probe->tree, cpu, err);
    if (rc == 0)
        rc = read_clocks(&probe->tree, cpu, err);
    if (rc == 0)
        rc = cgroup_read(&probe->tree, &cgroup, err);
    if (rc != 0)
        goto out;
    cpu->limit_cpus = cgroup.limit_cpus;
    read_allowed(&probe->tree, cpu);
    rc = topology_finish(&probe->tree, &child, &topology, err);
    if (rc == 0)
        rc = copy_topology(&topology, cpu, err);
    if (rc == 0)
        cpu->usable_cpus = cpus_within(
            cpu->allowed_threads.known ? cpu->allowed_threads : cpu->threads, cpu->limit_cpus);
out:
    proc_kill(&child);
    return rc;
}
