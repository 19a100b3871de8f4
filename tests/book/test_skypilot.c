// SPDX-License-Identifier: Apache-2.0
// Each thing that is odd in the real catalogues, with rows as they stand there. Prices are added by
// hand.
#include "book/scratch.h"

#define HEAD                                                                                       \
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,"       \
    "Region,AvailabilityZone\n"

TEST(plain_rows)
{
    struct read r = read_text("skypilot", "aws.csv",
                              HEAD "a1.2xlarge,,,8.0,16.0,,0.2568,0.256800,eu-west-1,euw1-az2\n"
                                   "a1.2xlarge,,,8.0,16.0,,0.2568,0.101,eu-west-1,euw1-az4\n");
    assert_ok(r.rc, &r.err);
    // On demand once for the region, spot in each zone.
    assert_int_equal(r.image.offer_count, 3);
    assert_int_equal(rate(&r, "a1.2xlarge", "eu-west-1", OFFER_ON_DEMAND), 256800000);
    assert_int_equal(rate(&r, "a1.2xlarge", "euw1-az2", OFFER_SPOT), 256800000);
    assert_int_equal(rate(&r, "a1.2xlarge", "euw1-az4", OFFER_SPOT), 101000000);
    const struct image_offer *o = the(&r, "a1.2xlarge", "eu-west-1", OFFER_ON_DEMAND);
    assert_int_equal(o->vcpus_milli, 8000);
    assert_int_equal(o->memory_mib, 16384);
    assert_int_equal(o->gpus_milli, 0);
    assert_string_equal(image_word(&r.image, o->provider), "aws");
    image_release(&r.image);
}

TEST(zones_with_their_own_price)
{
    struct read r = read_text("skypilot", "aws.csv", HEAD "x,,,1,1,,0.5,,r,a\nx,,,1,1,,0.6,,r,b\n");
    assert_ok(r.rc, &r.err);
    assert_int_equal(rate(&r, "x", "a", OFFER_ON_DEMAND), 500000000);
    assert_int_equal(rate(&r, "x", "b", OFFER_ON_DEMAND), 600000000);
    image_release(&r.image);
}

TEST(gpus_as_literals)
{
    struct read r = read_text(
        "skypilot", "x/aws.csv.gz",
        HEAD "g6f.large,L4,0.125,2.0,8.0,\"{'Gpus': [{'Name': 'L4', 'Manufacturer': 'NVIDIA', "
             "'Count': 0, 'LogicalGpuCount': 1, 'GpuPartitionSize': 0.125, 'Workloads': ['ml-ai', "
             "'graphics'], 'MemoryInfo': {'SizeInMiB': 2861}}], 'TotalGpuMemoryInMiB': 2861}\","
             "0.202,0.05,us-east-1,use1-az1\n"
             "p4de.24xlarge,A100-80GB,8.0,96.0,1152.0,\"{'Gpus': [{'Name': 'A100', 'Count': 8, "
             "'MemoryInfo': {'SizeInMiB': 81920}}], 'TotalGpuMemoryInMiB': 655360}\",27.44705,,"
             "us-east-1,use1-az4\n"
             "p4de.24xlarge,A100-80GB,8.0,96.0,1152.0,\"{'Gpus': [{'Name': 'A100-80GB'}]}\","
             "27.44705,,us-east-1,use1-az4\n"
             "m7gd.large,,,2,8,,,,us-east-1,use1-az1\n"
             "inf1.xlarge,Inferentia,1.0,4.0,8.0,,0.228,,us-east-1,use1-az1\n"
             "denvr_Gaudi2x8,GAUDI2,8.0,160.0,940,,12.0,,us-east-1,use1-az1\n"
             "c5.metal,,,96,192,,4.08,4.50,us-east-1,use1-az1\n"
             "p5e.48xlarge,,,192,2048,,,30.5,us-east-1,use1-az1\n");
    assert_ok(r.rc, &r.err);
    const struct image_offer *part = the(&r, "g6f.large", "us-east-1", OFFER_ON_DEMAND);
    assert_int_equal(part->gpus_milli, 125);
    assert_int_equal(part->gpu_memory_mib, 2861);
    assert_string_equal(image_word(&r.image, part->gpu), "L4");
    const struct image_offer *big = the(&r, "p4de.24xlarge", "us-east-1", OFFER_ON_DEMAND);
    assert_string_equal(image_word(&r.image, big->gpu), "A100-80GB");
    assert_int_equal(big->gpu_memory_mib, 81920);
    assert_int_equal(noted(&r, "no price"), 1);
    assert_null(the(&r, "inf1.xlarge", "us-east-1", OFFER_ON_DEMAND));
    assert_int_equal(noted(&r, "not a GPU"), 2);
    // Spot above on demand is kept, and said; a spot price may stand alone.
    assert_int_equal(rate(&r, "c5.metal", "use1-az1", OFFER_SPOT), 4500000000);
    assert_int_equal(noted(&r, "above"), 1);
    assert_true(the(&r, "c5.metal", "us-east-1", OFFER_ON_DEMAND)->bare_metal);
    assert_int_equal(rate(&r, "p5e.48xlarge", "use1-az1", OFFER_SPOT), 30500000000);
    assert_int_equal(noted(&r, "only a spot price"), 1);
    image_release(&r.image);
}

