// SPDX-License-Identifier: Apache-2.0
#include "machine/nvml.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/pci.h"

// ==== nvml_ask ====

_Static_assert(sizeof(struct nvml_memory_v2) == 40 && sizeof(struct nvml_temperature) == 12,
               "NVML's layouts, by its documentation");

const struct nvml_reason nvml_reasons[NVML_REASONS] = {
    {0x04, "sw power cap"},        {0x08, "hw slowdown"},    {0x20, "sw thermal slowdown"},
    {0x40, "hw thermal slowdown"}, {0x80, "hw power brake"},
};

static bool nvml_ask_memory(struct nvml_reader *r, struct maybe_int *total, struct maybe_int *used)
{
    struct nvml_memory_v2 now = {.version = NVML_STRUCT_VERSION(struct nvml_memory_v2, 2)};
    if (ASK(r, nvmlDeviceGetMemoryInfo_v2, &now)) {
        nvml_number(total, now.total, INT64_MAX);
        nvml_number(used, now.used, INT64_MAX);
        return true;
    }
    struct nvml_memory old = {0};
    if (ASK(r, nvmlDeviceGetMemoryInfo, &old)) {
        nvml_number(total, old.total, INT64_MAX);
        nvml_number(used, old.used, INT64_MAX);
        return true;
    }
    return false;
}

static void nvml_ask_temperature(struct nvml_reader *r, struct maybe_int *celsius)
{
    struct nvml_temperature heat = {.version = NVML_STRUCT_VERSION(struct nvml_temperature, 1)};
    unsigned int v = 0;
    if (ASK(r, nvmlDeviceGetTemperatureV, &heat)) {
        if (heat.celsius >= 0)
            nvml_number(celsius, (unsigned int)heat.celsius, 300);
    } else if (ASK(r, nvmlDeviceGetTemperature, 0, &v)) {
        nvml_number(celsius, v, 300);
    }
}

static bool nvml_ask_reasons(struct nvml_reader *r, unsigned long long *bits)
{
    return ASK(r, nvmlDeviceGetCurrentClocksEventReasons, bits) ||
           ASK(r, nvmlDeviceGetCurrentClocksThrottleReasons, bits);
}

void nvml_ask_now(struct nvml_reader *r, struct nvml_now *now)
{
    memset(now, 0, sizeof *now);
    struct nvml_utilization use = {0};
    struct maybe_int total = {0};
    unsigned int v = 0;
    unsigned long long energy = 0, bits = 0;
    if (ASK(r, nvmlDeviceGetUtilizationRates, &use))
        nvml_number(&now->use_percent, use.gpu, 100);
    if (r->lost_call)
        return;
    nvml_ask_memory(r, &total, &now->memory_used_bytes);
    if (total.known && now->memory_used_bytes.v > total.v)
        now->memory_used_bytes = (struct maybe_int){0};
    if (ASK(r, nvmlDeviceGetPowerUsage, &v))
        nvml_number(&now->power_mw, v, 10000000);
    if (ASK(r, nvmlDeviceGetTotalEnergyConsumption, &energy))
        nvml_number(&now->energy_mj, energy, INT64_MAX);
    if (ASK(r, nvmlDeviceGetClockInfo, NVML_CLOCK_SM, &v))
        nvml_number(&now->clock_sm_mhz, v, 100000);
    nvml_ask_temperature(r, &now->temperature_c);
    if (!nvml_ask_reasons(r, &bits))
        return;
    unsigned long long mask = 0;
    for (size_t i = 0; i < NVML_REASONS; i++)
        mask |= nvml_reasons[i].bit;
    now->reasons = some_int((int64_t)(bits & mask));
}

void nvml_ask_pcie(struct nvml_reader *r, struct maybe_int *bytes_per_s)
{
    enum { SENT, RECEIVED };             // nvmlPcieUtilCounter_t
    unsigned int sent = 0, received = 0; // KB/s
    if (ASK(r, nvmlDeviceGetPcieThroughput, SENT, &sent) &&
        ASK(r, nvmlDeviceGetPcieThroughput, RECEIVED, &received))
        // No link carries 1 TB/s.
        nvml_number(bytes_per_s, ((unsigned long long)sent + received) * 1000, 1000000000000);
}

