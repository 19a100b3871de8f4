// SPDX-License-Identifier: Apache-2.0
#include "net/recipe.h"

#include <stdio.h>

#include "test.h"

static void a_stage_trains_the_layers_it_names(void **state)
{
    (void)state;
    static const struct {
        const char *only, *layer;
        bool trains;
    } rows[] = {
        {NULL, "d", true},        {NULL, "f.3.c", true},      {"d", "d", true},
        {"d", "aux.d", true},     {"d", "a.b.d", true},       {"d", "ad", false},
        {"d", "d.aux", false},    {"d", "", false},           {"aux.d", "d", false},
        {"aux.d", "aux.d", true}, {"aux.d", "xaux.d", false}, {"dd", "d", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct recipe_stage stage = {.only = rows[i].only};
        struct net_layer layer = {.param_count = 2};
        snprintf(layer.name, sizeof layer.name, "%s", rows[i].layer);
        assert_int_equal(recipe_trains(&stage, &layer), rows[i].trains);
        layer.param_count = 0; // nothing to train
        assert_false(recipe_trains(&stage, &layer));
    }
}

static void a_recipe_that_fits_no_net_is_refused(void **state)
{
    (void)state;
    struct net net;
    struct recipe good = {.batch = 3, .stages = {{.only = "d"}, {.rate = 1}}, .stage_count = 2};
    net_init(&net, "small");
    net_dense(&net, net_dropout(&net, net_image(&net, 1, 2, 2), 0.5f), 2, false, "a.d");
    struct err err = {0};
    assert_ok(recipe_check(&good, &net, &err), &err);
    struct recipe bad = good;
    bad.stages[1].only = "dropout1"; // is there, but has nothing to train
    assert_int_equal(recipe_check(&bad, &net, &err), ERR_FAIL);
    assert_string_equal(err.text, "net 'small': there is no layer 'dropout1' to train");
    static const struct {
        int64_t batch;
        int stages;
    } rows[] = {{0, 1}, {-1, 1}, {(int64_t)INT32_MAX + 1, 1}, {1, 0}, {1, RECIPE_STAGES_MAX + 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bad = good;
        bad.batch = rows[i].batch;
        bad.stage_count = rows[i].stages;
        assert_int_equal(recipe_check(&bad, &net, NULL), ERR_FAIL);
    }
    net_release(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stage_trains_the_layers_it_names),
        cmocka_unit_test(a_recipe_that_fits_no_net_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