TEST(no_spot_there)
{
    struct read vast = read_text(
        "skypilot", "vast.csv",
        "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,"
        "Region\n"
        "2x-RTX_5090-32-65536,RTX5090,2,32,64.0,\"{'Gpus': [{'Name': 'RTX5090', 'Count': 2, "
        "'MemoryInfo': {'SizeInMiB': 65214}}], 'TotalGpuMemoryInMiB': 65214}\",0.93,0.00,\"Taiwan, "
        "TW, AS\"\n"
        "1x-A100_SXM4-32-65536,A100,1,32,64.0,\"{'Gpus': [{'Name': 'A100', 'Count': 1, "
        "'MemoryInfo': {'SizeInMiB': 81920}}], 'TotalGpuMemoryInMiB': 81920}\",0.93,0.00,x\n"
        "1x-H100_NVL-32-65536,H100,1,32,64.0,\"{'Gpus': [{'Name': 'H100', 'Count': 1, "
        "'MemoryInfo': {'SizeInMiB': 95830}}], 'TotalGpuMemoryInMiB': 95830}\",1.98,0.00,x\n"
        "1x-RTX_3060_Ti-32-65536,RTX3060,1,32,64.0,\"{'Gpus': [{'Name': 'RTX3060', 'Count': 1, "
        "'MemoryInfo': {'SizeInMiB': 8192}}], 'TotalGpuMemoryInMiB': 8192}\",0.16,0.00,x\n"
        "1x-odd-32-65536,RTX5070,1,32,64.0,\"{'Gpus': [{'Name': 'RTX5070', 'Count': 1, "
        "'MemoryInfo': {'SizeInMiB': 40960}}], 'TotalGpuMemoryInMiB': 40960}\",0.16,0.00,x\n");
    assert_ok(vast.rc, &vast.err);
    assert_int_equal(vast.image.offer_count, 5);
    assert_int_equal(noted(&vast, "spot price of 0"), 5);
    const struct image_offer *two =
        the(&vast, "2x-RTX_5090-32-65536", "Taiwan, TW, AS", OFFER_ON_DEMAND);
    assert_int_equal(two->gpu_memory_mib, 32607); // what it says is both GPUs'
    const struct image *m = &vast.image;
    assert_string_equal(
        image_word(m, the(&vast, "1x-A100_SXM4-32-65536", "x", OFFER_ON_DEMAND)->gpu), "A100-80GB");
    assert_string_equal(
        image_word(m, the(&vast, "1x-H100_NVL-32-65536", "x", OFFER_ON_DEMAND)->gpu), "H100-NVL");
    // A 3060 has 12 GB: this is another model, which only its machine's name tells.
    assert_string_equal(
        image_word(m, the(&vast, "1x-RTX_3060_Ti-32-65536", "x", OFFER_ON_DEMAND)->gpu),
        "RTX3060Ti");
    // And a 5070 has 12 GB: this one is nowhere explained, and must not pass for one.
    assert_string_equal(image_word(m, the(&vast, "1x-odd-32-65536", "x", OFFER_ON_DEMAND)->gpu),
                        "RTX5070-40GB");
    image_release(&vast.image);

    struct read runpod = read_text(
        "skypilot", "runpod.csv",
        "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Region,SpotPrice,Price,"
        "AvailabilityZone,GpuInfo\n"
        "1x_H100_SECURE,H100,1.0,16.0,176.0,IN,2.89,2.89,AP-IN-1,\"{'Gpus': [{'Name': 'H100 PCIe', "
        "'Manufacturer': 'Nvidia', 'Count': 1, 'MemoryInfo': {'SizeInMiB': 80}}], "
        "'TotalGpuMemoryInMiB': 80}\"\n"
        "1x_A100-80GB_SECURE,A100-80GB,1.0,8.0,117.0,IN,1.39,1.39,AP-IN-1,\"{'Gpus': [{'Name': "
        "'A100 PCIe', 'Manufacturer': 'Nvidia', 'Count': 1, 'MemoryInfo': {'SizeInMiB': 80}}], "
        "'TotalGpuMemoryInMiB': 80}\"\n");
    assert_ok(runpod.rc, &runpod.err);
    assert_int_equal(runpod.image.offer_count, 2);
    const struct image_offer *pcie = the(&runpod, "1x_A100-80GB_SECURE", "IN", OFFER_ON_DEMAND);
    assert_string_equal(image_word(&runpod.image, pcie->gpu), "A100-80GB-PCIE");
    const struct image_offer *o = the(&runpod, "1x_H100_SECURE", "IN", OFFER_ON_DEMAND);
    assert_int_equal(o->kind, OFFER_ON_DEMAND);
    assert_int_equal(o->gpu_memory_mib, 80 * 1024); // "MiB" that are GB
    assert_string_equal(image_word(&runpod.image, o->gpu), "H100-PCIE");
    image_release(&runpod.image);
}

