// SPDX-License-Identifier: Apache-2.0
// prices devices: the table of GPUs and processors, or one of them with its sources.
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cmd/prices.h"
#include "cmd/out.h"
#include "tables/reached.h"
#include "record/device.h"

// ---- the record

static int to_record(const struct device *d, struct device_record *r, struct err *err)
{
#define NUMBER(member)                                                                             \
    if (d->member > 0)                                                                             \
    r->member = some_int(d->member)
    NUMBER(year);
    NUMBER(units);
    NUMBER(threads_per_core);
    NUMBER(base_mhz);
    NUMBER(boost_mhz);
    NUMBER(memory_mib);
    NUMBER(memory_mbs);
    NUMBER(l2_kib);
    NUMBER(l3_kib);
    NUMBER(link_mbs);
    NUMBER(host_mbs);
    NUMBER(watts);
    NUMBER(vector_bits);
    NUMBER(fp32_per_cycle);
    NUMBER(memory_channels);
    NUMBER(fp64_gflops);
    NUMBER(fp32_gflops);
    NUMBER(tf32_gflops);
    NUMBER(fp16_gflops);
    NUMBER(bf16_gflops);
    NUMBER(fp8_gflops);
    NUMBER(int8_gops);
#undef NUMBER
    return TEXTS_SET(err, {&r->name, d->name}, {&r->vendor, d->vendor},
                     {&r->architecture, d->architecture}, {&r->lacks, d->lacks},
                     {&r->offers, d->offers}, {&r->part_of, d->part_of}, {&r->source, d->source},
                     {&r->rates_source, d->rates_source}, {&r->date, d->date});
}

static int add_reached(const struct reached *reached, const struct devices *devices,
                       const struct device *d, struct device_record *r, struct err *err)
{
    const struct reached_row *row;
    for (size_t i = 0; (row = reached_at(reached, i)); i++) {
        if (device_find(devices, row->device) != d)
            continue;
        struct device_reached *to = LIST_ADD(&r->reached, err);
        bool product = strcmp(row->operation, "product") == 0;
        TRY(to ? TEXTS_SET(err, {&to->operation, row->operation}, {&to->precision, row->precision},
                           {&to->unit, product ? "flop/s" : "byte/s"}, {&to->by, row->by},
                           {&to->source, row->source}, {&to->date, row->date})
               : ERR_MEMORY);
        double specified = row->specified > 0
                               ? row->specified
                               : reached_specified(d, row->operation, row->precision);
        to->per_s = some_real(row->per_s);
        if (specified > 0)
            to->share = some_real(row->per_s / specified);
    }
    return 0;
}

// ---- the table

// Thousandths in at most three digits and a unit that the head names: "19.5", "312".
static const char *milli(int64_t value, char out[24])
{
    snprintf(out, 24, "-");
    if (value > 0)
        snprintf(out, 24, "%.*f", value < 99950 ? 1 : 0, (double)value / 1000);
    return out;
}

static const char *whole(int64_t value, char out[24])
{
    snprintf(out, 24, "-");
    if (value > 0)
        snprintf(out, 24, "%lld", (long long)value);
    return out;
}

static void print_table(struct out *out, const struct device_list *all)
{
    static const struct table_column columns[] = {
        {"device", TABLE_LEFT, 0, 20}, {"architecture", TABLE_LEFT, 6}, {"year", TABLE_RIGHT, 7},
        {"units", TABLE_RIGHT, 4},     {"MHz", TABLE_RIGHT, 5},         {"GiB", TABLE_RIGHT, 1},
        {"GB/s", TABLE_RIGHT, 1},      {"fp32", TABLE_RIGHT, 2},        {"tf32", TABLE_RIGHT, 3},
        {"fp16", TABLE_RIGHT, 2},      {"fp8", TABLE_RIGHT, 3},         {"W", TABLE_RIGHT, 8},
    };
    struct table table = TABLE(columns);
    for (size_t i = 0; i < all->devices.count; i++) {
        const struct device_record *d = &all->devices.items[i];
        char text[10][24];
        const char *const cells[] = {
            d->name,
            d->architecture ? d->architecture : "-",
            whole(d->year.v, text[0]),
            whole(d->units.v, text[1]),
            whole(d->boost_mhz.v, text[2]),
            whole(d->memory_mib.v / 1024, text[3]),
            whole((d->memory_mbs.v + 500) / 1000, text[4]),
            milli(d->fp32_gflops.v, text[5]),
            milli(d->tf32_gflops.v, text[6]),
            milli(d->fp16_gflops.v, text[7]),
            milli(d->fp8_gflops.v, text[8]),
            whole(d->watts.v, text[9]),
        };
        table_row(&table, OUT_PLAIN, cells, NULL);
    }
    table_print(&table, out);
    out_wrap(out, 0,
             "fp32 to fp8: dense peaks in TFLOP/s, tf32 to fp8 of matrix units with sums "
             "in fp32. A device's name shows all its figures and their sources.");
}

