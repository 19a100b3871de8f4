// SPDX-License-Identifier: Apache-2.0
// Loads a checkpoint of any known style into Inception v4 and prints its logits for one image.
//
//     inception_logits FILE CLASSES IMAGE [ENGINE] [aux]
//
// IMAGE holds 3 × 299 × 299 floats. One logit in a line, less the first class's, since a softmax
// hides what they have in common; notes go to stderr. Exit code 1: the file was refused.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/checkpoint/checkpoint.h"
#include "train/workload/workload.h"

static float image[3 * 299 * 299];

static int fail(const struct err *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    int classes = (int)strtol(argv[2], NULL, 10), loaded = 0;
    FILE *f = fopen(argv[3], "rb");
    if (!f || fread(image, sizeof image, 1, f) != 1)
        return 2;
    fclose(f);

    struct err err = {0};
    struct engine_options options = {.seed = 1};
    const struct engine *engine;
    struct net net;
    struct recipe recipe = workload_inception.recipe;
    recipe.batch = 1;
    net_init(&net, "inception");
    inception_build(&net, classes, argc > 5 && strcmp(argv[5], "aux") == 0);
    struct engine_program *program = NULL;
    if (engine_choose(argc > 4 ? argv[4] : "cpu", "f32", &options, &engine, &err) != 0 ||
        engine->available(&options, &err) != 0 ||
        engine->compile(&net, &recipe, &options, &program, &err) != 0)
        return 2 + fail(&err);
    struct buf notes = {0};
    const struct checkpoint_subject subject = {.net = &net, .engine = engine};
    if (checkpoint_load_parameters(argv[1], &subject, program, &loaded, &notes, &err) != 0)
        return fail(&err);
    fprintf(stderr, "%s%d loaded\n", buf_str(&notes), loaded);

    const int32_t label = 0;
    const struct engine_batch batch = {.count = 1, .image = image, .labels = &label};
    float *shares = calloc((size_t)classes, sizeof *shares);
    if (!shares || engine->predict(program, &batch, shares, &err) != 0)
        return fail(&err);
    for (int i = 0; i < classes; i++)
        printf("%.9g\n", log((double)shares[i]) - log((double)shares[0]));
    free(shares);
    buf_release(&notes);
    engine->release(program);
    net_release(&net);
    return 0;
}
