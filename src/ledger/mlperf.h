// SPDX-License-Identifier: Apache-2.0
// mlperf: the benchmarks of MLPerf Training, rounds 0.6 to 6.0: quality metrics, their targets, and
// the meaning of a log's "epoch_num". From mlcommons/training_policies (training_rules.adoc) and
// the checks in mlcommons/logging (compliance_checker, rcp_checker).
#ifndef FARE_LEDGER_MLPERF_H
#define FARE_LEDGER_MLPERF_H

#include <stdbool.h>
#include <stdint.h>

enum { MLPERF_METRICS = 2 };

enum mlperf_kind { MLPERF_OTHER, MLPERF_ACCURACY, MLPERF_LOSS };
enum mlperf_unit { MLPERF_EPOCHS, MLPERF_SAMPLES, MLPERF_TOKENS }; // counted by epoch_num

struct mlperf_metric {
    const char *name; // null: none
    const char *key;  // its name in a log, where a benchmark has two
    double target;
    bool lower; // lower is better
    enum mlperf_kind kind;
};

struct mlperf {
    const char *name;
    int64_t before_s; // date, for an earlier round; 0: the latest
    enum mlperf_unit unit;
    struct mlperf_metric metrics[MLPERF_METRICS];
    // By the rules; 0: as logged. Some logs have iterations or 1 instead.
    int64_t train_samples, test_samples;
    int first_epoch; // epoch_num at the start
    int tokens;      // in a sample, if tokens are counted
    bool trained;    // the log's train_samples counts what was trained
    bool percent;    // the metric goes to 100; some logs have it as a fraction
};

// The benchmark of that name at that date; null if there is none.
const struct mlperf *mlperf_find(const char *name, int64_t date_s);

// What a log's eval_accuracy is: the first metric of the benchmark, or an accuracy if the benchmark
// is unknown (null). Accuracies lie between 0 and 1; all else is MLPERF_OTHER.
enum mlperf_kind mlperf_kind(const struct mlperf *benchmark, double value);

#endif
