// SPDX-License-Identifier: Apache-2.0
#include "machine/inspect.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "machine/libraries.h"
#include "machine/pci.h"
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

// Before any driver is asked: a device file, the bus, or a stand-in for NVML.
static bool may_have_nvidia_gpu(struct probe *probe)
{
    static const char *const signs[] = {"/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg"};
    const struct pci_names none = {0};
    struct pci_gpus gpus = {0};
    const char *nvml = getenv("FARE_NVML");
    bool found = nvml && *nvml;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        found |= access(signs[i], F_OK) == 0;
    if (!found && pci_gpus_read(&probe->tree, &none, &gpus, NULL) == 0)
        for (size_t i = 0; i < gpus.items.count; i++)
            found |= gpus.items.items[i].vendor == PCI_NVIDIA;
    pci_gpus_release(&gpus);
    return found;
}

bool inspect_recorded(void)
{
    const char *root = getenv("FARE_ROOT");
    return root && *root;
}

int machine_inspect(const struct inspect_options *options, struct machine *machine, struct err *err)
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
    if (rc == 0 && options->libraries && may_have_nvidia_gpu(&probe))
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
