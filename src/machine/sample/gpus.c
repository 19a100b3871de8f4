// SPDX-License-Identifier: Apache-2.0
// The sources that ask GPUs' drivers; each ends in its table (source.h).
#include "machine/sample/source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "machine/pci.h"
#include "machine/sample/tasks.h"

struct gpm {
    struct nvml_gpm_sample *before, *now; // null: not available
    bool taken;                           // there is a sample in `before`
    int64_t before_ns;                    // its time
};

enum { // nvmlGpmMetricId_t
    SM_UTIL = 2,
    ANY_TENSOR_UTIL = 5,
    DRAM_BW_UTIL = 10,
    PCIE_TX_PER_SEC = 20, // MiB/s
    PCIE_RX_PER_SEC = 21,
};
static const unsigned int asked[] = {SM_UTIL, ANY_TENSOR_UTIL, DRAM_BW_UTIL, PCIE_TX_PER_SEC,
                                     PCIE_RX_PER_SEC};
enum { ASKED = sizeof asked / sizeof *asked };

#define MIB_PER_S_MAX 1e6               // a terabyte a second: no such link
#define SHORTEST_NS   (100 * NS_PER_MS) // between two samples, by NVML's documentation

static void gpm_close(struct gpm *gpm, const struct nvml_api *api)
{
    if (gpm->before)
        api->nvmlGpmSampleFree(gpm->before);
    if (gpm->now)
        api->nvmlGpmSampleFree(gpm->now);
    *gpm = (struct gpm){0};
}

// Finds out whether the device and its driver can.
static void gpm_open(struct gpm *gpm, const struct nvml_api *api, struct nvml_device *device)
{
    struct nvml_gpm_support support = {.version = NVML_GPM_VERSION};
    *gpm = (struct gpm){0};
    if (!api->nvmlGpmQueryDeviceSupport || !api->nvmlGpmSampleAlloc || !api->nvmlGpmSampleFree ||
        !api->nvmlGpmSampleGet || !api->nvmlGpmMetricsGet ||
        api->nvmlGpmQueryDeviceSupport(device, &support) != NVML_SUCCESS || !support.supported)
        return;
    if (api->nvmlGpmSampleAlloc(&gpm->before) != NVML_SUCCESS)
        gpm->before = NULL;
    if (!gpm->before || api->nvmlGpmSampleAlloc(&gpm->now) != NVML_SUCCESS) {
        gpm->now = NULL;
        gpm_close(gpm, api);
    }
}

static struct maybe_real percent(const struct nvml_gpm_metric *m)
{
    // Counters of a short interval may come out a little over the whole.
    bool sane = m->code == NVML_SUCCESS && m->value >= 0 && m->value <= 101;
    return sane ? some_real(fmin(m->value, 100)) : (struct maybe_real){0};
}

static bool rate(const struct nvml_gpm_metric *m)
{
    return m->code == NVML_SUCCESS && m->value >= 0 && m->value <= MIB_PER_S_MAX;
}

// False: a failure.
static bool ask(struct gpm *gpm, const struct nvml_api *api, struct nvml_gpm_metrics *get)
{
    *get = (struct nvml_gpm_metrics){
        .version = NVML_GPM_VERSION, .count = ASKED, .before = gpm->before, .now = gpm->now};
    for (int i = 0; i < ASKED; i++)
        get->metrics[i] = (struct nvml_gpm_metric){.id = asked[i], .code = NVML_UNKNOWN};
    return api->nvmlGpmMetricsGet(get) == NVML_SUCCESS;
}

// The activity since the last call; absent at the first one, and less than a tenth of a second
// after another, which is too short for the counters. A failure ends the readings.
static void gpm_read(struct gpm *gpm, const struct nvml_api *api, struct nvml_device *device,
                     int64_t at_ns, struct gpm_activity *out)
{
    struct nvml_gpm_metrics get = {0};
    bool known = gpm->taken;
    *out = (struct gpm_activity){0};
    if (!gpm->now || (gpm->taken && at_ns - gpm->before_ns < SHORTEST_NS))
        return;
    if (api->nvmlGpmSampleGet(device, gpm->now) != NVML_SUCCESS ||
        (known && !ask(gpm, api, &get))) {
        gpm_close(gpm, api);
        return;
    }
    struct nvml_gpm_sample *oldest = gpm->before;
    gpm->before = gpm->now;
    gpm->now = oldest;
    gpm->before_ns = at_ns;
    gpm->taken = true;
    if (!known)
        return;
    out->sm_percent = percent(&get.metrics[0]);
    out->tensor_percent = percent(&get.metrics[1]);
    out->dram_percent = percent(&get.metrics[2]);
    if (rate(&get.metrics[3]) && rate(&get.metrics[4]))
        out->pcie_bytes_per_s =
            some_real((get.metrics[3].value + get.metrics[4].value) * (1 << 20));
}

