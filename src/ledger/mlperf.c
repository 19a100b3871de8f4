// SPDX-License-Identifier: Apache-2.0
#include "ledger/mlperf.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define IMAGENET    1281167    // images
#define COCO        117266     // images with annotations
#define OPEN_IMAGES 1170301    // images of MLPerf's subset
#define CRITEO      4195197692 // rows
#define IGBH        94605581   // labelled nodes
#define KITS19      168        // volumes

#define COCO_TEST        5000
#define OPEN_IMAGES_TEST 24781

#define YEAR_2021 1609459200
#define YEAR_2022 1640995200

#define ACCURACY(name, target)                                                                     \
    {                                                                                              \
        {                                                                                          \
            name, NULL, target, false, MLPERF_ACCURACY                                             \
        }                                                                                          \
    }
#define LOSS(name, target)                                                                         \
    {                                                                                              \
        {                                                                                          \
            name, NULL, target, true, MLPERF_LOSS                                                  \
        }                                                                                          \
    }
#define SCORE(name, target)                                                                        \
    {                                                                                              \
        {                                                                                          \
            name, NULL, target, false, MLPERF_OTHER                                                \
        }                                                                                          \
    }
#define WER(target)                                                                                \
    {                                                                                              \
        {                                                                                          \
            "WER", NULL, target, true, MLPERF_OTHER                                                \
        }                                                                                          \
    }
#define BOXES                                                                                      \
    {                                                                                              \
        {"box AP", "BBOX", 0.377},                                                                 \
        {                                                                                          \
            "mask AP", "SEGM", 0.339                                                               \
        }                                                                                          \
    }
#define PICTURES                                                                                   \
    {                                                                                              \
        {"FID", "FID", 90, .lower = true},                                                         \
        {                                                                                          \
            "CLIP", "CLIP", 0.15                                                                   \
        }                                                                                          \
    }

// clang-format off
static const struct mlperf benchmarks[] = {
    {"bert", YEAR_2021, MLPERF_SAMPLES, ACCURACY("masked-LM accuracy", 0.712), .trained = true},
    {"bert", 0, MLPERF_SAMPLES, ACCURACY("masked-LM accuracy", 0.72), .trained = true},
    {"deepseekv3_671b", 0, MLPERF_SAMPLES, LOSS("log perplexity", 3.6)},
    {"dlrm", 0, MLPERF_EPOCHS, SCORE("AUC", 0.8025), CRITEO, .first_epoch = 1},
    {"dlrm_dcnv2", 0, MLPERF_EPOCHS, SCORE("AUC", 0.80275), CRITEO},
    {"flux1", 0, MLPERF_SAMPLES, LOSS("evaluation loss", 0.586)},
    {"gnmt", 0, MLPERF_EPOCHS, SCORE("BLEU", 24), .percent = true},
    {"gnn", 0, MLPERF_EPOCHS, ACCURACY("accuracy", 0.72), IGBH},
    {"gpt3", 0, MLPERF_TOKENS, LOSS("log perplexity", 2.69), .trained = true, .tokens = 2048},
    {"gpt_oss_20b", 0, MLPERF_SAMPLES, LOSS("log perplexity", 3.34)},
    {"llama2_70b_lora", 0, MLPERF_SAMPLES, LOSS("evaluation loss", 0.925)},
    {"llama31_405b", 0, MLPERF_SAMPLES, LOSS("log perplexity", 5.6)},
    {"llama31_8b", 0, MLPERF_SAMPLES, LOSS("log perplexity", 3.3)},
    {"mask", 0, MLPERF_EPOCHS, BOXES, COCO, COCO_TEST},
    {"maskrcnn", 0, MLPERF_EPOCHS, BOXES, COCO, COCO_TEST},
    {"minigo", 0, MLPERF_EPOCHS, SCORE("win rate", 0.5)},
    {"resnet", 0, MLPERF_EPOCHS, ACCURACY("top-1 accuracy", 0.759), IMAGENET, 50000},
    {"retinanet", 0, MLPERF_EPOCHS, SCORE("mAP", 0.34), OPEN_IMAGES, OPEN_IMAGES_TEST},
    {"rgat", 0, MLPERF_EPOCHS, ACCURACY("accuracy", 0.72), IGBH},
    {"rnnt", 0, MLPERF_EPOCHS, WER(0.058)},
    {"ssd", YEAR_2022, MLPERF_EPOCHS, SCORE("mAP", 0.23), COCO, COCO_TEST},
    {"ssd", 0, MLPERF_EPOCHS, SCORE("mAP", 0.34), OPEN_IMAGES, OPEN_IMAGES_TEST},
    {"stable_diffusion", 0, MLPERF_SAMPLES, PICTURES},
    {"transformer", 0, MLPERF_EPOCHS, SCORE("BLEU", 25), .percent = true},
    {"unet3d", 0, MLPERF_EPOCHS, SCORE("Dice score", 0.908), KITS19},
};
// clang-format on

const struct mlperf *mlperf_find(const char *name, int64_t date_s)
{
    for (size_t i = 0; i < sizeof benchmarks / sizeof *benchmarks; i++) {
        const struct mlperf *b = &benchmarks[i];
        if (strcmp(b->name, name) == 0 &&
            (b->before_s == 0 || (date_s > 0 && date_s < b->before_s)))
            return b;
    }
    return NULL;
}

enum mlperf_kind mlperf_kind(const struct mlperf *benchmark, double value)
{
    enum mlperf_kind kind = benchmark ? benchmark->metrics[0].kind : MLPERF_ACCURACY;
    bool share = value >= 0 && value <= 1;
    return !isfinite(value) || (kind == MLPERF_ACCURACY && !share) ? MLPERF_OTHER : kind;
}
