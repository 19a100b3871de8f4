// SPDX-License-Identifier: Apache-2.0
// nvml: NVIDIA's management library, opened at run time.
//
// Builds without NVIDIA's header: the parts used are declared here, from the documentation
// (docs.nvidia.com/deploy/nvml-api). Table members have the functions' own names, so that errors
// can name the call. Any may be null: older libraries lack newer names, newer ones drop old names,
// and some functions exist but answer "function not found".
#ifndef FARE_MACHINE_NVML_H
#define FARE_MACHINE_NVML_H

#include "base/dl.h"
#include "base/tree.h"
#include "record/machine.h"

enum nvml_return { // the nvmlReturn_t values handled here
    NVML_SUCCESS = 0,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_INSUFFICIENT_POWER = 8,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_IRQ_ISSUE = 11,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_CORRUPTED_INFOROM = 14,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_OPERATING_SYSTEM = 17,
    NVML_VERSION_MISMATCH = 18,
    NVML_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_UNKNOWN = 999,
};

struct nvml_device; // opaque

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };

// nvmlMemory_t and nvmlMemory_v2_t.
struct nvml_memory {
    unsigned long long total, free, used; // bytes
};
struct nvml_memory_v2 {
    unsigned int version;
    unsigned long long total, reserved, free, used; // bytes; used without reserved
};

struct nvml_utilization {
    unsigned int gpu, memory; // percent
};

struct nvml_temperature { // nvmlTemperature_v1_t
    unsigned int version;
    unsigned int sensor; // 0: the GPU's own
    int celsius;
};

// nvmlPciInfo_t, version 3. Older versions are shorter but share the numbers.
struct nvml_pci {
    char bus_id_legacy[16];
    unsigned int domain, bus, device;
    unsigned int pci_device_id; // device id << 16 | vendor id
    unsigned int pci_subsystem_id;
    char bus_id[32];
};

// GPM, the GPU's own activity counters. The array is longer than any header's so far (333), since
// a library might clear all of its own.
#define NVML_GPM_VERSION 1
#define NVML_GPM_METRICS 400
struct nvml_gpm_sample; // opaque
struct nvml_gpm_support {
    unsigned int version;
    unsigned int supported;
};
struct nvml_gpm_metric { // nvmlGpmMetric_t
    unsigned int id;
    enum nvml_return code;
    double value;
    char *short_name, *long_name, *unit;
};
struct nvml_gpm_metrics { // nvmlGpmMetricsGet_t
    unsigned int version;
    unsigned int count;
    struct nvml_gpm_sample *before, *now;
    struct nvml_gpm_metric metrics[NVML_GPM_METRICS];
};

// A versioned struct carries its size too.
#define NVML_STRUCT_VERSION(type, number) ((unsigned int)(sizeof(type) | (number) << 24))

