// SPDX-License-Identifier: Apache-2.0
// Where a name can stand: beside points, names and strokes, and nowhere on them.
#include "test.h"

#include "render/placement.h"

TEST(finds_what_is_free)
{
    struct placement placement = {.within = {0, 0, 100, 100}};
    assert_true(placement_init(&placement, 2, 2));
    placement_add_point(&placement, 50, 50);
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
    placement_add_stroke(&placement, 0, 0, 30, 30);
    placement_add_stroke(&placement, 55, 80, 95, 80);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(placement_is_free(&placement, &cases[i].name), cases[i].free);
    placement_add_name(&placement, &cases[0].name);
    assert_false(placement_is_free(&placement, &cases[0].name));
    placement_release(&placement);
}

TEST(strokes_go_through_names_only)
{
    struct placement placement = {.within = {0, 0, 100, 100}};
    assert_true(placement_init(&placement, 2, 0));
    placement_add_point(&placement, 10, 10);
    placement_add_name(&placement, &(struct box){40, 40, 60, 50});
    assert_true(placement_crosses_names(&placement, &(struct box){0, 0, 100, 90}));
    assert_true(placement_crosses_names(&placement, &(struct box){50, 0, 50, 45}));
    assert_false(placement_crosses_names(&placement, &(struct box){50, 0, 50, 39}));
    assert_false(placement_crosses_names(&placement, &(struct box){0, 10, 30, 10})); // on the point
    placement_release(&placement);
}
