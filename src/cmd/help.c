// SPDX-License-Identifier: Apache-2.0
// help: --help for people, from the tables.
#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>

// Where the text of an option begins; below it on a narrow terminal.
static int help_column(const struct out *out)
{
    return out->width < 60 ? 8 : 24;
}

// "-h, --help" or "    --color WHEN".
static void option_head(char *out, size_t size, const struct opt *opt)
{
    char letter[8] = "    ";
    if (opt->letter)
        snprintf(letter, sizeof letter, "-%c, ", opt->letter);
    snprintf(out, size, "%s--%s%s%s", letter, opt->name, opt->value ? " " : "",
             opt->value ? opt->value : "");
}

static void two_columns(struct out *out, const char *head, const char *text)
{
    out_printf(out, "  %s", head);
    int used = (int)strlen(head) + 2, column = help_column(out);
    if (used + 2 > column)
        out_printf(out, "\n%*s", column, "");
    else
        out_printf(out, "%*s", column - used, "");
    out_wrap_here(out, column, text);
}

static bool same_group(const struct opt *a, const struct opt *b)
{
    return strcmp(a->group ? a->group : "", b->group ? b->group : "") == 0;
}

static void options(struct out *out, const struct command *command)
{
    const struct opt *tables[3];
    cmd_tables(command, tables);
    const struct opt *last = NULL;
    for (size_t t = 0; tables[t]; t++) {
        for (const struct opt *opt = tables[t]; opt->name; opt++) {
            if (!last || !same_group(last, opt))
                out_styled(out, OUT_BOLD, "\n%s:", opt->group ? opt->group : "Options"),
                    out_printf(out, "\n");
            last = opt;
            char head[80];
            option_head(head, sizeof head, opt);
            two_columns(out, head, opt->help);
        }
    }
}

static void examples(struct out *out, const struct command *command)
{
    out_styled(out, OUT_BOLD, "\nExamples:");
    out_printf(out, "\n");
    for (const struct cmd_example *e = command->examples; e->line; e++) {
        out_printf(out, "  %s\n", e->line); // to be copied: never broken
        out_wrap(out, 6, e->what);
    }
}

static void command_list(struct out *out, const struct command *const *commands)
{
    const char *group = NULL;
    for (size_t i = 1; commands[i]; i++) {
        if (!group || strcmp(group, commands[i]->group) != 0) {
            group = commands[i]->group;
            out_styled(out, OUT_BOLD, "\n%s:", group);
            out_printf(out, "\n");
        }
        two_columns(out, commands[i]->name, commands[i]->summary);
    }
}

void cmd_help(struct out *out, const struct command *const *commands, const struct command *command)
{
    bool bare = !command->name;
    out_styled(out, OUT_BOLD, "fare%s%s", bare ? "" : " ", bare ? "" : command->name);
    out_printf(out, ": ");
    out_wrap_here(out, bare ? 6 : 7 + (int)strlen(command->name), command->summary);
    out_printf(out, "\nUsage: ");
    struct buf usage = {0};
    if (bare)
        buf_adds(&usage, "fare [OPTION...]\nfare COMMAND [OPTION...] [ARGUMENT...]");
    else
        buf_printf(&usage, "fare %s [OPTION...]%s%s", command->name,
                   command->arguments[0] ? " " : "", command->arguments);
    out_wrap_here(out, 7, buf_str(&usage));
    out->text.failed |= usage.failed;
    buf_release(&usage);
    out_printf(out, "\n");
    out_wrap(out, 0, command->about);
    if (bare)
        command_list(out, commands);
    options(out, command);
    examples(out, command);
    if (bare)
        out_printf(out, "\n"),
            out_wrap(out, 0, "'fare COMMAND --help' tells more about one command.");
}
