// SPDX-License-Identifier: Apache-2.0
// Other programs' logs as runs. The figures are the logs' own, and sums over them that others
// published or that are done by hand beside each.
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "ledger/import.h"

#define assert_near(a, b, by) assert_true(fabs((a) - (b)) <= (by))

static const struct import_options nothing;

static int import_text(const char *text, const char *file, const struct import_options *options,
                       struct runs *runs, struct err *err)
{
    const struct importer *importer = importer_guess(text, strlen(text));
    assert_non_null(importer);
    return import_log(importer, file, text, strlen(text), options, runs, err);
}

TEST(keras)
{
    static const char text[] = "epoch,elapsed,loss,acc,val_loss,val_acc\n"
                               "0,3.5,0.25,0.92,0.125,0.9662\n"
                               "1,3.25,0.10,0.97,0.0625,0.9735\n";
    static const char *labels[] = {"note=a b", "note=twice"};
    const struct import_options options = {.workload = "mlp",
                                           .machine = "k80",
                                           .gpu = "NVIDIA Tesla K80",
                                           .gpus = 1,
                                           .price_per_hour = "0.4975",
                                           .started = "2017-11-14",
                                           .labels = labels,
                                           .label_count = 2};
    struct runs runs = {0};
    struct err err = {0};
    assert_ok(import_text(text, "x/mnist_mlp_tensorflow.csv", &options, &runs, &err), &err);
    assert_int_equal(runs.runs.count, 1);
    const struct run *run = runs.runs.items;
    assert_string_equal(run->framework, "tensorflow");
    assert_string_equal(run->workload, "mlp");
    assert_string_equal(run->name, "mlp");
    assert_string_equal(run->started, "2017-11-14T00:00:00Z");
    assert_string_equal(run->machine.gpu, "NVIDIA Tesla K80");
    assert_string_equal(run->source, "imported from mnist_mlp_tensorflow.csv (keras-csv)");
    assert_int_equal(run->phases.wall_ns.v, 6750000000); // 3.5 s + 3.25 s
    assert_int_equal(run->epochs.v, 2);
    assert_int_equal(run->epoch_list.items[0].epoch.v, 1);
    assert_int_equal(run->epoch_list.items[1].train_ns.v, 3250000000);
    assert_true(run->test_accuracy.v == 0.9735);
    assert_true(run->full.v);
    assert_int_equal(run->labels.count, 3);
    assert_string_equal(run->labels.items[0].key, "epoch_time");
    assert_string_equal(run->labels.items[1].value, "0.4975");
    assert_string_equal(run->labels.items[2].value, "twice");
    record_release(runs_fields, &runs);
}

TEST(the_same_log_is_the_same_run)
{
    static const char text[] = "epoch,accuracy,loss,val_accuracy\n1,0.5,nan,\n";
    struct runs a = {0}, b = {0}, c = {0};
    struct err err = {0};
    const struct import_options other = {.machine = "another"};
    assert_ok(import_text(text, "one.csv", &nothing, &a, &err), &err);
    assert_ok(import_text(text, "x/one.csv.bak", &nothing, &b, &err), &err);
    assert_ok(import_text(text, "one.csv", &other, &c, &err), &err);
    assert_string_equal(a.runs.items[0].id, b.runs.items[0].id);
    assert_string_not_equal(a.runs.items[0].id, c.runs.items[0].id);
    assert_false(a.runs.items[0].phases.wall_ns.known); // no times in it
    assert_false(a.runs.items[0].epoch_list.items[0].train_loss.known);
    record_release(runs_fields, &a);
    record_release(runs_fields, &b);
    record_release(runs_fields, &c);
}

// The first rows of the example in DAWNBench's submission instructions.
TEST(dawnbench)
{
    static const char text[] = "epoch\thours\ttop1Accuracy\n"
                               "1\t0.07166666666666667\t33.57\n"
                               "2\t0.1461111111111111\t52.51\n"
                               "3\t0.21805555555555556\t61.71\n";
    struct runs runs = {0};
    struct err err = {0};
    const struct import_options options = {.workload = "cifar", .framework = "pytorch"};
    assert_ok(import_text(text, "dir/resnet.tsv", &options, &runs, &err), &err);
    const struct run *run = runs.runs.items;
    assert_int_equal(run->epoch_list.count, 3);
    assert_int_equal(run->epoch_list.items[0].train_ns.v, 258000000000); // 0.07166... h
    assert_in_range(run->epoch_list.items[1].train_ns.v, 267999999000, 268000001000);
    assert_int_equal(run->phases.wall_ns.v, 785000000000); // 0.21805... h
    assert_true(run->test_accuracy.v > 0.61709 && run->test_accuracy.v < 0.61711);
    assert_string_equal(run->labels.items[0].value, "top 1");
    assert_string_equal(run->name, "cifar");
    assert_false(run->quality.items[0].reached_s.known); // CIFAR10's target is 94 %
    assert_false(run->reached.v);
    record_release(runs_fields, &runs);
}

