// SPDX-License-Identifier: Apache-2.0
// Tables at several widths, drawn by hand.
#include "test.h"

#include <string.h>

#include "cmd/out.h"

static void expect(struct table *table, int width, const char *drawn)
{
    struct out out = {.width = width};
    table_print(table, &out);
    assert_false(out.text.failed);
    assert_string_equal(buf_str(&out.text), drawn);
    out_release(&out);
}

static const struct table_column offers[] = {{"offer", TABLE_LEFT, 0, 12},
                                             {"gpu", TABLE_LEFT, 2, 4},
                                             {"time", TABLE_RIGHT, 1},
                                             {"USD", TABLE_POINT}};

static void add_offers(struct table *table)
{
    static const char *const rows[][4] = {{"aws/p5.48xlarge:spot", "8×H100", "41.8 s", "27740.16"},
                                          {"lambda/a", "A10", "1 h 05 min", "0.0213*"},
                                          {"gcp/b", "-", "9.0 s", "-"}};
    *table = (struct table){.columns = offers, .count = 4};
    for (size_t i = 0; i < 3; i++)
        table_row(table, OUT_PLAIN, rows[i], NULL);
}

TEST(amounts_align_on_the_point)
{
    struct table table;
    add_offers(&table);
    expect(&table, 80,
           "offer                gpu          time      USD\n"
           "aws/p5.48xlarge:spot 8×H100     41.8 s 27740.16\n"
           "lambda/a             A10    1 h 05 min     0.0213*\n"
           "gcp/b                -           9.0 s        -\n");
}

TEST(names_are_never_cut)
{
    struct table table;
    add_offers(&table); // 50 wide; names may be shortened to 12, GPUs to 4
    expect(&table, 46,
           "offer            gpu          time      USD\n"
           "aws/p5.48xlarge:spot\n"
           "                 8×H100     41.8 s 27740.16\n"
           "lambda/a         A10    1 h 05 min     0.0213*\n"
           "gcp/b            -           9.0 s        -\n");
    add_offers(&table); // the GPUs go first: 12 + 10 + 11 and two spaces
    expect(&table, 35,
           "offer              time      USD\n"
           "aws/p5.48xlarge:spot\n"
           "                 41.8 s 27740.16\n"
           "lambda/a     1 h 05 min     0.0213*\n"
           "gcp/b             9.0 s        -\n");
    add_offers(&table); // no room for a name beside the amount
    expect(&table, 15,
           "offer\n"
           "        USD\n"
           "aws/p5.48xlarge:spot\n"
           "   27740.16\n"
           "lambda/a\n"
           "       0.0213*\n"
           "gcp/b\n"
           "          -\n");
}

TEST(two_names_go_above_together)
{
    static const struct table_column columns[] = {{"GPU", TABLE_LEFT},
                                                  {"machine", TABLE_LEFT, 0, 12, .name = true},
                                                  {"time", TABLE_RIGHT},
                                                  {"USD", TABLE_POINT}};
    static const char *const rows[][4] = {{"V100", "gcp/n1-standard-8+1xv100", "41.8 s", "27.16"},
                                          {"2 × A10", "lambda/a10x2", "1 h 05 min", "0.0213"}};
    for (int width = 39; width > 0; width = width == 39 ? 30 : 0) {
        struct table table = {.columns = columns, .count = 4};
        for (size_t i = 0; i < 2; i++)
            table_row(&table, OUT_PLAIN, rows[i], NULL);
        expect(&table, width,
               width == 39 ? "GPU     machine            time   USD\n"
                             "V100    gcp/n1-standard-8+1xv100\n"
                             "                         41.8 s 27.16\n"
                             "2 × A10 lambda/a10x2 1 h 05 min  0.0213\n"
                           : "GPU machine\n"
                             "         time   USD\n"
                             "V100 gcp/n1-standard-8+1xv100\n"
                             "       41.8 s 27.16\n"
                             "2 × A10 lambda/a10x2\n"
                             "   1 h 05 min  0.0213\n");
    }
}

TEST(left_out_cells_stand_below)
{
    static const struct table_column columns[] = {
        {"name", TABLE_LEFT},
        {"work", TABLE_RIGHT, 1, 0, "trainings for a dollar"},
        {"unknown", TABLE_LEFT},
        {"n", TABLE_RIGHT}};
    static const char *const row[] = {"k80", "112", "-", "1"}, *const bare[] = {"cpu", "-", "",
                                                                                "22"};
    struct table table = {.columns = columns, .count = 4};
    table_row(&table, OUT_PLAIN, row, "two runs");
    table_row(&table, OUT_PLAIN, bare, NULL);
    expect(&table, 8,
           "name  n\n"
           "k80   1\n"
           "  112\n"
           "  trainings\n"
           "  for a\n"
           "  dollar;\n"
           "  two\n"
           "  runs\n"
           "cpu  22\n");
    table_row(&table, OUT_PLAIN, row, "two runs");
    expect(&table, 80, "name work n\nk80   112 1\n  two runs\n");
}

TEST(the_last_column_is_wrapped)
{
    static const struct table_column columns[] = {
        {NULL, TABLE_LEFT}, {NULL, TABLE_LEFT, 0, 4}, {NULL, TABLE_LEFT, 1, 8, ""}};
    static const char *const row[] = {"a", "longer", "one two three"};
    struct table table = {.columns = columns, .count = 3, .indent = 2};
    table_row(&table, OUT_PLAIN, row, NULL);
    expect(&table, 30, "  a longer one two three\n");
    table_row(&table, OUT_PLAIN, row, NULL); // both may be shortened; the widest gives way first
    expect(&table, 19, "  a longer one two\n           three\n");
    table_row(&table, OUT_PLAIN, row, NULL);
    expect(&table, 17, "  a lon… one two\n         three\n");
    table_row(&table, OUT_PLAIN, row, NULL);
    expect(&table, 14, "  a longer\n    one two\n    three\n");
}

TEST(empty_tables_and_no_memory)
{
    struct table table = {.columns = offers, .count = 4};
    expect(&table, 80, "offer\n");
    struct out out = {.width = 80};
    static const char *const row[] = {"a", "b", "c", "d"};
    table = (struct table){.columns = offers, .count = 4, .rows = {.max = 5}};
    table_row(&table, OUT_PLAIN, row, NULL);
    table_print(&table, &out);
    assert_true(out.text.failed);
    out_release(&out);
}
