// SPDX-License-Identifier: Apache-2.0
// How fast the L1 distances are, as a share of what the processor could do:
//     bench_l1 [N M DIM [THREADS]]
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/l1.h"
#include "engine/cpu/team.h"

int main(int argc, char **argv)
{
    long n = argc > 3 ? strtol(argv[1], NULL, 10) : 8192;
    long m = argc > 3 ? strtol(argv[2], NULL, 10) : 8192;
    long dim = argc > 3 ? strtol(argv[3], NULL, 10) : 512;
    int threads = team_set(argc > 4 ? (int)strtol(argv[4], NULL, 10) : 0);
    float *a = malloc((size_t)(n * dim) * sizeof *a), *b = malloc((size_t)(m * dim) * sizeof *b);
    float *out = calloc((size_t)(n * m), sizeof *out);
    if (!a || !b || !out)
        return 1;
    srand(1);
    for (long i = 0; i < n * dim; i++)
        a[i] = (float)rand() / (float)RAND_MAX;
    for (long i = 0; i < m * dim; i++)
        b[i] = (float)rand() / (float)RAND_MAX;
    double best = 0, peak = 0;
    struct err err = {0};
    for (int round = 0; round < 5; round++) { // in turns, because shared machines drift
        double now = l1_peak(0.3);
        peak = now > peak ? now : peak;
        int64_t start = clock_now_ns();
        if (l1_distances(a, b, n, m, dim, out, &err) != 0) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        double s = (double)(clock_now_ns() - start) * 1e-9;
        double rate = (double)n * (double)m * (double)dim / s;
        best = rate > best ? rate : best;
        printf("%s, %d threads: %.1f ms, %.2f Gpair/s, peak %.2f\n", kernels()->name, threads,
               s * 1e3, rate * 1e-9, now * 1e-9);
    }
    printf("best %.2f Gpair/s, %.1f %% of the best peak %.2f\n", best * 1e-9, best / peak * 100,
           peak * 1e-9);
    free(a);
    free(b);
    free(out);
    return 0;
}
