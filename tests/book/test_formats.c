// SPDX-License-Identifier: Apache-2.0
// The other formats: gpuhunt, AWS's spot prices and advisor, fare's own tables.
#include "book/scratch.h"

#include "amounts.h"

static void expect_fault(const char *format, const char *name, const char *text, const char *says)
{
    struct read r = read_text(format, name, text);
    if (r.rc == 0 || !strstr(r.err.text, says))
        fail_msg("%s: rc %d, '%s'", text, r.rc, r.err.text);
    image_release(&r.image);
}

// ---- gpuhunt ----

#define HUNT                                                                                       \
    "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_"    \
    "vendor\n"

TEST(gpuhunt)
{
    struct read r =
        read_text(NULL, "lambdalabs.csv",
                  HUNT "gpu_1x_h100,us-west-1,2.4900000000000002,26,200,1,H100,80,False,"
                       "512,nvidia\n"
                       "gpu_1x_h100,us-west-1,1.00,26,200,1,H100,80,True,512,nvidia\n"
                       "cpu,us-west-1,0.2,4,16,0,,,False,,\n"
                       "v5,us-west-1,1.2,4,16,1,v5litepod,16,False,,google\n"
                       "no,us-west-1,,4,16,0,,,False,,\n");
    assert_ok(r.rc, &r.err);
    assert_string_equal(r.report.format, "gpuhunt");
    assert_int_equal(r.image.offer_count, 3);
    assert_int_equal(rate(&r, "gpu_1x_h100", "us-west-1", OFFER_ON_DEMAND), 2490000000);
    assert_int_equal(rate(&r, "gpu_1x_h100", "us-west-1", OFFER_SPOT), 1000000000);
    assert_string_equal(image_word(&r.image, r.image.offers[0].provider), "lambdalabs");
    assert_int_equal(noted(&r, "no price"), 1);
    assert_int_equal(noted(&r, "not a GPU"), 1);
    image_release(&r.image);
    expect_fault("gpuhunt", "x.csv", HUNT "a,b,1,1,1,0,,,perhaps,,\n",
                 "x.csv, line 2, column 'spot': 'perhaps' is neither");
    expect_fault("gpuhunt", "x.csv", HUNT "a,b,-1,1,1,0,,,True,,\n", "below zero");
    expect_fault("gpuhunt", "x.csv", "instance_name,price\n", "no column 'location'");
}

TEST(same_thing_twice)
{
    struct read r = read_text("gpuhunt", "x.csv",
                              HUNT "a,b,2,1,1,0,,,True,,\na,b,1.5,1,1,0,,,True,,\n"
                                   "a,b,1.5,1,1,0,,,True,,\n");
    assert_ok(r.rc, &r.err);
    assert_int_equal(rate(&r, "a", "b", OFFER_SPOT), 1500000000); // the lowest
    assert_int_equal(r.counts.doubles, 1);
    image_release(&r.image);
}

// ---- AWS spot ----

static void spot_days(const struct read *r)
{
    assert_ok(r->rc, &r->err);
    assert_string_equal(r->report.format, "aws-spot");
    assert_int_equal(r->image.offer_count, 2);
    const struct image_offer *o = the(r, "g4dn.xlarge", "us-east-1d", OFFER_SPOT);
    assert_non_null(o);
    assert_string_equal(image_word(&r->image, o->region), "us-east-1");
    // AWS's pages: a T4 with 16 GiB, 4 vCPUs, 16 GiB; 8 V100, 64 vCPUs, 488 GiB.
    assert_string_equal(image_word(&r->image, o->gpu), "T4");
    assert_int_equal(o->gpus_milli, 1000);
    assert_int_equal(o->gpu_memory_mib, 16 * 1024);
    assert_int_equal(o->vcpus_milli, 4000);
    assert_int_equal(o->memory_mib, 16 * 1024);
    const struct image_offer *big = the(r, "p3.16xlarge", "us-east-1b", OFFER_SPOT);
    assert_string_equal(image_word(&r->image, big->gpu), "V100");
    assert_int_equal(big->gpus_milli, 8000);
    assert_int_equal(big->vcpus_milli, 64000);
    assert_int_equal(big->memory_mib, 488 * 1024);
    assert_int_equal(o->price_count, 2);
    const struct image_price *p = &r->image.prices[o->first_price];
    // Two changes on the first of March: the last one counts, until the next.
    assert_int_equal(p[0].rate, 204100000);
    assert_int_equal(p[0].since, day("2026-03-01"));
    assert_int_equal(p[0].seen, day("2026-03-04"));
    assert_int_equal(p[1].rate, 210000000);
    assert_int_equal(p[1].since, day("2026-03-05"));
    assert_int_equal(p[1].seen, day("2026-03-06")); // the file's last day
}

