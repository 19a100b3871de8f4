// SPDX-License-Identifier: Apache-2.0
// rates: what this machine reaches, measured: matrix products per precision, copies of memory, one
// thread. Estimates for other machines scale with these, not with data sheets.
//
// 'fare check --bandwidth' measures them and keeps them in the user's data folder, one file for
// each fingerprint. Later runs on a machine of that fingerprint carry them in their record.
#ifndef FARE_MEASURE_RATES_H
#define FARE_MEASURE_RATES_H

#include "record/machine.h"

// Fills machine->rates; needs machine->bandwidth and the fingerprint. Takes a few seconds. Products
// run in child processes: a driver or library that hangs or crashes there leaves a row with the
// problem. A precision that the machine lacks has no row. A GPU's products are measured with fare's
// own kernels and, if the machine has it, with cuBLASLt, which frameworks use. The variable
// FARE_CUBLASLT names a file to open instead of those of machine->gpu_libraries, or is "off".
int rates_measure(struct machine *machine, struct err *err) MUST_USE;

// Replaces those kept for the fingerprint.
int rates_keep(const struct machine_rates *rates, struct err *err) MUST_USE;

// Those kept for the fingerprint; leaves `out` empty if there are none or the file is damaged.
// Fails only when memory runs out.
int rates_recall(const char *fingerprint, struct machine_rates *out, struct err *err) MUST_USE;

#endif
