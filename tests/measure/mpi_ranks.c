// SPDX-License-Identifier: Apache-2.0
// A training in the sense of test_parallel.py: steps of sleeping and MPI_Allreduce(), with the last
// rank slower. Each rank says how long it was in that call, by its own clock: the truth that the
// record is held against. Compiled by the test, without MPI's headers.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

typedef void *handle; // Open MPI's are pointers
extern char ompi_mpi_comm_world, ompi_mpi_double, ompi_mpi_op_sum;
int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Comm_rank(handle comm, int *rank);
int MPI_Comm_size(handle comm, int *size);
int MPI_Allreduce(const void *from, void *to, int count, handle type, handle op, handle comm);

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// STEPS MS SLOWER-MS [fork]
int main(int argc, char **argv)
{
    static double from[1000], to[1000];
    int rank, size, steps = argc > 1 ? atoi(argv[1]) : 100;
    int ms = argc > 2 ? atoi(argv[2]) : 20, slower_ms = argc > 3 ? atoi(argv[3]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(&ompi_mpi_comm_world, &rank);
    MPI_Comm_size(&ompi_mpi_comm_world, &size);
    if (argc > 4 && strcmp(argv[4], "fork") == 0 && fork() == 0) { // no rank: a loader of data
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int fd = 0; fd < 64; fd++) // mpirun waits for its outputs
            close(fd);
        sleep(20);
        _exit(0);
    }
    double within_s = 0, began_s = 0;
    for (int i = 1; i <= steps; i++) {
        usleep((useconds_t)(ms + (rank == size - 1 ? slower_ms : 0)) * 1000);
        double before_s = now_s();
        MPI_Allreduce(from, to, 1000, &ompi_mpi_double, &ompi_mpi_op_sum, &ompi_mpi_comm_world);
        within_s += now_s() - before_s;
        if (i == 1) {
            within_s = 0;
            began_s = now_s();
        }
        if (rank == 0) {
            printf("step %d/%d loss %f\n", i, steps, 1.0 / i);
            fflush(stdout);
        }
    }
    fprintf(stderr, "rank %d: %.6f of %.6f ms\n", rank, within_s / (steps - 1) * 1e3,
            (now_s() - began_s) / (steps - 1) * 1e3);
    MPI_Finalize();
    return 0;
}
