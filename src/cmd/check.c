// SPDX-License-Identifier: Apache-2.0
// check: this machine, its abilities, and causes of noisy measurements or extra cost.
#include "cmd/check.h"

#include <string.h>

#include "machine/probe.h"
#include "measure/expect.h"
#include "measure/rates.h"

static int strict_result(const struct machine *machine, struct err *err)
{
    for (size_t i = 0; i < machine->findings.count; i++) {
        const struct machine_finding *f = &machine->findings.items[i];
        if (strcmp(f->level, "problem") == 0) {
            int rc = err_set(err, ERR_FAIL, "this machine has a problem: %s", f->evidence);
            err_hint(err, "%s", f->remedy);
            return rc;
        }
    }
    return 0;
}

// Rates that cannot be kept are still printed.
static int measure_rates(struct machine *machine, struct err *err)
{
    struct err why = {0};
    SCOPED(buf_release) struct buf words = {0};
    TRY(rates_measure(machine, err));
    if (rates_keep(&machine->rates, &why) != 0) {
        buf_printf(&words, "the rates are not kept for later runs: %s\n", why.text);
        out_complain(buf_str(&words));
    }
    return 0;
}

// A device table that cannot be read does not stop the check.
static int compare_with_sheets(struct machine *machine, struct err *err)
{
    struct err why = {0};
    SCOPED(buf_release) struct buf words = {0};
    int rc = expect_fill(machine, &why);
    if (rc == ERR_MEMORY)
        return err_memory(err);
    if (rc != 0) {
        buf_printf(&words, "not compared with the data sheets: %s\n", why.text);
        out_complain(buf_str(&words));
    }
    return 0;
}

struct check_options {
    struct cmd_common common;
    bool bandwidth;
    bool no_cloud;
    bool strict;
};

static int check(const struct check_options *options, struct out *out, struct err *err)
{
    const struct inspect_options inspect = {
        .bandwidth = options->bandwidth, .no_cloud = options->no_cloud, .libraries = true};
    SCOPED(machine_release) struct machine machine = {0};
    TRY(machine_inspect(&inspect, &machine, err));
    if (!inspect_recorded())
        TRY(options->bandwidth ? measure_rates(&machine, err)
                               : rates_recall(machine.fingerprint, &machine.rates, err));
    TRY(compare_with_sheets(&machine, err));
    if (options->common.json)
        TRY(out_record(out, machine_fields, &machine, err));
    else
        check_text(out, &machine);
    if (options->strict)
        TRY(strict_result(&machine, err));
    return 0;
}

#define AT(member) offsetof(struct check_options, member)
static const struct opt options_table[] = {
    {"bandwidth", 'b', OPT_FLAG, NULL, NULL, AT(bandwidth), NULL,
     "also measure memory, disk, GPU copies and matrix products, and compare them with the data "
     "sheets; takes seconds, writes a file of up to 256 MiB to the working folder, which it "
     "deletes, and keeps the rates for later checks and for the records of later runs"},
    {"no-cloud", 0, OPT_FLAG, NULL, NULL, AT(no_cloud), NULL,
     "do not query the cloud's metadata service"},
    {"strict", 0, OPT_FLAG, NULL, NULL, AT(strict), NULL,
     "exit with 1 if a finding is a problem, for scripts that start a paid run"},
    {NULL},
};
#undef AT

static const struct cmd_example examples[] = {
    {"fare check", "look at this machine before you pay for a run on it"},
    {"fare check --bandwidth", "measure its memory, disk, GPUs and matrix products too"},
    {"fare check --json | jq .gpus", "for scripts: one JSON object"},
    {"fare check --strict && python train.py",
     "train only if no finding is a problem; warnings do not count"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    {"FARE_METADATA", "Address to use instead of the clouds' metadata services, or off"},
    {"FARE_NVML", "File to open as the NVIDIA management library"},
    {"FARE_CUDA", "File to open as the CUDA driver library"},
    {"FARE_CUBLASLT", "File to open as cuBLASLt instead of those found, or off"},
    {"FARE_ONEDNN", "File to open as oneDNN"},
    {"FARE_HWLOC", "File to open as hwloc"},
    {"FARE_ROOT",
     "Folder with the /proc and /sys of a recorded machine to check instead of this one"},
    {NULL, NULL},
};

static int run(const struct cmd_call *call, struct err *err)
{
    return check(call->options, call->out, err);
}

const struct command cmd_check = {
    .name = "check",
    .group = "Measure",
    .summary = "this machine, its abilities, and causes of noisy measurements",
    .about = "Looks at the processor, memory, disk, GPUs and the cloud around them, tries the "
             "instruction sets and libraries that training uses, and lists causes of noisy "
             "measurements and extra cost, with remedies. Rates measured by --bandwidth, now or "
             "before, are compared with the data sheets and with what others reached; a rate far "
             "below is a finding. Without --bandwidth it changes nothing, and takes "
             "under a second if the drivers answer.",
    .options = options_table,
    .options_size = sizeof(struct check_options),
    .examples = examples,
    .variables = variables,
    .run = run,
};
