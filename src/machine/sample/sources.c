// SPDX-License-Identifier: Apache-2.0
// The sources that read the kernel's files; each ends in its table (source.h).
#include "machine/sample/source.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/tree.h"
#include "machine/cgroup.h"
#include "record/field.h"
#include "machine/sample/tasks.h"

bool proc_file_open(struct proc_file *file, const struct tree *tree, const char *format, ...)
{
    char path[PATH_MAX];
    int root = snprintf(path, sizeof path, "%s", tree->root);
    va_list args;
    va_start(args, format);
    int rest = root >= 0 && (size_t)root < sizeof path
                   ? vsnprintf(path + root, sizeof path - (size_t)root, format, args)
                   : -1;
    va_end(args);
    if (rest < 0 || (size_t)root + (size_t)rest >= sizeof path)
        return false;
    proc_file_close(file);
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    file->open = file->fd >= 0;
    return file->open;
}

void proc_file_close(struct proc_file *file)
{
    if (file->open)
        close(file->fd);
    file->open = false;
}

size_t proc_file_read(const struct proc_file *file, char *text, size_t size)
{
    size_t len = 0;
    while (file->open && len + 1 < size) {
        ssize_t got = pread(file->fd, text + len, size - 1 - len, (off_t)len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    text[len] = '\0';
    return len;
}

bool proc_file_int(const struct proc_file *file, int64_t *out)
{
    char text[64];
    return proc_file_read(file, text, sizeof text) > 0 && text_int(text, out);
}

bool text_number(const char **cursor, int64_t *out)
{
    const char *p = *cursor;
    while (*p != '\0' && *p != '\n' && !isdigit((unsigned char)*p))
        p++;
    if (!isdigit((unsigned char)*p)) {
        *cursor = p;
        return false;
    }
    bool negative = p > *cursor && p[-1] == '-';
    int64_t value = 0;
    for (; isdigit((unsigned char)*p); p++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *p - '0', &value))
            value = INT64_MAX;
    *out = negative ? -value : value;
    *cursor = p;
    return true;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

bool text_keyed(const char *text, const char *key, int64_t *out)
{
    size_t len = strlen(key);
    for (const char *line = text; *line; line = next_line(line))
        if (strncmp(line, key, len) == 0 &&
            (line[len] == ' ' || line[len] == '\t' || line[len] == ':')) {
            const char *at = line + len;
            return text_number(&at, out);
        }
    return false;
}

// For a source whose state begins with its only file.
static void file_close(void *state)
{
    proc_file_close(state);
}

// ---- CPU time of the run, of all processes, and stolen by the hypervisor: /proc/stat
// (proc_stat(5)).
//
// The kernel measures a process's time precisely but counts the machine's in ticks. Over one
// reading the two may differ by a tick or two per CPU; this evens out.

struct cpu_source {
    struct proc_file stat;
    int64_t cpus;
};

// The lines "cpu  ...", "cpu0 ...", "cpu1 ..." come first.
static int64_t count_cpus(const char *text)
{
    int64_t cpus = 0;
    for (const char *line = text; strncmp(line, "cpu", 3) == 0; line = next_line(line))
        cpus += line[3] != ' ';
    return cpus;
}

static int cpu_open(void *state, struct sample_place *place, struct err *err)
{
    struct cpu_source *cpu = state;
    if (!proc_file_open(&cpu->stat, &place->tree, "/proc/stat"))
        return 0;                  // the run's own time can still be read
    size_t size = (size_t)1 << 18; // 2000 lines of CPUs
    SCOPED(free_pointer) char *text = malloc(size);
    if (!text)
        return err_memory(err);
    if (proc_file_read(&cpu->stat, text, size) > 0)
        cpu->cpus = count_cpus(text);
    return 0;
}

static void cpu_read(void *state, struct sample_place *place, struct sample_reading *reading)
{
    struct cpu_source *cpu = state;
    if (place->tasks) {
        const struct tasks_use *use = tasks_use(place->tasks);
        reading->run_cpu_s = use->cpu_s;
        reading->workers_cpu_s = use->workers_cpu_s;
        reading->disk_wait_s = use->disk_wait_s;
    }
    char text[512];
    if (proc_file_read(&cpu->stat, text, sizeof text) == 0 || strncmp(text, "cpu ", 4) != 0)
        return;
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
    int64_t ticks[FIELDS];
    const char *at = text + 4;
    int fields = 0;
    while (fields < FIELDS && text_number(&at, &ticks[fields]) && ticks[fields] >= 0)
        fields++;
    if (fields < FIELDS)
        return; // before Linux 2.6.11
    double hz = (double)sysconf(_SC_CLK_TCK), all = 0;
    for (int i = 0; i < FIELDS; i++)
        all += (double)ticks[i];
    reading->all_cpu_s = some_real(all / hz);
    reading->steal_cpu_s = some_real((double)ticks[STEAL] / hz);
    reading->busy_cpu_s =
        some_real((all - (double)ticks[IDLE] - (double)ticks[IOWAIT] - (double)ticks[STEAL]) / hz);
    if (cpu->cpus > 0)
        reading->cpus = some_int(cpu->cpus);
}

const struct source source_cpu = {
    .name = "cpu",
    .lane = LANE_HOST,
    .size = sizeof(struct cpu_source),
    .open = cpu_open,
    .read = cpu_read,
    .close = file_close,
};

// ---- Memory and disk traffic of all the run's processes. Resident size, because it is cheap to
// read: for the proportional share (PSS) the kernel walks all pages, tens of milliseconds per 10
// GB, with the memory map locked. Disk traffic is that of /proc/PID/io, which does not count reads
// from the page cache; absent if the kernel denies access.

static int memory_open(void *state, struct sample_place *place, struct err *err)
{
    (void)state, (void)err;
    return place->tasks ? 0 : ERR_MISSING;
}

static void memory_read(void *state, struct sample_place *place, struct sample_reading *reading)
{
    (void)state;
    const struct tasks_use *use = tasks_use(place->tasks);
    reading->memory_bytes = use->memory_bytes;
    reading->memory_peak_bytes = use->memory_peak_bytes;
    reading->disk_read_bytes = use->read_bytes;
    reading->disk_write_bytes = use->write_bytes;
}

const struct source source_memory = {
    .name = "memory",
    .lane = LANE_HOST,
    .size = 1,
    .open = memory_open,
    .read = memory_read,
};

// ---- Time in which a task of the run's control group waited for storage: "some" in io.pressure
// (cgroup version 2; Documentation/accounting/psi.rst in the kernel). Without one, the whole
// machine's.

static bool stalled(const struct proc_file *file, int64_t *us)
{
    char text[256];
    if (proc_file_read(file, text, sizeof text) == 0 || strncmp(text, "some ", 5) != 0)
        return false;
    const char *at = strstr(text, "total=");
    return at && text_number(&at, us) && *us >= 0 && *us <= COUNT_MAX;
}

static void group_try(struct tree *tree, const char *dir, void *arg)
{
    struct proc_file *file = arg;
    int64_t us;
    if (file->open)
        return; // the first is the process's own
    if (proc_file_open(file, tree, "%s/io.pressure", dir) && !stalled(file, &us))
        proc_file_close(file);
}

static int pressure_open(void *state, struct sample_place *place, struct err *err)
{
    struct proc_file *file = state;
    TRY(cgroup_each_cpu(&place->tree, place->pid, group_try, file, err));
    if (!file->open)
        proc_file_open(file, &place->tree, "/proc/pressure/io");
    return file->open ? 0 : ERR_MISSING;
}

static void pressure_read(void *state, struct sample_place *place, struct sample_reading *reading)
{
    int64_t us;
    (void)place;
    if (stalled(state, &us))
        reading->io_stalled_s = some_real((double)us * 1e-6);
}

const struct source source_pressure = {
    .name = "pressure",
    .lane = LANE_HOST,
    .size = sizeof(struct proc_file),
    .open = pressure_open,
    .read = pressure_read,
    .close = file_close,
};

// ---- Time the run was throttled by the CPU quota of its control group or one above it:
// throttled_usec (version 2) or throttled_time in ns (version 1) in cpu.stat, summed over CPUs by
// the kernel. Times of nested groups may overlap, so the largest counts.

#define GROUPS_MAX 16

struct cgroup_files {
    struct proc_file stat;
    int64_t first_ns, now_ns;
};

struct throttle {
    int count;
    struct cgroup_files all[GROUPS_MAX];
};

static bool throttled(const struct proc_file *stat, int64_t *ns)
{
    char text[2048];
    if (proc_file_read(stat, text, sizeof text) == 0)
        return false;
    if (text_keyed(text, "throttled_usec", ns) && *ns < INT64_MAX / 1000)
        *ns *= 1000;
    else if (!text_keyed(text, "throttled_time", ns))
        return false;
    return *ns >= 0;
}

static void group_add(struct tree *tree, const char *dir, void *arg)
{
    struct throttle *t = arg;
    if (t->count == GROUPS_MAX)
        return;
    struct cgroup_files *group = &t->all[t->count];
    if (proc_file_open(&group->stat, tree, "%s/cpu.stat", dir) &&
        throttled(&group->stat, &group->first_ns))
        t->count++;
    else
        proc_file_close(&group->stat);
}

static int cgroup_open(void *state, struct sample_place *place, struct err *err)
{
    struct throttle *t = state;
    TRY(cgroup_each_cpu(&place->tree, place->pid, group_add, t, err));
    return t->count == 0 ? ERR_MISSING : 0;
}

static void cgroup_sample(void *state, struct sample_place *place, struct sample_reading *reading)
{
    struct throttle *t = state;
    (void)place;
    int64_t most = 0;
    for (int i = 0; i < t->count; i++) {
        struct cgroup_files *group = &t->all[i];
        int64_t ns;
        if (throttled(&group->stat, &ns) && ns - group->first_ns > group->now_ns)
            group->now_ns = ns - group->first_ns;
        most = group->now_ns > most ? group->now_ns : most;
    }
    reading->throttled_ns = some_int(most);
}

static void cgroup_close(void *state)
{
    struct throttle *t = state;
    for (int i = 0; i < t->count; i++)
        proc_file_close(&t->all[i].stat);
}

const struct source source_cgroup = {
    .name = "cgroup",
    .lane = LANE_HOST,
    .size = sizeof(struct throttle),
    .open = cgroup_open,
    .read = cgroup_sample,
    .close = cgroup_close,
};

// ---- Bytes received and sent by the machine: /proc/net/dev. A bridge and its card count the same
// bytes, so only interfaces with a device count; if none has one (in a container), all but the
// loopback.

#define INTERFACES_MAX 64
#define NAME_BYTES     16 // IFNAMSIZ

struct interface {
    char name[NAME_BYTES];
    int64_t last[2]; // counters: in, out
};

struct net_cards {
    struct proc_file dev;
    bool devices_only;
    int count;
    struct interface all[INTERFACES_MAX];
    int64_t sum[2];
    char text[16384];
};

// "  eth0: 1234 ...": the name, and the start of the numbers; null for other lines.
static const char *line_name(const char *line, char name[NAME_BYTES])
{
    while (*line == ' ')
        line++;
    size_t len = strcspn(line, ": \n");
    if (line[len] != ':' || len == 0 || len >= NAME_BYTES)
        return NULL;
    memcpy(name, line, len);
    name[len] = '\0';
    return strcmp(name, "lo") == 0 || strchr(name, '/') ? NULL : line + len + 1;
}

static struct interface *interface_find(struct net_cards *net, const char *name)
{
    for (int i = 0; i < net->count; i++)
        if (strcmp(net->all[i].name, name) == 0)
            return &net->all[i];
    return NULL;
}

static int net_open(void *state, struct sample_place *place, struct err *err)
{
    struct net_cards *net = state;
    (void)err;
    if (!proc_file_open(&net->dev, &place->tree, "/proc/net/dev") ||
        proc_file_read(&net->dev, net->text, sizeof net->text) == 0)
        return ERR_MISSING;
    char name[NAME_BYTES];
    for (const char *line = net->text; *line && net->count < INTERFACES_MAX; line = next_line(line))
        if (line_name(line, name) && tree_exists(&place->tree, "/sys/class/net/%s/device", name))
            memcpy(net->all[net->count++].name, name, sizeof name);
    net->devices_only = net->count > 0;
    for (int i = 0; i < net->count; i++)
        net->all[i].last[0] = net->all[i].last[1] = INT64_MAX; // nothing counted yet
    return 0;
}

// A counter that went back was reset to zero.
static void count(struct net_cards *net, struct interface *at, const int64_t now[2])
{
    for (int i = 0; i < 2; i++) {
        if (at->last[i] != INT64_MAX)
            net->sum[i] += now[i] >= at->last[i] ? now[i] - at->last[i] : now[i];
        at->last[i] = now[i];
    }
}

static void net_read(void *state, struct sample_place *place, struct sample_reading *reading)
{
    struct net_cards *net = state;
    (void)place;
    if (proc_file_read(&net->dev, net->text, sizeof net->text) == 0)
        return;
    for (const char *line = net->text; *line; line = next_line(line)) {
        char name[NAME_BYTES];
        const char *at = line_name(line, name);
        int64_t v[9] = {0}; // bytes in, seven other counts, bytes out
        int fields = 0;
        while (at && fields < 9 && text_number(&at, &v[fields]))
            fields++;
        if (fields < 9)
            continue;
        struct interface *known = interface_find(net, name);
        if (!known && !net->devices_only && net->count < INTERFACES_MAX) {
            known = &net->all[net->count++];
            memcpy(known->name, name, sizeof name);
            known->last[0] = known->last[1] = INT64_MAX;
        }
        if (known && v[0] >= 0 && v[0] <= COUNT_MAX && v[8] >= 0 && v[8] <= COUNT_MAX)
            count(net, known, (const int64_t[]){v[0], v[8]});
    }
    reading->network_in_bytes = some_int(net->sum[0]);
    reading->network_out_bytes = some_int(net->sum[1]);
}

const struct source source_net = {
    .name = "net",
    .lane = LANE_HOST,
    .size = sizeof(struct net_cards),
    .open = net_open,
    .read = net_read,
    .close = file_close,
};

// ---- Energy of the CPU packages: /sys/class/powercap/intel-rapl:N, on AMD too. Leaves out domains
// inside a package (intel-rapl:0:1), the whole platform ("psys"), and intel-rapl-mmio, which
// repeats the packages. Most kernels allow only root to read the counters; otherwise the energy is
// absent.

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

static int rapl_open(void *state, struct sample_place *place, struct err *err)
{
    struct rapl *rapl = state;
    struct tree *tree = &place->tree;
    SCOPED(buf_release) struct buf names = {0}, kind = {0};
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
    TRY(tree_check(tree, err));
    return rapl->count == 0 || unreadable ? ERR_MISSING : 0; // a partial sum would mislead
}

static void rapl_read(void *state, struct sample_place *place, struct sample_reading *reading)
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

// ---- All of them

const struct source *const sources[] = {
    &source_cpu,      &source_memory, &source_net,    &source_rapl, &source_cgroup,
    &source_pressure, &source_nvml,   &source_amdgpu, NULL,
};
