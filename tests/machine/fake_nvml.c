// SPDX-License-Identifier: Apache-2.0
// A stand-in for libnvidia-ml.so.1 that answers from the text file named by FARE_FAKE_NVML, one
// "key = value" per line. It declares NVML's layouts itself, from NVIDIA's documentation, so that
// a wrong one in src/ is found out. Keys (N a number, or * for every GPU):
//
//   init, driver, nvml, cuda, count     the system; init is what nvmlInit returns
//   gpuN.name, .uuid, .pci (domain:bus:device.function), .pci_id (0x233010de), .capability (9.0)
//   gpuN.memory (total reserved free used), .link (now), .link_max, .width, .width_max, .sm,
//   .sm_max, .mem, .mem_max, .power, .power_limit, .power_default, .temperature, .use, .pstate,
//   .ecc, .mig, .persistence, .reasons, .energy (mJ, or "added": what .power came to since the
//   first question), .sent, .received (KB/s over PCIe) gpuN.processM, gpuN.graphicsM       "pid
//   bytes", M from 0; "-" for bytes is not available gpuN.migM.name, .uuid, .memory      M is the
//   place; places may be empty gpuN.mig_places                     what
//   nvmlDeviceGetMaxMigDeviceCount says
//   gpuN.gpm (1: supported), .gpmM    the value of activity counter M; "-": it alone fails
// A question whose key is absent is answered with NVML_ERROR_NOT_SUPPORTED. Misbehaviour:
//   fail.FUNCTION, gpuN.fail.FUNCTION   the function returns this code
//   unterminated = 1                    texts fill their buffer without a NUL
//   entry = 32                          entries of the _v3 process lists are this long (535)
//   clear = 1                           the process lists' whole room is cleared first
//   overcount = N                       success, but N entries too many are counted
//   endless = 1                         the room for processes is never enough
//   hang.FUNCTION = MS                  the function takes that long, then answers
// reload = 1: the file is read anew each time the first GPU is asked for its use, or (by the older
// of the two functions) for its memory.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, INVALID = 2, UNSUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, MISMATCH = 25 };

struct handle {
    int gpu;
    int mig; // -1: the GPU itself
};

typedef struct handle *device;

#define LINES 1024
static char text[1 << 16];
static struct {
    const char *key, *value;
} lines[LINES];
static int line_count;
static struct handle handles[64][9];

static void trim(char **start)
{
    while (**start == ' ')
        (*start)++;
    for (size_t n = strlen(*start); n > 0 && (*start)[n - 1] == ' '; n--)
        (*start)[n - 1] = '\0';
}

static void load(void)
{
    const char *path = getenv("FARE_FAKE_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;
    line_count = 0;
    if (!file)
        return;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (char *line = text; line && *line && line_count < LINES;) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        char *equals = *line == '#' ? NULL : strchr(line, '=');
        if (equals) {
            *equals = '\0';
            char *value = equals + 1;
            trim(&line);
            trim(&value);
            lines[line_count].key = line;
            lines[line_count++].value = value;
        }
        line = end ? end + 1 : NULL;
    }
}

static const char *find(const char *key)
{
    for (int i = 0; i < line_count; i++)
        if (strcmp(lines[i].key, key) == 0)
            return lines[i].value;
    return NULL;
}

static long number(const char *key, long otherwise)
{
    const char *value = find(key);
    return value ? strtol(value, NULL, 0) : otherwise;
}

// gpuN.key, else gpu*.key; of a MIG device gpuN.migM.key.
static const char *get(device d, const char *key)
{
    char full[128];
    if (d->mig >= 0) {
        snprintf(full, sizeof full, "gpu%d.mig%d.%s", d->gpu, d->mig, key);
        return find(full);
    }
    snprintf(full, sizeof full, "gpu%d.%s", d->gpu, key);
    const char *value = find(full);
    if (!value) {
        snprintf(full, sizeof full, "gpu*.%s", key);
        value = find(full);
    }
    return value;
}

