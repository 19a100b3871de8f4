// SPDX-License-Identifier: Apache-2.0
// help: --help for people, from the tables.
#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>

// The column of an option's text; on a narrow terminal the text is on the next line.
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

void cmd_option_help(const struct opt *opt, struct buf *out)
{
    buf_adds(out, opt->help);
    for (size_t i = 0; opt->choice && opt->choice(i); i++)
        buf_printf(out, "%s%s", i ? ", " : ": ", opt->choice(i));
    if (opt->was)
        buf_printf(out, " (formerly --%s)", opt->was);
}

static const char *group_of(const struct opt *opt)
{
    return opt->group ? opt->group : "Options";
}

static void option_row(struct out *out, const struct opt *opt)
{
    char head[80];
    SCOPED(buf_release) struct buf text = {0};
    option_head(head, sizeof head, opt);
    cmd_option_help(opt, &text);
    two_columns(out, head, buf_str(&text));
    out->text.failed |= text.failed;
}

// Each group once, in the order of their first options.
static void options(struct out *out, const struct command *command)
{
    enum { GROUPS = 24 };
    const char *seen[GROUPS];
    size_t count = 0;
    const struct opt *tables[3];
    cmd_tables(command, tables);
    for (size_t t = 0; tables[t]; t++)
        for (const struct opt *opt = tables[t]; opt->name; opt++) {
            size_t i = 0;
            while (i < count && strcmp(seen[i], group_of(opt)) != 0)
                i++;
            if (i == count && count < GROUPS)
                seen[count++] = group_of(opt);
        }
    for (size_t i = 0; i < count; i++) {
        out_styled(out, OUT_BOLD, "\n%s:", seen[i]);
        out_printf(out, "\n");
        for (size_t t = 0; tables[t]; t++)
            for (const struct opt *opt = tables[t]; opt->name; opt++)
                if (strcmp(group_of(opt), seen[i]) == 0)
                    option_row(out, opt);
    }
}

static void examples(struct out *out, const struct command *command)
{
    if (!command->examples)
        return;
    out_styled(out, OUT_BOLD, "\nExamples:");
    out_printf(out, "\n");
    for (const struct cmd_example *e = command->examples; e->line; e++) {
        out_printf(out, "  %s\n", e->line); // to be copied: never broken
        out_wrap(out, 6, e->what);
    }
}

static void command_list(struct out *out, const struct command *const *commands)
{
    const char *group = "";
    for (; *commands; commands++) {
        const char *own = (*commands)->group ? (*commands)->group : "Commands";
        if (strcmp(group, own) != 0) {
            group = own;
            out_styled(out, OUT_BOLD, "\n%s:", group);
            out_printf(out, "\n");
        }
        two_columns(out, cmd_word(*commands), (*commands)->summary);
    }
}

static void usage(struct out *out, const struct command *command)
{
    SCOPED(buf_release) struct buf text = {0};
    const char *name = command->name ? command->name : "", *space = command->name ? " " : "";
    buf_printf(&text, "fare%s%s [OPTION...]%s%s", space, name, command->arguments ? " " : "",
               command->arguments ? command->arguments : "");
    if (!command->name || command->subcommands)
        buf_printf(&text, "\nfare%s%s COMMAND [OPTION...] [ARGUMENT...]", space, name);
    out_printf(out, "\nUsage: ");
    out_wrap_here(out, 7, buf_str(&text));
    out->text.failed |= text.failed;
}

void cmd_help(struct out *out, const struct command *const *commands, const struct command *command)
{
    const char *name = command->name ? command->name : "", *space = command->name ? " " : "";
    out_styled(out, OUT_BOLD, "fare%s%s", space, name);
    out_printf(out, ": ");
    out_wrap_here(out, 6 + (int)strlen(space) + (int)strlen(name), command->summary);
    usage(out, command);
    if (command->about) {
        out_printf(out, "\n");
        out_wrap(out, 0, command->about);
    }
    bool list = !command->name || command->subcommands;
    if (list)
        command_list(out, command->name ? command->subcommands : commands + 1);
    options(out, command);
    examples(out, command);
    if (list) {
        out_printf(out, "\n");
        out_wrapf(out, 0, "'fare%s%s COMMAND --help' describes one command.", space, name);
    }
}