// Rows of three entries in stanford-futuredata/dawn-bench-entries (Apache-2.0), with their odd
// spaces: dawn_drqa_1k80-ec2.tsv and, with hours first, two of ImageNet's columns in each order.
// The targets are the README's: F1 0.73, top 5 93 %. The time counts to the first row at it.
TEST(dawnbench_targets)
{
    static const struct {
        const char *text, *metric;
        double target, value, reached_h, whole_h;
    } cases[] = {
        {"epoch\tf1Score\thours\n"
         "5\t0.7235578414583271\t  0.6831488563888889\n"
         "6\t0.7351785157058065\t  0.8194695636111111      \n"
         "10\t0.7584450310827428\t  1.3650755286111111      ",
         "F1", 0.73, 0.7584450310827428, 0.8194695636111111, 1.3650755286111111},
        {"hours\tepoch\ttop1Accuracy\ttop5Accuracy\r\n0.5\t1\t70\t92.9\r\n"
         "1.5\t2\t76\t93\r\n2.5\t3\t75\t92\r\n",
         "top-5 accuracy", 0.93, 0.92, 1.5, 2.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct runs runs = {0};
        struct err err = {0};
        assert_ok(import_text(cases[i].text, "x.tsv", &nothing, &runs, &err), &err);
        const struct run *run = runs.runs.items;
        const struct run_quality *q = run->quality.items;
        assert_string_equal(q->metric, cases[i].metric);
        assert_true(q->target.v == cases[i].target);
        assert_near(q->value.v, cases[i].value, 1e-12);
        assert_near(q->reached_s.v, cases[i].reached_h * 3600, 1e-6);
        assert_near((double)run->phases.wall_ns.v, cases[i].whole_h * 3.6e12, 1);
        assert_true(run->reached.v);
        if (run->test_accuracy.known) { // of ImageNet top 1, in the last row
            assert_near(run->test_accuracy.v, 0.75, 1e-12);
            assert_string_equal(run->labels.items[0].value, "top 1");
        }
        record_release(runs_fields, &runs);
    }
}

// Times and the accuracies of a BERT training of MLPerf 5.0, among lines of other kinds.
TEST(mllog)
{
    static const char text[] =
        "+ echo start\n"
        "0: :::MLLOG {\"namespace\": \"\", \"time_ms\": 0, \"event_type\": \"POINT_IN_TIME\", "
        "\"key\": "
        "\"cache_clear\", \"value\": true, \"metadata\": {}}\n"
        "0: :::MLLOG {\"time_ms\": 1744838700000, \"key\": \"init_start\", \"value\": null}\n"
        "0: :::MLLOG {\"time_ms\": 1744838700100, \"key\": \"submission_benchmark\", \"value\": "
        "\"bert\", \"metadata\": {}}\n"
        "0: :::MLLOG {\"time_ms\": 1744838700100, \"key\": \"submission_platform\", \"value\": "
        "\"8xMI325X\", \"metadata\": {}}\n"
        "0: :::MLLOG {\"time_ms\": 1744838700100, \"key\": \"global_batch_size\", \"value\": 384}\n"
        "0: :::MLLOG {\"time_ms\": 1744838717000, \"key\": \"init_stop\", \"value\": null}\n"
        ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1744838717800, \"event_type\": "
        "\"INTERVAL_START\", "
        "\"key\": \"run_start\", \"value\": null, \"metadata\": {\"lineno\": 1706}}\n"
        "iteration 1, loss 3\r\n"
        ":::MLLOG {\"time_ms\": 1744839123410, \"key\": \"eval_accuracy\", \"value\": "
        "0.719775378704071, \"metadata\": {\"lineno\": 1984, \"epoch_num\": 2030855}}\n"
        ":::MLLOG {\"time_ms\": 1744839180558, \"key\": \"eval_accuracy\", \"value\": "
        "0.7209873199462891, \"metadata\": {\"lineno\": 1984, \"epoch_num\": 2320253}}\n"
        ":::MLLOG {\"time_ms\": 1744839180559, \"key\": \"run_stop\", \"value\": null, "
        "\"metadata\": "
        "{\"status\": \"success\"}}\n";
    struct runs runs = {0};
    struct err err = {0};
    assert_ok(import_text(text, "result_0.txt", &nothing, &runs, &err), &err);
    const struct run *run = runs.runs.items;
    assert_string_equal(run->workload, "bert");
    assert_string_equal(run->machine.name, "8xMI325X");
    assert_string_equal(run->started, "2025-04-16T21:25:17Z"); // date -u -d @1744838717
    assert_string_equal(run->ended, "finished");
    assert_int_equal(run->phases.wall_ns.v, 462759000000);
    assert_false(run->phases.setup_ns.known); // before the clock starts
    assert_string_equal(run_label(run, "init_s"), "17.000");
    assert_int_equal(run->batch.v, 384);
    assert_true(run->test_accuracy.v == 0.7209873199462891);
    assert_int_equal(run->epoch_list.count, 2);
    assert_false(run->epochs.known); // those are samples
    record_release(runs_fields, &runs);

    static const char cut[] =
        ":::MLLOG {\"time_ms\": 1000, \"key\": \"run_start\"}\n"
        ":::MLLOG {\"time_ms\": 1500, \"key\": \"epoch_start\", \"metadata\": {\"epoch_num\": 1}}\n"
        ":::MLLOG {\"time_ms\": 3500, \"key\": \"epoch_stop\", \"metadata\": {\"epoch_num\": 1}}\n"
        ":::MLLOG {\"time_ms\": 3600, \"key\": \"eval_start\", \"metadata\": {\"epoch_num\": 1}}\n"
        ":::MLLOG {\"time_ms\": 4000, \"key\": \"eval_stop\", \"metadata\": {\"epoch_num\": 1}}\n";
    memset(&runs, 0, sizeof runs);
    assert_ok(import_text(cut, "result_1.txt", &nothing, &runs, &err), &err);
    run = runs.runs.items;
    assert_string_equal(run->ended, "stopped");
    assert_false(run->phases.wall_ns.known);
    assert_int_equal(run->epochs.v, 1);
    assert_int_equal(run->epoch_list.items[0].train_ns.v, 2000000000);
    assert_int_equal(run->epoch_list.items[0].test_ns.v, 400000000);
    record_release(runs_fields, &runs);
}

TEST(hyperfine)
{
    static const char text[] =
        "{\n  \"results\": [\n    {\"command\": \"sleep 0.1\", \"mean\": 0.1023, \"stddev\": "
        "0.0004, "
        "\"median\": 0.1022, \"user\": 0.001, \"system\": 0.002, \"min\": 0.1018, \"max\": 0.1031, "
        "\"times\": [0.1018, 0.1022, 0.1029], \"exit_codes\": [0, 0, 0]},\n"
        "    {\"command\": \"false\", \"mean\": 0.001, \"stddev\": null, \"times\": [0.001], "
        "\"exit_codes\": [1]}\n  ]\n}\n";
    struct runs runs = {0};
    struct err err = {0};
    assert_ok(import_text(text, "bench.json", &nothing, &runs, &err), &err);
    assert_int_equal(runs.runs.count, 2);
    const struct run *run = runs.runs.items;
    assert_string_equal(run->framework, "command");
    assert_string_equal(run->command.items[0], "sleep 0.1");
    assert_int_equal(run->phases.wall_ns.v, 102300000);
    assert_int_equal(run->step_plot_ms.count, 3);
    assert_true(run->step_plot_ms.items[0] == 101.8);
    assert_string_equal(run[1].ended, "failed");
    assert_int_equal(run[1].exit_code.v, 1);
    record_release(runs_fields, &runs);
}

TEST(faults)
{
    static const struct {
        const struct importer *importer;
        const char *text, *says;
    } cases[] = {
        {&importer_keras, "epoch,loss\n", "no epochs"},
        {&importer_keras, "loss,acc\n1,2\n", "epoch"},
        {&importer_keras, "epoch,loss\n1,x\n", "line 2, column 'loss'"},
        {&importer_keras, "epoch,elapsed,loss\n1,-3,1\n", "bad time"},
        {&importer_keras, "epoch,loss\n,1\n", "no epoch"},
        {&importer_dawnbench, "epoch\thours\ttop1Accuracy\n2\t1\t5\n3\t0.5\t6\n", "line 3"},
        {&importer_dawnbench, "epoch\thours\n1\t1\n", "top1Accuracy"},
        {&importer_mllog, "x\n:::MLLOG {\"key\"\n", "line 2"},
        {&importer_mllog, ":::MLLOG {\"key\":\"seed\",\"value\":1}\n", "no run_start"},
        {&importer_hyperfine, "{\"results\":[]}", "no results"},
        {&importer_hyperfine, "{\"results\":[{\"mean\":1}]}", "result 1"},
        {&importer_hyperfine, "{\"results\":", "line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct runs runs = {0};
        struct err err = {0};
        int rc = import_log(cases[i].importer, "f", cases[i].text, strlen(cases[i].text), &nothing,
                            &runs, &err);
        assert_int_equal(rc, ERR_FORMAT);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: '%s' does not say '%s'", cases[i].text, err.text, cases[i].says);
        record_release(runs_fields, &runs);
    }
    static const char text[] = "epoch,loss\n1,2\n";
    static const char *no_equals[] = {"x"};
    const struct import_options wrong[] = {{.started = "yesterday"},
                                           {.price_per_hour = "1e3"},
                                           {.labels = no_equals, .label_count = 1}};
    for (size_t i = 0; i < 3; i++) {
        struct runs runs = {0};
        struct err err = {0};
        assert_true(import_log(&importer_keras, "f", text, strlen(text), &wrong[i], &runs, &err) <
                    0);
        record_release(runs_fields, &runs);
    }
}

TEST(guesses)
{
    static const char *const none[] = {"", "{",
                                       "{\"schema\":\"fare.run/1\",\"epoch\":1,\"loss\":2}",
                                       "a,b\n1,2\n", "{\"a\": \":::MLLOG\"}"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_null(importer_guess(none[i], strlen(none[i])));
    assert_ptr_equal(importer_find("mllog"), &importer_mllog);
    assert_null(importer_find("fare"));
}
