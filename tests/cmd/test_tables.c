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
                if (opt->was && seen[i]->was && strcmp(seen[i]->was, opt->was) == 0)
                    fail_msg("two options were called --%s", opt->was);
                if (opt->letter && seen[i]->letter == opt->letter)
                    fail_msg("option -%c stands twice", opt->letter);
            }
            seen[count++] = opt;
            assert_true(strlen(opt->help) > 10);
            assert_int_not_equal(opt->help[strlen(opt->help) - 1], '.');
            assert_int_equal(opt->kind == OPT_FLAG, opt->value == NULL);
            assert_int_equal(opt->kind == OPT_CHOICE, opt->choices || opt->choice);
            assert_true(!opt->choices || !opt->choice);
            assert_true(opt->kind != OPT_CHOICE || opt_choice(opt, 0));
            assert_true(opt->kind == OPT_DURATION || opt->bare_ns == 0);
            assert_true(opt->at < (command->options_size ? command->options_size
                                                         : sizeof(struct cmd_common)));
            for (const char *p = opt->name; *p; p++)
                assert_true(islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '-');
        }
    }
}

static void check_command(const struct command *c)
{
    assert_true(strlen(c->summary) > 10 && strlen(c->summary) < 80);
    assert_true(!c->about || strlen(c->about) > 40);
    assert_true(!c->arguments || c->arguments[0]);
    if (c->subcommands) { // options and run() are theirs
        assert_null(c->options);
        assert_non_null(c->about);
        assert_null(c->run);
        assert_non_null(c->subcommands[0]);
        return;
    }
    check_options(c);
    assert_true(!c->options || c->options_size >= sizeof(struct cmd_common));
    assert_non_null(c->run);
}

// All that has options below a command; `count` so far.
static void collect(const struct command *c, const struct command **leaves, size_t *count)
{
    check_command(c);
    if (!c->subcommands)
        leaves[(*count)++] = c;
    bool has_default = !c->with_argument;
    for (size_t i = 0; c->subcommands && c->subcommands[i]; i++) {
        const struct command *sub = c->subcommands[i];
        size_t len = strlen(c->name); // "runs import" is below "runs"
        assert_memory_equal(sub->name, c->name, len);
        assert_int_equal(sub->name[len], ' ');
        assert_string_equal(cmd_word(sub), sub->name + len + 1);
        has_default |= sub == c->with_argument;
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(sub->name, c->subcommands[j]->name);
        collect(sub, leaves, count);
    }
    assert_true(has_default);
}

// The frame looks for the subcommand's name behind options of which it does not know whose they
// are: one that takes a value takes one in all.
static void check_siblings(const struct command *const *leaves, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (const struct opt *a = leaves[i]->options; a && a->name; a++)
            for (size_t j = 0; j < i; j++)
                for (const struct opt *b = leaves[j]->options; b && b->name; b++) {
                    if (strcmp(a->name, b->name) == 0)
                        assert_int_equal(a->kind == OPT_FLAG, b->kind == OPT_FLAG);
                    if (a->letter && a->letter == b->letter)
                        assert_string_equal(a->name, b->name);
                }
}

// A name means one thing in all commands, as far as a table tells: a time, a size, or something
// else.
static void check_meaning(const struct opt *a, const struct command *const *leaves, size_t count)
{
    for (size_t j = 0; j < count; j++)
        for (const struct opt *b = leaves[j]->options; b && b->name; b++)
            if (strcmp(a->name, b->name) == 0 &&
                ((a->kind == OPT_DURATION) != (b->kind == OPT_DURATION) ||
                 (a->kind == OPT_BYTES) != (b->kind == OPT_BYTES)))
                fail_msg("option --%s means two things", a->name);
}

TEST(names_have_one_meaning)
{
    const struct command *leaves[64];
    size_t count = 0;
    for (size_t i = 0; commands[i]; i++)
        collect(commands[i], leaves, &count);
    assert_in_range(count, 15, 64);
    for (size_t i = 0; i < count; i++)
        for (const struct opt *opt = leaves[i]->options; opt && opt->name; opt++)
            check_meaning(opt, leaves, i);
}

TEST(tables_are_sound)
{
    for (size_t i = 0; commands[i]; i++) {
        const struct command *c = commands[i], *leaves[32];
        size_t count = 0;
        assert_non_null(c->examples);
        assert_non_null(c->examples[0].line); // an example each
        collect(c, leaves, &count);
        check_siblings(leaves, count);
        for (size_t j = 1; j < i; j++)
            assert_string_not_equal(c->name, commands[j]->name);
    }
}
