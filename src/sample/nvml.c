// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs, through NVML. NVML may take seconds to start, and a call may never return if a GPU
// has fallen off the bus, so only the GPU lane's thread calls it. A GPU with MIG shows no rates,
// and its power and memory are totals over all instances, so all figures stay absent.
#include "machine/nvml.h"

#include <string.h>

#include "sample/gpm.h"
#include "sample/source.h"
#include "sample/tasks.h"

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

static int nvidia_open(void *state, struct place *place, struct err *err)
{
    (void)state, (void)place, (void)err;
    return 0;
}

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

static bool nvidia_begin(void *state, struct place *place)
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

static const struct known_pid *look_up(struct nvidia *n, const struct place *place, pid_t pid,
                                       int64_t number)
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
static void read_processes(struct nvidia *n, const struct place *place, struct nvml_device *device,
                           struct gpu *gpu, int64_t number)
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
                      const struct reading *reading, struct gpu *gpu, struct gpu_reading *out)
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

static void nvidia_read(void *state, struct place *place, struct reading *reading)
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
    .open = nvidia_open,
    .read = nvidia_read,
    .close = nvidia_close,
    .begin = nvidia_begin,
};