static int failure(device d, const char *function)
{
    char key[128];
    snprintf(key, sizeof key, "hang.%s", function);
    long hang_ms = number(key, 0);
    if (hang_ms > 0)
        nanosleep(&(struct timespec){hang_ms / 1000, hang_ms % 1000 * 1000000}, NULL);
    snprintf(key, sizeof key, "fail.%s", function);
    const char *value = d && d->mig < 0 ? get(d, key) : NULL;
    if (!value)
        value = find(key);
    return value ? (int)strtol(value, NULL, 0) : 0;
}

static int put_text(const char *value, char *out, unsigned int size)
{
    if (!value)
        return UNSUPPORTED;
    if (number("unterminated", 0)) {
        memset(out, 'x', size);
        memcpy(out, value, strnlen(value, size));
        return SUCCESS;
    }
    if (strlen(value) >= size)
        return TOO_SMALL;
    snprintf(out, size, "%s", value);
    return SUCCESS;
}

static int put_number(device d, const char *function, const char *key, unsigned int *out)
{
    int code = failure(d, function);
    const char *value = get(d, key);
    if (code != 0)
        return code;
    if (!value)
        return UNSUPPORTED;
    *out = (unsigned int)strtoul(value, NULL, 0);
    return SUCCESS;
}

const char *nvmlErrorString(int code)
{
    switch (code) { // the words of the real library, driver 550
    case 0:
        return "Success";
    case 3:
        return "Not Supported";
    case 4:
        return "Insufficient Permissions";
    case 6:
        return "Not Found";
    case 9:
        return "Driver Not Loaded";
    case 15:
        return "GPU is lost";
    case 18:
        return "Driver/library version mismatch";
    default:
        return "Unknown Error";
    }
}

int nvmlInit(void)
{
    load();
    return (int)number("init", 0);
}

int nvmlShutdown(void)
{
    return SUCCESS;
}

int nvmlSystemGetDriverVersion(char *out, unsigned int size)
{
    int code = failure(NULL, __func__);
    return code ? code : put_text(find("driver"), out, size);
}

int nvmlSystemGetNVMLVersion(char *out, unsigned int size)
{
    int code = failure(NULL, __func__);
    return code ? code : put_text(find("nvml"), out, size);
}

int nvmlSystemGetCudaDriverVersion(int *out)
{
    int code = failure(NULL, __func__);
    *out = (int)number("cuda", 0);
    return code ? code : *out ? SUCCESS : UNSUPPORTED;
}

int nvmlDeviceGetCount(unsigned int *out)
{
    *out = (unsigned int)number("count", 0);
    return failure(NULL, __func__);
}

int nvmlDeviceGetHandleByIndex(unsigned int index, device *out)
{
    if (index >= (unsigned int)number("count", 0) || index >= 64)
        return INVALID;
    *out = &handles[index][8];
    **out = (struct handle){(int)index, -1};
    return failure(*out, __func__);
}

int nvmlDeviceGetName(device d, char *out, unsigned int size)
{
    int code = failure(d, __func__);
    return code ? code : put_text(get(d, "name"), out, size);
}

int nvmlDeviceGetUUID(device d, char *out, unsigned int size)
{
    int code = failure(d, __func__);
    return code ? code : put_text(get(d, "uuid"), out, size);
}

// nvmlPciInfo_t: version 2 and before have only the first busId.
struct pci_v2 {
    char bus_id[16];
    unsigned int domain, bus, device, pci_device_id, pci_subsystem_id;
};
struct pci_v3 {
    struct pci_v2 v2;
    char bus_id[32];
};
_Static_assert(sizeof(struct pci_v3) == 68, "nvmlPciInfo_t");

int nvmlDeviceGetPciInfo(device d, struct pci_v2 *out)
{
    const char *value = get(d, "pci"), *id = get(d, "pci_id");
    unsigned int function;
    int code = failure(d, __func__);
    if (code)
        return code;
    if (!value ||
        sscanf(value, "%x:%x:%x.%x", &out->domain, &out->bus, &out->device, &function) != 4)
        return UNSUPPORTED;
    out->pci_device_id = id ? (unsigned int)strtoul(id, NULL, 16) : 0;
    out->pci_subsystem_id = 0;
    snprintf(out->bus_id, sizeof out->bus_id, "%.15s", value);
    return SUCCESS;
}

