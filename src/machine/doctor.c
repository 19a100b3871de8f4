// SPDX-License-Identifier: Apache-2.0
// doctor: finds conditions that disturb a measurement or cost money. Pure reasoning over a
// machine's record, so that any machine can be judged, not only this one. A finding has evidence,
// consequence and remedy.
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <utmp.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/units.h"
#include "machine/probe.h"

#define GiB (INT64_C(1) << 30)
#define MiB (INT64_C(1) << 20)

static const char *const levels[] = {"problem", "warning", "note"};

static size_t level_of(const struct machine_finding *one)
{
    size_t level = PROBLEM;
    while (level < NOTE &&
           (!one->level || strcmp(levels[level], one->level) != 0)) // as in records of others
        level++;
    return level;
}

void finding(struct findings *f, enum finding_level level, const char *id, const char *consequence,
             const char *remedy, const char *evidence, ...)
{
    struct machine_finding *new = f->rc == 0 ? LIST_ADD(&f->machine->findings, f->err) : NULL;
    SCOPED(buf_release) struct buf words = {0};
    va_list args;
    va_start(args, evidence);
    buf_vprintf(&words, evidence, args);
    va_end(args);
    f->rc = new ? buf_check(&words, f->err) : ERR_MEMORY;
    if (f->rc == 0)
        f->rc = TEXTS_SET(f->err, {&new->id, id}, {&new->level, levels[level]},
                          {&new->evidence, buf_str(&words)}, {&new->consequence, consequence},
                          {&new->remedy, remedy});
    struct machine_finding *items = f->machine->findings.items;
    for (size_t at = f->machine->findings.count - 1; f->rc == 0 && at > 0; at--) {
        struct machine_finding moved = items[at];
        if (level_of(&items[at - 1]) <= level)
            break;
        items[at] = items[at - 1];
        items[at - 1] = moved;
    }
}

static void program(struct findings *r)
{
    const struct machine_program *p = &r->machine->fare;
    if (p->debug.known && p->debug.v)
        finding(r, PROBLEM, "debug-build", "Its measurements are slower than the machine.",
                "Use the bundle, or build with 'make build'.", "this is a debug build of fare");
}

static void instruction_sets(struct findings *r)
{
    const struct machine_cpu *cpu = &r->machine->cpu;
    for (size_t i = 0; i < cpu->isa.count; i++) {
        const struct machine_isa *isa = &cpu->isa.items[i];
        if (!(isa->advertised.known && isa->advertised.v && isa->works.known && !isa->works.v))
            continue;
        finding(r, PROBLEM, "isa-faults",
                "Libraries that use it crash; others fall back to slower code.",
                "Report it to the provider, or use another machine type. fare avoids it.",
                "the processor advertises %s, but it does not work (%s)", isa->name,
                isa->problem ? isa->problem : "wrong result");
    }
}

