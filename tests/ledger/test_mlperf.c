// SPDX-License-Identifier: Apache-2.0
// MLPerf training logs of all rounds. Every case has the last evaluation and the times of a real
// log; its path in github.com/mlcommons/training_results_vROUND (Apache-2.0) is beside it.
// Expected are the metric and target of mlcommons/training_policies, run_stop - run_start in
// milliseconds, and the samples at that evaluation: epochs times the data set's size, or as
// counted.
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ledger/import.h"

#define assert_near(a, b, by) assert_true(fabs((a) - (b)) <= (by))

static const struct import_options nothing;

static void import_text(const char *text, struct runs *runs)
{
    struct err err = {0};
    const struct importer *importer = importer_guess(text, strlen(text));
    assert_ptr_equal(importer, &importer_mllog);
    assert_ok(import_log(importer, "result_0.txt", text, strlen(text), &nothing, runs, &err), &err);
    struct buf line = {0};
    assert_ok(record_to_line(run_fields, &runs->runs.items[0], &line, &err), &err);
    buf_release(&line);
}

struct expected {
    const char *metric;
    double target, value;
    bool lower;
};

static const struct {
    const char *path, *benchmark;
    int64_t start_ms, stop_ms, train_samples;
    const char *value, *metadata;
    struct expected first, second;
    int64_t took_ms, samples;
} cases[] = {
    {"v0.7/NVIDIA/results/dgx1_ngc20.06_pytorch/bert/result_4.txt",
     "bert",
     1593152771766,
     1593163341889,
     4000032,
     "0.7128530144691467",
     "\"epoch_num\": 1",
     {"masked-LM accuracy", 0.712, 0.7128530144691467},
     {0},
     10570123,
     4000032},
    {"v3.1/NVIDIA/results/eos_n434_ngc23.09_pytorch/bert/result_4.txt",
     "bert",
     1696543093373,
     1696543100049,
     5107312,
     "0.7200392484664917",
     "\"epoch_num\": 5107312",
     {"masked-LM accuracy", 0.72, 0.7200392484664917},
     {0},
     6676,
     5107312},
    {"v0.7/NVIDIA/results/dgx1_ngc20.06_pytorch/maskrcnn/result_4.txt",
     "maskrcnn",
     1592786632746,
     1592795873127,
     80000,
     "{\"BBOX\": 0.37902139291132386, \"SEGM\": 0.3436200532400411}",
     "\"epoch_num\": 14",
     {"box AP", 0.377, 0.37902139291132386},
     {"mask AP", 0.339, 0.3436200532400411},
     9240381,
     14LL * 117266},
    {"v0.7/NVIDIA/results/dgxa100_ngc20.06_merlin_hugectr/dlrm/result_4.txt",
     "dlrm",
     1592985521,
     1593187512,
     3772348416,
     "0.802602",
     "\"epoch_num\": 1.899193",
     {"AUC", 0.8025, 0.802602},
     {0},
     201991,
     3772292398}, // 0.899193 x 4195197692 = 3772292398.3
    {"v1.1/Dell/results/DSS8440x8A100-PCIE-80GB/rnnt/result_4.txt",
     "rnnt",
     1634507330314,
     1634511105997,
     278528,
     "0.05766332120142642",
     "\"epoch_num\": 58",
     {"WER", 0.058, 0.05766332120142642, true},
     {0},
     3775683,
     58LL * 278528},
    {"v1.1/Dell/results/DSS8440x8A100-PCIE-80GB/unet3d/result_4.txt",
     "unet3d",
     1634705268123,
     1634706608095,
     168,
     "0.9093005657196045",
     "\"epoch_num\": 1700",
     {"Dice score", 0.908, 0.9093005657196045},
     {0},
     1339972,
     1700LL * 168},
    {"v3.0/Dell/results/XE9680x8H100-SXM-80GB/dlrm_dcnv2/result_4.txt",
     "dlrm_dcnv2",
     1684120479298,
     1684120747756,
     4195197692,
     "0.8027626276016235",
     "\"epoch_num\": 0.7998919189655854",
     {"AUC", 0.80275, 0.8027626276016235},
     {0},
     268458,
     3355704732}, // .7998919 x 4195197692
    {"v3.0/NVIDIA/results/dgxh100_n96_nemo/gpt3/result_2.txt",
     "gpt3",
     1683686991461,
     1683689680406,
     1258291200,
     "2.6889805793762207",
     "\"epoch_num\": 1258291200",
     {"log perplexity", 2.69, 2.6889805793762207, true},
     {0},
     2688945,
     614400}, // of 2048 tokens
    {"v5.0/Dell/results/1xXE9680x8MI300X/llama2_70b_lora/result_4.txt",
     "llama2_70b_lora",
     1746107575112,
     1746109478891,
     3901,
     "0.9244585633277893",
     "\"samples_count\": 3456",
     {"evaluation loss", 0.925, 0.9244585633277893, true},
     {0},
     1903779,
     3456},
    {"v5.0/Dell/results/1xXE9712x4GB200/retinanet/result_4.txt",
     "retinanet",
     1745560716812,
     1745563617311,
     4572,
     "0.35018644282927913",
     "\"epoch_num\": 4",
     {"mAP", 0.34, 0.35018644282927913},
     {0},
     2900499,
     4LL * 1170301},
    {"v5.0/Dell/results/1xXE9680Lx8B200-SXM-180GB/rgat/result_4.txt",
     "rgat",
     1745947241484,
     1745947520308,
     94605581,
     "0.7200332880020142",
     "\"epoch_num\": 0.85",
     {"accuracy", 0.72, 0.7200332880020142},
     {0},
     278824,
     80414744}, // .85 x 94605581 = ...743.85
    {"v5.0/Nebius/results/nebius_soperator_8xH200_n128_ngc25.01_nemo/llama31_405b/result_2.txt",
     "llama31_405b",
     1746039509164,
     1746045908756,
     1574207408,
     "5.589523792266846",
     "\"samples_count\": 276480",
     {"log perplexity", 5.6, 5.589523792266846, true},
     {0},
     6399592,
     276480},
    {"v5.1/Dell/results/1xXE9780x8B300-SXM-270GB/llama31_8b/result_4.txt",
     "llama31_8b",
     1759897926164,
     1759904001462,
     1574207408,
     "3.2771151065826416",
     "\"samples_count\": 172032",
     {"log perplexity", 3.3, 3.2771151065826416, true},
     {0},
     6075298,
     172032},
    {"v5.1/Nebius/results/nebius_b200_n4/flux1/result_08.txt",
     "flux1",
     1760646991287,
     1760652792637,
     1099776,
     "0.5859695960735453",
     "\"samples_count\": 9175040",
     {"evaluation loss", 0.586, 0.5859695960735453, true},
     {0},
     5801350,
     9175040},
};