// ==== nvml_processes ====

#define PROCESSES_MAX 65536

typedef enum nvml_return (*process_call)(struct nvml_device *, unsigned int *, void *);

// An entry starts with the pid (4 bytes, padded to 8) and the memory (8 bytes). Version 1 ends
// there; version 2 adds two instance ids of 4 bytes. Version 3 equals version 2, except that some
// drivers of the 530 and 535 series append 8 bytes. So its size is derived from the bytes written.
enum { ENTRY_V1 = 16, ENTRY_V2 = 24, ENTRY_MAX = NVML_PROCESS_BYTES, UNTOUCHED = 0xA5 };

static size_t entry_size(const unsigned char *bytes, unsigned int capacity, unsigned int count)
{
    size_t written = (size_t)capacity * ENTRY_MAX;
    while (written > 0 && bytes[written - 1] == UNTOUCHED)
        written--;
    // A driver may clear the whole buffer. `capacity` is odd, so 24 * capacity and 32 * count
    // cannot be equal.
    bool longer = written == (size_t)count * ENTRY_MAX || written == (size_t)capacity * ENTRY_MAX;
    return longer && count > 0 ? ENTRY_MAX : ENTRY_V2;
}

static bool reserve(struct nvml_processes *out, unsigned int capacity)
{
    unsigned char *larger = realloc(out->bytes, (size_t)capacity * ENTRY_MAX);
    if (!larger)
        return false;
    out->bytes = larger;
    out->capacity = capacity;
    return true;
}

static int query(struct nvml_device *device, process_call call, struct nvml_processes *out,
                 enum nvml_return *code, struct err *err)
{
    unsigned int count;
    for (;;) {
        if (out->capacity == 0 && !reserve(out, 33))
            return err_memory(err);
        memset(out->bytes, UNTOUCHED, (size_t)out->capacity * ENTRY_MAX);
        count = out->capacity;
        *code = call(device, &count, out->bytes);
        if (*code != NVML_INSUFFICIENT_SIZE || out->fixed || out->capacity >= PROCESSES_MAX)
            break;
        // Processes may start in between: allocate more than NVML says.
        unsigned int base = count > out->capacity && count < PROCESSES_MAX ? count : out->capacity;
        if (!reserve(out, (base * 2) | 1))
            return err_memory(err);
    }
    if (*code == NVML_SUCCESS && count > out->capacity)
        *code = NVML_UNKNOWN; // it wrote past the buffer, or the count is wrong
    out->count = *code == NVML_SUCCESS ? count : 0;
    return 0;
}

// Tries the newest version first, and an older one only if the function is missing.
int nvml_processes_ask(const struct nvml_api *api, struct nvml_device *device, enum nvml_list list,
                       struct nvml_processes *out, enum nvml_return *code, struct err *err)
{
    const process_call compute[] = {api->nvmlDeviceGetComputeRunningProcesses_v3,
                                    api->nvmlDeviceGetComputeRunningProcesses_v2,
                                    api->nvmlDeviceGetComputeRunningProcesses};
    const process_call graphics[] = {api->nvmlDeviceGetGraphicsRunningProcesses_v3,
                                     api->nvmlDeviceGetGraphicsRunningProcesses_v2,
                                     api->nvmlDeviceGetGraphicsRunningProcesses};
    const process_call *calls = list == NVML_COMPUTE ? compute : graphics;
    static const size_t sizes[] = {0, ENTRY_V2, ENTRY_V1}; // 0: detected by entry_size()
    *code = NVML_FUNCTION_NOT_FOUND;
    out->count = 0;
    for (size_t i = 0; i < 3 && *code == NVML_FUNCTION_NOT_FOUND; i++) {
        if (!calls[i])
            continue;
        TRY(query(device, calls[i], out, code, err));
        out->entry = sizes[i];
    }
    if (*code == NVML_SUCCESS && out->entry == 0)
        out->entry = entry_size(out->bytes, out->capacity, out->count);
    return 0;
}

