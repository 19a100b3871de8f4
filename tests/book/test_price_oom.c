// SPDX-License-Identifier: Apache-2.0
// Importers, the book's file and its readers with every allocation failing once.
#include "oom.h"

#include "base/fs.h"
#include "book/scratch.h"

// jansson's own allocations do not fail here: it goes wrong where it cannot grow its buffer for a
// token (2.14, lex_save).
static const struct {
    const char *format, *name, *text;
} inputs[] = {
    {"skypilot", "aws.csv",
     "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,"
     "AvailabilityZone\n"
     "p4,A100,8,96,1152,\"{'Gpus': [{'Name': 'A100', 'MemoryInfo': {'SizeInMiB': "
     "81920}}]}\",27.4,1,r1,z2\nx,,,1,1,,1,2,r,z\nx,,,1,1,,1,2,r,y\n"},
    {"skypilot", "gcp.csv",
     "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,"
     "AvailabilityZone,Price,SpotPrice\n"
     "a2-highgpu-1g,12.0,85.0,,,,r,r-a,0.9,0.5\nn1-standard-8,8,30,,,,r,r-a,0.3,0.1\n"
     ",,,A100,1,A100,r,r-a,3.1,1.8\n,,,T4,1,T4,r,r-a,0.35,0.18\n"},
    {"gpuhunt", "x.csv",
     "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot\n"
     "a,r,2.49,26,200,1,H100,80,False\n"},
    {"aws-spot", "x.csv",
     "timestamp,availability_zone,instance_type,spot_price\n2026-03-01,us-east-1d,g4dn,0.2\n"},
    {"aws-spot", "x.json",
     "{\"AvailabilityZone\":\"us-east-1d\",\"SpotPrice\":\"1\",\"InstanceType\":\"g4dn\","
     "\"Timestamp\":\"2026-03-01\"}"},
    {"aws-spot-advisor", "x.json",
     "{\"ranges\":[{\"index\":0,\"label\":\"<5%\"}],\"spot_advisor\":{\"r\":{\"Linux\":{\"t\":{"
     "\"s\":70,"
     "\"r\":0}}}}}"},
    {"fare", "x.csv",
     "provider,name,gpu,price,date,source\na,b,A100 80G,1,2018-02-01,x\na,b,,2,2018-03-01,x\n"},
};

#define TABLE (&inputs[sizeof inputs / sizeof *inputs - 1]) // fare's own

// The table of devices has a test of its own (advise/test_quote_oom).
TEST(importing)
{
    struct err none = {0};
    struct devices *devices = NULL;
    assert_ok(devices_open(&devices, &none), &none);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        OOM_EACH
        {
            struct err err = {0};
            struct stock stock = {0};
            struct import_report report;
            struct stock_counts counts;
            struct buf bytes = {0};
            struct image image = {0};
            const struct image nothing = {0};
            int rc = import_text(&stock, devices, inputs[i].format, inputs[i].name, inputs[i].text,
                                 strlen(inputs[i].text), DAY, &report, &err);
            if (rc == 0)
                rc = stock_build(&stock, &nothing, &bytes, &counts, &err);
            if (rc == 0)
                rc = image_of(&image, bytes.data, bytes.len, bytes.data, &err);
            else
                buf_release(&bytes);
            image_release(&image);
            stock_release(&stock);
            OOM_EXPECT(rc, &err);
        }
    }
    devices_close(devices);
}

static char path[64];

static int import_file(struct err *err)
{
    struct importing *m = NULL;
    struct import_report report;
    struct stock_counts counts;
    const struct price_import_options options = {.book = path, .day = DAY};
    char from[128];
    snprintf(from, sizeof from, "%s.csv", path);
    int rc = importing_begin(&m, &options, err);
    if (rc == 0)
        rc = importing_file(m, from, NULL, &report, err);
    if (rc == 0)
        rc = importing_commit(m, &counts, err);
    importing_free(m);
    return rc;
}

static int count(void *arg, const struct offer *offer, struct err *err)
{
    (void)offer;
    (void)err;
    ++*(size_t *)arg;
    return 0;
}

TEST(files)
{
    struct err err = {0};
    snprintf(path, sizeof path, "/tmp/fare-oom-book-%d", (int)getpid());
    char from[128], lock[128];
    snprintf(from, sizeof from, "%s.csv", path);
    snprintf(lock, sizeof lock, "%s.lock", path);
    assert_ok(fs_write(from, TABLE->text, strlen(TABLE->text), &err), &err);
    OOM_EACH
    {
        struct err why = {0};
        int rc = import_file(&why);
        OOM_EXPECT(rc, &why);
    }
    OOM_EACH
    {
        struct err why = {0};
        struct book *book = NULL;
        struct offer offer;
        size_t seen = 0;
        int rc = book_open(&book, path, &why);
        const struct book_filter filter = {.text = "a/b", .gpu = "A100-80GB", .provider = "a"};
        if (rc == 0)
            rc = book_each(book, &filter, count, &seen, &why);
        if (rc == 0)
            rc = book_find(book, "a/b", 0, &offer, &why);
        if (rc == 0)
            rc = book_history(book, &offer, count, &seen, &why);
        book_close(book);
        OOM_EXPECT(rc, &why);
    }
    unlink(path);
    unlink(from);
    unlink(lock);
}

int main(void)
{
    return run_all_tests(use_share, NULL);
}