static void check_quality(const struct run *run, size_t i, const struct expected *expected)
{
    assert_true(run->quality.count > i);
    const struct run_quality *q = &run->quality.items[i];
    assert_string_equal(q->metric, expected->metric);
    assert_true(q->target.known && q->target.v == expected->target);
    assert_true(q->value.v == expected->value);
    assert_int_equal(q->lower.v, expected->lower);
}

TEST(every_benchmark)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        struct runs runs = {0};
        snprintf(
            text, sizeof text,
            ":::MLLOG {\"time_ms\": %lld, \"key\": \"submission_benchmark\", \"value\": \"%s\"}\n"
            ":::MLLOG {\"time_ms\": 1, \"key\": \"train_samples\", \"value\": %lld}\n"
            ":::MLLOG {\"time_ms\": %lld, \"key\": \"run_start\", \"value\": null}\n"
            ":::MLLOG {\"time_ms\": %lld, \"key\": \"eval_accuracy\", \"value\": %s, "
            "\"metadata\": {%s}}\n"
            ":::MLLOG {\"time_ms\": %lld, \"key\": \"run_stop\", \"value\": null, "
            "\"metadata\": {\"status\": \"success\"}}\n",
            (long long)cases[i].start_ms, cases[i].benchmark, (long long)cases[i].train_samples,
            (long long)cases[i].start_ms, (long long)cases[i].stop_ms, cases[i].value,
            cases[i].metadata, (long long)cases[i].stop_ms);
        import_text(text, &runs);
        const struct run *run = runs.runs.items;
        print_message("%s\n", cases[i].path);
        check_quality(run, 0, &cases[i].first);
        assert_int_equal(run->quality.count, cases[i].second.metric ? 2 : 1);
        if (cases[i].second.metric)
            check_quality(run, 1, &cases[i].second);
        assert_int_equal(run->phases.wall_ns.v, cases[i].took_ms * 1000000);
        assert_int_equal(run->samples_trained.v, cases[i].samples);
        bool accuracy = strstr(cases[i].first.metric, "accuracy") != NULL;
        assert_int_equal(run->test_accuracy.known, accuracy);
        assert_true(run->reached.v);
        record_release(runs_fields, &runs);
    }
}