// not for a fixed one
static void nvml_processes_release(struct nvml_processes *processes)
{
    free(processes->bytes);
    memset(processes, 0, sizeof *processes);
}

uint32_t nvml_process(const struct nvml_processes *processes, unsigned int i, uint64_t *memory)
{
    const unsigned char *at = processes->bytes + i * processes->entry;
    uint32_t pid;
    memcpy(&pid, at, sizeof pid);
    memcpy(memory, at + 8, sizeof *memory);
    return pid;
}

// ==== nvml ====

_Static_assert(sizeof(struct nvml_pci) == 68, "NVML's layout, by its documentation");

#define TEXT_BYTES 96 // the longest buffer NVML asks for (names, UUIDs of MIG devices)
#define GPUS_MAX   1024
#define MIG_MAX    64

#define SYMBOL(name, args) {#name, offsetof(struct nvml_api, name), DL_OPTIONAL},
static const struct dl_symbol symbols[] = {NVML_FUNCTIONS(SYMBOL) SYMBOL(nvmlErrorString, )};

// "nvmlInit: Driver Not Loaded (code 9: the NVIDIA kernel driver is not loaded)"
static void nvml_words(const struct nvml_api *api, const char *call, enum nvml_return code,
                       char *out, size_t size)
{
    static const struct {
        enum nvml_return code;
        const char *meaning;
    } meanings[] = {
        {NVML_NO_PERMISSION, "this user may not open /dev/nvidia*; in a container, --group-add "
                             "their group"},
        {NVML_INSUFFICIENT_POWER, "its power cables are not properly attached"},
        {NVML_DRIVER_NOT_LOADED, "the NVIDIA kernel driver is not loaded"},
        {NVML_IRQ_ISSUE, "the kernel reports an interrupt problem"},
        {NVML_CORRUPTED_INFOROM, "its infoROM is corrupted"},
        {NVML_GPU_IS_LOST, "it has fallen off the bus or cannot be reached"},
        {NVML_RESET_REQUIRED, "it must be reset"},
        {NVML_OPERATING_SYSTEM, "the operating system or a cgroup blocks it"},
        {NVML_VERSION_MISMATCH, "kernel driver and library have different versions"},
        {NVML_UNKNOWN, "driver error"},
    };
    const char *said = api->nvmlErrorString ? api->nvmlErrorString(code) : NULL;
    const char *meaning = NULL;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].code == code)
            meaning = meanings[i].meaning;
    snprintf(out, size, "%s: %s (code %d%s%s)", call, said && *said ? said : "failed", (int)code,
             meaning ? ": " : "", meaning ? meaning : "");
}

void nvml_module_version(const char *text, char *out, size_t size)
{
    out[0] = '\0';
    const char *end = text + strcspn(text, "\n");
    while (text < end) {
        size_t len = strcspn(text, " \t\n");
        size_t numeric = strspn(text, "0123456789.");
        if (len > 0 && numeric == len && isdigit((unsigned char)text[0]) && len < size &&
            isdigit((unsigned char)text[len - 1]) && memchr(text, '.', len)) {
            memcpy(out, text, len);
            out[len] = '\0';
            return;
        }
        text += len;
        text += strspn(text, " \t");
    }
}

// The library's version is the driver's, preceded by CUDA's: "12.550.54.15". Otherwise the file's
// name has it: "libnvidia-ml.so.550.54.15".
static void version_read(struct nvml *nvml)
{
    char text[sizeof nvml->version] = "";
    if (nvml->api.nvmlSystemGetNVMLVersion &&
        nvml->api.nvmlSystemGetNVMLVersion(text, sizeof text - 1) == NVML_SUCCESS) {
        text[sizeof text - 1] = '\0';
        const char *dot = strchr(text, '.');
        bool prefixed = dot && dot - text <= 2 && strspn(dot + 1, "0123456789") >= 3;
        snprintf(nvml->version, sizeof nvml->version, "%s", prefixed ? dot + 1 : text);
        return;
    }
    char file[PATH_MAX];
    const char *so = realpath(nvml->dl.path, file) ? strstr(file, ".so.") : NULL;
    if (so && isdigit((unsigned char)so[4]) && strchr(so + 4, '.'))
        snprintf(nvml->version, sizeof nvml->version, "%.79s", so + 4);
}

