// SPDX-License-Identifier: Apache-2.0
#include "estimate/rates.h"

#include <math.h>
#include <string.h>

#define MATRIX_UNITS_FROM 1.3 // times the fp32 rate: only special units reach that
#define BASE_OVER_BOOST   0.7 // for an unknown base clock

#define X(name, text, other) text,
const char *const rate_names[RATE_PRECISIONS] = {ESTIMATE_PRECISIONS(X)};
#undef X

enum rate_precision rate_precision(const char *text)
{
#define X(name, text, other) other,
    static const char *const others[RATE_PRECISIONS] = {ESTIMATE_PRECISIONS(X)};
#undef X
    for (int i = 0; text && i < RATE_PRECISIONS; i++)
        if (strcmp(text, rate_names[i]) == 0 || strcmp(text, others[i]) == 0)
            return (enum rate_precision)i;
    return RATE_UNKNOWN;
}

// These compute fp16 in plain units, packed at best; frameworks gain nothing by it.
static bool has_matrix_units(const struct device *device)
{
    static const char *const without[] = {"kepler", "maxwell", "pascal", "gcn5", "rdna1", "rdna2"};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (strcmp(device->architecture, without[i]) == 0)
            return false;
    return true;
}

double rate_matrix(const struct device *d, enum rate_precision precision, bool *by_matrix_units)
{
    const int listed[RATE_PRECISIONS] = {
        [RATE_FP64] = d->fp64_gflops,
        [RATE_FP32] = d->fp32_gflops,
        [RATE_TF32] = d->tf32_gflops,
        [RATE_FP16] = d->fp16_gflops,
        [RATE_FP8] = d->fp8_gflops,
        [RATE_BF16] = d->bf16_gflops ? d->bf16_gflops : d->fp16_gflops};
    int rate = precision < RATE_PRECISIONS ? listed[precision] : 0;
    if (precision != RATE_FP64 && (rate <= 0 || !has_matrix_units(d)))
        rate = d->fp32_gflops;
    if (by_matrix_units)
        *by_matrix_units = rate > MATRIX_UNITS_FROM * d->fp32_gflops;
    return rate > 0 && precision < RATE_PRECISIONS ? rate / 1e3 : 0;
}

// How far the device holds its boost clock; 0: unknown.
static double held_clock(const struct estimate_model *model, const struct device *d)
{
    if (d->boost_mhz <= 0)
        return 0;
    double base = d->base_mhz > 0 ? d->base_mhz : BASE_OVER_BOOST * d->boost_mhz;
    return pow(base / d->boost_mhz, model->clock_power);
}

double rate_effective(const struct estimate_model *model, const struct device *d,
                      enum rate_precision precision)
{
    bool matrix_units;
    double rate = rate_matrix(d, precision, &matrix_units) * held_clock(model, d);
    return matrix_units ? rate * model->matrix_unit_efficiency : rate;
}

double rate_units(const struct estimate_model *model, const struct device *d)
{
    return d->units * (d->boost_mhz / 1e3) * held_clock(model, d);
}

double rate_time(const struct estimate_model *model, const struct device *d,
                 enum rate_precision precision)
{
    double rate = rate_effective(model, d, precision), bandwidth = d->memory_mbs / 1e3;
    double units = rate_units(model, d);
    if (!(rate > 0 && bandwidth > 0 && units > 0))
        return 0;
    double time = model->matrix / rate + model->memory / bandwidth + model->units / units;
    return isfinite(time) ? time : 0;
}

const char *rate_missing(const struct device *d, enum rate_precision precision)
{
    const struct {
        const char *words;
        double value;
    } needed[] = {{"memory bandwidth", d->memory_mbs},
                  {"number of multiprocessors", d->units},
                  {"boost clock", d->boost_mhz},
                  {"matrix rate", rate_matrix(d, precision, NULL)}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (needed[i].value <= 0)
            return needed[i].words;
    return NULL;
}

double rate_cpu(const struct device *d, double threads)
{
    bool both = d->base_mhz > 0 && d->boost_mhz > 0;
    double mhz = both ? (d->base_mhz + d->boost_mhz) / 2.0 : fmax(d->base_mhz, d->boost_mhz);
    double per_core = d->threads_per_core > 0 ? d->threads_per_core : 2;
    double ops = d->fp32_per_cycle > 0 ? d->fp32_per_cycle : d->vector_bits / 32.0 * 4;
    double rate = threads / per_core * ops * mhz / 1e6;
    return isfinite(rate) && rate > 0 ? rate : 0;
}
