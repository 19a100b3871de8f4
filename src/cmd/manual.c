// SPDX-License-Identifier: Apache-2.0
// manual: the page fare(1), from the tables; kept in share/man/man1/fare.1.
#include "cmd/cmd.h"

#include <ctype.h>
#include <string.h>

#include "version.h"

// roff reads '-' as a hyphen, '\' as an escape, and a '.' or ''' at the start of a line as a
// command.
static void roff(struct out *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        out_printf(out, "\\&");
    for (; *text; text++) {
        if (*text == '-')
            out_printf(out, "\\-");
        else if (*text == '\\')
            out_printf(out, "\\e");
        else if (*text == '\n')
            out_printf(out, "\n.PP\n");
        else
            out_printf(out, "%c", *text);
    }
}

static void options(struct out *out, const struct opt *opt)
{
    for (; opt->name; opt++) {
        out_printf(out, ".TP\n");
        if (opt->letter)
            out_printf(out, "\\fB\\-%c\\fR, ", opt->letter);
        out_printf(out, "\\fB\\-\\-");
        roff(out, opt->name);
        out_printf(out, "\\fR");
        if (opt->value)
            out_printf(out, " \\fI%s\\fR", opt->value);
        out_printf(out, "\n");
        SCOPED(buf_release) struct buf help = {0};
        cmd_option_help(opt, &help);
        roff(out, buf_str(&help));
        out_printf(out, ".\n");
        out->text.failed |= help.failed;
    }
}

// "list runs" as "List runs."
static void sentence(struct out *out, const char *text)
{
    const char first[] = {(char)toupper((unsigned char)*text), '\0'};
    roff(out, first);
    roff(out, text + 1);
    out_printf(out, ".\n");
}

static void section(struct out *out, const struct command *command)
{
    out_printf(out, ".SS fare %s%s%s\n", command->name, command->arguments ? " " : "",
               command->arguments ? command->arguments : "");
    sentence(out, command->summary);
    if (command->about) {
        out_printf(out, ".PP\n");
        roff(out, command->about);
        out_printf(out, "\n");
    }
    for (size_t i = 0; command->subcommands && command->subcommands[i]; i++)
        section(out, command->subcommands[i]);
    if (command->options)
        options(out, command->options);
}

static void examples(struct out *out, const struct command *command)
{
    for (const struct cmd_example *e = command->examples; e->line; e++) {
        out_printf(out, ".TP\n.B ");
        roff(out, e->line);
        out_printf(out, "\n");
        roff(out, e->what);
        out_printf(out, ".\n");
    }
}

// Whether one of the first commands has the variable.
static bool mentioned(const struct command *const *commands, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        for (const struct cmd_variable *v = commands[i]->variables; v && v->name; v++)
            if (strcmp(v->name, name) == 0)
                return true;
    return false;
}

static void variables(struct out *out, const struct command *const *commands)
{
    out_printf(
        out,
        ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nNo colours, if set to anything but an empty value.\n");
    for (size_t i = 0; commands[i]; i++)
        for (const struct cmd_variable *v = commands[i]->variables; v && v->name; v++) {
            if (mentioned(commands, i, v->name))
                continue;
            out_printf(out, ".TP\n.B %s\n", v->name);
            roff(out, v->help);
            out_printf(out, ".\n");
        }
}

void cmd_manual(struct out *out, const struct command *const *commands)
{
    out_printf(out, ".\\\" Made from the option tables by 'fare --man'. Do not edit.\n"
                    ".TH FARE 1 " FARE_DATE " \"fare " FARE_VERSION "\" \"User Commands\"\n"
                    ".SH NAME\nfare \\- ");
    roff(out, commands[0]->summary);
    out_printf(out, "\n.SH SYNOPSIS\n.B fare\n.RI [ option ...]\n.br\n.B fare\n.I command\n"
                    ".RI [ option ...]\n.RI [ argument ...]\n.SH DESCRIPTION\n");
    roff(out, commands[0]->about);
    out_printf(out, "\n.SH COMMANDS\n");
    for (size_t i = 1; commands[i]; i++)
        section(out, commands[i]);
    out_printf(out, ".SH OPTIONS\nBare\n.B fare\ntakes these:\n");
    options(out, commands[0]->options);
    out_printf(out, ".PP\nEvery command takes these:\n");
    options(out, cmd_common_options);
    variables(out, commands);
    out_printf(out, ".SH EXIT STATUS\n.TP\n.B 0\nDone.\n.TP\n.B 1\nFailed: the reason is on "
                    "standard error.\n.TP\n.B 2\nWrong usage: an unknown command, option or "
                    "value.\n.TP\n.B 3\nA gate was missed (fare run --gate).\n.SH EXAMPLES\n");
    for (size_t i = 0; commands[i]; i++)
        examples(out, commands[i]);
    out_printf(out,
               ".SH FILES\n.TP\n.I ~/.local/share/fare/ledger.db\nThe runs. Keys, tokens and "
               "passwords in them are masked. docs/what-is-kept.md, in the documentation, lists "
               "all that fare keeps, and how to see and remove it.\n");
}