// ---- one device

static void part(struct buf *row, const char *before, int64_t thousandths, const char *unit)
{
    char number[24];
    offer_milli((int)thousandths, number);
    if (thousandths > 0)
        out_part(row, "%s%s %s", before, number, unit);
}

static const char *unit_words(const struct device_record *d)
{
    if (d->vector_bits.known)
        return " cores";
    bool amd = d->vendor && strcmp(d->vendor, "amd") == 0;
    return amd ? " compute units" : " multiprocessors";
}

static void print_reached(struct out *out, const struct device_record *d, struct buf *row)
{
    static const char *const words[][2] = {
        {"copy", "memory"}, {"to", "from the host"}, {"from", "to the host"}};
    for (size_t i = 0; i < d->reached.count; i++) {
        const struct device_reached *r = &d->reached.items[i];
        const char *what = r->precision ? r->precision : r->operation;
        for (size_t w = 0; w < sizeof words / sizeof *words; w++)
            what = strcmp(r->operation, words[w][0]) == 0 ? words[w][1] : what;
        out_part(row, "%s %s", what,
                 strcmp(r->unit, "flop/s") == 0 ? units_flops(r->per_s.v).s
                                                : units_rate(r->per_s.v).s);
        if (r->share.known)
            buf_printf(row, " (%.0f %%)", 100 * r->share.v);
        if (r->by)
            out_part(row, "%s", r->by);
        if (r->date)
            out_part(row, "%s", r->date);
        out_parts(out, i == 0 ? "Reached" : NULL, row);
    }
}

static void print_page(struct out *out, const struct device_record *d)
{
    SCOPED(buf_release) struct buf row = {0};
    out_styled(out, OUT_BOLD, "%s", d->name);
    out_printf(out, "\n");
    if (d->vendor)
        out_part(&row, "%s", d->vendor);
    if (d->architecture)
        out_part(&row, "%s", d->architecture);
    if (d->year.v)
        out_part(&row, "%lld", (long long)d->year.v);
    out_parts(out, "Made", &row);
    if (d->units.v)
        out_part(&row, "%lld%s", (long long)d->units.v, unit_words(d));
    if (d->base_mhz.v)
        out_part(&row, "base %lld MHz", (long long)d->base_mhz.v);
    if (d->boost_mhz.v)
        out_part(&row, "boost %lld MHz", (long long)d->boost_mhz.v);
    else if (d->units.v)
        out_part(&row, "boost clock unknown");
    if (d->vector_bits.v)
        out_part(&row, "vectors of %lld bits", (long long)d->vector_bits.v);
    if (d->fp32_per_cycle.v)
        out_part(&row, "%lld fp32 operations per core and cycle", (long long)d->fp32_per_cycle.v);
    out_parts(out, "Units", &row);
    part(&row, "", d->memory_mib.v * 1000 / 1024, "GiB");
    part(&row, "", d->memory_mbs.v, "GB/s");
    if (d->memory_channels.v)
        out_part(&row, "%lld channels", (long long)d->memory_channels.v);
    part(&row, "L2 ", d->l2_kib.v * 1000 / 1024, "MiB");
    part(&row, "L3 ", d->l3_kib.v * 1000 / 1024, "MiB");
    out_parts(out, "Memory", &row);
    part(&row, "fp64 ", d->fp64_gflops.v, "TFLOP/s");
    part(&row, "fp32 ", d->fp32_gflops.v, "TFLOP/s");
    part(&row, "tf32 ", d->tf32_gflops.v, "TFLOP/s");
    part(&row, "fp16 ", d->fp16_gflops.v, "TFLOP/s");
    part(&row, "bf16 ", d->bf16_gflops.v, "TFLOP/s");
    part(&row, "fp8 ", d->fp8_gflops.v, "TFLOP/s");
    part(&row, "int8 ", d->int8_gops.v, "TOP/s");
    out_parts(out, "Peaks", &row);
    if (d->part_of)
        out_row(out, "Part of", "%s", d->part_of);
    if (d->lacks)
        out_row(out, "Lacks", "%s", d->lacks);
    part(&row, "other GPUs ", d->link_mbs.v, "GB/s");
    part(&row, "host ", d->host_mbs.v, "GB/s each way");
    out_parts(out, "Links", &row);
    print_reached(out, d, &row);
    if (d->watts.v)
        out_row(out, "Power", "%lld W", (long long)d->watts.v);
    if (d->offers)
        out_row(out, "Offers", "%s", d->offers);
    out_row(out, "Source", "%s", d->source ? d->source : "unknown");
    if (d->rates_source)
        out_row(out, NULL, "peaks of matrix units: %s", d->rates_source);
    if (d->date)
        out_row(out, "Date", "%s", d->date);
    out->text.failed |= row.failed;
}

