// SPDX-License-Identifier: Apache-2.0
// CPU time of the run, of all processes, and stolen by the hypervisor: /proc/stat (proc_stat(5)).
//
// The kernel measures a process's time precisely but counts the machine's in ticks. Over one
// reading the two may differ by a tick or two per CPU; this evens out.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sample/proc_file.h"
#include "sample/source.h"
#include "sample/tasks.h"

struct cpu {
    struct proc_file stat;
    int64_t cpus;
};

// The lines "cpu  ...", "cpu0 ...", "cpu1 ..." come first.
static int64_t count_cpus(const char *text)
{
    int64_t cpus = 0;
    for (const char *line = text; strncmp(line, "cpu", 3) == 0;) {
        cpus += line[3] != ' ';
        const char *end = strchr(line, '\n');
        if (!end)
            break;
        line = end + 1;
    }
    return cpus;
}

static int cpu_open(void *state, struct place *place, struct err *err)
{
    struct cpu *cpu = state;
    if (!proc_file_open(&cpu->stat, &place->tree, "/proc/stat"))
        return 0;                  // the run's own time can still be read
    size_t size = (size_t)1 << 18; // 2000 lines of CPUs
    char *text = malloc(size);
    if (!text)
        return err_memory(err);
    if (proc_file_read(&cpu->stat, text, size) > 0)
        cpu->cpus = count_cpus(text);
    free(text);
    return 0;
}

static void cpu_read(void *state, struct place *place, struct reading *reading)
{
    struct cpu *cpu = state;
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

static void cpu_close(void *state)
{
    proc_file_close(&((struct cpu *)state)->stat);
}

const struct source source_cpu = {
    .name = "cpu",
    .lane = LANE_HOST,
    .size = sizeof(struct cpu),
    .open = cpu_open,
    .read = cpu_read,
    .close = cpu_close,
};