int nvml_open(struct nvml *nvml, const struct tree *tree, struct err *err)
{
    static const char *const names[] = {"libnvidia-ml.so.1", NULL};
    static const struct dl_spec spec = {
        .what = "the NVIDIA management library",
        .variable = "FARE_NVML",
        .names = names,
        .dirs = dl_vendor_dirs,
        .symbols = symbols,
        .symbol_count = sizeof symbols / sizeof *symbols,
    };
    memset(nvml, 0, sizeof *nvml);
    if (tree->root[0] != '\0' && !getenv(spec.variable))
        return err_set(err, ERR_MISSING, "%s is not on this machine", spec.what);
    TRY(dl_open(&nvml->dl, &spec, &nvml->api, err));
    const struct nvml_api *api = &nvml->api;
    if ((!api->nvmlInit_v2 && !api->nvmlInit) || !api->nvmlShutdown ||
        (!api->nvmlDeviceGetCount_v2 && !api->nvmlDeviceGetCount) ||
        (!api->nvmlDeviceGetHandleByIndex_v2 && !api->nvmlDeviceGetHandleByIndex)) {
        err_set(err, ERR_MISSING, "%s (%s) lacks functions that every version has", spec.what,
                nvml->dl.path);
        dl_close(&nvml->dl);
        return ERR_MISSING;
    }
    nvml->init = api->nvmlInit_v2 ? api->nvmlInit_v2() : api->nvmlInit();
    version_read(nvml);
    if (nvml->init == NVML_SUCCESS)
        return 0;
    char words[256];
    nvml_words(api, "nvmlInit", nvml->init, words, sizeof words);
    dl_close(&nvml->dl);
    return err_set(err, ERR_FAIL, "%s", words);
}

void nvml_close(struct nvml *nvml)
{
    if (nvml->dl.handle)
        nvml->api.nvmlShutdown();
    dl_close(&nvml->dl);
}

static bool device_address(struct nvml_reader *r, struct nvml_pci *pci,
                           char address[PCI_ADDRESS_BYTES])
{
    memset(pci, 0, sizeof *pci);
    if (!ASK(r, nvmlDeviceGetPciInfo_v3, pci) && !ASK(r, nvmlDeviceGetPciInfo_v2, pci) &&
        !ASK(r, nvmlDeviceGetPciInfo, pci))
        return false;
    char text[32];
    snprintf(text, sizeof text, "%x:%02x:%02x.0", pci->domain, pci->bus, pci->device);
    return pci_address_normalise(text, address);
}

static int read_identity(struct nvml_reader *r, struct machine_gpu *gpu, struct err *err)
{
    char text[TEXT_BYTES + 1] = ""; // one byte spare: NVML may omit the NUL
    if (ASK(r, nvmlDeviceGetName, text, TEXT_BYTES))
        TRY(text_set(&gpu->name, text, err));
    memset(text, 0, sizeof text);
    if (ASK(r, nvmlDeviceGetUUID, text, TEXT_BYTES))
        TRY(text_set(&gpu->uuid, text, err));
    struct nvml_pci pci;
    char address[PCI_ADDRESS_BYTES];
    if (device_address(r, &pci, address)) {
        snprintf(text, sizeof text, "%04x:%04x", pci.pci_device_id & 0xffff,
                 pci.pci_device_id >> 16);
        TRY(text_set(&gpu->pci_address, address, err));
        TRY(text_set(&gpu->pci_id, text, err));
    }
    int major = 0, minor = 0;
    if (ASK(r, nvmlDeviceGetCudaComputeCapability, &major, &minor)) {
        snprintf(text, sizeof text, "%d.%d", major, minor);
        TRY(text_set(&gpu->compute_capability, text, err));
    }
    return 0;
}