// Name and arguments of each; all give an nvml_return but nvmlErrorString, a text. What an entry in
// a list of processes looks like depends on the name and, for _v3, on the driver:
// nvml.c finds it out.
#define NVML_FUNCTIONS(F)                                                                          \
    F(nvmlInit_v2, (void))                                                                         \
    F(nvmlInit, (void))                                                                            \
    F(nvmlShutdown, (void))                                                                        \
    F(nvmlSystemGetDriverVersion, (char *, unsigned int))                                          \
    F(nvmlSystemGetNVMLVersion, (char *, unsigned int))                                            \
    F(nvmlSystemGetCudaDriverVersion_v2, (int *))                                                  \
    F(nvmlSystemGetCudaDriverVersion, (int *))                                                     \
    F(nvmlDeviceGetCount_v2, (unsigned int *))                                                     \
    F(nvmlDeviceGetCount, (unsigned int *))                                                        \
    F(nvmlDeviceGetHandleByIndex_v2, (unsigned int, struct nvml_device **))                        \
    F(nvmlDeviceGetHandleByIndex, (unsigned int, struct nvml_device **))                           \
    F(nvmlDeviceGetName, (struct nvml_device *, char *, unsigned int))                             \
    F(nvmlDeviceGetUUID, (struct nvml_device *, char *, unsigned int))                             \
    F(nvmlDeviceGetPciInfo_v3, (struct nvml_device *, struct nvml_pci *))                          \
    F(nvmlDeviceGetPciInfo_v2, (struct nvml_device *, struct nvml_pci *))                          \
    F(nvmlDeviceGetPciInfo, (struct nvml_device *, struct nvml_pci *))                             \
    F(nvmlDeviceGetCudaComputeCapability, (struct nvml_device *, int *, int *))                    \
    F(nvmlDeviceGetMemoryInfo_v2, (struct nvml_device *, struct nvml_memory_v2 *))                 \
    F(nvmlDeviceGetMemoryInfo, (struct nvml_device *, struct nvml_memory *))                       \
    F(nvmlDeviceGetCurrPcieLinkGeneration, (struct nvml_device *, unsigned int *))                 \
    F(nvmlDeviceGetMaxPcieLinkGeneration, (struct nvml_device *, unsigned int *))                  \
    F(nvmlDeviceGetCurrPcieLinkWidth, (struct nvml_device *, unsigned int *))                      \
    F(nvmlDeviceGetMaxPcieLinkWidth, (struct nvml_device *, unsigned int *))                       \
    F(nvmlDeviceGetClockInfo, (struct nvml_device *, unsigned int, unsigned int *))                \
    F(nvmlDeviceGetMaxClockInfo, (struct nvml_device *, unsigned int, unsigned int *))             \
    F(nvmlDeviceGetPowerUsage, (struct nvml_device *, unsigned int *))                             \
    F(nvmlDeviceGetTotalEnergyConsumption, (struct nvml_device *, unsigned long long *))           \
    F(nvmlDeviceGetPcieThroughput, (struct nvml_device *, unsigned int, unsigned int *))           \
    F(nvmlDeviceGetEnforcedPowerLimit, (struct nvml_device *, unsigned int *))                     \
    F(nvmlDeviceGetPowerManagementDefaultLimit, (struct nvml_device *, unsigned int *))            \
    F(nvmlDeviceGetTemperatureV, (struct nvml_device *, struct nvml_temperature *))                \
    F(nvmlDeviceGetTemperature, (struct nvml_device *, unsigned int, unsigned int *))              \
    F(nvmlDeviceGetUtilizationRates, (struct nvml_device *, struct nvml_utilization *))            \
    F(nvmlDeviceGetPerformanceState, (struct nvml_device *, unsigned int *))                       \
    F(nvmlDeviceGetEccMode, (struct nvml_device *, unsigned int *, unsigned int *))                \
    F(nvmlDeviceGetMigMode, (struct nvml_device *, unsigned int *, unsigned int *))                \
    F(nvmlDeviceGetMaxMigDeviceCount, (struct nvml_device *, unsigned int *))                      \
    F(nvmlDeviceGetMigDeviceHandleByIndex,                                                         \
      (struct nvml_device *, unsigned int, struct nvml_device **))                                 \
    F(nvmlDeviceGetPersistenceMode, (struct nvml_device *, unsigned int *))                        \
    F(nvmlDeviceGetCurrentClocksEventReasons, (struct nvml_device *, unsigned long long *))        \
    F(nvmlDeviceGetCurrentClocksThrottleReasons, (struct nvml_device *, unsigned long long *))     \
    F(nvmlDeviceGetComputeRunningProcesses_v3, (struct nvml_device *, unsigned int *, void *))     \
    F(nvmlDeviceGetComputeRunningProcesses_v2, (struct nvml_device *, unsigned int *, void *))     \
    F(nvmlDeviceGetComputeRunningProcesses, (struct nvml_device *, unsigned int *, void *))        \
    F(nvmlDeviceGetGraphicsRunningProcesses_v3, (struct nvml_device *, unsigned int *, void *))    \
    F(nvmlDeviceGetGraphicsRunningProcesses_v2, (struct nvml_device *, unsigned int *, void *))    \
    F(nvmlDeviceGetGraphicsRunningProcesses, (struct nvml_device *, unsigned int *, void *))       \
    F(nvmlGpmQueryDeviceSupport, (struct nvml_device *, struct nvml_gpm_support *))                \
    F(nvmlGpmSampleAlloc, (struct nvml_gpm_sample **))                                             \
    F(nvmlGpmSampleFree, (struct nvml_gpm_sample *))                                               \
    F(nvmlGpmSampleGet, (struct nvml_device *, struct nvml_gpm_sample *))                          \
    F(nvmlGpmMetricsGet, (struct nvml_gpm_metrics *))

struct nvml_api {
    const char *(*nvmlErrorString)(enum nvml_return);
#define MEMBER(name, args) enum nvml_return(*name) args;
    NVML_FUNCTIONS(MEMBER)
#undef MEMBER
};

struct nvml {
    struct dl dl;
    struct nvml_api api;
    enum nvml_return init; // result of nvmlInit, if the library was found
    char version[80];      // of the library, "550.54.15"; "" if unknown
};