TEST(aws_spot)
{
    struct read csv = read_text(NULL, "us-east-1_2026-03.csv",
                                "timestamp,availability_zone,instance_type,spot_price\n"
                                "2026-03-01T00:17:55+00:00,us-east-1d,g4dn.xlarge,0.203800\n"
                                "2026-03-01T10:17:55+00:00,us-east-1d,g4dn.xlarge,0.204100\n"
                                "2026-03-06T00:17:55+00:00,us-east-1b,p3.16xlarge,2.888400\n"
                                "2026-03-05T00:17:55+00:00,us-east-1d,trn1.2xlarge,0.4\n"
                                "2026-03-05T00:17:55+00:00,us-east-1d,g4dn.xlarge,0.210000\n");
    spot_days(&csv);
    assert_int_equal(noted(&csv, "not a GPU"), 1); // Trainium
    image_release(&csv.image);
#define LINE(zone, type, price, time)                                                              \
    "{\"AvailabilityZone\":\"" zone "\",\"InstanceType\":\"" type "\",\"SpotPrice\":\"" price      \
    "\",\"Timestamp\":\"" time "\"}"
    struct read lines = read_text(
        NULL, "x.jsonl",
        LINE("us-east-1d", "g4dn.xlarge", "0.203800", "2026-03-01T00:17:55+00:00") "\n" LINE(
            "us-east-1d", "g4dn.xlarge", "0.204100",
            "2026-03-01T10:17:55.000Z") "\r\n" LINE("us-east-1b", "p3.16xlarge", "2.888400",
                                                    "2026-03-06T00:00:00Z") "\n" LINE("us-east-1d",
                                                                                      "g4dn.xlarge",
                                                                                      "0.210000",
                                                                                      "2026-03-"
                                                                                      "05"));
    spot_days(&lines);
    image_release(&lines.image);
    struct read object = read_text(
        NULL, "x.json",
        "{\n \"SpotPriceHistory\": [" LINE("us-east-1d", "g4dn.xlarge", "0.203800", "2026-03-01T00:17:55+00:00") "," LINE(
            "us-east-1d", "g4dn.xlarge", "0.204100",
            "2026-03-01T10:17:55+00:00") "," LINE("us-east-1b", "p3.16xlarge", "2.888400",
                                                  "2026-03-06T00:00:00Z") "," LINE("us-east-1d",
                                                                                   "g4dn.xlarge",
                                                                                   "0.210000",
                                                                                   "2026-03-05") ","
                                                                                                 " "
                                                                                                 "{"
                                                                                                 "\"AvailabilityZone\":\"a\",\"InstanceType\":\"b\",\"SpotPrice\":\"1\","
                                                                                                 "\"ProductDescription\":\"Windows\",\"Timestamp\":\"2026-03-05\"}]\n}\n");
    spot_days(&object);
    assert_int_equal(noted(&object, "another system"), 1);
    image_release(&object.image);
}

TEST(aws_spot_faults)
{
#define TABLE "timestamp,availability_zone,instance_type,spot_price\n"
    expect_fault("aws-spot", "f.csv", TABLE "yesterday,z1a,t,1\n", "f.csv, line 2: 'yesterday'");
    expect_fault("aws-spot", "f.csv", TABLE "2026-03-01,z1a,t,-1\n", "line 2: '-1' is below zero");
    expect_fault("aws-spot", "f.csv", TABLE "2026-03-01,,t,1\n", "line 2: a price without machine");
    expect_fault("aws-spot", "f.json", "{\"SpotPrice\":\"1\"}", "f.json, line 1: '' is not a time");
    expect_fault("aws-spot", "f.json", "{\"SpotPrice\":\"1\"\n", "f.json, line 2");
    expect_fault("aws-spot", "f.json", "{\"SpotPriceHistory\": 7}", "is not a list");
    expect_fault("aws-spot", "f.json", "{\"SpotPriceHistory\": [7]}", "SpotPriceHistory[0]");
    expect_fault("aws-spot", "f.jsonl",
                 LINE("us-east-1d", "g4dn.xlarge", "1", "2026-03-01") "\n\n" LINE(
                     "us-east-1d", "g4dn.xlarge", "1e3", "2026-03-01") "\n",
                 "f.jsonl, line 3: '1e3'");
}

