// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/proc.h"
#include "base/sha256.h"
#include "machine/libraries.h"
#include "machine/pci.h"
#include "machine/probe.h"
#include "record/read.h"
#include "version.h"

// ==== isolate ====

#define RECORD_MAX ((size_t)16 << 20) // 64 GPUs with their processes take a few hundred kB
#define NO_MEMORY  3                  // the child's exit code

struct isolated_part {
    struct probe *probe;
    struct machine machine; // a shallow copy; the child changes only its own memory
    probe_part *part;
};

static int run_part(void *job_)
{
    struct isolated_part *job = job_;
    struct err err = {0};
    struct buf text = {0};
    int answer = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (answer < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) // libraries may print
        return 1;
    int rc = job->part(job->probe, &job->machine, &err);
    if (rc == 0)
        rc = record_to_text(machine_fields, &job->machine, &text, &err);
    if (rc == 0)
        rc = fs_write_fd(answer, buf_str(&text), text.len, "the record", &err);
    return rc == 0 ? 0 : rc == ERR_MEMORY ? NO_MEMORY : 1;
}

static int read_record(const struct proc_result *result, struct machine *got, struct buf *how,
                       struct err *err)
{
    if (result->exited && result->exit_code == NO_MEMORY)
        return err_memory(err);
    if (!result->exited || result->exit_code != 0) {
        proc_result_words(result, how);
        return buf_check(how, err);
    }
    return record_from_text(machine_fields, buf_str(&result->out), result->out.len, got, err);
}

int probe_isolated(struct probe *probe, const struct machine *machine, probe_part *part,
                   int64_t timeout_ms, struct machine *got, struct buf *how, struct err *err)
{
    struct isolated_part job = {.probe = probe, .machine = *machine, .part = part};
    const struct proc_options options = {.timeout_ms = timeout_ms, .keep_max = RECORD_MAX};
    struct proc proc;
    SCOPED(proc_result_release) struct proc_result result = {0};
    struct err why = {0};
    if (proc_start_call(&proc, run_part, &job, &options, &why) != 0) {
        buf_adds(how, why.text); // cannot start a process: the part is skipped
        return buf_check(how, err);
    }
    TRY(proc_finish(&proc, &result, err));
    return read_record(&result, got, how, err);
}

// ==== fingerprint ====
// One short name for all machines of a kind, a hash of the text below. The number in
// its first line changes when the recipe does.

// Firmware and kernel reserve a few per cent, so identical machines show different sizes. Rounding
// up to four significant bits restores the installed size.
static int64_t rounded(int64_t bytes)
{
    if (bytes <= 0)
        return 0;
    int exponent;
    double mantissa = frexp((double)bytes, &exponent); // 0.5 <= mantissa < 1
    return (int64_t)ldexp(ceil(mantissa * 16) / 16, exponent);
}

static void add_int(struct buf *text, const char *name, struct maybe_int value)
{
    if (value.known)
        buf_printf(text, "%s=%lld\n", name, (long long)value.v);
}

static void add_text(struct buf *text, const char *name, const char *value)
{
    if (value)
        buf_printf(text, "%s=%s\n", name, value);
}

static void add_cpu(struct buf *text, const struct machine_cpu *cpu)
{
    add_text(text, "cpu", cpu->model);
    add_int(text, "sockets", cpu->sockets);
    add_int(text, "cores", cpu->cores);
    add_int(text, "threads", cpu->threads);
    add_int(text, "numa", cpu->numa_nodes);
    if (cpu->usable_cpus.known)
        buf_printf(text, "usable=%.2f\n", cpu->usable_cpus.v);
    for (size_t i = 0; i < cpu->caches.count; i++) {
        const struct machine_cache *c = &cpu->caches.items[i];
        buf_printf(text, "cache L%lld %s %lld x %lld\n", (long long)c->level.v,
                   c->kind ? c->kind : "", (long long)c->size_bytes.v, (long long)c->count.v);
    }
    // If a set could not be tried, trust the processor: the fingerprint must not depend on a
    // process limit.
    for (size_t i = 0; i < cpu->isa.count; i++) {
        const struct machine_isa *isa = &cpu->isa.items[i];
        const struct maybe_bool *has = isa->works.known ? &isa->works : &isa->advertised;
        if (has->known && has->v)
            add_text(text, "isa", isa->name);
    }
}

static void add_gpu(struct buf *text, const struct machine_gpu *gpu)
{
    buf_printf(text, "gpu=%s %s\n",
               gpu->name     ? gpu->name
               : gpu->pci_id ? gpu->pci_id
                             : "",
               gpu->works.known && gpu->works.v ? "works" : "");
    if (gpu->memory_total_bytes.known)
        buf_printf(text, "gpu memory=%lld\n", (long long)rounded(gpu->memory_total_bytes.v));
    add_int(text, "gpu link", gpu->pcie_generation_max);
    add_int(text, "gpu lanes", gpu->pcie_width_max);
    add_int(text, "gpu clock", gpu->clock_sm_max_mhz);
    add_int(text, "gpu memory clock", gpu->clock_memory_max_mhz);
    add_int(text, "gpu power", gpu->power_limit_mw);
    if (gpu->ecc.known)
        buf_printf(text, "gpu ecc=%d\n", gpu->ecc.v);
    for (size_t i = 0; i < gpu->mig_instances.count; i++)
        add_text(text, "gpu instance", gpu->mig_instances.items[i].name);
}