// v3.1/NVIDIA/results/eos_n434_ngc23.09_pytorch/bert/result_4.txt: initialisation took 91.56 s, the
// training 6.676 s.
TEST(initialisation_lies_before_the_run)
{
    static const char text[] =
        ":::MLLOG {\"time_ms\": 1696543001803, \"key\": \"init_start\", \"value\": null}\n"
        ":::MLLOG {\"time_ms\": 1696543001903, \"key\": \"init_start\", \"value\": null}\n"
        ":::MLLOG {\"time_ms\": 1696543093363, \"key\": \"init_stop\", \"value\": null}\n"
        ":::MLLOG {\"time_ms\": 1696543093373, \"key\": \"run_start\", \"value\": null}\n"
        ":::MLLOG {\"time_ms\": 1696543100049, \"key\": \"run_stop\", \"metadata\": {\"status\": "
        "\"success\"}}\n";
    struct runs runs = {0};
    import_text(text, &runs);
    const struct run *run = runs.runs.items;
    assert_int_equal(run->phases.wall_ns.v, 6676000000);
    assert_string_equal(run_label(run, "init_s"), "91.560");
    record_release(runs_fields, &runs);
}

// Round 0.6 has seconds before the key. v0.6/NVIDIA/results/dgx1_ngc19.05_pytorch/ssd/result_4.txt,
// with the lines of its eight processes cut to two.
TEST(round_0_6)
{
    static const char text[] =
        "0: :::MLL 1558570759.200 submission_benchmark: {\"value\": \"ssd\", \"metadata\": {}}\n"
        ":::MLL 1558570759.202 submission_platform: {\"value\": \"1xDGX-1 with V100\"}\n"
        ":::MLL 1558570818.258 init_start: {\"value\": null, \"metadata\": {\"lineno\": 833}}\n"
        ":::MLL 1558570818.259 init_start: {\"value\": null, \"metadata\": {\"lineno\": 833}}\n"
        ":::MLL 1558570837.543 init_stop: {\"value\": null, \"metadata\": {}}\n"
        ":::MLL 1558570837.544 run_start: {\"value\": null, \"metadata\": {}}\n"
        ":::MLL 1558570844.963 epoch_start: {\"value\": null, \"metadata\": {\"epoch_num\": 1}}\n"
        ":::MLL 1558570873.263 epoch_stop: {\"value\": null, \"metadata\": {\"epoch_num\": 1}}\n"
        ":::MLL 15608[2019-06-18 10:02:47] a torn line\n"
        ":::MLL 1558572182.301 eval_accuracy: {\"value\": 0.23169728491709152, \"metadata\": "
        "{\"epoch_num\": 50}}\n"
        ":::MLL 1558572182.861 run_stop: {\"value\": null, \"metadata\": {\"status\": "
        "\"success\"}}\n";
    static const struct expected map = {"mAP", 0.23, 0.23169728491709152};
    struct runs runs = {0};
    import_text(text, &runs);
    const struct run *run = runs.runs.items;
    check_quality(run, 0, &map);
    assert_string_equal(run->workload, "ssd");
    assert_string_equal(run->machine.name, "1xDGX-1 with V100");
    assert_string_equal(run->started, "2019-05-23T00:20:37Z"); // date -u -d @1558570837
    assert_near((double)run->phases.wall_ns.v, 1345.317e9, 1e6);
    assert_near((double)run->epoch_list.items[0].train_ns.v, 28.3e9, 1e6);
    assert_string_equal(run_label(run, "init_s"), "19.285");
    assert_int_equal(run->samples_trained.v, 50 * 117266);
    record_release(runs_fields, &runs);
}

// Rounds 0.6 of minigo are timed by the model that won, which eval_result states.
// v0.6/Intel/results/clx-8260l-2s-x32/minigo/result_1.txt, with Python's quotes;
// v0.6/NVIDIA/results/dgx1_ngc19.05_pytorch/transformer/result_0.txt, with a text for a number;
// v0.6/Google/results/tpu-v3-128/mask/result_1.txt, with a list.
TEST(odd_values_of_round_0_6)
{
    static const struct {
        const char *benchmark, *evaluation, *then;
        struct expected first, second;
        double took_s;
    } odd[] = {
        {"minigo",
         "{\"value\": 0.52, \"metadata\": {'lineno': 49, 'epoch_num': 14}}",
         ":::MLL 1560876263.746280 eval_result: {\"value\": null, \"metadata\": {'iteration': 14, "
         "'timestamp': 749.586}}\n",
         {"win rate", 0.5, 0.52},
         {0},
         749.586},
        {"transformer",
         "{\"value\": \"25.329875946044922\", \"metadata\": {\"epoch_num\": 3}}",
         "",
         {"BLEU", 25, 25.329875946044922},
         {0},
         1917.916346},
        {"mask",
         "{\"value\": [0.378618061542511, 0.34209510684013367], \"metadata\": {\"epoch_num\": 14}}",
         "",
         {"box AP", 0.377, 0.378618061542511},
         {"mask AP", 0.339, 0.34209510684013367},
         1917.916346},
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char text[2048];
        struct runs runs = {0};
        snprintf(text, sizeof text,
                 ":::MLL 1560874143.567706663 submission_benchmark: {\"value\": \"%s\"}\n"
                 ":::MLL 1560874165.473595376 cache_clear: {value: true, metadata: {lineno: 0}}\n"
                 ":::MLL 1560874345.830236 run_start: {\"value\": null, \"metadata\": {'lineno': "
                 "615}}\n"
                 ":::MLL 1560876263.745941 eval_accuracy: %s\n%s"
                 ":::MLL 1560876263.746582 run_stop: {\"value\": null, \"metadata\": {'status': "
                 "'success'}}\n",
                 odd[i].benchmark, odd[i].evaluation, odd[i].then);
        import_text(text, &runs);
        const struct run *run = runs.runs.items;
        check_quality(run, 0, &odd[i].first);
        if (odd[i].second.metric)
            check_quality(run, 1, &odd[i].second);
        assert_near((double)run->phases.wall_ns.v, odd[i].took_s * 1e9, 1e6);
        assert_true(run->reached.v);
        record_release(runs_fields, &runs);
    }
}