// ---- the command

static bool matches(const struct device *d, const char *text)
{
    return !text || strcasestr(d->name, text) || strcasestr(d->architecture, text) ||
           strcasestr(d->vendor, text);
}

struct tables {
    struct devices *devices;
    struct reached *reached;
};

static int add(struct device_list *all, const struct tables *tables, const struct device *d,
               struct err *err)
{
    struct device_record *record = LIST_ADD(&all->devices, err);
    TRY(record ? to_record(d, record, err) : ERR_MEMORY);
    return add_reached(tables->reached, tables->devices, d, record, err);
}

// The device with that name, or all with that text in name, architecture or vendor.
static int find(const struct tables *tables, const char *text, struct device_list *all,
                struct err *err)
{
    const struct device *d = text ? device_find(tables->devices, text) : NULL;
    if (d)
        return add(all, tables, d, err);
    for (size_t i = 0; (d = device_at(tables->devices, i)); i++)
        if (matches(d, text))
            TRY(add(all, tables, d, err));
    return 0;
}

static int run(const struct cmd_call *call, struct err *err)
{
    const struct prices_options *o = call->options;
    const char *text = call->rest->count > 0 ? call->rest->args[0] : NULL;
    struct tables tables = {0};
    struct device_list all = {0};
    all.devices.known = true;
    int rc = devices_open(&tables.devices, err);
    if (rc == 0)
        rc = reached_open(&tables.reached, err);
    if (rc == 0)
        rc = find(&tables, text, &all, err);
    if (rc == 0)
        rc = text_set(&all.schema, DEVICES_SCHEMA, err);
    if (rc == 0 && o->common.json)
        rc = out_record(call->out, device_list_fields, &all, err);
    else if (rc == 0 && all.devices.count == 0)
        out_wrapf(call->out, 0, "No device is called '%s'.", text ? text : "");
    else if (rc == 0 && all.devices.count == 1)
        print_page(call->out, &all.devices.items[0]);
    else if (rc == 0)
        print_table(call->out, &all);
    record_release(device_list_fields, &all);
    reached_close(tables.reached);
    devices_close(tables.devices);
    return rc;
}

static const struct opt options[] = {{NULL}};

const struct command prices_devices = {
    .name = "prices devices",
    .summary = "show what is known of GPUs and processors",
    .arguments = "[TEXT]",
    .about = "Lists the GPUs and processors that fare knows, with memory, bandwidth and dense "
             "peaks, or shows all figures of one with their sources. TEXT is one of a device's "
             "names, or a part of a name, architecture or vendor. Rates that somebody measured on "
             "a device stand beside its peaks. Your own ~/.config/fare/gpus.csv, cpus.csv and "
             "reached.csv come first.",
    .options = options,
    .options_size = sizeof(struct prices_options),
    .max_args = 1,
    .run = run,
};
