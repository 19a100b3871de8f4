// SPDX-License-Identifier: Apache-2.0
// check: what this machine is, what it can do, what will spoil a measurement or cost money.
#include "cmd/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "machine/libraries.h"
#include "machine/probe.h"
#include "version.h"

#if defined(__SANITIZE_ADDRESS__)
#define BUILT_FOR_DEBUGGING true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BUILT_FOR_DEBUGGING true
#endif
#endif
#ifndef BUILT_FOR_DEBUGGING
#ifdef __OPTIMIZE__
#define BUILT_FOR_DEBUGGING false
#else
#define BUILT_FOR_DEBUGGING true
#endif
#endif

static int describe_program(struct machine *machine, struct err *err)
{
    struct machine_program *fare = &machine->fare;
    char now[CLOCK_ISO_BYTES];
    clock_iso(clock_date_s(), now);
    int rc = text_set(&machine->schema, MACHINE_SCHEMA, err);
    if (rc == 0)
        rc = text_set(&machine->taken_at, now, err);
    if (rc == 0)
        rc = text_set(&fare->version, FARE_VERSION, err);
    if (rc == 0)
        rc = text_set(&fare->build, FARE_BUILD, err);
#ifdef __clang__
    if (rc == 0)
        rc = text_set(&fare->compiler, "clang " __clang_version__, err);
#else
    if (rc == 0)
        rc = text_set(&fare->compiler, "gcc " __VERSION__, err);
#endif
    fare->debug = some_bool(BUILT_FOR_DEBUGGING);
    return rc;
}

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

int check_machine(const struct check_options *options, struct machine *machine, struct err *err)
{
    extern char **environ;
    const char *root = getenv("FARE_ROOT");
    const char *metadata = getenv("FARE_METADATA");
    bool off = metadata && strcmp(metadata, "off") == 0;
    char folder[4096];
    struct probe probe = {
        .tree.root = root ? root : "",
        .env = environ,
        .folder = getcwd(folder, sizeof folder) ? folder : NULL,
        .metadata_url = metadata && *metadata && !off ? metadata : NULL,
        .no_cloud = options->no_cloud || off,
        .no_children = root && *root,
    };
    struct stat st;
    if (root && *root && (stat(root, &st) != 0 || !S_ISDIR(st.st_mode))) {
        err_set(err, ERR_USAGE, "FARE_ROOT names '%s', which is not a folder", root);
        return err_hint(err, "unset it to check this machine");
    }
    struct libraries *libraries = NULL;
    int rc = describe_program(machine, err);
    if (rc == 0 && !options->no_libraries)
        rc = libraries_start(&probe, LIBRARY_LIMIT_MS, &libraries, err);
    if (rc == 0)
        rc = probe_machine(&probe, machine, err);
    if (rc == 0)
        rc = libraries_finish(libraries, machine, err);
    libraries_free(libraries);
    if (rc == 0 && options->bandwidth)
        rc = probe_bandwidth(&probe, machine, err);
    if (rc == 0)
        rc = machine_diagnose(machine, err);
    return rc;
}

static int check_run(const struct check_options *options, struct out *out, struct err *err)
{
    struct machine machine = {0};
    int rc = check_machine(options, &machine, err);
    if (rc == 0 && options->common.json)
        rc = out_record(out, machine_fields, &machine, err);
    else if (rc == 0)
        check_text(out, &machine);
    if (rc == 0 && options->strict)
        rc = strict_result(&machine, err);
    machine_release(&machine);
    return rc;
}

#define AT(member) offsetof(struct check_options, member)
static const struct opt options_table[] = {
    {"bandwidth", 'b', OPT_FLAG, NULL, NULL, AT(bandwidth), NULL,
     "also measure memory, disk and GPU copies; takes seconds and writes a file of up to 256 MiB "
     "to the working folder, which it deletes"},
    {"no-cloud", 0, OPT_FLAG, NULL, NULL, AT(no_cloud), NULL,
     "do not ask the cloud's metadata service where this machine is"},
    {"strict", 0, OPT_FLAG, NULL, NULL, AT(strict), NULL,
     "exit with 1 when a finding is a problem, for scripts that start a paid run"},
    {NULL},
};
#undef AT

static const struct cmd_example examples[] = {
    {"fare check", "look at this machine before you pay for a run on it"},
    {"fare check --bandwidth", "measure its memory, its disk and the way to its GPUs too"},
    {"fare check --json | jq .gpus", "for scripts: one JSON object"},
    {"fare check --strict && python train.py", "train only where nothing will spoil it"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    {"FARE_METADATA", "Address that answers in place of the clouds' metadata services, or off"},
    {"FARE_NVML", "File to open as the NVIDIA management library"},
    {"FARE_CUDA", "File to open as the CUDA driver library"},
    {"FARE_ONEDNN", "File to open as oneDNN"},
    {"FARE_HWLOC", "File to open as hwloc"},
    {"FARE_ROOT", "Folder with the /proc and /sys of a recorded machine, to be checked in place of "
                  "this one"},
    {NULL, NULL},
};

static int run(const struct cmd_call *call, struct err *err)
{
    return check_run(call->options, call->out, err);
}

const struct command cmd_check = {
    .name = "check",
    .group = "Measure",
    .summary = "what this machine is, what it can do, what will spoil a measurement",
    .about = "Looks at the processor, memory, disk, GPUs and the cloud around them, tries the "
             "instruction sets and libraries that training uses, and lists what will spoil a "
             "measurement or cost money, with what to do about it. Without --bandwidth it changes "
             "nothing, and takes under a second where the drivers answer.",
    .options = options_table,
    .options_size = sizeof(struct check_options),
    .examples = examples,
    .variables = variables,
    .run = run,
};