int nvmlDeviceGetCudaComputeCapability(device d, int *major, int *minor)
{
    const char *value = get(d, "capability");
    int code = failure(d, __func__);
    if (code)
        return code;
    return value && sscanf(value, "%d.%d", major, minor) == 2 ? SUCCESS : UNSUPPORTED;
}

struct memory_v1 {
    unsigned long long total, free, used;
};

static int memory(device d, unsigned long long out[4])
{
    const char *value = get(d, "memory");
    if (!value || sscanf(value, "%llu %llu %llu %llu", &out[0], &out[1], &out[2], &out[3]) != 4)
        return UNSUPPORTED;
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(device d, struct memory_v1 *out)
{
    unsigned long long m[4];
    if (d->gpu == 0 && d->mig < 0 && number("reload", 0))
        load();
    int code = failure(d, __func__);
    if (code == 0)
        code = memory(d, m);
    if (code == 0) // version 1 counts what is reserved as used
        *out = (struct memory_v1){m[0], m[2], m[3] + m[1]};
    return code;
}

#define NUMBER(function, key)                                                                      \
    int function(device d, unsigned int *out)                                                      \
    {                                                                                              \
        return put_number(d, __func__, key, out);                                                  \
    }
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "link")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "link_max")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "width")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "width_max")
NUMBER(nvmlDeviceGetPowerUsage, "power")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power_limit")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "power_default")
NUMBER(nvmlDeviceGetPerformanceState, "pstate")
NUMBER(nvmlDeviceGetPersistenceMode, "persistence")

static int clock_of(device d, const char *function, unsigned int type, unsigned int *out,
                    const char *sm, const char *mem)
{
    if (type != 1 && type != 2) // NVML_CLOCK_SM, NVML_CLOCK_MEM
        return INVALID;
    return put_number(d, function, type == 1 ? sm : mem, out);
}

int nvmlDeviceGetClockInfo(device d, unsigned int type, unsigned int *out)
{
    return clock_of(d, __func__, type, out, "sm", "mem");
}

int nvmlDeviceGetMaxClockInfo(device d, unsigned int type, unsigned int *out)
{
    return clock_of(d, __func__, type, out, "sm_max", "mem_max");
}

int nvmlDeviceGetTemperature(device d, unsigned int sensor, unsigned int *out)
{
    return sensor == 0 ? put_number(d, __func__, "temperature", out) : INVALID;
}

int nvmlDeviceGetUtilizationRates(device d, unsigned int out[2])
{
    out[1] = 0;
    if (d->gpu == 0 && d->mig < 0 && number("reload", 0))
        load();
    return put_number(d, __func__, "use", &out[0]);
}

// The power of now for the time since the last question.
static unsigned long long added_energy(device d)
{
    static double energy_mj[64], asked_s[64];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double now_s = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    const char *power = get(d, "power");
    if (asked_s[d->gpu] > 0 && power)
        energy_mj[d->gpu] += strtod(power, NULL) * (now_s - asked_s[d->gpu]);
    asked_s[d->gpu] = now_s;
    return 1000000000 + (unsigned long long)energy_mj[d->gpu];
}

int nvmlDeviceGetTotalEnergyConsumption(device d, unsigned long long *out)
{
    int code = failure(d, __func__);
    const char *value = get(d, "energy");
    if (code != 0 || !value)
        return code != 0 ? code : UNSUPPORTED;
    *out = strcmp(value, "added") == 0 ? added_energy(d) : strtoull(value, NULL, 0);
    return SUCCESS;
}

int nvmlDeviceGetPcieThroughput(device d, unsigned int counter, unsigned int *out)
{
    if (counter > 1) // NVML_PCIE_UTIL_TX_BYTES, _RX_BYTES
        return INVALID;
    return put_number(d, __func__, counter == 0 ? "sent" : "received", out);
}

