// SPDX-License-Identifier: Apache-2.0
// What is said below the table of trainings.
#include "test.h"

#include <string.h>

#include "cmd/training.h"

static void notes_of(struct run *run, struct buf *text)
{
    struct out out = {.width = 100};
    struct err err = {0};
    struct runs runs = {0};
    struct run *kept = LIST_ADD(&runs.runs, &err);
    assert_non_null(kept);
    *kept = *run;
    training_notes(&out, &runs);
    buf_adds(text, buf_str(&out.text));
    buf_release(&out.text);
    free(runs.runs.items);
}

static void what_was_measured_is_no_guess(void **state)
{
    (void)state;
    char name[] = "mlp", kind[] = "unsteady";
    struct run run = {.workload = name, .steady = {.kind = kind}};
    struct buf text = {0};
    run.projection.wall_s = some_real(60);
    notes_of(&run, &text);
    assert_non_null(strstr(buf_str(&text), "never settled"));
    assert_non_null(strstr(buf_str(&text), "guess"));
    buf_reset(&text);
    run.projection.wall_s.known = false; // trained to the end
    notes_of(&run, &text);
    assert_non_null(strstr(buf_str(&text), "never settled"));
    assert_null(strstr(buf_str(&text), "guess"));
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_measured_is_no_guess),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