int machine_fingerprint(struct machine *machine, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    buf_adds(&text, "fare machine 1\n");
    add_cpu(&text, &machine->cpu);
    if (machine->memory.usable_bytes.known)
        buf_printf(&text, "memory=%lld\n", (long long)rounded(machine->memory.usable_bytes.v));
    for (size_t i = 0; i < machine->gpus.count; i++)
        add_gpu(&text, &machine->gpus.items[i]);
    add_text(&text, "virtualisation", machine->system.virtualisation);

    TRY(buf_check(&text, err));
    char hex[SHA256_HEX_BYTES];
    sha256_hex_of(buf_str(&text), text.len, hex);
    hex[16] = '\0'; // 64 bits: unique enough, and short enough to read out
    return text_set(&machine->fingerprint, hex, err);
}

// ==== probe ====
// Runs all parts. Trials that fork come first, before the program starts threads.

// All of the above except bandwidth, then the fingerprint.
static int probe_machine(struct probe *probe, struct machine *machine, struct err *err)
{
    TRY(probe_cpu(probe, &machine->cpu, err));
    TRY(probe_isa(probe, &machine->cpu, err));
    TRY(probe_memory(probe, &machine->memory, err));
    TRY(probe_disk(probe, &machine->disk, err));
    TRY(probe_system(probe, &machine->system, err));
    TRY(probe_gpus(probe, machine, err));
    TRY(probe_where(probe, &machine->where, err));
    return machine_fingerprint(machine, err);
}

// ==== inspect ====

#if defined(__SANITIZE_ADDRESS__)
#define BUILT_FOR_DEBUGGING true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BUILT_FOR_DEBUGGING true
#endif
#endif
#ifndef BUILT_FOR_DEBUGGING
#ifdef __OPTIMIZE__
#define BUILT_FOR_DEBUGGING false
#else
#define BUILT_FOR_DEBUGGING true
#endif
#endif

static int describe_program(struct machine *machine, struct err *err)
{
    struct machine_program *fare = &machine->fare;
    char now[CLOCK_ISO_BYTES];
    clock_iso(clock_date_s(), now);
    TRY(text_set(&machine->schema, MACHINE_SCHEMA, err));
    TRY(text_set(&machine->taken_at, now, err));
    TRY(text_set(&fare->version, FARE_VERSION, err));
    TRY(text_set(&fare->build, FARE_BUILD, err));
#ifdef __clang__
    TRY(text_set(&fare->compiler, "clang " __clang_version__, err));
#else
    TRY(text_set(&fare->compiler, "gcc " __VERSION__, err));
#endif
    fare->debug = some_bool(BUILT_FOR_DEBUGGING);
    return 0;
}

// Before any driver is asked: a device file, the bus, or a stand-in for NVML.
static bool may_have_nvidia_gpu(struct probe *probe)
{
    static const char *const signs[] = {"/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg"};
    const struct pci_names none = {0};
    SCOPED(pci_gpus_release) struct pci_gpus gpus = {0};
    const char *nvml = getenv("FARE_NVML");
    bool found = nvml && *nvml;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        found |= access(signs[i], F_OK) == 0;
    if (!found && pci_gpus_read(&probe->tree, &none, &gpus, NULL) == 0)
        for (size_t i = 0; i < gpus.items.count; i++)
            found |= gpus.items.items[i].vendor == PCI_NVIDIA;
    return found;
}

bool inspect_recorded(void)
{
    const char *root = getenv("FARE_ROOT");
    return root && *root;
}

int machine_inspect(const struct inspect_options *options, struct machine *machine, struct err *err)
{
    extern char **environ;
    const char *root = getenv("FARE_ROOT");
    const char *metadata = getenv("FARE_METADATA");
    bool off = metadata && strcmp(metadata, "off") == 0;
    char folder[4096];
    struct probe probe = {
        .tree.root = root ? root : "",
        .env = environ,
        .folder = getcwd(folder, sizeof folder) ? folder : NULL,
        .metadata_url = metadata && *metadata && !off ? metadata : NULL,
        .no_cloud = options->no_cloud || off,
        .no_children = root && *root,
    };
    struct stat st;
    if (root && *root && (stat(root, &st) != 0 || !S_ISDIR(st.st_mode))) {
        err_set(err, ERR_USAGE, "FARE_ROOT names '%s', which is not a folder", root);
        return err_hint(err, "unset it to check this machine");
    }
    struct libraries *libraries = NULL;
    int rc = describe_program(machine, err);
    if (rc == 0 && options->libraries && may_have_nvidia_gpu(&probe))
        rc = libraries_start(&probe, LIBRARY_LIMIT_MS, &libraries, err);
    if (rc == 0)
        rc = probe_machine(&probe, machine, err);
    if (rc == 0)
        rc = libraries_finish(libraries, machine, err);
    libraries_free(libraries);
    if (rc == 0 && options->bandwidth)
        rc = probe_bandwidth(&probe, machine, err);
    if (rc == 0)
        rc = machine_diagnose(machine, err);
    return rc;
}
