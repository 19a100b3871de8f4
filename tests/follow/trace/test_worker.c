// SPDX-License-Identifier: Apache-2.0
// A process's place by its environment, with variables as torchrun 2.7, Open MPI 4.1, MPICH and
// Slurm 22.05 set them.
#include "follow/trace/worker.h"

#include "test.h"

static struct worker of(const char *block)
{
    struct worker w;
    bool found = worker_find(worker_block, block, &w);
    assert_int_equal(found, w.by != NULL);
    return w;
}

#define EXPECT(block, by_, rank_, size_, nodes_)                                                   \
    do {                                                                                           \
        struct worker w = of(block "\0");                                                          \
        assert_non_null(w.by);                                                                     \
        assert_string_equal(w.by, by_);                                                            \
        assert_int_equal(w.rank, rank_);                                                           \
        assert_int_equal(w.size, size_);                                                           \
        assert_int_equal(w.nodes, nodes_);                                                         \
    } while (0)

TEST(launchers)
{
    EXPECT("HOME=/x\0RANK=9\0LOCAL_RANK=1\0WORLD_SIZE=16\0LOCAL_WORLD_SIZE=8\0GROUP_WORLD_SIZE=2\0",
           "torchrun", 9, 16, 2);
    EXPECT("OMPI_COMM_WORLD_RANK=1\0OMPI_COMM_WORLD_SIZE=4\0OMPI_COMM_WORLD_LOCAL_SIZE=4\0",
           "mpirun", 1, 4, 1);
    EXPECT("PMI_RANK=2\0PMI_SIZE=3\0", "mpirun", 2, 3, 0);
    EXPECT("SLURM_PROCID=1\0SLURM_STEP_NUM_TASKS=2\0SLURM_STEP_NUM_NODES=2\0", "srun", 1, 2, 2);
    // torchrun below srun: the larger job counts.
    EXPECT("SLURM_PROCID=1\0SLURM_STEP_NUM_TASKS=2\0RANK=12\0WORLD_SIZE=16\0LOCAL_WORLD_SIZE=8\0",
           "torchrun", 12, 16, 2);
    // mpirun below an operator that numbers its containers.
    EXPECT("RANK=0\0WORLD_SIZE=2\0OMPI_COMM_WORLD_RANK=7\0OMPI_COMM_WORLD_SIZE=8\0", "mpirun", 7, 8,
           0);
}

TEST(none)
{
    static const char *const blocks[] = {
        "\0",
        "SLURM_PROCID=0\0SLURM_NTASKS=8\0", // the script of a job
        "RANK=1\0",
        "WORLD_SIZE=4\0",
        "RANK=\0WORLD_SIZE=\0",
        "RANK=garbage\0WORLD_SIZE=2\0",
        "RANK=1x\0WORLD_SIZE=2\0",
        "RANK=-1\0WORLD_SIZE=2\0",
        "RANK=+1\0WORLD_SIZE=2\0",
        "RANK=2\0WORLD_SIZE=2\0",
        "RANK=0\0WORLD_SIZE=0\0",
        "RANK=0\0WORLD_SIZE=65537\0",
        "RANK=0\0WORLD_SIZE=4294967298\0",
        "RANK=18446744073709551616\0WORLD_SIZE=2\0",
        "XRANK=0\0XWORLD_SIZE=2\0RANKS=0\0",
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        assert_null(of(blocks[i]).by);
}

TEST(parts_that_cannot_be)
{
    EXPECT("RANK=0\0WORLD_SIZE=4\0LOCAL_WORLD_SIZE=9\0GROUP_WORLD_SIZE=x\0", "torchrun", 0, 4, 0);
    EXPECT("RANK=0\0WORLD_SIZE=4\0LOCAL_WORLD_SIZE=3\0", "torchrun", 0, 4, 2);
}
