// SPDX-License-Identifier: Apache-2.0
// reached: rates that somebody measured on a device, beside those that its data sheet promises:
// share/devices/reached.csv; rows of the user's ~/.config/fare/reached.csv come first.
// docs/devices.md describes the columns.
#ifndef FARE_TABLES_REACHED_H
#define FARE_TABLES_REACHED_H

#include "tables/device.h"

struct reached_row {
    char *kind;       // "gpu", "cpu"
    char *device;     // one of a device's names
    char *operation;  // "product", "copy" (within its memory), "to" and "from" (the host)
    char *precision;  // products: "bf16"; else ""
    double per_s;     // FLOP/s or bytes/s
    double specified; // the same; 0: as the device table has it
    char *by, *source, *date;
};

struct reached;

// ERR_FORMAT names the file, line and column.
int reached_open(struct reached **out, struct err *err) MUST_USE;
void reached_close(struct reached *reached); // null is fine

const struct reached_row *reached_at(const struct reached *reached, size_t i); // null: the end

// What a device's specification promises, in FLOP/s or bytes/s; 0: unknown.
double reached_specified(const struct device *device, const char *operation, const char *precision);

// Shares of the specification that are usual. False: nobody measured enough.
struct reached_usual {
    double low, high;
    size_t rows;    // behind it
    bool this_kind; // of this device; else of all GPUs of its vendor, or of all processors
};
bool reached_usual(const struct reached *reached, const struct devices *devices, const char *kind,
                   const struct device *device, const char *operation, const char *precision,
                   struct reached_usual *out);

#endif
