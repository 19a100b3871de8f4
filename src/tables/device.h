// SPDX-License-Identifier: Apache-2.0
// device: specifications of GPUs and processors, found by any of their names: NVML says "NVIDIA
// A100-SXM4-80GB", catalogues "A100-80GB", people "a100 80g". The data is share/devices/gpus.csv
// and cpus.csv; the user's own files of the same names take precedence. docs/devices.md describes
// the columns.
#ifndef FARE_TABLES_DEVICE_H
#define FARE_TABLES_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

// Numbers are 0 and texts "" if unknown. A GPU is one that a program sees: half of a K80.
struct device {
    char *name;                   // "A100-80GB"
    char *vendor;                 // "nvidia", "amd", "intel", "aws"
    char *architecture;           // "ampere-dc", "zen4"
    int year;                     // of its release
    int units;                    // multiprocessors (SM), compute units (CU) or cores
    int threads_per_core;         // processors: hardware threads, as rented
    int base_mhz, boost_mhz;      // boost: the highest clock, as specified
    int memory_mib;               // 0: unknown, or several sizes
    int memory_mbs;               // bandwidth, MB/s
    int l2_kib, l3_kib;           // l3: AMD's Infinity Cache, a processor's last level
    int link_mbs;                 // to other GPUs, both directions together, MB/s
    int host_mbs;                 // to the host, one direction, MB/s
    int watts;                    // of the board
    int vector_bits;              // processors: the widest instructions
    int fp32_per_cycle;           // processors: operations of a core, a multiply-add is two
    int memory_channels;          // processors
    int fp64_gflops, fp32_gflops; // dense peaks in GFLOP/s, without matrix units
    int tf32_gflops, fp16_gflops, bf16_gflops, fp8_gflops; // of matrix units, sums in fp32
    int int8_gops;
    char *aliases;      // "A100;A100-SXM4-40GB"
    char *part_of;      // MIG: the whole GPU; rates not listed follow from its own
    char *lacks;        // precisions it cannot compute in, "bf16;fp8": see device_lacks()
    char *offers;       // processors: offers that have them, "aws/c7a.*;aws/m7a.*"
    char *host_isa;     // "arm64": the instruction set of its host; a processor's own
    char *trains_until; // a date, or "never": no later framework has kernels for it; see
                        // device_trains()
    char *trains_source;
    char *source;       // addresses of the figures
    char *rates_source; // of tf32 to int8
    char *date;         // when they were collected: "2026-11-16"
};

struct devices;

int devices_open(struct devices **out, struct err *err) MUST_USE;
void devices_close(struct devices *devices); // null is fine

// The devices in the order of the tables, the user's first; null after the last.
const struct device *device_at(const struct devices *devices, size_t i);

// The largest number of watts of any device; 0: none is known.
int devices_most_watts(const struct devices *devices);

// The device with this name; null if unknown. Never guesses: "A100" is the 40 GB model only because
// the table says so.
const struct device *device_find(const struct devices *devices, const char *text);

// The devices that a name covers, at most `most`: "h100" the H100 in all its forms and sizes (PCIE,
// NVL, 80GB), each a row of its own; a fuller name ("H100 SXM") its own row only. 0: unknown.
size_t device_family(const struct devices *devices, const char *text, const struct device **out,
                     size_t most);

// The processor of this offer ("aws", "c7a.2xlarge"); null if unknown.
const struct device *device_of_offer(const struct devices *devices, const char *provider,
                                     const char *name);

// Whether frameworks of that day (in days since 1970) have kernels for it.
bool device_trains(const struct device *device, int day);

// The device has no units for this precision ("bf16", "fp8"). False if it has, or if unknown.
bool device_lacks(const struct device *device, const char *precision);

// The dense peak at a precision, "bf16" or "f16", in GFLOP/s; 0: unknown. A GPU without tf32 units
// computes in fp32.
int device_gflops(const struct device *device, const char *precision);

#endif