// ---- advisor ----

#define RANGES                                                                                     \
    "\"ranges\":[{\"index\":0,\"label\":\"<5%\",\"dots\":0,\"max\":5},{\"index\":1,\"label\":"     \
    "\"5-10%\",\"dots\":1,\"max\":11},{\"index\":4,\"label\":\">20%\",\"dots\":4,\"max\":100}]"

TEST(advisor)
{
    struct read r =
        read_text(NULL, "spot-advisor-data.json",
                  "{" RANGES ",\"spot_advisor\":{\"us-east-1\":{\"Linux\":{"
                  "\"g4dn.xlarge\":{\"s\":70,\"r\":1},\"p3.2xlarge\":{\"s\":60,\"r\":4},"
                  "\"t3.nano\":{\"r\":0}},\"Windows\":{\"g4dn.xlarge\":{\"s\":1,\"r\":0"
                  "}}}}}");
    assert_ok(r.rc, &r.err);
    assert_string_equal(r.report.format, "aws-spot-advisor");
    assert_int_equal(r.image.risk_count, 3);
    const struct image_risk *risk = r.image.risks;
    assert_int_equal(risk[0].low_percent, 5);
    assert_int_equal(risk[0].high_percent, 10);
    assert_int_equal(risk[0].saving_percent, 70);
    assert_int_equal(risk[0].day, DAY);
    assert_int_equal(risk[1].low_percent, 20);
    assert_int_equal(risk[1].high_percent, 100);
    assert_int_equal(risk[2].high_percent, 5);
    assert_int_equal(risk[2].saving_percent, -1);
    image_release(&r.image);
    expect_fault("aws-spot-advisor", "a", "{\"spot_advisor\":{}}", "a: it has no ranges");
    expect_fault("aws-spot-advisor", "a", "{" RANGES ",\"spot_advisor\":[]}", "is not an object");
    expect_fault("aws-spot-advisor", "a",
                 "{" RANGES ",\"spot_advisor\":{\"r\":{\"Linux\":{\"t\":{\"r\":2}}}}}",
                 "not an interruption rate");
    expect_fault("aws-spot-advisor", "a",
                 "{" RANGES ",\"spot_advisor\":{\"r\":{\"Linux\":{\"t\":{\"s\":101,\"r\":1}}}}}",
                 "not a saving");
    expect_fault("aws-spot-advisor", "a", "{\n\n", "a, line 3");
}

// ---- files that somebody made to break something, or that broke on the way ----

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define SPOTS "timestamp,availability_zone,instance_type,spot_price\n"
#define TYPE(value)                                                                                \
    "{" RANGES ",\n\"spot_advisor\":{\"r-1\":{\"Linux\":{\n\"a\":{\"r\":0},\n\"t\":" value "}}}}"

