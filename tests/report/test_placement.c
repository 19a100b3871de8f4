// SPDX-License-Identifier: Apache-2.0
// Where a name can stand: beside points, names and strokes, and nowhere on them.
#include "test.h"

#include "report/room.h"

static void finds_what_is_free(void **state)
{
    (void)state;
    struct room room = {.within = {0, 0, 100, 100}};
    assert_true(room_init(&room, 2, 2));
    room_add_point(&room, 50, 50);
    const struct {
        struct box name;
        bool free;
    } cases[] = {
        {{60, 44, 90, 56}, true},   {{52, 44, 90, 56}, false}, // on the point
        {{80, 44, 101, 56}, false}, {{-1, 10, 20, 20}, false}, // out of the drawing
        {{5, 15, 25, 25}, false},                              // the stroke goes through a corner
        {{5, 25, 12, 35}, true},                               // and passes this one by
        {{60, 79, 90, 89}, false},  {{60, 83, 90, 93}, true},  // a stroke at 80, with a gap of 2
    };
    room_add_stroke(&room, 0, 0, 30, 30);
    room_add_stroke(&room, 55, 80, 95, 80);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(room_is_free(&room, &cases[i].name), cases[i].free);
    room_add_name(&room, &cases[0].name);
    assert_false(room_is_free(&room, &cases[0].name));
    room_release(&room);
}

static void strokes_go_through_names_only(void **state)
{
    (void)state;
    struct room room = {.within = {0, 0, 100, 100}};
    assert_true(room_init(&room, 2, 0));
    room_add_point(&room, 10, 10);
    room_add_name(&room, &(struct box){40, 40, 60, 50});
    assert_true(room_crosses_names(&room, &(struct box){0, 0, 100, 90}));
    assert_true(room_crosses_names(&room, &(struct box){50, 0, 50, 45}));
    assert_false(room_crosses_names(&room, &(struct box){50, 0, 50, 39}));
    assert_false(room_crosses_names(&room, &(struct box){0, 10, 30, 10})); // on the point
    room_release(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_free),
        cmocka_unit_test(strokes_go_through_names_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
