// SPDX-License-Identifier: Apache-2.0
// Energy of the CPU packages: /sys/class/powercap/intel-rapl:N, on AMD too. Leaves out domains
// inside a package (intel-rapl:0:1), the whole platform ("psys"), and intel-rapl-mmio, which
// repeats the packages. Most kernels allow only root to read the counters; otherwise the energy is
// absent.
#include <string.h>

#include "sample/proc_file.h"
#include "sample/source.h"

#define PACKAGES_MAX 16
#define WATTS_MAX    5000 // per package; a faster counter is broken
#define RANGE_MIN_UJ 1000 // less would wrap between readings

struct package {
    struct proc_file energy;
    int64_t range_uj; // the counter wraps here; 0: unknown
    int64_t last_uj;
};

struct rapl {
    int count;
    int64_t last_ns;
    bool broken;
    double sum_j;
    struct package all[PACKAGES_MAX];
};

static int rapl_open(void *state, struct place *place, struct err *err)
{
    struct rapl *rapl = state;
    struct tree *tree = &place->tree;
    struct buf names = {0}, kind = {0};
    bool listed = tree_list(tree, &names, "/sys/class/powercap");
    char *cursor = listed ? names.data : NULL;
    bool unreadable = false;
    for (char *name; cursor && (name = text_line(&cursor)) && rapl->count < PACKAGES_MAX;) {
        struct package *package = &rapl->all[rapl->count];
        size_t prefix = strlen("intel-rapl:");
        if (strncmp(name, "intel-rapl:", prefix) != 0 || strchr(name + prefix, ':') ||
            !tree_text(tree, &kind, "/sys/class/powercap/%s/name", name) ||
            strncmp(buf_str(&kind), "package", 7) != 0)
            continue;
        if (!proc_file_open(&package->energy, tree, "/sys/class/powercap/%s/energy_uj", name) ||
            !proc_file_int(&package->energy, &package->last_uj) || package->last_uj < 0) {
            proc_file_close(&package->energy);
            unreadable = true;
            continue;
        }
        if (!tree_int(tree, &package->range_uj, "/sys/class/powercap/%s/max_energy_range_uj",
                      name) ||
            package->range_uj < RANGE_MIN_UJ)
            package->range_uj = 0;
        rapl->count++;
    }
    buf_release(&names);
    buf_release(&kind);
    TRY(tree_check(tree, err));
    return rapl->count == 0 || unreadable ? ERR_MISSING : 0; // a partial sum would mislead
}

static void rapl_read(void *state, struct place *place, struct reading *reading)
{
    struct rapl *rapl = state;
    (void)place;
    double passed_s = (double)(reading->at_ns - rapl->last_ns) * 1e-9, sum_j = 0;
    for (int i = 0; i < rapl->count && !rapl->broken; i++) {
        struct package *package = &rapl->all[i];
        int64_t now, used;
        rapl->broken = !proc_file_int(&package->energy, &now) || now < 0;
        if (rapl->broken)
            break;
        used = now - package->last_uj;
        if (used < 0)
            used += package->range_uj;
        double joules = (double)used * 1e-6;
        bool first = reading->number == 0;
        rapl->broken = !first && (used < 0 || joules > WATTS_MAX * (passed_s + 0.1));
        sum_j += first ? 0 : joules;
        package->last_uj = now;
    }
    rapl->last_ns = reading->at_ns;
    rapl->sum_j += sum_j;
    if (!rapl->broken)
        reading->cpu_energy_j = some_real(rapl->sum_j);
}

static void rapl_close(void *state)
{
    struct rapl *rapl = state;
    for (int i = 0; i < rapl->count; i++)
        proc_file_close(&rapl->all[i].energy);
}

const struct source source_rapl = {
    .name = "rapl",
    .lane = LANE_HOST,
    .size = sizeof(struct rapl),
    .open = rapl_open,
    .read = rapl_read,
    .close = rapl_close,
};