// Opens and initialises. ERR_MISSING: no library. ERR_FAIL: nvmlInit failed; `init` has the code
// and `version` is filled. For a recorded machine (a tree with a root) only the library named by
// the variable FARE_NVML is opened. A zeroed struct can be closed.
int nvml_open(struct nvml *nvml, const struct tree *tree, struct err *err) MUST_USE;
void nvml_close(struct nvml *nvml);

// Appends all GPUs to machine->gpus. An unanswered query leaves its member absent. A GPU that is
// lost or has no name gets works = false and the problem. Process names come from /proc below the
// tree's root.
int nvml_read_gpus(struct nvml *nvml, struct tree *tree, struct machine *machine,
                   struct err *err) MUST_USE;

unsigned int nvml_gpu_count(const struct nvml_api *api); // 0 without an answer
enum nvml_return nvml_gpu_handle(const struct nvml_api *api, unsigned int index,
                                 struct nvml_device **device);

// The current link of the GPU at a normalised PCI address; absent if it cannot be read.
void nvml_read_link(struct nvml *nvml, const char *pci_address, struct maybe_int *generation,
                    struct maybe_int *width);

// The kernel module's version, from the text of /proc/driver/nvidia/version; "" if none.
void nvml_module_version(const char *text, char *out, size_t size);

// ==== nvml_ask ====
// Queries about one GPU, shared by machine/ and sample/.
//
// A query without an answer is normal. The reader keeps the first failure, and the first that says
// the whole GPU is gone.

struct nvml_reader {
    const struct nvml_api *api;
    struct nvml_device *device;
    enum nvml_return first, lost;
    const char *first_call, *lost_call;
};

static inline bool nvml_answered(struct nvml_reader *r, const char *call, enum nvml_return code)
{
    if (code == NVML_SUCCESS)
        return true;
    if (!r->first_call) {
        r->first = code;
        r->first_call = call;
    }
    if (!r->lost_call && (code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED)) {
        r->lost = code;
        r->lost_call = call;
    }
    return false;
}

#define ASK(r, call, ...)                                                                          \
    ((r)->api->call && nvml_answered((r), #call, (r)->api->call((r)->device, __VA_ARGS__)))

// Sets the number if it is in range.
static inline void nvml_number(struct maybe_int *member, unsigned long long value,
                               unsigned long long max)
{
    if (value <= max)
        *member = some_int((int64_t)value);
}

// The bits that mean throttling. The others (idle, application clocks) do not disturb a
// measurement.
struct nvml_reason {
    unsigned long long bit;
    const char *words;
};
#define NVML_REASONS 5
extern const struct nvml_reason nvml_reasons[NVML_REASONS];

struct nvml_now { // the values that change all the time
    struct maybe_int use_percent;
    struct maybe_int memory_used_bytes;
    struct maybe_int power_mw;
    struct maybe_int energy_mj; // since the driver was loaded
    struct maybe_int clock_sm_mhz;
    struct maybe_int temperature_c;
    struct maybe_int reasons; // the bits of nvml_reasons only
};
void nvml_ask_now(struct nvml_reader *r, struct nvml_now *now);

// PCIe traffic, both directions together. NVML measures each direction for 20 ms.
void nvml_ask_pcie(struct nvml_reader *r, struct maybe_int *bytes_per_s);

// ==== nvml_processes ====
// Lists the processes on a GPU, whichever of three API versions the driver has.

enum nvml_list { NVML_COMPUTE, NVML_GRAPHICS };

#define NVML_PROCESS_BYTES 32 // the largest entry of all versions

// A reusable buffer. A zeroed one grows as needed. A `fixed` one has space for `capacity` entries
// (an odd number) at `bytes`, owned by the caller.
struct nvml_processes {
    unsigned char *bytes;
    unsigned int capacity;
    bool fixed;
    size_t entry; // bytes per entry
    unsigned int count;
};

// Gets the whole list. `code` is NVML's answer; NVML_INSUFFICIENT_SIZE if a fixed buffer is too
// small. Fails only when memory runs out.
int nvml_processes_ask(const struct nvml_api *api, struct nvml_device *device, enum nvml_list list,
                       struct nvml_processes *out, enum nvml_return *code,
                       struct err *err) MUST_USE;

// The pid of entry i, and its memory in bytes (all ones: not available).
uint32_t nvml_process(const struct nvml_processes *processes, unsigned int i, uint64_t *memory);

#endif
