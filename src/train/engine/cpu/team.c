// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cpu/team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/dl.h"
#include "machine/cgroup.h"

// GNU OpenMP's entry points: the first is what gcc makes of "#pragma omp parallel".
struct gomp_api {
    void (*GOMP_parallel)(void (*)(void *), void *, unsigned int, unsigned int);
    int (*omp_get_thread_num)(void);
    int (*omp_get_num_threads)(void);
    void (*omp_set_num_threads)(int);
    void (*omp_set_dynamic)(int);
};

#define REQUIRED(name)                                                                             \
    {                                                                                              \
#name, offsetof(struct gomp_api, name), DL_REQUIRED                                        \
    }
static const struct dl_symbol symbols[] = {
    REQUIRED(GOMP_parallel),       REQUIRED(omp_get_thread_num), REQUIRED(omp_get_num_threads),
    REQUIRED(omp_set_num_threads), REQUIRED(omp_set_dynamic),
};

static struct gomp_api gomp;
static bool opened, have;
static int size = 1;

static void open_runtime(void)
{
    static const char *const names[] = {"libgomp.so.1", NULL};
    static const struct dl_spec spec = {.what = "GNU OpenMP",
                                        .names = names,
                                        .symbols = symbols,
                                        .symbol_count = sizeof symbols / sizeof *symbols};
    static struct dl dl; // kept until the program ends
    opened = true;
    // By default its threads spin for about a millisecond before they sleep. Where others use the
    // machine too, the one that is waited for may not even be running: then that millisecond is
    // taken from it, and a step takes fifty times as long. A tenth of it is enough between the
    // parts of a step. It reads its environment when it is loaded.
    bool ours = !getenv("GOMP_SPINCOUNT") && !getenv("OMP_WAIT_POLICY");
    if (ours)
        setenv("GOMP_SPINCOUNT", "30000", 0);
    have = dl_open(&dl, &spec, &gomp, NULL) == 0;
    if (ours)
        unsetenv("GOMP_SPINCOUNT");
    if (have)
        gomp.omp_set_dynamic(0);
}

int team_set(int threads)
{
    if (!opened)
        open_runtime();
    threads = threads > 0 ? threads : cpus_usable();
    size = have ? threads : 1;
    if (have)
        gomp.omp_set_num_threads(size);
    return size;
}

int team_size(void)
{
    return size;
}

struct team_job {
    void (*work)(void *context, int thread, int threads);
    void *context;
};

static void run_job(void *job_)
{
    const struct team_job *job = job_;
    job->work(job->context, gomp.omp_get_thread_num(), gomp.omp_get_num_threads());
}

void team_run(void (*work)(void *context, int thread, int threads), void *context)
{
    if (size == 1) {
        work(context, 0, 1);
        return;
    }
    struct team_job job = {work, context};
    gomp.GOMP_parallel(run_job, &job, (unsigned int)size, 0);
}

void team_part(int64_t count, int64_t grain, int thread, int threads, int64_t *from, int64_t *to)
{
    int64_t pieces = (count + grain - 1) / grain;
    int64_t first = pieces * thread / threads * grain,
            last = pieces * (thread + 1) / threads * grain;
    *from = first < count ? first : count;
    *to = last < count ? last : count;
}
