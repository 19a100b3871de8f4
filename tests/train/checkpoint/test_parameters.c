// SPDX-License-Identifier: Apache-2.0
// Files whose names cannot be told apart. That the right ones go to the right places is
// test_public_names.py's.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/checkpoint/checkpoint.h"
#include "train/workload/workload.h"

static struct net net;
static char path[300];

static int setup(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/names-XXXXXX", base ? base : "/tmp");
    int fd = mkstemp(path);
    net_init(&net, "inception");
    inception_build(&net, 1001, false);
    return fd >= 0 ? close(fd) : -1;
}

static int teardown(void **state)
{
    (void)state;
    net_release(&net);
    return unlink(path);
}

static const int64_t one[] = {1};

// What names_init() makes of a file with these names; `found` counts the parameters.
static int read_names(const struct safetensors_entry *entries, int count, enum names_style *style,
                      int *found, struct err *err)
{
    struct safetensors_writer w;
    struct safetensors st;
    struct names names;
    static const float zeros[2000];
    *err = (struct err){0};
    assert_ok(safetensors_begin(&w, path, NULL, 0, entries, count, err), err);
    assert_ok(safetensors_add(&w, zeros, count, err), err);
    assert_ok(safetensors_commit(&w, err), err);
    assert_ok(safetensors_open(&st, path, err), err);
    int rc = names_init(&names, &st, &net, err);
    *style = names.style;
    *found = 0;
    for (int i = 0; i < net.param_count; i++)
        *found += names.found[i] != NULL;
    names_release(&names);
    safetensors_release(&st);
    return rc;
}

static void expect(const char *const *texts, int count, const char *complaint)
{
    struct safetensors_entry entries[8];
    struct err err;
    enum names_style style;
    int found;
    for (int i = 0; i < count; i++)
        entries[i] = (struct safetensors_entry){texts[i], 1, one};
    int rc = read_names(entries, count, &style, &found, &err);
    if (rc != ERR_FORMAT || !strstr(err.text, complaint) || !strstr(err.text, path))
        fail_msg("expected '%s', got %d '%s'", complaint, rc, err.text);
}

TEST(two_styles_in_one_file)
{
    expect((const char *[]){"features.1.conv.weight", "InceptionV4/Conv2d_1a_3x3/weights"}, 2,
           "it mixes names of timm ('features.1.conv.weight') and of TF-Slim "
           "('InceptionV4/Conv2d_1a_3x3/weights')");
    expect((const char *[]){"f.0.c.weight", "dense/kernel"}, 2,
           "it mixes names of fare ('f.0.c.weight') and of Keras ('dense/kernel')");
}

TEST(two_tensors_for_one_parameter)
{
    expect((const char *[]){"last_linear.weight", "classif.weight"}, 2,
           "'last_linear.weight' and 'classif.weight' are both 'd.weight' here");
    expect((const char *[]){"last_linear.bias", "fc.bias"}, 2,
           "'last_linear.bias' and 'fc.bias' are both 'd.bias' here");
    expect((const char *[]){"dense_1/kernel", "predictions/kernel"}, 2, "are both 'd.weight' here");
    expect((const char *[]){"features.0.bn.bias", "module.features.0.bn.bias"}, 2,
           "'features.0.bn.bias' and 'module.features.0.bn.bias' name the same tensor");
    expect((const char *[]){"conv2d_3/kernel", "conv2d_3/conv2d_3/kernel:0"}, 2,
           "name the same tensor");
}

// `convolutions` and as many batch norms, numbered by tens.
static int keras(int convolutions, int norms, int *found, struct err *err)
{
    static char texts[400][48];
    struct safetensors_entry entries[400];
    enum names_style style;
    int count = 0;
    for (int i = 0; i < convolutions; i++)
        snprintf(texts[count++], sizeof texts[0], "conv2d_%d/kernel", 10 * (i + 1));
    for (int i = 0; i < norms; i++)
        snprintf(texts[count++], sizeof texts[0], "batch_normalization_%d/moving_mean", i + 7);
    for (int i = 0; i < count; i++)
        entries[i] = (struct safetensors_entry){texts[i], 1, one};
    return read_names(entries, count, &style, found, err);
}

TEST(another_number_of_keras_layers)
{
    struct err err;
    int found;
    assert_ok(keras(149, 149, &found, &err), &err);
    assert_int_equal(found, 2 * 149);
    assert_int_equal(keras(150, 149, &found, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "149 convolutions and batch norms, not 150 and 149"));
    assert_int_equal(keras(149, 148, &found, &err), ERR_FORMAT);
    assert_int_equal(keras(1, 0, &found, &err), ERR_FORMAT);
}

// Nearly right names are nobody's.
TEST(names_that_are_none)
{
    static const char *const texts[] = {"conv2d_0/kernel",
                                        "conv2d_01/kernel",
                                        "conv2d_99999999999/kernel",
                                        "conv2d_1x/kernel",
                                        "features.22.conv.weight",
                                        "features.0.conv.bias",
                                        "model.",
                                        "/",
                                        "InceptionV4/Mixed_5f/weights",
                                        ":0",
                                        "features.6.branch0",
                                        "a/a"};
    struct safetensors_entry entries[12];
    struct err err;
    enum names_style style;
    int found;
    for (int i = 0; i < 12; i++)
        entries[i] = (struct safetensors_entry){texts[i], 1, one};
    assert_ok(read_names(entries, 12, &style, &found, &err), &err);
    assert_int_equal(found, 0);
    assert_int_equal(style, NAMES_OWN);
    // Two dense layers: nothing says which is the classifier.
    static const char *const dense[] = {"dense_1/kernel", "dense_2/kernel"};
    for (int i = 0; i < 2; i++)
        entries[i].name = dense[i];
    assert_ok(read_names(entries, 2, &style, &found, &err), &err);
    assert_int_equal(found, 0);
}

int main(void)
{
    return run_all_tests(setup, teardown);
}
