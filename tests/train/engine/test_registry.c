// SPDX-License-Identifier: Apache-2.0
#include "train/engine/engine.h"

#include <string.h>

#include "test.h"

// The slots that are not optional.
static void assert_complete(const struct engine *engine)
{
    assert_non_null(engine->name);
    assert_non_null(engine->about);
    assert_non_null(engine->available);
    assert_non_null(engine->compile);
    assert_non_null(engine->release);
    assert_non_null(engine->step);
    assert_non_null(engine->evaluate);
    assert_non_null(engine->predict);
    assert_non_null(engine->set_stage);
    assert_non_null(engine->set_iteration);
    assert_non_null(engine->tensor_count);
    assert_non_null(engine->tensor);
    assert_non_null(engine->read);
    assert_non_null(engine->write);
}

static const struct engine *choose(const char *name, const char *precision,
                                   enum engine_precision *got)
{
    struct err err = {0};
    struct engine_options options = {0};
    const struct engine *engine = NULL;
    assert_ok(engine_choose(name, precision, &options, &engine, &err), &err);
    *got = options.precision;
    return engine;
}

TEST(test_choose)
{
    enum engine_precision got;
    assert_ptr_equal(choose("ref", NULL, &got), &engine_ref);
    assert_int_equal(got, ENGINE_F32);
    assert_ptr_equal(choose("cpu", "bf16", &got), &engine_cpu);
    assert_int_equal(got, ENGINE_BF16);
    assert_ptr_equal(choose("cuda", "tf32", &got), &engine_cuda);
    assert_int_equal(got, ENGINE_TF32);
    assert_true(engine_cuda.gpu);
    assert_false(engine_cpu.gpu || engine_ref.gpu);
    assert_complete(&engine_ref);
    assert_complete(&engine_cpu);
    assert_complete(&engine_cuda);
}

// Every name an option table offers is an engine's or a precision's.
TEST(test_names)
{
    enum engine_precision got;
    for (int i = 0; engine_names[i]; i++)
        assert_string_equal(choose(engine_names[i], "f32", &got)->name, engine_names[i]);
    for (int i = 0; engine_precisions[i]; i++) {
        choose("cuda", engine_precisions[i], &got);
        assert_int_equal(got, i);
    }
}

TEST(test_choose_nothing)
{
    static const char *const wrong[][2] = {{"", NULL},      {"gpu", NULL},    {"REF", NULL},
                                           {"ref ", NULL},  {"c", NULL},      {"cpu", "tf32"},
                                           {"ref", "bf16"}, {"cpu", "float"}, {NULL, "f16"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err err = {0};
        struct engine_options options = {0};
        const struct engine *engine = NULL;
        assert_int_equal(engine_choose(wrong[i][0], wrong[i][1], &options, &engine, &err),
                         ERR_USAGE);
        assert_null(engine);
        const char *named = wrong[i][1] ? wrong[i][1] : wrong[i][0];
        assert_non_null(strstr(err.text, named));
    }
}
