// SPDX-License-Identifier: Apache-2.0
// Every command's tables are sound: no option twice, every option and command explained.
#include "test.h"

#include <ctype.h>
#include <string.h>

// The real table, with main() out of the way.
#define main program_main
int program_main(int argc, char **argv);
#include "main.c"
#undef main

static void check_options(const struct command *command)
{
    const struct opt *tables[3];
    cmd_tables(command, tables);
    const struct opt *seen[128];
    size_t count = 0;
    for (size_t t = 0; tables[t]; t++) {
        for (const struct opt *opt = tables[t]; opt->name; opt++) {
            for (size_t i = 0; i < count; i++) {
                if (strcmp(seen[i]->name, opt->name) == 0)
                    fail_msg("option --%s stands twice", opt->name);
                if (opt->letter && seen[i]->letter == opt->letter)
                    fail_msg("option -%c stands twice", opt->letter);
            }
            seen[count++] = opt;
            assert_true(strlen(opt->help) > 10);
            assert_int_not_equal(opt->help[strlen(opt->help) - 1], '.');
            assert_int_equal(opt->kind == OPT_FLAG, opt->value == NULL);
            assert_int_equal(opt->kind == OPT_CHOICE, opt->choices != NULL);
            assert_true(opt->at < command->options_size);
            for (const char *p = opt->name; *p; p++)
                assert_true(islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '-');
        }
    }
}

static void tables_are_sound(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        const struct command *c = commands[i];
        check_options(c);
        assert_true(strlen(c->summary) > 10 && strlen(c->summary) < 80);
        assert_true(strlen(c->about) > 40);
        assert_non_null(c->arguments);
        assert_non_null(c->examples);
        assert_non_null(c->examples[0].line); // an example each
        assert_true(c->options_size >= sizeof(struct cmd_common));
        assert_non_null(c->run);
        for (size_t j = 1; j < i; j++)
            assert_string_not_equal(c->name, commands[j]->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_are_sound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