static bool starts_with(const char *text, const char *beginning)
{
    return text && strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool same_operation(const struct machine_kernel *a, const struct machine_kernel *b)
{
    return a->operation && b->operation && strcmp(a->operation, b->operation) == 0;
}

// The first trial of an operation shows what other programs will get, with the user's own cap if
// set. Later trials of it are fare's search for a cap that helps.
static bool is_first(const struct machine_library *lib, size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (same_operation(&lib->kernels.items[i], &lib->kernels.items[k]))
            return false;
    return true;
}

static const struct machine_kernel *remedy_of(const struct machine_library *lib, size_t bad)
{
    for (size_t k = bad + 1; k < lib->kernels.count; k++) {
        const struct machine_kernel *other = &lib->kernels.items[k];
        if (other->cap && other->works.known && other->works.v &&
            same_operation(other, &lib->kernels.items[bad]))
            return other;
    }
    return NULL;
}

static void library_fault(struct findings *r, const struct machine_library *lib, size_t k)
{
    const struct machine_kernel *kernel = &lib->kernels.items[k];
    const struct machine_kernel *capped = remedy_of(lib, k);
    bool amx = starts_with(kernel->problem, "signal SIGILL");
    bool bf16 = starts_with(kernel->operation, "bf16");
    finding(r, PROBLEM, "library-faults",
            "PyTorch and TensorFlow use this library and fail the same way.",
            capped ? short_text("Set ONEDNN_MAX_CPU_ISA=%s, which works here. fare sets it itself.",
                                capped->cap)
                         .s
            : bf16 ? "Train in f32 on this machine."
                   : "Use another machine type to train on the CPU.",
            "%s %s: %s fails (%s)%s", lib->name, lib->version ? lib->version : "",
            kernel->operation ? kernel->operation : "work",
            kernel->problem ? kernel->problem : "wrong result",
            amx && bf16 ? "; typical of AMX that the hypervisor only half supports" : "");
}

static void libraries(struct findings *r)
{
    const struct machine_cpu *cpu = &r->machine->cpu;
    for (size_t i = 0; i < cpu->libraries.count; i++) {
        const struct machine_library *lib = &cpu->libraries.items[i];
        for (size_t k = 0; k < lib->kernels.count; k++) {
            const struct machine_kernel *kernel = &lib->kernels.items[k];
            // A missing operation is no fault; a crash or a wrong result is.
            if (kernel->works.known && !kernel->works.v && is_first(lib, k) &&
                !starts_with(kernel->problem, "unimplemented"))
                library_fault(r, lib, k);
        }
    }
}

static void processor(struct findings *r)
{
    const struct machine_cpu *cpu = &r->machine->cpu;
    const struct machine_system *system = &r->machine->system;
    double usable = cpu->usable_cpus.known ? cpu->usable_cpus.v : 0;
    if (usable > 0 && cpu->threads.known && usable < (double)cpu->threads.v * 0.99)
        finding(
            r, WARNING, "cpu-limit",
            "Programs that count the machine's CPUs start too many threads, which slow each other "
            "down.",
            short_text("Give the container more CPUs, or set OMP_NUM_THREADS=%d.",
                       usable < 1 ? 1 : (int)usable)
                .s,
            "this process may use %.4g of the machine's %lld CPUs (%s)", usable,
            (long long)cpu->threads.v, machine_cpu_limit(cpu));
    if (cpu->governor && strcmp(cpu->governor, "performance") != 0)
        finding(r, WARNING, "cpu-governor",
                "Clocks follow the load with a delay, so short runs look slower.",
                "Run 'cpupower frequency-set -g performance' as root.",
                "the CPU frequency governor is %s", cpu->governor);
    // The load average is the whole machine's, not only ours.
    if (system->load_1min.known && cpu->threads.known && system->load_1min.v > 0.5 &&
        system->load_1min.v > (double)cpu->threads.v / 2)
        finding(r, WARNING, "cpu-busy", "Other programs use the CPUs during a measurement.",
                "Wait for them to finish, or stop them.",
                "the load average over the last minute is %.1f", system->load_1min.v);
    if (system->steal_percent.known && system->steal_percent.v > 2)
        finding(r, WARNING, "cpu-steal", "CPU measurements are noisy.",
                "Repeat the measurement at another time, or use a dedicated machine.",
                "the hypervisor gave %.1f %% of the CPU time to other machines",
                system->steal_percent.v);
    if (system->on_battery.known && system->on_battery.v)
        finding(r, WARNING, "on-battery", "Laptops lower their clocks on battery.", "Plug it in.",
                "the machine runs on its battery");
}

static void memory(struct findings *r)
{
    const struct machine_memory *m = &r->machine->memory;
    if (m->limit_bytes.known && m->total_bytes.known && m->limit_bytes.v < m->total_bytes.v)
        finding(r, NOTE, "memory-limit",
                "A process that needs more is killed, whatever 'free' says.",
                "Plan for the limit, or raise it when starting the container.",
                "the cgroup allows %s of the machine's %s", units_bytes(m->limit_bytes.v).s,
                units_bytes(m->total_bytes.v).s);
    if (m->swap_used_bytes.known && m->swap_used_bytes.v > 64 * MiB)
        finding(r, WARNING, "swap-used",
                "Swapped pages are read back from disk during a measurement.",
                "Free some memory, then run 'swapoff -a && swapon -a' as root.",
                "%s of swap is in use", units_bytes(m->swap_used_bytes.v).s);
    if (m->shm_total_bytes.known && m->shm_total_bytes.v < GiB)
        finding(
            r, WARNING, "shm-small",
            "Data loaders with several workers pass batches through it and die with a bus error "
            "when it is full.",
            "Start the container with --shm-size=8g or --ipc=host.", "/dev/shm has only %s",
            units_bytes(m->shm_total_bytes.v).s);
}

static void disk(struct findings *r)
{
    const struct machine_disk *d = &r->machine->disk;
    if (d->kind && strcmp(d->kind, "network") == 0)
        finding(r, WARNING, "disk-network",
                "Data loading and checkpoints depend on the network and its other users.",
                "Copy the data to a local disk first.",
                "the working folder is on a network volume (%s)",
                d->filesystem ? d->filesystem : "of unknown type");
    if (d->kind && strcmp(d->kind, "memory") == 0)
        finding(r, NOTE, "disk-memory", "Files there use memory and are lost at a restart.",
                "Keep checkpoints on a disk.", "the working folder is in memory");
    if (d->rotational.known && d->rotational.v)
        finding(r, NOTE, "disk-rotational", "Small files load at about a hundred per second.",
                "Keep the data on an SSD.", "the working folder is on a hard disk");
    if (d->free_bytes.known && d->free_bytes.v < 5 * GiB)
        finding(r, WARNING, "disk-full", "A checkpoint that does not fit ends the run.",
                "Free some space, or work in a folder on another disk.",
                "only %s are free in the working folder", units_bytes(d->free_bytes.v).s);
}

// A GPU's name in a finding: "GPU 0 (NVIDIA H100 80GB HBM3)".
static struct short_text gpu_name(const struct machine_gpu *gpu)
{
    const char *name = gpu->name ? gpu->name : gpu->pci_id ? gpu->pci_id : "unknown model";
    if (gpu->index.known)
        return short_text("GPU %lld (%s)", (long long)gpu->index.v, name);
    return short_text("the GPU at %s (%s)",
                      gpu->pci_address ? gpu->pci_address : "an unknown address", name);
}

static void gpu_broken(struct findings *r, const struct machine_gpu *gpu)
{
    static const struct {
        const char *in_problem, *id, *remedy;
    } cases[] = {
        {"mismatch", "gpu-driver-mismatch",
         "Reboot, or reload the kernel module, so that both have the same version."},
        {"lost", "gpu-lost", "Reboot; on a rented machine, return it and take another."},
        {"reset", "gpu-lost", "Reset or reboot it; on a rented machine, return it."},
        {"does not answer", "gpu-lost", "Reboot; on a rented machine, return it."},
        {"bound to the kernel driver", "gpu-held",
         "Unbind it from that driver, or leave it to its user."},
    };
    bool amd = gpu->vendor && strcmp(gpu->vendor, "amd") == 0;
    const char *id = "gpu-no-driver";
    const char *remedy =
        amd ? "Load the amdgpu driver; in a container, pass in /dev/kfd and /dev/dri."
            : "Install the driver; in a container, pass the GPU in (--gpus all).";
    for (size_t i = 0; gpu->problem && i < sizeof cases / sizeof *cases; i++) {
        if (strstr(gpu->problem, cases[i].in_problem)) {
            id = cases[i].id;
            remedy = cases[i].remedy;
            break;
        }
    }
    finding(r, PROBLEM, id, "You pay for it but cannot use it.", remedy, "%s does not work: %s",
            gpu_name(gpu).s, gpu->problem ? gpu->problem : "its driver does not answer");
}

static bool link_below(struct maybe_int now, struct maybe_int max)
{
    return now.known && max.known && now.v < max.v;
}

// "PCIe 5.0 x16", or the known part of it.
static struct short_text pcie(struct maybe_int generation, struct maybe_int width)
{
    if (generation.known && width.known)
        return short_text("PCIe %lld.0 x%lld", (long long)generation.v, (long long)width.v);
    if (width.known)
        return short_text("PCIe x%lld", (long long)width.v);
    return short_text("PCIe %lld.0", (long long)generation.v);
}

static void gpu_link(struct findings *r, const struct machine_gpu *gpu)
{
    struct maybe_int generation = {0}, width = {0};
    // An idle GPU slows its link down, so only a busy one counts. AMD's GPUs have no performance
    // state.
    bool fast = !gpu->performance_state.known || gpu->performance_state.v == 0;
    if (fast && gpu->use_percent.known && gpu->use_percent.v >= 10) {
        generation = gpu->pcie_generation;
        width = gpu->pcie_width;
    }
    const struct machine_bandwidth *b = &r->machine->bandwidth;
    for (size_t i = 0; i < b->gpus.count; i++) {
        const struct machine_gpu_bandwidth *row = &b->gpus.items[i];
        if (gpu->pci_address && row->pci_address && row->pcie_width_loaded.known &&
            strcmp(gpu->pci_address, row->pci_address) == 0) {
            generation = row->pcie_generation_loaded;
            width = row->pcie_width_loaded;
        }
    }
    if (!link_below(generation, gpu->pcie_generation_max) &&
        !link_below(width, gpu->pcie_width_max))
        return;
    struct short_text now = pcie(generation, width);
    struct short_text most = pcie(gpu->pcie_generation_max, gpu->pcie_width_max);
    finding(r, WARNING, "pcie-narrow",
            "Data reaches the GPU more slowly than on machines of the same type.",
            "Move the card to a full slot; on a rented machine, return it and take another.",
            "%s runs at %s under load, but supports %s", gpu_name(gpu).s, now.s, most.s);
}

static void gpu_shared(struct findings *r, const struct machine_gpu *gpu)
{
    bool busy = gpu->use_percent.known && gpu->use_percent.v >= 10;
    if (busy && gpu->processes.known && gpu->processes.count == 0)
        finding(r, PROBLEM, "gpu-busy-without-process",
                "Someone outside this container or machine uses the GPU you pay for.",
                "Ask the provider, or take another machine.",
                "%s is %lld %% busy, but no process here uses it", gpu_name(gpu).s,
                (long long)gpu->use_percent.v);
    else if (gpu->processes.count == 0 && busy)
        finding(r, WARNING, "gpu-busy", "Another program uses the GPU during a measurement.",
                "Wait for it to finish, or measure on another GPU.", "%s is %lld %% busy",
                gpu_name(gpu).s, (long long)gpu->use_percent.v);
    else if (gpu->processes.count > 0)
        finding(r, WARNING, "gpu-busy", "They use the GPU during a measurement.",
                "Stop them, or measure on another GPU.", "%s is in use: %zu process%s%s%s",
                gpu_name(gpu).s, gpu->processes.count, gpu->processes.count == 1 ? "" : "es",
                gpu->processes.items[0].name ? ", first " : "",
                gpu->processes.items[0].name ? gpu->processes.items[0].name : "");
}

static void gpu_clocks(struct findings *r, const struct machine_gpu *gpu)
{
    bool only_power = gpu->throttling.count == 1 && strstr(gpu->throttling.items[0], "power cap");
    if (only_power)
        finding(r, NOTE, "gpu-power-cap",
                "It lowers its clocks to stay within the limit, which is normal under full load.",
                "None needed, unless the GPU should be idle.", "%s is at its power limit",
                gpu_name(gpu).s);
    else if (gpu->throttling.count > 0)
        finding(r, WARNING, "gpu-throttled", "It is slower than other GPUs of this model.",
                "Check its cooling and power; on a rented machine, return it and take another.",
                "%s is throttled: %s%s%s", gpu_name(gpu).s, gpu->throttling.items[0],
                gpu->throttling.count > 1 ? ", " : "",
                gpu->throttling.count > 1 ? gpu->throttling.items[1] : "");
    if (gpu->power_limit_mw.known && gpu->power_limit_default_mw.known &&
        (double)gpu->power_limit_mw.v < (double)gpu->power_limit_default_mw.v * 0.99)
        finding(
            r, WARNING, "gpu-power-limit",
            "It is slower than other GPUs of this model, and uses less power.",
            "Restore the default (nvidia-smi -pl, rocm-smi --resetpoweroverdrive), if permitted.",
            "%s is limited to %.0f W (default: %.0f W)", gpu_name(gpu).s,
            (double)gpu->power_limit_mw.v / 1000, (double)gpu->power_limit_default_mw.v / 1000);
    if (gpu->persistence.known && !gpu->persistence.v)
        finding(r, NOTE, "gpu-persistence",
                "The driver reloads with each program, which takes a second or more.",
                "Run 'nvidia-smi -pm 1' as root, if permitted.", "%s has persistence mode off",
                gpu_name(gpu).s);
    if (gpu->mig.known && gpu->mig.v)
        finding(r, NOTE, "gpu-mig",
                "A run measures one instance, not the GPU; utilisation and clocks cannot be read.",
                "Compare it only with instances of the same size.",
                "%s is split into MIG instances, %zu of them here", gpu_name(gpu).s,
                gpu->mig_instances.count);
}

static void gpus(struct findings *r)
{
    for (size_t i = 0; i < r->machine->gpus.count; i++) {
        const struct machine_gpu *gpu = &r->machine->gpus.items[i];
        if (gpu->works.known && !gpu->works.v) {
            gpu_broken(r, gpu);
            continue;
        }
        gpu_link(r, gpu);
        gpu_shared(r, gpu);
        gpu_clocks(r, gpu);
    }
}

static void place(struct findings *r)
{
    const struct machine_where *w = &r->machine->where;
    if (w->spot.known && w->spot.v)
        finding(r, NOTE, "spot", "The provider can reclaim it within seconds or minutes.",
                "Write checkpoints to persistent storage.", "this is a spot machine of %s",
                w->provider ? w->provider : "its provider");
}

int machine_diagnose(struct machine *machine, struct err *err)
{
    struct findings r = {.machine = machine, .err = err};
    machine->findings.known = true;
    gpus(&r);
    instruction_sets(&r);
    libraries(&r);
    processor(&r);
    memory(&r);
    disk(&r);
    place(&r);
    program(&r);
    return r.rc;
}

// ==== ready ====
// When this machine was ready for work after its start, by the first of these that tells it:
// cloud-init, which finished; the boot target, which was reached (systemd and SysV init note the
// runlevel in utmp); sshd, which was started. All are files: nobody is asked. If none tells it, it
// is unknown; the time since the start is no substitute.

// The final stage's end in cloud-init's status, such as 1522066383.56594; 0: not yet, or unknown.
static int64_t by_cloud_init(struct tree *tree, struct buf *text)
{
    if (!tree_text(tree, text, "/run/cloud-init/status.json"))
        return 0;
    json_auto_t *status = json_loads(buf_str(text), 0, NULL);
    const json_t *last = json_object_get(json_object_get(status, "v1"), "modules-final");
    double finished = json_number_value(json_object_get(last, "finished"));
    return finished > 0 && finished < 9e9 ? (int64_t)finished : 0;
}

static int64_t by_runlevel(struct tree *tree, struct buf *text)
{
    struct utmp entry;
    if (!tree_text(tree, text, "/run/utmp"))
        return 0;
    for (size_t at = 0; at + sizeof entry <= text->len; at += sizeof entry) {
        memcpy(&entry, text->data + at, sizeof entry);
        if (entry.ut_type == RUN_LVL)
            return (int64_t)entry.ut_tv.tv_sec;
    }
    return 0;
}

// The 22nd value of /proc/PID/stat, the 20th after the name: its start in hundredths of a second
// since the kernel's.
static int64_t by_sshd(struct tree *tree, struct buf *text, int64_t booted_s)
{
    int64_t pid;
    if (booted_s <= 0 || !tree_int(tree, &pid, "/run/sshd.pid") ||
        !tree_text(tree, text, "/proc/%lld/stat", (long long)pid))
        return 0;
    const char *name = strstr(buf_str(text), " (sshd) "), *at = name ? name + 8 : "";
    for (int i = 1; i < 20; i++) {
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    long long ticks = strtoll(at, NULL, 10);
    return ticks > 0 && ticks < (1LL << 40) ? booted_s + ticks / 100 : 0;
}

int probe_ready(struct probe *probe, struct machine_system *system, struct err *err)
{
    static const char *const names[] = {"cloud-init", "boot target", "sshd"};
    SCOPED(buf_release) struct buf text = {0};
    char date[CLOCK_ISO_BYTES];
    int64_t booted_s = 0, ready_s[3] = {0};
    if (system->container && strcmp(system->container, "none") != 0)
        return 0; // these files would be the container's
    if (system->booted_at && !clock_parse(system->booted_at, &booted_s))
        booted_s = 0;
    // While cloud-init works, the machine is not ready, whatever else is.
    ready_s[0] = by_cloud_init(&probe->tree, &text);
    if (ready_s[0] == 0 && !tree_exists(&probe->tree, "/run/cloud-init/status.json")) {
        ready_s[1] = by_runlevel(&probe->tree, &text);
        if (ready_s[1] == 0)
            ready_s[2] = by_sshd(&probe->tree, &text, booted_s);
    }
    for (int i = 0; i < 3; i++)
        if (ready_s[i] > 0 && ready_s[i] >= booted_s) { // else that of an earlier start
            clock_iso(ready_s[i], date);
            TRY(text_set(&system->ready_at, date, err));
            return text_set(&system->ready_by, names[i], err);
        }
    return 0;
}
