// SPDX-License-Identifier: Apache-2.0
// nvml: NVIDIA's management library, opened at run time.
//
// Its header is not needed to build: what is used of it is declared here, by its documentation
// (docs.nvidia.com/deploy/nvml-api). Members of the table are called as the library calls its
// functions, so that an error can name the call. Any may be null: older libraries lack the newer
// names, newer ones will drop the oldest, and some have a name but answer "function not found".
#ifndef FARE_MACHINE_NVML_H
#define FARE_MACHINE_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dl.h"
#include "base/tree.h"
#include "record/machine.h"

enum nvml_return { // nvmlReturn_t, those that get a treatment of their own
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

struct nvml_device; // theirs, opaque

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

// nvmlPciInfo_t of version 3; the older two end sooner and agree in the numbers.
struct nvml_pci {
    char bus_id_legacy[16];
    unsigned int domain, bus, device;
    unsigned int pci_device_id; // device id << 16 | vendor id
    unsigned int pci_subsystem_id;
    char bus_id[32];
};

// A struct that carries its version carries its size too.
#define NVML_STRUCT_VERSION(type, number) ((unsigned int)(sizeof(type) | (number) << 24))

// Name and arguments of each; all give an nvml_return but nvmlErrorString, a text. What an entry in
// a list of processes looks like depends on the name and, for _v3, on the driver:
// nvml_processes.c finds it out.
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
    F(nvmlDeviceGetGraphicsRunningProcesses, (struct nvml_device *, unsigned int *, void *))

struct nvml_api {
    const char *(*nvmlErrorString)(enum nvml_return);
#define MEMBER(name, args) enum nvml_return(*name) args;
    NVML_FUNCTIONS(MEMBER)
#undef MEMBER
};

struct nvml {
    struct dl dl;
    struct nvml_api api;
    enum nvml_return init; // how nvmlInit ended, where the library was found
    char version[80];      // of the library, "550.54.15"; "" where it does not tell
};

// Opens and initialises. ERR_MISSING: no library. ERR_FAIL: nvmlInit failed, `init` says how and
// `version` is filled all the same. A tree with a root is a recorded machine, whose library is
// the one that the variable FARE_NVML names, or none. A zeroed struct can be closed.
int nvml_open(struct nvml *nvml, const struct tree *tree, struct err *err) MUST_USE;
void nvml_close(struct nvml *nvml);

// Appends every GPU the library knows to machine->gpus. A question it does not answer leaves that
// fact absent; a GPU that is lost, or that it cannot even name, gets works = false and the
// problem. Names of processes come from /proc below the tree's root.
int nvml_read_gpus(struct nvml *nvml, struct tree *tree, struct machine *machine,
                   struct err *err) MUST_USE;

unsigned int nvml_gpu_count(const struct nvml_api *api); // 0 where it does not answer
enum nvml_return nvml_gpu_handle(const struct nvml_api *api, unsigned int index,
                                 struct nvml_device **device);

// The link right now of the GPU at a normalised PCI address; absent where it is not to be had.
void nvml_read_link(struct nvml *nvml, const char *pci_address, struct maybe_int *generation,
                    struct maybe_int *width);

// "nvmlInit: Driver Not Loaded (code 9: no kernel driver answers)": the call, the library's words
// and what the code means.
void nvml_words(const struct nvml_api *api, const char *call, enum nvml_return code, char *out,
                size_t size);

// The version of the kernel module, from the text of /proc/driver/nvidia/version; "" for none.
void nvml_module_version(const char *text, char *out, size_t size);

#endif