// ---- NVIDIA GPUs, through NVML. NVML may take seconds to start, and a call may never return if a
// GPU has fallen off the bus, so only the GPU lane's thread calls it. A GPU with MIG shows no
// rates, and its power and memory are totals over all instances, so all figures stay absent.

// PCIe rates take 40 ms per GPU, and processes come and go slowly.
#define PCIE_EVERY      10
#define PROCESSES_EVERY 4
#define PROCESSES_MAX   129 // processes per GPU, odd; a longer list is skipped
#define PIDS_MAX        256

struct card {
    struct nvml_device *device;
    bool mig;
    struct gpm gpm;
};

struct known_pid { // caches a process's ancestry between readings
    pid_t pid;
    bool ours, visible;
    int64_t seen; // number of the reading
};

struct nvidia {
    struct nvml nvml;
    bool open;
    int first; // first of our GPUs in the lane's list
    int count;
    bool any_ours; // NVML sees our pids: one of the run's was seen
    struct card cards[GPUS_MAX];
    int pid_count;
    struct known_pid pids[PIDS_MAX];
    struct nvml_processes processes;
    unsigned char process_bytes[PROCESSES_MAX * NVML_PROCESS_BYTES];
};

static void name_card(const struct nvml_api *api, struct nvml_device *device, struct gpu *gpu)
{
    // The buffers have a spare byte: NVML may omit the NUL.
    if (!api->nvmlDeviceGetName ||
        api->nvmlDeviceGetName(device, gpu->name, sizeof gpu->name - 1) != NVML_SUCCESS)
        gpu->name[0] = '\0';
    if (!api->nvmlDeviceGetUUID ||
        api->nvmlDeviceGetUUID(device, gpu->uuid, sizeof gpu->uuid - 1) != NVML_SUCCESS)
        gpu->uuid[0] = '\0';
    gpu->name[sizeof gpu->name - 1] = gpu->uuid[sizeof gpu->uuid - 1] = '\0';
}

static bool nvidia_begin(void *state, struct sample_place *place)
{
    struct nvidia *n = state;
    struct err none = {0};
    if (nvml_open(&n->nvml, &place->tree, &none) != 0)
        return false;
    const struct nvml_api *api = &n->nvml.api;
    n->open = true;
    n->first = place->gpu_count;
    n->processes = (struct nvml_processes){
        .bytes = n->process_bytes, .capacity = PROCESSES_MAX, .fixed = true, .count = 0};
    unsigned int count = nvml_gpu_count(api);
    for (unsigned int i = 0; i < count && place->gpu_count < GPUS_MAX; i++) {
        struct card *card = &n->cards[n->count++];
        struct gpu *gpu = &place->gpus[place->gpu_count++];
        unsigned int mig = 0, pending = 0;
        *gpu = (struct gpu){.vendor = GPU_NVIDIA, .index = (int)i};
        if (nvml_gpu_handle(api, i, &card->device) != NVML_SUCCESS) {
            card->device = NULL; // lost before the run: not its GPU
            continue;
        }
        name_card(api, card->device, gpu);
        card->mig = api->nvmlDeviceGetMigMode &&
                    api->nvmlDeviceGetMigMode(card->device, &mig, &pending) == NVML_SUCCESS &&
                    mig != 0;
        if (!card->mig)
            gpm_open(&card->gpm, api, card->device);
    }
    place->gpus_known = true;
    return true;
}

static const struct known_pid *look_up(struct nvidia *n, const struct sample_place *place,
                                       pid_t pid, int64_t number)
{
    struct known_pid *slot = NULL;
    for (int i = 0; i < n->pid_count; i++) {
        if (n->pids[i].pid == pid) {
            slot = &n->pids[i];
            break;
        }
        // The pid of an ended process may have been reused.
        if (n->pids[i].seen + PROCESSES_EVERY < number)
            slot = &n->pids[i];
    }
    if (!slot && n->pid_count < PIDS_MAX)
        slot = &n->pids[n->pid_count++];
    if (!slot)
        slot = &n->pids[0];
    if (slot->pid != pid || slot->seen + PROCESSES_EVERY < number) {
        slot->pid = pid;
        slot->ours = task_is_below(&place->tree, pid, place->pid, &slot->visible);
    }
    slot->seen = number;
    return slot;
}