TEST(lambda_total_is_ones)
{
    struct read r = read_text(
        "skypilot", "lambda.csv",
        "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,"
        "SpotPrice\n"
        "gpu_8x_h100_sxm5,H100,8.0,208.0,1800.0,23.92,us-east-1,\"{'Gpus': [{'Name': 'H100', "
        "'Manufacturer': 'NVIDIA', 'Count': 8.0, 'MemoryInfo': {'SizeInMiB': 81920}}], "
        "'TotalGpuMemoryInMiB': 81920}\",\n");
    assert_ok(r.rc, &r.err);
    assert_int_equal(r.image.offers[0].gpu_memory_mib, 81920);
    image_release(&r.image);
}

// Rows of PrimeIntellect, where the memory is that of all GPUs and the total that of all GPUs
// again. A V100 with 32 GB exists: that two of them have 16 GB each is told by the row with one.
TEST(memory_of_all_gpus)
{
#define PRIME "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,Price\n"
#define PRIME_ROW(type, gpu, count, size, total)                                                   \
    type ",8,64," gpu "," count ",\"{\"\"Gpus\"\":[{\"\"Name\"\":\"\"" gpu                         \
         "\"\",\"\"MemoryInfo\"\":"                                                                \
         "{\"\"SizeInMiB\"\":" size "}}],\"\"TotalGpuMemoryInMiB\"\":" total "}\",US,1\n"
    static const struct {
        const char *text, *type, *gpu;
        int memory_mib;
    } cases[] = {
        {PRIME PRIME_ROW("a", "V100", "1.0", "16384", "16384")
             PRIME_ROW("b", "V100", "2.0", "32768", "65536")
                 PRIME_ROW("c", "B200", "8.0", "1474560", "11796480"),
         "b", "V100", 16384},
        {PRIME PRIME_ROW("a", "V100", "1.0", "16384", "16384")
             PRIME_ROW("b", "V100", "2.0", "32768", "65536")
                 PRIME_ROW("c", "B200", "8.0", "1474560", "11796480"),
         "c", "B200", 184320},
        // Alone: no A100 has 640 GB.
        {PRIME PRIME_ROW("a", "A100-80GB", "8.0", "655360", "5242880"), "a", "A100-80GB", 81920},
        // cudo has the memory of one: an A100 with 80 GB.
        {PRIME PRIME_ROW("a", "A100", "1.0", "81920", "81920")
             PRIME_ROW("b", "A100", "2.0", "81920", "163840"),
         "b", "A100-80GB", 81920},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct read r = read_text("skypilot", "x.csv", cases[i].text);
        assert_ok(r.rc, &r.err);
        const struct image_offer *o = the(&r, cases[i].type, "US", OFFER_ON_DEMAND);
        assert_string_equal(image_word(&r.image, o->gpu), cases[i].gpu);
        assert_int_equal(o->gpu_memory_mib, cases[i].memory_mib);
        image_release(&r.image);
    }
}