static void read_link(struct nvml_reader *r, struct maybe_int *generation, struct maybe_int *width)
{
    unsigned int v = 0;
    if (ASK(r, nvmlDeviceGetCurrPcieLinkGeneration, &v) && v > 0)
        nvml_number(generation, v, 16);
    if (ASK(r, nvmlDeviceGetCurrPcieLinkWidth, &v) && v > 0)
        nvml_number(width, v, 32);
}

static void read_numbers(struct nvml_reader *r, struct machine_gpu *gpu)
{
    unsigned int v = 0;
    nvml_ask_memory(r, &gpu->memory_total_bytes, &gpu->memory_used_bytes);
    read_link(r, &gpu->pcie_generation, &gpu->pcie_width);
    if (ASK(r, nvmlDeviceGetMaxPcieLinkGeneration, &v) && v > 0)
        nvml_number(&gpu->pcie_generation_max, v, 16);
    if (ASK(r, nvmlDeviceGetMaxPcieLinkWidth, &v) && v > 0)
        nvml_number(&gpu->pcie_width_max, v, 32);
    if (ASK(r, nvmlDeviceGetClockInfo, NVML_CLOCK_SM, &v))
        nvml_number(&gpu->clock_sm_mhz, v, 100000);
    if (ASK(r, nvmlDeviceGetMaxClockInfo, NVML_CLOCK_SM, &v))
        nvml_number(&gpu->clock_sm_max_mhz, v, 100000);
    if (ASK(r, nvmlDeviceGetClockInfo, NVML_CLOCK_MEMORY, &v))
        nvml_number(&gpu->clock_memory_mhz, v, 100000);
    if (ASK(r, nvmlDeviceGetMaxClockInfo, NVML_CLOCK_MEMORY, &v))
        nvml_number(&gpu->clock_memory_max_mhz, v, 100000);
    if (ASK(r, nvmlDeviceGetPowerUsage, &v))
        nvml_number(&gpu->power_mw, v, 10000000);
    if (ASK(r, nvmlDeviceGetEnforcedPowerLimit, &v))
        nvml_number(&gpu->power_limit_mw, v, 10000000);
    if (ASK(r, nvmlDeviceGetPowerManagementDefaultLimit, &v))
        nvml_number(&gpu->power_limit_default_mw, v, 10000000);
    nvml_ask_temperature(r, &gpu->temperature_c);
    struct nvml_utilization use = {0};
    if (ASK(r, nvmlDeviceGetUtilizationRates, &use))
        nvml_number(&gpu->use_percent, use.gpu, 100);
    if (ASK(r, nvmlDeviceGetPerformanceState, &v))
        nvml_number(&gpu->performance_state, v, 15); // 32 is "unknown"
}

static int read_switches(struct nvml_reader *r, struct machine_gpu *gpu, struct err *err)
{
    unsigned int now = 0, pending = 0;
    if (ASK(r, nvmlDeviceGetEccMode, &now, &pending))
        gpu->ecc = some_bool(now != 0);
    if (ASK(r, nvmlDeviceGetPersistenceMode, &now))
        gpu->persistence = some_bool(now != 0);
    if (ASK(r, nvmlDeviceGetMigMode, &now, &pending))
        gpu->mig = some_bool(now != 0);

    unsigned long long bits = 0;
    if (!nvml_ask_reasons(r, &bits))
        return 0;
    for (size_t i = 0; i < NVML_REASONS; i++)
        if (bits & nvml_reasons[i].bit)
            TRY(texts_add(&gpu->throttling, nvml_reasons[i].words, err));
    return 0;
}

