// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

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
    assert_non_null(engine->set_phase);
    assert_non_null(engine->set_iteration);
    assert_non_null(engine->tensor_count);
    assert_non_null(engine->tensor);
    assert_non_null(engine->read);
    assert_non_null(engine->write);
}

static void test_find(void **state)
{
    (void)state;
    struct err err = {0};
    assert_ptr_equal(engine_find("ref", &err), &engine_ref);
    assert_ptr_equal(engine_find("cpu", &err), &engine_cpu);
    assert_int_equal(err.code, 0);
    assert_complete(&engine_ref);
    assert_complete(&engine_cpu);
}

static void test_find_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"", "gpu", "REF", "ref ", "c"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct err err = {0};
        assert_null(engine_find(names[i], &err));
        assert_int_equal(err.code, ERR_USAGE);
        assert_non_null(strstr(err.text, names[i]));
        assert_non_null(strstr(err.hint, "ref, cpu"));
        assert_null(engine_find(names[i], NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_find_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