// Names as Shadeform (GAUDI2), GCP and AWS write them, and in other letters.
TEST(not_gpus)
{
    static const char *const names[] = {
        "GAUDI2",   "gaudi3",    "tpu-v2-8",       "TPU-V5E",       "Inferentia2",
        "TRAINIUM", "trainium2", "Qualcomm AI100", "Habana HL-205", "Virtex UltraScale+ (VU47P)"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[256];
        snprintf(text, sizeof text, HEAD "t,%s,8.0,8,64,,1,,US,\ng,H100,8.0,8,64,,1,,US,\n",
                 names[i]);
        struct read r = read_text("skypilot", "x.csv", text);
        assert_ok(r.rc, &r.err);
        assert_int_equal(r.image.offer_count, 1);
        assert_int_equal(noted(&r, "not a GPU"), 1);
        image_release(&r.image);
    }
}

TEST(a_name_can_be_typed)
{
    struct read r = read_text(
        "skypilot", "fluidstack.csv",
        "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,"
        "SpotPrice\n"
        "H100_NVLINK_80GB::8,H100-NVLINK,8,252,1440.0,23.92,FINLAND,\"{'Gpus': [{'Name': "
        "'H100-NVLINK', 'Manufacturer': 'NVIDIA', 'Count': 8, 'MemoryInfo': {'SizeInMiB': "
        "81920}}], 'TotalGpuMemoryInMiB': 655360}\",\n");
    assert_ok(r.rc, &r.err);
    assert_int_equal(rate(&r, "H100_NVLINK_80GB__8", "FINLAND", OFFER_ON_DEMAND), 23920000000);
    image_release(&r.image);
}

TEST(prime_intellect_counts_the_memory_twice)
{
    struct read r = read_text(
        "skypilot", "primeintellect.csv",
        "InstanceType,UpstreamCloudId,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,"
        "Region,AvailabilityZone,Price,SpotPrice\n"
        "datacrunch__2xV100_16GB__10__45,2V100.10V,10.0,45,V100,2.0,\"{\"\"Gpus\"\":[{\"\"Name\"\":"
        "\"\"V100\"\",\"\"Count\"\":2,\"\"MemoryInfo\"\":{\"\"SizeInMiB\"\":32768}}],"
        "\"\"TotalGpuMemoryInMiB\"\":65536}\",FI,FIN-01,0.28,\n"
        "lambdalabs__8xA100_80GB__240__1800,gpu_8x_a100_80gb_sxm4,240.0,1800,A100-80GB,8.0,"
        "\"{\"\"Gpus\"\":[{\"\"Name\"\":\"\"A100-80GB\"\",\"\"Count\"\":8,\"\"MemoryInfo\"\":{"
        "\"\"SizeInMiB\"\":655360}}],\"\"TotalGpuMemoryInMiB\"\":5242880}\",US,us-midwest-1,14.32,"
        "\n");
    assert_ok(r.rc, &r.err);
    const struct image_offer *two =
        the(&r, "datacrunch__2xV100_16GB__10__45", "FI", OFFER_ON_DEMAND);
    assert_string_equal(image_word(&r.image, two->gpu), "V100"); // not the one with 32 GB
    assert_int_equal(two->gpu_memory_mib, 16384);
    const struct image_offer *eight =
        the(&r, "lambdalabs__8xA100_80GB__240__1800", "US", OFFER_ON_DEMAND);
    assert_string_equal(image_word(&r.image, eight->gpu), "A100-80GB");
    assert_int_equal(eight->gpu_memory_mib, 81920);
    image_release(&r.image);
}

