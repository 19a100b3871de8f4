// SPDX-License-Identifier: Apache-2.0
// nvml: NVIDIA's management library, opened at run time.
//
// Builds without NVIDIA's header: the parts used are declared here, from the documentation
// (docs.nvidia.com/deploy/nvml-api). Table members have the functions' own names, so that errors
// can name the call. Any may be null: older libraries lack newer names, newer ones drop old names,
// and some functions exist but answer "function not found".
#ifndef FARE_MACHINE_NVML_H
#define FARE_MACHINE_NVML_H

#include <stdbool.h>
#include <stdint.h>

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

// A versioned struct carries its size too.
#define NVML_STRUCT_VERSION(type, number) ((unsigned int)(sizeof(type) | (number) << 24))

struct nvml_api {
    enum nvml_return (*nvmlInit_v2)(void);
    enum nvml_return (*nvmlInit)(void);
    enum nvml_return (*nvmlShutdown)(void);
    const char *(*nvmlErrorString)(enum nvml_return);
    enum nvml_return (*nvmlSystemGetDriverVersion)(char *, unsigned int);
    enum nvml_return (*nvmlSystemGetNVMLVersion)(char *, unsigned int);
    enum nvml_return (*nvmlSystemGetCudaDriverVersion_v2)(int *);
    enum nvml_return (*nvmlSystemGetCudaDriverVersion)(int *);
    enum nvml_return (*nvmlDeviceGetCount_v2)(unsigned int *);
    enum nvml_return (*nvmlDeviceGetCount)(unsigned int *);
    enum nvml_return (*nvmlDeviceGetHandleByIndex_v2)(unsigned int, struct nvml_device **);
    enum nvml_return (*nvmlDeviceGetHandleByIndex)(unsigned int, struct nvml_device **);
    enum nvml_return (*nvmlDeviceGetName)(struct nvml_device *, char *, unsigned int);
    enum nvml_return (*nvmlDeviceGetUUID)(struct nvml_device *, char *, unsigned int);
    enum nvml_return (*nvmlDeviceGetPciInfo_v3)(struct nvml_device *, struct nvml_pci *);
    enum nvml_return (*nvmlDeviceGetPciInfo_v2)(struct nvml_device *, struct nvml_pci *);
    enum nvml_return (*nvmlDeviceGetPciInfo)(struct nvml_device *, struct nvml_pci *);
    enum nvml_return (*nvmlDeviceGetCudaComputeCapability)(struct nvml_device *, int *, int *);
    enum nvml_return (*nvmlDeviceGetMemoryInfo_v2)(struct nvml_device *, struct nvml_memory_v2 *);
    enum nvml_return (*nvmlDeviceGetMemoryInfo)(struct nvml_device *, struct nvml_memory *);
    enum nvml_return (*nvmlDeviceGetCurrPcieLinkGeneration)(struct nvml_device *, unsigned int *);
    enum nvml_return (*nvmlDeviceGetMaxPcieLinkGeneration)(struct nvml_device *, unsigned int *);
    enum nvml_return (*nvmlDeviceGetCurrPcieLinkWidth)(struct nvml_device *, unsigned int *);
    enum nvml_return (*nvmlDeviceGetMaxPcieLinkWidth)(struct nvml_device *, unsigned int *);
    enum nvml_return (*nvmlDeviceGetClockInfo)(struct nvml_device *, unsigned int, unsigned int *);
    enum nvml_return (*nvmlDeviceGetMaxClockInfo)(struct nvml_device *, unsigned int,
                                                  unsigned int *);
    enum nvml_return (*nvmlDeviceGetPowerUsage)(struct nvml_device *, unsigned int *);
    enum nvml_return (*nvmlDeviceGetTotalEnergyConsumption)(struct nvml_device *,
                                                            unsigned long long *);
    enum nvml_return (*nvmlDeviceGetPcieThroughput)(struct nvml_device *, unsigned int,
                                                    unsigned int *);
    enum nvml_return (*nvmlDeviceGetEnforcedPowerLimit)(struct nvml_device *, unsigned int *);
    enum nvml_return (*nvmlDeviceGetPowerManagementDefaultLimit)(struct nvml_device *,
                                                                 unsigned int *);
    enum nvml_return (*nvmlDeviceGetTemperatureV)(struct nvml_device *, struct nvml_temperature *);
    enum nvml_return (*nvmlDeviceGetTemperature)(struct nvml_device *, unsigned int,
                                                 unsigned int *);
    enum nvml_return (*nvmlDeviceGetUtilizationRates)(struct nvml_device *,
                                                      struct nvml_utilization *);
    enum nvml_return (*nvmlDeviceGetPerformanceState)(struct nvml_device *, unsigned int *);
    enum nvml_return (*nvmlDeviceGetEccMode)(struct nvml_device *, unsigned int *, unsigned int *);
    enum nvml_return (*nvmlDeviceGetMigMode)(struct nvml_device *, unsigned int *, unsigned int *);
    enum nvml_return (*nvmlDeviceGetMaxMigDeviceCount)(struct nvml_device *, unsigned int *);
    enum nvml_return (*nvmlDeviceGetMigDeviceHandleByIndex)(struct nvml_device *, unsigned int,
                                                            struct nvml_device **);
    enum nvml_return (*nvmlDeviceGetPersistenceMode)(struct nvml_device *, unsigned int *);
    enum nvml_return (*nvmlDeviceGetCurrentClocksEventReasons)(struct nvml_device *,
                                                               unsigned long long *);
    enum nvml_return (*nvmlDeviceGetCurrentClocksThrottleReasons)(struct nvml_device *,
                                                                  unsigned long long *);
    // Process lists. The entry's layout depends on the version and, for _v3, on the driver; see
    // nvml_processes.c.
    enum nvml_return (*nvmlDeviceGetComputeRunningProcesses_v3)(struct nvml_device *,
                                                                unsigned int *, void *);
    enum nvml_return (*nvmlDeviceGetComputeRunningProcesses_v2)(struct nvml_device *,
                                                                unsigned int *, void *);
    enum nvml_return (*nvmlDeviceGetComputeRunningProcesses)(struct nvml_device *, unsigned int *,
                                                             void *);
    enum nvml_return (*nvmlDeviceGetGraphicsRunningProcesses_v3)(struct nvml_device *,
                                                                 unsigned int *, void *);
    enum nvml_return (*nvmlDeviceGetGraphicsRunningProcesses_v2)(struct nvml_device *,
                                                                 unsigned int *, void *);
    enum nvml_return (*nvmlDeviceGetGraphicsRunningProcesses)(struct nvml_device *, unsigned int *,
                                                              void *);
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

#endif