// Counts a foreign process only if NVML's pids are valid here: the run's own pid was seen, or this
// one is in our /proc. In a container NVML may show no pids, or the host's.
static void read_processes(struct nvidia *n, const struct sample_place *place,
                           struct nvml_device *device, struct gpu *gpu, int64_t number)
{
    enum nvml_return code;
    struct err none = {0};
    if (nvml_processes_ask(&n->nvml.api, device, NVML_COMPUTE, &n->processes, &code, &none) != 0 ||
        code != NVML_SUCCESS)
        return;
    for (unsigned int i = 0; i < n->processes.count; i++) {
        uint64_t memory;
        uint32_t pid = nvml_process(&n->processes, i, &memory);
        if (pid == 0 || pid > INT32_MAX)
            continue; // hidden
        const struct known_pid *known = look_up(n, place, (pid_t)pid, number);
        n->any_ours |= known->ours;
        gpu->ours |= known->ours;
        gpu->others |= !known->ours && (n->any_ours || known->visible);
    }
}

static struct maybe_real scaled(struct maybe_int v, double by)
{
    return v.known ? some_real((double)v.v * by) : (struct maybe_real){0};
}

static void read_card(const struct nvml_api *api, struct card *card, bool pcie,
                      const struct sample_reading *reading, struct gpu *gpu,
                      struct gpu_reading *out)
{
    struct nvml_reader r = {.api = api, .device = card->device};
    struct nvml_now now;
    nvml_ask_now(&r, &now);
    out->use_percent = scaled(now.use_percent, 1);
    out->memory_bytes = now.memory_used_bytes;
    out->power_w = scaled(now.power_mw, 1e-3);
    out->energy_mj = now.energy_mj;
    out->clock_mhz = scaled(now.clock_sm_mhz, 1);
    out->temperature_c = now.temperature_c;
    out->throttle_bits = now.reasons;
    struct maybe_int rate = {0};
    if (pcie && !r.lost_call)
        nvml_ask_pcie(&r, &rate);
    out->pcie_bytes_per_s = scaled(rate, 1);
    if (!reading->last && !r.lost_call)
        gpm_read(&card->gpm, api, card->device, reading->at_ns, &out->activity);
    gpu->lost = r.lost_call != NULL;
}

static void nvidia_read(void *state, struct sample_place *place, struct sample_reading *reading)
{
    struct nvidia *n = state;
    for (int i = 0; i < n->count; i++) {
        struct gpu *gpu = &place->gpus[n->first + i];
        struct card *card = &n->cards[i];
        if (!card->device || gpu->lost)
            continue;
        if (reading->number < PROCESSES_EVERY || reading->number % PROCESSES_EVERY == 0 ||
            reading->last)
            read_processes(n, place, card->device, gpu, reading->number);
        if (card->mig)
            continue;
        // One GPU per reading, so that no reading waits for all of them.
        bool pcie =
            !reading->last && (reading->number + PCIE_EVERY - i % PCIE_EVERY) % PCIE_EVERY == 1;
        read_card(&n->nvml.api, card, pcie, reading, gpu, &reading->gpus[n->first + i]);
    }
}

static void nvidia_close(void *state)
{
    struct nvidia *n = state;
    for (int i = 0; i < n->count; i++)
        gpm_close(&n->cards[i].gpm, &n->nvml.api);
    if (n->open)
        nvml_close(&n->nvml);
}

const struct source source_nvml = {
    .name = "nvml",
    .lane = LANE_GPU,
    .size = sizeof(struct nvidia),
    .read = nvidia_read,
    .close = nvidia_close,
    .begin = nvidia_begin,
};

// ---- AMD GPUs, from the amdgpu driver's files below /sys/bus/pci/devices
// (Documentation/gpu/amdgpu in the kernel). They show neither processes nor throttling reasons.

#define DEVICE "/sys/bus/pci/devices/%s/"

// A GPU that is being reset or suspended returns an error or all ones. These limits reject such
// values.
enum { MHZ_MAX = 100000, WATTS_MAX = 10000, CELSIUS_MAX = 300 };

enum { BUSY, MEMORY, POWER, ENERGY, CLOCK, HEAT, FILES };

struct amdgpu_card {
    struct proc_file files[FILES];
};

struct amd {
    int first;
    int count;
    struct amdgpu_card cards[GPUS_MAX];
};