TEST(azure_has_eight)
{
    struct read r = read_text(
        "skypilot", "azure.csv",
        "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,"
        "Region,Generation\n"
        "Standard_ND96isr_H100_v5,H100,12,96.0,1900.0,H100,98.32,26.55,eastus,V2\n"
        "Standard_NC40ads_H100_v5,H100,1,40.0,320.0,H100,6.98,1.95,eastus,V2\n"
        "Standard_NC24ads_A100_v4,A100-80GB,1,24.0,220.0,A100-80GB,3.673,1.18,eastus,V2\n"
        "Standard_NV4as_v4,Radeon MI25,1,4.0,14.0,Radeon MI25,0.233,,eastus,V2\n");
    assert_ok(r.rc, &r.err);
    const struct image_offer *eight =
        the(&r, "Standard_ND96isr_H100_v5", "eastus", OFFER_ON_DEMAND);
    assert_int_equal(eight->gpus_milli, 8000);
    assert_int_equal(eight->gpu_memory_mib, 81920); // from the device
    const struct image_offer *nvl = the(&r, "Standard_NC40ads_H100_v5", "eastus", OFFER_SPOT);
    assert_string_equal(image_word(&r.image, nvl->gpu), "H100-NVL");
    assert_int_equal(nvl->gpu_memory_mib, 94 * 1024);
    const struct image_offer *pcie = the(&r, "Standard_NC24ads_A100_v4", "eastus", OFFER_SPOT);
    assert_string_equal(image_word(&r.image, pcie->gpu), "A100-80GB-PCIE");
    assert_int_equal(noted(&r, "12 GPUs"), 1);
    assert_int_equal(the(&r, "Standard_NV4as_v4", "eastus", OFFER_ON_DEMAND)->gpus_milli, 125);
    image_release(&r.image);
}

#define GCP                                                                                        \
    "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,"                \
    "AvailabilityZone,Price,SpotPrice\n"
#define MEM(n) "\"{'Gpus': [{'MemoryInfo': {'SizeInMiB': " #n "}}]}\""

TEST(google_is_put_together)
{
    struct read r = read_text(
        "skypilot", "gcp/vms.csv",
        GCP
        "a2-highgpu-1g,12.0,85.0,,,,asia-northeast1,asia-northeast1-a,0.94803,0.56878\n"
        "a2-highgpu-1g,12.0,85.0,,,,nowhere1,nowhere1-a,0.94803,0.56878\n"
        "a4-highgpu-8g,224.0,3968.0,,,,us-east1,us-east1-b,0.0,0.0\n"
        "g2-standard-24,24.0,96.0,,,,us-east1,us-east1-b,1.0,0.5\n"
        "g4-standard-6,6.0,22.0,,,,us-east1,us-east1-b,0.5,0.2\n"
        "n1-standard-8,8.0,30.0,,,,us-east1,us-east1-b,0.379998,0.08\n"
        ",,,A100,1," MEM(
            40960) ",asia-northeast1,asia-northeast1-a,3.10156,1.8609\n"
                   ",,,A100,16," MEM(
                       40960) ",asia-northeast1,asia-northeast1-a,49.6,29.7\n"
                              ",,,B200,8," MEM(
                                  184320) ",us-east1,us-east1-b,90.216,47.4528\n"
                                          ",,,L4,2," MEM(
                                              24576) ",us-east1,us-east1-b,1.12,\n"
                                                     ",,,T4,1," MEM(
                                                         16384) ",us-east1,us-east1-b,0.35,0.1816\n"
                                                                ",,,tpu-v3-8,1,tpu-v3-8,us-east1,"
                                                                "us-east1-b,8.0,\n");
    assert_ok(r.rc, &r.err);
    assert_int_equal(rate(&r, "a2-highgpu-1g", "asia-northeast1", OFFER_ON_DEMAND), 4049590000);
    assert_int_equal(rate(&r, "a2-highgpu-1g", "asia-northeast1", OFFER_SPOT), 2429680000);
    const struct image_offer *a2 = the(&r, "a2-highgpu-1g", "asia-northeast1", OFFER_SPOT);
    assert_int_equal(a2->gpus_milli, 1000);
    assert_int_equal(a2->vcpus_milli, 12000);
    assert_int_equal(a2->gpu_memory_mib, 40960);
    // A machine without a price of its own: the GPUs' is all of it.
    assert_int_equal(rate(&r, "a4-highgpu-8g", "us-east1", OFFER_ON_DEMAND), 90216000000);
    assert_int_equal(the(&r, "a4-highgpu-8g", "us-east1", OFFER_SPOT)->gpus_milli, 8000);
    // Both must have a spot price.
    assert_int_equal(rate(&r, "g2-standard-24", "us-east1", OFFER_ON_DEMAND), 2120000000);
    assert_null(the(&r, "g2-standard-24", "us-east1", OFFER_SPOT));
    assert_int_equal(rate(&r, "n1-standard-8+1xT4", "us-east1", OFFER_ON_DEMAND), 729998000);
    assert_int_equal(rate(&r, "n1-standard-8+1xT4", "us-east1", OFFER_SPOT), 261600000);
    assert_int_equal(rate(&r, "n1-standard-8", "us-east1", OFFER_ON_DEMAND), 379998000);
    assert_int_equal(noted(&r, "no price for its GPUs"), 1);
    assert_int_equal(noted(&r, "a fraction of a GPU"), 1);
    assert_int_equal(noted(&r, "without a machine"), 1);
    assert_int_equal(noted(&r, "not a GPU"), 1);
    assert_int_equal(noted(&r, "N1 machine"), 1);
    image_release(&r.image);
}