// An instance is called "NVIDIA A100-SXM4-40GB MIG 3g.20gb": a common prefix, then its profile.
static int read_mig(struct nvml_reader *gpu_reader, struct machine_gpu *gpu, struct err *err)
{
    unsigned int most = 0;
    if (!ASK(gpu_reader, nvmlDeviceGetMaxMigDeviceCount, &most))
        return 0;
    for (unsigned int i = 0; i < most && i < MIG_MAX; i++) {
        struct nvml_reader r = {.api = gpu_reader->api};
        if (!ASK(gpu_reader, nvmlDeviceGetMigDeviceHandleByIndex, i, &r.device))
            continue; // a slot without an instance
        struct machine_mig *mig = LIST_ADD(&gpu->mig_instances, err);
        if (!mig)
            return ERR_MEMORY;
        char text[TEXT_BYTES + 1] = "";
        if (ASK(&r, nvmlDeviceGetName, text, TEXT_BYTES)) {
            const char *profile = strstr(text, "MIG ");
            TRY(text_set(&mig->name, profile ? profile + 4 : text, err));
        }
        memset(text, 0, sizeof text);
        if (ASK(&r, nvmlDeviceGetUUID, text, TEXT_BYTES))
            TRY(text_set(&mig->uuid, text, err));
        struct maybe_int used = {0};
        nvml_ask_memory(&r, &mig->memory_bytes, &used);
    }
    return 0;
}

static int add_process(struct machine_gpu *gpu, uint32_t pid, uint64_t bytes, struct err *err)
{
    struct machine_gpu_process *process = NULL;
    for (size_t i = 0; pid != 0 && i < gpu->processes.count; i++)
        if (gpu->processes.items[i].pid.v == pid)
            process = &gpu->processes.items[i];
    if (!process) {
        process = LIST_ADD(&gpu->processes, err);
        if (!process)
            return ERR_MEMORY;
        if (pid != 0)
            process->pid = some_int(pid);
    }
    // A process in both lists shows its full memory twice. All ones means "not available" and is
    // out of range.
    if (!process->memory_bytes.known || (int64_t)bytes > process->memory_bytes.v)
        nvml_number(&process->memory_bytes, bytes, INT64_MAX);
    return 0;
}

static int add_processes(struct nvml_reader *r, enum nvml_list list, struct nvml_processes *listed,
                         struct machine_gpu *gpu, enum nvml_return *code, struct err *err)
{
    TRY(nvml_processes_ask(r->api, r->device, list, listed, code, err));
    nvml_answered(r, "nvmlDeviceGetComputeRunningProcesses", *code);
    for (unsigned int i = 0; *code == NVML_SUCCESS && i < listed->count; i++) {
        uint64_t memory;
        uint32_t pid = nvml_process(listed, i, &memory);
        TRY(add_process(gpu, pid, memory, err));
    }
    return 0;
}

static int read_processes(struct nvml_reader *r, struct tree *tree, struct machine_gpu *gpu,
                          struct err *err)
{
    SCOPED(nvml_processes_release) struct nvml_processes listed = {0};
    enum nvml_return compute, graphics;
    TRY(add_processes(r, NVML_COMPUTE, &listed, gpu, &compute, err));
    TRY(add_processes(r, NVML_GRAPHICS, &listed, gpu, &graphics, err));
    // The list is complete even if empty. If one query failed, the other still counts.
    gpu->processes.known |=
        compute == NVML_SUCCESS && (graphics == NVML_SUCCESS || graphics == NVML_NOT_SUPPORTED);
    SCOPED(buf_release) struct buf name = {0};
    for (size_t i = 0; i < gpu->processes.count; i++) {
        struct machine_gpu_process *process = &gpu->processes.items[i];
        if (process->pid.known &&
            tree_text(tree, &name, "/proc/%lld/comm", (long long)process->pid.v))
            TRY(text_set(&process->name, buf_str(&name), err));
    }
    return 0;
}