int nvmlDeviceGetEccMode(device d, unsigned int *now, unsigned int *pending)
{
    *pending = 0;
    return put_number(d, __func__, "ecc", now);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(device d, unsigned long long *out)
{
    unsigned int bits = 0;
    int code = put_number(d, __func__, "reasons", &bits);
    *out = bits;
    return code;
}

// "pid bytes" number `i` of a list; false past its end.
static int process(device d, const char *list, unsigned int i, unsigned int *pid,
                   unsigned long long *bytes)
{
    char key[64], amount[32];
    snprintf(key, sizeof key, "%s%u", list, i);
    const char *value = get(d, key);
    if (!value || sscanf(value, "%u %31s", pid, amount) != 2)
        return 0;
    *bytes = strcmp(amount, "-") == 0 ? ~0ULL : strtoull(amount, NULL, 0);
    return 1;
}

static int processes(device d, const char *function, const char *list, size_t entry,
                     unsigned int *count, unsigned char *out)
{
    unsigned int have = 0, pid;
    unsigned long long bytes;
    int code = failure(d, function);
    if (code)
        return code;
    while (process(d, list, have, &pid, &bytes))
        have++;
    if (number("endless", 0) || have > *count) {
        *count = have;
        return TOO_SMALL;
    }
    if (number("clear", 0))
        memset(out, 0, *count * entry);
    for (unsigned int i = 0; i < have; i++) {
        unsigned char *at = out + i * entry;
        unsigned int none = 0xffffffff; // no GPU or compute instance
        unsigned long long no_bytes = 0;
        process(d, list, i, &pid, &bytes);
        memcpy(at, &pid, 4);
        memcpy(at + 8, &bytes, 8);
        if (entry >= 24) {
            memcpy(at + 16, &none, 4);
            memcpy(at + 20, &none, 4);
        }
        if (entry >= 32)
            memcpy(at + 24, &no_bytes, 8);
    }
    *count = have + (unsigned int)number("overcount", 0);
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses(device d, unsigned int *count, void *out)
{
    return processes(d, __func__, "process", 16, count, out);
}

int nvmlDeviceGetGraphicsRunningProcesses(device d, unsigned int *count, void *out)
{
    return processes(d, __func__, "graphics", 16, count, out);
}

// What came later; fake_nvml_old.c leaves it out.
#ifndef FAKE_NVML_OLD

int nvmlInit_v2(void)
{
    return nvmlInit();
}

int nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    int code = failure(NULL, __func__);
    return code ? code : nvmlSystemGetCudaDriverVersion(out);
}

int nvmlDeviceGetCount_v2(unsigned int *out)
{
    return nvmlDeviceGetCount(out);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, device *out)
{
    return nvmlDeviceGetHandleByIndex(index, out);
}

int nvmlDeviceGetPciInfo_v2(device d, struct pci_v2 *out)
{
    int code = failure(d, __func__);
    return code ? code : nvmlDeviceGetPciInfo(d, out);
}

int nvmlDeviceGetPciInfo_v3(device d, struct pci_v3 *out)
{
    int code = failure(d, __func__);
    if (code == 0)
        code = nvmlDeviceGetPciInfo(d, &out->v2);
    if (code == 0)
        snprintf(out->bus_id, sizeof out->bus_id, "%s", get(d, "pci"));
    return code;
}

struct memory_v2 {
    unsigned int version;
    unsigned long long total, reserved, free, used;
};

int nvmlDeviceGetMemoryInfo_v2(device d, struct memory_v2 *out)
{
    unsigned long long m[4];
    int code = failure(d, __func__);
    if (code == 0 && out->version != (40 | 2 << 24))
        code = MISMATCH;
    if (code == 0)
        code = memory(d, m);
    if (code == 0)
        *out = (struct memory_v2){out->version, m[0], m[1], m[2], m[3]};
    return code;
}

struct temperature {
    unsigned int version, sensor;
    int celsius;
};

int nvmlDeviceGetTemperatureV(device d, struct temperature *out)
{
    unsigned int value = 0;
    if (out->version != (12 | 1 << 24) || out->sensor != 0)
        return MISMATCH;
    int code = put_number(d, __func__, "temperature", &value);
    out->celsius = (int)value;
    return code;
}

int nvmlDeviceGetCurrentClocksEventReasons(device d, unsigned long long *out)
{
    int code = failure(d, __func__);
    return code ? code : nvmlDeviceGetCurrentClocksThrottleReasons(d, out);
}

int nvmlDeviceGetMigMode(device d, unsigned int *now, unsigned int *pending)
{
    *pending = 0;
    return put_number(d, __func__, "mig", now);
}

int nvmlDeviceGetMaxMigDeviceCount(device d, unsigned int *out)
{
    return put_number(d, __func__, "mig_places", out);
}

int nvmlDeviceGetMigDeviceHandleByIndex(device d, unsigned int index, device *out)
{
    int code = failure(d, __func__);
    if (code || index >= 8)
        return code ? code : INVALID;
    *out = &handles[d->gpu][index];
    **out = (struct handle){d->gpu, (int)index};
    return get(*out, "name") ? SUCCESS : NOT_FOUND;
}

// GPM: a sample knows its GPU and its place in the order of all that were taken.
struct gpm_sample {
    device of;
    long taken;
};

struct gpm_support {
    unsigned int version, supported;
};

struct gpm_metric {
    unsigned int id;
    int code;
    double value;
    const char *names[3];
};

struct gpm_metrics {
    unsigned int version, count;
    struct gpm_sample *samples[2];
    struct gpm_metric metrics[];
};
_Static_assert(sizeof(struct gpm_metric) == 40 && sizeof(struct gpm_metrics) == 24, "nvmlGpm*_t");

int nvmlGpmQueryDeviceSupport(device d, struct gpm_support *out)
{
    int code = failure(d, __func__);
    const char *value = get(d, "gpm");
    if (code == 0 && out->version != 1)
        code = MISMATCH;
    out->supported = value ? (unsigned int)strtoul(value, NULL, 0) : 0;
    return code;
}

int nvmlGpmSampleAlloc(struct gpm_sample **out)
{
    int code = failure(NULL, __func__);
    *out = code ? NULL : calloc(1, sizeof **out);
    return code;
}

int nvmlGpmSampleFree(struct gpm_sample *sample)
{
    free(sample);
    return SUCCESS;
}

int nvmlGpmSampleGet(device d, struct gpm_sample *out)
{
    static long taken;
    int code = failure(d, __func__);
    *out = (struct gpm_sample){d, ++taken};
    return code;
}

int nvmlGpmMetricsGet(struct gpm_metrics *out)
{
    const struct gpm_sample *before = out->samples[0], *now = out->samples[1];
    int code = failure(NULL, __func__);
    if (code == 0 && out->version != 1)
        code = MISMATCH;
    if (code == 0 && (before->taken == 0 || before->taken >= now->taken || before->of != now->of))
        code = INVALID;
    for (unsigned int i = 0; code == 0 && i < out->count; i++) {
        struct gpm_metric *m = &out->metrics[i];
        char key[32];
        snprintf(key, sizeof key, "gpm%u", m->id);
        const char *value = get(now->of, key);
        m->code = value && *value != '-' ? SUCCESS : UNSUPPORTED;
        m->value = value ? strtod(value, NULL) : 0;
    }
    return code;
}

int nvmlDeviceGetComputeRunningProcesses_v2(device d, unsigned int *count, void *out)
{
    return processes(d, __func__, "process", 24, count, out);
}

int nvmlDeviceGetComputeRunningProcesses_v3(device d, unsigned int *count, void *out)
{
    return processes(d, __func__, "process", (size_t)number("entry", 24), count, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(device d, unsigned int *count, void *out)
{
    return processes(d, __func__, "graphics", 24, count, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(device d, unsigned int *count, void *out)
{
    return processes(d, __func__, "graphics", (size_t)number("entry", 24), count, out);
}

#endif