TEST(faults)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {HEAD "x,,,1,1,,abc,,r,z\n", "aws.csv, line 2, column 'Price': 'abc'"},
        {HEAD "y,,,1,1,,1,,r,z\nx,,,1,1,,-0.5,,r,z\n", "line 3, column 'Price': '-0.5' is below"},
        {HEAD "x,,,1,1,,1e400,,r,z\n", "line 2, column 'Price'"},
        {HEAD "x,,,1,1,,nan,,r,z\n", "line 2, column 'Price'"},
        {HEAD "x,,,1,1,,inf,,r,z\n", "line 2, column 'Price'"},
        {HEAD "x,,,1,1,,99999999999999,,r,z\n", "line 2, column 'Price'"},
        {HEAD "x,,,1,1,,1,NaN,r,z\n", "line 2, column 'SpotPrice'"},
        {HEAD "x,,,-1,1,,1,,r,z\n", "line 2, column 'vCPUs'"},
        {HEAD "x,,,1,99999999,,1,,r,z\n", "line 2, column 'MemoryGiB'"},
        {HEAD "x,T4,zwei,1,1,,1,,r,z\n", "line 2, column 'AcceleratorCount'"},
        {HEAD "x,,,1,1,,1\n", "7 fields where there are 10"},
        {HEAD "x\xff,,,1,1,,1,,r,z\n", "line 2, column 'InstanceType': text that is not UTF-8"},
        {HEAD "x\x1b[2J,,,1,1,,1,,r,z\n", "a control character"},
        {HEAD "x,,,1,1,,1,,r,z\r\ny,,,1,1,,1,,r,z\ru", "a carriage return without a line feed"},
        {"InstanceType,AcceleratorName,Region\nx,,r\n", "no column 'AcceleratorCount'"},
        {"", "is empty"},
        {HEAD "\"x", "never closed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct read r = read_text("skypilot", "aws.csv", cases[i].text);
        if (r.rc == 0 || !strstr(r.err.text, cases[i].says))
            fail_msg("%s: %s", cases[i].text, r.err.text);
        image_release(&r.image);
    }
    // Both ends of lines in one file are fine.
    struct read r = read_text("skypilot", "aws.csv",
                              HEAD "x,,,1,1,,1,,r,z\r\ny,,,1,1,,1,,r,z\nz,,,1,1,,1,,r,z");
    assert_ok(r.rc, &r.err);
    assert_int_equal(r.image.offer_count, 3);
    image_release(&r.image);
}

TEST(endless_line)
{
    size_t len = 8 << 20;
    char *text = malloc(len + 1);
    assert_non_null(text);
    memset(text, 'x', len);
    memcpy(text, HEAD, strlen(HEAD));
    text[len] = '\0';
    struct read r = read_text("skypilot", "aws.csv", text);
    assert_int_equal(r.rc, ERR_FORMAT);
    assert_non_null(strstr(r.err.text, "line 2, column 'InstanceType': the field is too long"));
    free(text);
}

int main(void)
{
    return run_all_tests(use_share, NULL);
}