static int read_gpu(struct nvml_reader *r, struct tree *tree, struct machine_gpu *gpu,
                    struct err *err)
{
    TRY(read_identity(r, gpu, err));
    read_numbers(r, gpu);
    TRY(read_switches(r, gpu, err));
    if (gpu->mig.known && gpu->mig.v)
        TRY(read_mig(r, gpu, err));
    TRY(read_processes(r, tree, gpu, err));
    bool silent = !gpu->name && !gpu->uuid && !gpu->memory_total_bytes.known;
    gpu->works = some_bool(!r->lost_call && !silent);
    if (gpu->works.v)
        return 0;
    char words[256] = "no answer from its driver";
    if (r->lost_call)
        nvml_words(r->api, r->lost_call, r->lost, words, sizeof words);
    else if (r->first_call)
        nvml_words(r->api, r->first_call, r->first, words, sizeof words);
    return text_set(&gpu->problem, words, err);
}

unsigned int nvml_gpu_count(const struct nvml_api *api)
{
    unsigned int count = 0;
    enum nvml_return code = api->nvmlDeviceGetCount_v2 ? api->nvmlDeviceGetCount_v2(&count)
                                                       : api->nvmlDeviceGetCount(&count);
    if (code != NVML_SUCCESS)
        return 0;
    return count < GPUS_MAX ? count : GPUS_MAX;
}

enum nvml_return nvml_gpu_handle(const struct nvml_api *api, unsigned int index,
                                 struct nvml_device **device)
{
    return api->nvmlDeviceGetHandleByIndex_v2 ? api->nvmlDeviceGetHandleByIndex_v2(index, device)
                                              : api->nvmlDeviceGetHandleByIndex(index, device);
}

static int read_driver(const struct nvml_api *api, struct machine_gpu *gpu, struct err *err)
{
    char text[TEXT_BYTES + 1] = "";
    int cuda = 0;
    if (api->nvmlSystemGetDriverVersion &&
        api->nvmlSystemGetDriverVersion(text, TEXT_BYTES) == NVML_SUCCESS)
        TRY(text_set(&gpu->driver, text, err));
    enum nvml_return code = NVML_FUNCTION_NOT_FOUND;
    if (api->nvmlSystemGetCudaDriverVersion_v2)
        code = api->nvmlSystemGetCudaDriverVersion_v2(&cuda);
    if (code != NVML_SUCCESS && api->nvmlSystemGetCudaDriverVersion)
        code = api->nvmlSystemGetCudaDriverVersion(&cuda);
    if (code == NVML_SUCCESS && cuda > 0) {
        snprintf(text, sizeof text, "%d.%d", cuda / 1000, cuda % 1000 / 10);
        TRY(text_set(&gpu->cuda, text, err));
    }
    return 0;
}

int nvml_read_gpus(struct nvml *nvml, struct tree *tree, struct machine *machine, struct err *err)
{
    const struct nvml_api *api = &nvml->api;
    unsigned int count = nvml_gpu_count(api);
    for (unsigned int i = 0; i < count; i++) {
        struct machine_gpu *gpu = LIST_ADD(&machine->gpus, err);
        if (!gpu)
            return ERR_MEMORY;
        gpu->index = some_int(i);
        TRY(text_set(&gpu->vendor, "nvidia", err));
        TRY(read_driver(api, gpu, err));
        struct nvml_reader r = {.api = api};
        enum nvml_return code = nvml_gpu_handle(api, i, &r.device);
        if (code == NVML_SUCCESS) {
            TRY(read_gpu(&r, tree, gpu, err));
        } else {
            char words[256];
            nvml_words(api, "nvmlDeviceGetHandleByIndex", code, words, sizeof words);
            gpu->works = some_bool(false);
            TRY(text_set(&gpu->problem, words, err));
        }
    }
    return tree_check(tree, err);
}

void nvml_read_link(struct nvml *nvml, const char *pci_address, struct maybe_int *generation,
                    struct maybe_int *width)
{
    unsigned int count = nvml_gpu_count(&nvml->api);
    for (unsigned int i = 0; i < count; i++) {
        struct nvml_reader r = {.api = &nvml->api};
        struct nvml_pci pci;
        char address[PCI_ADDRESS_BYTES];
        if (nvml_gpu_handle(&nvml->api, i, &r.device) == NVML_SUCCESS &&
            device_address(&r, &pci, address) && strcmp(address, pci_address) == 0) {
            read_link(&r, generation, width);
            return;
        }
    }
}
