// SPDX-License-Identifier: Apache-2.0
// Allocations that fail while the place of a machine is looked for. No cloud and no server: a
// recorded tree, texts, and a port of the loopback device at which nobody listens.
#include "machine/cloud.h"

#include "oom.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "machine/probe.h"

static void release(struct machine_where *where)
{
    struct machine machine = {.where = *where};
    machine_release(&machine);
}

TEST(test_parse)
{
    static const char *const texts[CLOUD_ITEMS] = {
        [CLOUD_AWS_DOCUMENT] = "{\"instanceType\":\"t2.micro\",\"region\":\"us-west-2\","
                               "\"instanceId\":\"i-0af\",\"availabilityZone\":\"us-west-2b\","
                               "\"pendingTime\":\"2016-11-19T16:32:11Z\"}",
        [CLOUD_AWS_LIFE_CYCLE] = "spot",
        [CLOUD_GCP_TYPE] = "projects/1/machineTypes/a2-highgpu-1g",
        [CLOUD_GCP_ZONE] = "projects/1/zones/us-central1-a",
        [CLOUD_GCP_ID] = "123",
        [CLOUD_GCP_PREEMPTIBLE] = "TRUE",
        [CLOUD_AZURE_COMPUTE] = "{\"vmSize\":\"Standard_A1\",\"location\":\"eastus\","
                                "\"vmId\":\"0-1\",\"zone\":\"1\",\"priority\":\"Spot\"}",
    };
    struct buf bufs[CLOUD_ITEMS] = {0};
    const struct buf *answers[CLOUD_ITEMS] = {NULL};
    for (int i = 0; i < CLOUD_ITEMS; i++) {
        if (!texts[i])
            continue;
        buf_adds(&bufs[i], texts[i]);
        answers[i] = &bufs[i];
    }
    for (enum cloud cloud = 0; cloud < CLOUD_COUNT; cloud++) {
        OOM_EACH
        {
            struct err err = {0};
            struct machine_where where = {0};
            bool found = false;
            int rc = cloud_parse(cloud, answers, &where, &found, &err);
            if (rc == 0)
                assert_true(found && where.spot.v);
            release(&where);
            OOM_EXPECT(rc, &err);
        }
    }
    for (int i = 0; i < CLOUD_ITEMS; i++)
        buf_release(&bufs[i]);
}

static const char *const files[][2] = {
    {"/sys/class/dmi/id/sys_vendor", "Amazon EC2\n"},
    {"/sys/class/dmi/id/product_name", "g5.xlarge\n"},
    {"/sys/class/dmi/id/board_asset_tag", "i-0abc\n"},
    {"/proc/1/environ", "PATH=/bin"},
};

TEST(test_probe)
{
    char root[64] = "/tmp/fare-cloud-oom-XXXXXX", path[256];
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", root, files[i][0]);
        *strrchr(path, '/') = '\0';
        assert_int_equal(fs_mkdirs(path, NULL), 0);
        snprintf(path, sizeof path, "%s%s", root, files[i][0]);
        assert_int_equal(fs_write(path, files[i][1], strlen(files[i][1]), NULL), 0);
    }
    char *slurm[] = {(char[]){"SLURM_JOB_ID=1"}, (char[]){"SLURM_JOB_PARTITION=p"},
                     (char[]){"SLURMD_NODENAME=n"}, (char[]){"SLURM_CLUSTER_NAME=c"}, NULL};
    char *runpod[] = {(char[]){"RUNPOD_POD_ID=x"}, (char[]){"RUNPOD_DC_ID=y"}, NULL};
    const struct {
        char **env;
        const char *url;
    } cases[] = {{slurm, NULL}, {runpod, NULL}, {NULL, "http://127.0.0.1:1"}};
    for (size_t i = 0; i < 3; i++) {
        OOM_EACH
        {
            struct err err = {0};
            struct machine_where where = {0};
            struct probe probe = {
                .tree = {.root = root}, .env = cases[i].env, .metadata_url = cases[i].url};
            int rc = probe_where(&probe, &where, &err);
            if (rc == 0)
                assert_string_equal(where.provider, cases[i].env == runpod ? "runpod" : "aws");
            release(&where);
            OOM_EXPECT(rc, &err);
        }
    }
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", root, files[i][0]);
        unlink(path);
    }
    static const char *const dirs[] = {
        "/sys/class/dmi/id", "/sys/class/dmi", "/sys/class", "/sys", "/proc/1", "/proc", ""};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        snprintf(path, sizeof path, "%s%s", root, dirs[i]);
        assert_int_equal(rmdir(path), 0);
    }
}