static void open_files(struct amdgpu_card *card, struct tree *tree, const char *address,
                       const char *hwmon)
{
    struct proc_file *f = card->files;
    proc_file_open(&f[BUSY], tree, DEVICE "gpu_busy_percent", address);
    proc_file_open(&f[MEMORY], tree, DEVICE "mem_info_vram_used", address);
    if (!hwmon)
        return;
    if (!proc_file_open(&f[POWER], tree, DEVICE "hwmon/%s/power1_average", address, hwmon))
        proc_file_open(&f[POWER], tree, DEVICE "hwmon/%s/power1_input", address, hwmon);
    proc_file_open(&f[ENERGY], tree, DEVICE "hwmon/%s/energy1_input", address, hwmon);
    proc_file_open(&f[CLOCK], tree, DEVICE "hwmon/%s/freq1_input", address, hwmon);
    proc_file_open(&f[HEAT], tree, DEVICE "hwmon/%s/temp1_input", address, hwmon);
}

static int add_card(struct amd *amd, struct sample_place *place, const struct pci_gpu *pci,
                    const struct pci_names *names, struct err *err)
{
    SCOPED(machine_release) struct machine machine = {0};
    struct machine_gpu *about = LIST_ADD(&machine.gpus, err);
    if (!about)
        return ERR_MEMORY;
    SCOPED(buf_release) struct buf hwmon = {0};
    bool named = pci_names_find(names, pci->vendor, pci->device) != NULL;
    TRY(pci_gpu_describe(pci, names, about, err));
    TRY(amd_gpu_read(&place->tree, pci, named, about, err));
    if (!about->works.v)
        return tree_check(&place->tree, err);
    bool listed = tree_list(&place->tree, &hwmon, DEVICE "hwmon", pci->address) && hwmon.len > 0;
    if (listed)
        hwmon.data[strcspn(hwmon.data, "\n")] = '\0'; // a GPU has one sensor chip
    open_files(&amd->cards[amd->count], &place->tree, pci->address, listed ? hwmon.data : NULL);
    struct gpu *gpu = &place->gpus[place->gpu_count++];
    *gpu = (struct gpu){.vendor = GPU_AMD, .index = amd->count++};
    snprintf(gpu->name, sizeof gpu->name, "%s", about->name ? about->name : "");
    snprintf(gpu->uuid, sizeof gpu->uuid, "%s", about->uuid ? about->uuid : "");
    return tree_check(&place->tree, err);
}

static int amd_open(void *state, struct sample_place *place, struct err *err)
{
    struct amd *amd = state;
    if (!tree_exists(&place->tree, "/sys/module/amdgpu"))
        return ERR_MISSING;
    SCOPED(pci_names_release) struct pci_names names = {0};
    SCOPED(pci_gpus_release) struct pci_gpus bus = {0};
    amd->first = place->gpu_count;
    TRY(pci_names_read(&names, NULL, err));
    TRY(pci_gpus_read(&place->tree, &names, &bus, err));
    for (size_t i = 0; i < bus.items.count && place->gpu_count < GPUS_MAX; i++)
        if (bus.items.items[i].vendor == PCI_AMD)
            TRY(add_card(amd, place, &bus.items.items[i], &names, err));
    if (amd->count == 0)
        return ERR_MISSING;
    place->gpus_known = true;
    return 0;
}

static struct maybe_real number(const struct proc_file *file, double per, double max)
{
    int64_t v;
    if (!proc_file_int(file, &v) || v < 0 || (double)v / per > max)
        return (struct maybe_real){0};
    return some_real((double)v / per);
}

static struct maybe_int whole(struct maybe_real v)
{
    return v.known ? some_int((int64_t)v.v) : (struct maybe_int){0};
}

static void amd_read(void *state, struct sample_place *place, struct sample_reading *reading)
{
    struct amd *amd = state;
    (void)place;
    for (int i = 0; i < amd->count; i++) {
        const struct proc_file *f = amd->cards[i].files;
        struct gpu_reading *out = &reading->gpus[amd->first + i];
        out->use_percent = number(&f[BUSY], 1, 100);
        out->memory_bytes = whole(number(&f[MEMORY], 1, 9e15));
        out->power_w = number(&f[POWER], 1e6, WATTS_MAX);      // from microwatts
        out->energy_mj = whole(number(&f[ENERGY], 1e3, 9e15)); // from microjoules
        out->clock_mhz = number(&f[CLOCK], 1e6, MHZ_MAX);      // from hertz
        out->temperature_c = whole(number(&f[HEAT], 1e3, CELSIUS_MAX));
    }
}

static void amd_close(void *state)
{
    struct amd *amd = state;
    for (int i = 0; i < amd->count; i++)
        for (int f = 0; f < FILES; f++)
            proc_file_close(&amd->cards[i].files[f]);
}

const struct source source_amdgpu = {
    .name = "amdgpu",
    .lane = LANE_GPU,
    .size = sizeof(struct amd),
    .open = amd_open,
    .read = amd_read,
    .close = amd_close,
};