// v3.1/Dell/results/XE9680x8H100-SXM-80GB/stable_diffusion/result_0.txt: checkpoints are evaluated
// afterwards, in any order. FID <= 90 and CLIP >= 0.15 first hold at step 5000, of batch 512.
TEST(checkpoints_in_any_order)
{
    static const struct {
        int step;
        double fid, clip;
    } points[] = {{3000, 135.22233656130317, 0.11169077369573255},
                  {6000, 72.95990711533938, 0.18369197127239312},
                  {5000, 82.00583261324527, 0.17463786878507576},
                  {4000, 95.54910604030641, 0.1555200187461179}};
    struct buf text = {0};
    buf_adds(&text, ":::MLLOG {\"time_ms\": 1, \"key\": \"submission_benchmark\", \"value\": "
                    "\"stable_diffusion\"}\n"
                    ":::MLLOG {\"time_ms\": 1, \"key\": \"global_batch_size\", \"value\": 512}\n"
                    ":::MLLOG {\"time_ms\": 1696312337840, \"key\": \"run_start\"}\n");
    for (int metric = 0; metric < 2; metric++)
        for (size_t i = 0; i < sizeof points / sizeof *points; i++)
            buf_printf(&text,
                       ":::MLLOG {\"time_ms\": 1696339939251, \"key\": \"eval_accuracy\", "
                       "\"value\": %.17g, \"metadata\": {\"step_num\": %d, \"metric\": \"%s\"}}\n",
                       metric ? points[i].clip : points[i].fid, points[i].step,
                       metric ? "CLIP" : "FID");
    buf_adds(&text, ":::MLLOG {\"time_ms\": 1696315074544, \"key\": \"run_stop\", \"metadata\": "
                    "{\"status\": \"success\", \"step_num\": 5000}}\n");
    struct runs runs = {0};
    import_text(buf_str(&text), &runs);
    const struct run *run = runs.runs.items;
    check_quality(run, 0, &(struct expected){"FID", 90, 82.00583261324527, true});
    check_quality(run, 1, &(struct expected){"CLIP", 0.15, 0.17463786878507576, false});
    assert_int_equal(run->samples_trained.v, 5000 * 512);
    assert_int_equal(run->phases.wall_ns.v, 2736704000000);
    record_release(runs_fields, &runs);
    buf_release(&text);
}

// Alibaba's logs of round 0.7 have seconds; the open division has targets of its own, and
// "abort" is no success (v0.6/Google/results/tpu-v3-1024/resnet/result_1.txt ended so).
TEST(others)
{
    static const char text[] =
        ":::MLLOG {\"time_s\": 0.0, \"key\": \"submission_benchmark\", \"value\": \"resnet\"}\n"
        ":::MLLOG {\"time_s\": 0.0, \"key\": \"submission_division\", \"value\": \"open\"}\n"
        ":::MLLOG {\"time_s\": 0.0, \"key\": \"train_samples\", \"value\": 160000}\n"
        ":::MLLOG {\"time_s\": 1593422672.835, \"key\": \"run_start\", \"value\": null}\n"
        ":::MLLOG {\"time_s\": 1593422680, \"key\": \"eval_accuracy\", \"value\": 0.7565, "
        "\"metadata\": {\"epoch_num\": 76}}\n"
        ":::MLLOG {\"time_s\": 1593422772.835, \"key\": \"run_stop\", \"metadata\": "
        "{\"status\": \"abort\"}}\n";
    struct runs runs = {0};
    import_text(text, &runs);
    const struct run *run = runs.runs.items;
    assert_int_equal(run->phases.wall_ns.v, 100000000000);
    assert_false(run->reached.v);
    assert_false(run->quality.items[0].target.known);
    assert_int_equal(run->samples_trained.v, 76 * 160000);
    assert_int_equal(run->data.train_samples.v, 160000);
    record_release(runs_fields, &runs);
}