TEST(hostile)
{
    static const struct {
        const char *what, *format, *text, *says;
    } cases[] = {
        {"negative price", "gpuhunt", HUNT "a,r,1,1,1,0,,,True,,\nb,r,-2,1,1,0,,,True,,\n",
         "f, line 3, column 'price': '-2' is below zero"},
        {"price without end", "gpuhunt", HUNT "a,r,1e400,1,1,0,,,True,,\n",
         "f, line 2, column 'price': '1e400'"},
        {"no number", "gpuhunt", HUNT "a,r,NaN,1,1,0,,,True,,\n",
         "f, line 2, column 'price': 'NaN'"},
        {"infinite price", "gpuhunt", HUNT "a,r,inf,1,1,0,,,True,,\n", "f, line 2, column 'price'"},
        {"half a GPU below zero", "gpuhunt", HUNT "a,r,1,1,1,-0.5,H100,80,True,,\n",
         "f, line 2, column 'gpu_count'"},
        {"more memory than there is", "gpuhunt", HUNT "a,r,1,1,1e30,0,,,True,,\n",
         "f, line 2, column 'memory'"},
        {"too few columns", "gpuhunt", HUNT "a,r,1\n", "f, line 2"},
        {"too many columns", "gpuhunt", HUNT "a,r,1,1,1,0,,,True,,,,,\n", "f, line 2"},
        {"a quote that never ends", "gpuhunt", HUNT "a,r,1,1,1,0,,,True,,\n\"b,r,1,1\n",
         "f, line 3"},
        {"another encoding", "gpuhunt", HUNT "caf\xe9,r,1,1,1,0,,,True,,\n", "not UTF-8"},
        {"control characters", "gpuhunt", HUNT "a\x1b[2J,r,1,1,1,0,,,True,,\n", "f, line 2"},
        {"mixed ends of lines", "gpuhunt", HUNT "a,r,1,1,1,0,,,True,,\r\nb,r,-1,1,1,0,,,True,,\n",
         "f, line 3, column 'price'"},
        {"negative price", "aws-spot", SPOTS "2026-03-01,z1a,t,1\n2026-03-02,z1a,t,-0.1\n",
         "f, line 3: '-0.1' is below zero"},
        {"price without end", "aws-spot", SPOTS "2026-03-01,z1a,t,1" ZEROS "\n", "f, line 2"},
        {"a time before there were any", "aws-spot", SPOTS "1969-12-31,z1a,t,1\n",
         "f, line 2: '1969-12-31' is not a time"},
        {"a day that is none", "aws-spot", SPOTS "2026-02-30,z1a,t,1\n", "f, line 2: '2026-02-30'"},
        {"an endless name", "aws-spot", SPOTS "2026-03-01,z1a," ZEROS "0,1\n", "f, line 2"},
        {"missing column", "aws-spot", "timestamp,instance_type,spot_price\n",
         "f has no column 'availability_zone'"},
        {"JSON that is cut off", "aws-spot", "{\"SpotPriceHistory\":[\n{\"SpotPrice\":\"1\",\n",
         "f, line 3"},
        {"a number where a text should be", "aws-spot",
         LINE("z1a", "t", "1", "2026-03-01") "\n{\"SpotPrice\":1}\n",
         "f, line 2: '' is not a time"},
        {"control characters", "aws-spot",
         "{\"AvailabilityZone\":\"z\",\"InstanceType\":\"a\\u001b[2J\",\"SpotPrice\":\"1\"}",
         "f, line 1: not a spot price"},
        {"another encoding", "aws-spot", "{\"SpotPrice\":\"\xe9\"}", "f, line 1"},
        {"brackets without end", "aws-spot",
         "{\"SpotPriceHistory\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "f, line 1"},
        {"a rate that has no range", "aws-spot-advisor", TYPE("{\"r\":3}"),
         "f: line 4, r-1, t: not an interruption rate"},
        {"a rate below zero", "aws-spot-advisor", TYPE("{\"r\":-1}"), "f: line 4, r-1, t"},
        {"a rate without end", "aws-spot-advisor", TYPE("{\"r\":1e400}"), "f, line 4"},
        {"a rate that is a text", "aws-spot-advisor", TYPE("{\"r\":\"0\"}"), "f: line 4, r-1, t"},
        {"a saving of everything and more", "aws-spot-advisor", TYPE("{\"r\":0,\"s\":101}"),
         "f: line 4, r-1, t: not a saving in per cent"},
        {"a saving below zero", "aws-spot-advisor", TYPE("{\"r\":0,\"s\":-1}"),
         "f: line 4, r-1, t"},
        {"a machine that is a list", "aws-spot-advisor", TYPE("[]"), "f: line 4, r-1, t"},
        {"JSON that is cut off", "aws-spot-advisor", "{" RANGES ",\n\"spot_advisor\":{\n",
         "f, line 3"},
        {"ranges that overlap themselves", "aws-spot-advisor",
         "{\"ranges\":[{\"index\":0,\"label\":\"20-10%\"}],\"spot_advisor\":{}}",
         "f: ranges[0] is not a range"},
        {"a range far outside", "aws-spot-advisor",
         "{\"ranges\":[{\"index\":99999,\"label\":\"<5%\"}],\"spot_advisor\":{}}",
         "f: ranges[0] is not a range"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct read r = read_text(cases[i].format, "f", cases[i].text);
        if (r.rc == 0 || !strstr(r.err.text, cases[i].says))
            fail_msg("%s, %s: rc %d, '%s', not '%s'", cases[i].format, cases[i].what, r.rc,
                     r.err.text, cases[i].says);
        image_release(&r.image);
    }
}

// ---- fare's own ----

TEST(native)
{
    struct read r = read_text(
        NULL, "mine.csv",
        "provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,bare_metal,"
        "price,currency,per,date,source\n"
        "acme,box,paris,,,NVIDIA A100-SXM4-80GB,8,,192,2048,EPYC,yes,0.02,EUR,minute,2018-02-01,x\n"
        "acme,month,,,monthly,,,,4,7.5,,no,39,EUR,,2018-02-01,x\n"
        "acme,month,,,monthly,,,,4,7.5,,no,41,EUR,,2018-03-01,x\n"
        "acme,vm,,,,,,,1,3.75,,,7.30,USD,730 hours,2018-02-01,x\n");
    assert_ok(r.rc, &r.err);
    const struct image_offer *box = the(&r, "box", "paris", OFFER_ON_DEMAND);
    assert_string_equal(image_word(&r.image, box->gpu), "A100-80GB");
    assert_int_equal(box->gpu_memory_mib, 81920);
    assert_true(box->bare_metal);
    const struct image_price *p = &r.image.prices[box->first_price];
    assert_int_equal(p->rate, 20000000);
    assert_int_equal(p->per_s, 60);
    assert_string_equal(image_word(&r.image, p->currency), "EUR");
    const struct image_offer *month = the(&r, "month", "", OFFER_MONTHLY);
    assert_int_equal(month->price_count, 2);
    assert_int_equal(month->memory_mib, 7680);
    assert_int_equal(r.image.prices[month->first_price].per_s, 2592000);
    assert_int_equal(r.image.prices[month->first_price + 1].since, day("2018-03-01"));
    assert_int_equal(r.image.prices[the(&r, "vm", "", OFFER_ON_DEMAND)->first_price].per_s,
                     2628000);
    image_release(&r.image);
}

TEST(native_faults)
{
#define FARE "provider,name,kind,gpu,gpus,bare_metal,price,currency,per,date,source\n"
    static const char *const cases[][2] = {
        {"a/b,n,,,,,1,,,2018-02-01,x\n", "line 2, column 'provider'"},
        {",n,,,,,1,,,2018-02-01,x\n", "line 2, column 'provider'"},
        {"a,,,,,,1,,,2018-02-01,x\n", "column 'name'"},
        {"a,n,reserved,,,,1,,,2018-02-01,x\n", "column 'kind': 'reserved'"},
        {"a,n,,,2,,1,,,2018-02-01,x\n", "GPUs without a name"},
        {"a,n,,,,maybe,1,,,2018-02-01,x\n", "column 'bare_metal'"},
        {"a,n,,,,,,,,2018-02-01,x\n", "column 'price': no price"},
        {"a,n,,,,,-1,,,2018-02-01,x\n", "below zero"},
        {"a,n,,,,,1e400,,,2018-02-01,x\n", "column 'price'"},
        {"a,n,,,,,NaN,,,2018-02-01,x\n", "column 'price'"},
        {"a,n,,,,,1,dollar,,2018-02-01,x\n", "'dollar' is not a currency"},
        {"a,n,,,,,1,,fortnight,2018-02-01,x\n", "'fortnight'"},
        {"a,n,,,,,1,,,2018-02-30,x\n", "'2018-02-30' is not a date"},
        {"a,n,,,,,1,,,2018-02-01,\n", "column 'source'"},
        {"a,n\xc3,,,,,1,,,2018-02-01,x\n", "not UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, FARE "%s", cases[i][0]);
        expect_fault("fare", "t.csv", text, cases[i][1]);
    }
    expect_fault("fare", "t.csv", "provider,name,price,date,source,curency\n",
                 "unknown column 'curency'");
    expect_fault("fare", "t.csv", "provider,name,price,date\n", "no column 'source'");
    expect_fault(NULL, "t.csv", "hello\n", "none of the formats");
    expect_fault(NULL, "t.csv", "\xff\xfep\0r\0", "none of the formats");
}

int main(void)
{
    return run_all_tests(use_share, NULL);
}
