// SPDX-License-Identifier: Apache-2.0
// completion: what bash, zsh and fish need to complete fare's commands, options and values, from
// the tables. share/completions/ holds what this prints.
#include "cmd/cmd.h"

#include <string.h>

static const char head[] =
    "# Made from the option tables by 'fare --completion %s'. Do not edit.\n";

static bool takes_files(const struct opt *opt)
{
    return opt->value && strcmp(opt->value, "FILE") == 0;
}

static bool takes_dirs(const struct opt *opt)
{
    return opt->value && strcmp(opt->value, "DIR") == 0;
}

static void choices(struct out *out, const struct opt *opt, const char *separator)
{
    for (size_t i = 0; opt->choices[i]; i++)
        out_printf(out, "%s%s", i ? separator : "", opt->choices[i]);
}

// bash: a `case` on the word before the cursor, then on the command.
static void bash_values(struct out *out, const struct opt *opt)
{
    for (; opt->name; opt++) {
        if (opt->kind == OPT_FLAG)
            continue;
        out_printf(out, "    --%s)\n        ", opt->name);
        if (opt->kind == OPT_CHOICE) {
            out_printf(out, "COMPREPLY=($(compgen -W '");
            choices(out, opt, " ");
            out_printf(out, "' -- \"$cur\"))\n");
        } else if (takes_files(opt) || takes_dirs(opt)) {
            out_printf(out, "COMPREPLY=($(compgen -%c -- \"$cur\"))\n",
                       takes_dirs(opt) ? 'd' : 'f');
        } else {
            out_printf(out, "COMPREPLY=()\n");
        }
        out_printf(out, "        return\n        ;;\n");
    }
}

static void bash_names(struct out *out, const struct command *command)
{
    const struct opt *tables[3];
    cmd_tables(command, tables);
    for (size_t t = 0; tables[t]; t++)
        for (const struct opt *opt = tables[t]; opt->name; opt++) {
            out_printf(out, " --%s", opt->name);
            if (opt->letter)
                out_printf(out, " -%c", opt->letter);
        }
}

// "--color|--completion": every option whose value is the next word.
static void bash_valued(struct out *out, const struct command *const *commands)
{
    const char *bar = "";
    for (size_t i = 0; commands[i]; i++) {
        const struct opt *tables[3];
        cmd_tables(commands[i], tables);
        for (size_t t = 0; tables[t]; t++)
            for (const struct opt *opt = tables[t]; opt->name; opt++) {
                if (opt->kind == OPT_FLAG || (tables[t] == cmd_common_options && i > 0))
                    continue;
                out_printf(out, "%s--%s", bar, opt->name);
                bar = "|";
            }
    }
}

static void bash(struct out *out, const struct command *const *commands)
{
    out_printf(out, "_fare() {\n"
                    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                    "    local command='' words='' i\n"
                    "    # bash splits --name=value into three words\n"
                    "    [[ $cur == = ]] && cur=''\n"
                    "    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                    "        case ${COMP_WORDS[i]} in\n"
                    "        --) return ;;\n"
                    "        ");
    bash_valued(out, commands);
    out_printf(out, ") [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++)) ;;\n"
                    "        -*) ;;\n"
                    "        help) ;;\n"
                    "        *) [[ -z $command ]] && command=${COMP_WORDS[i]} ;;\n"
                    "        esac\n"
                    "    done\n"
                    "    case $prev in\n");
    for (size_t i = 0; commands[i]; i++)
        bash_values(out, commands[i]->options);
    bash_values(out, cmd_common_options);
    out_printf(out, "    esac\n    case $command in\n    '') words='");
    for (size_t i = 1; commands[i]; i++)
        out_printf(out, "%s ", commands[i]->name);
    out_printf(out, "help");
    bash_names(out, commands[0]);
    out_printf(out, "' ;;\n");
    for (size_t i = 1; commands[i]; i++) {
        out_printf(out, "    %s) words='", commands[i]->name);
        bash_names(out, commands[i]);
        out_printf(out, "' ;;\n");
    }
    out_printf(out, "    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
                    "complete -F _fare fare\n");
}

// Help texts stand in single quotes, inside [ ] and after colons: all three are escaped.
static void zsh_text(struct out *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            out_printf(out, "'\\''");
        else if (*text == '[' || *text == ']' || *text == ':')
            out_printf(out, "\\%c", *text);
        else
            out_printf(out, "%c", *text);
    }
}

static void zsh_options(struct out *out, const struct opt *opt)
{
    for (; opt->name; opt++) {
        if (opt->letter)
            out_printf(out, " \\\n        '(-%c --%s)'{-%c,--%s}'[", opt->letter, opt->name,
                       opt->letter, opt->name);
        else
            out_printf(out, " \\\n        '--%s[", opt->name);
        zsh_text(out, opt->help);
        out_printf(out, "]");
        if (opt->kind == OPT_CHOICE) {
            out_printf(out, ":%s:(", opt->value);
            choices(out, opt, " ");
            out_printf(out, ")");
        } else if (opt->kind != OPT_FLAG) {
            out_printf(out, ":%s:%s", opt->value,
                       takes_files(opt)  ? "_files"
                       : takes_dirs(opt) ? "_files -/"
                                         : "");
        }
        out_printf(out, "'");
    }
}

static void zsh(struct out *out, const struct command *const *commands)
{
    out_printf(out, "_fare() {\n    local context state state_descr line\n"
                    "    typeset -A opt_args\n    local -a commands=(\n");
    for (size_t i = 1; commands[i]; i++) {
        out_printf(out, "        '%s:", commands[i]->name);
        zsh_text(out, commands[i]->summary);
        out_printf(out, "'\n");
    }
    out_printf(out, "        'help:how to use a command'\n    )\n    _arguments -C");
    zsh_options(out, commands[0]->options);
    zsh_options(out, cmd_common_options);
    out_printf(out, " \\\n        '(-)1:command:->command' '(-)*::argument:->rest'\n"
                    "    case $state in\n"
                    "    command) _describe command commands ;;\n"
                    "    rest)\n        case $line[1] in\n");
    for (size_t i = 1; commands[i]; i++) {
        out_printf(out, "        %s) _arguments", commands[i]->name);
        zsh_options(out, commands[i]->options);
        zsh_options(out, cmd_common_options);
        out_printf(out, " ;;\n");
    }
    out_printf(out, "        help) _describe command commands ;;\n        esac ;;\n    esac\n}\n"
                    "compdef _fare fare\n");
}

static void fish_text(struct out *out, const char *text)
{
    for (; *text; text++)
        out_printf(out, *text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void fish_options(struct out *out, const struct opt *opt, const char *condition)
{
    for (; opt->name; opt++) {
        out_printf(out, "complete -c fare -n '%s' -l %s", condition, opt->name);
        if (opt->letter)
            out_printf(out, " -s %c", opt->letter);
        if (opt->kind == OPT_CHOICE) {
            out_printf(out, " -x -a '");
            choices(out, opt, " ");
            out_printf(out, "'");
        } else if (takes_files(opt)) {
            out_printf(out, " -r -F");
        } else if (takes_dirs(opt)) {
            out_printf(out, " -x -a '(__fish_complete_directories)'");
        } else if (opt->kind != OPT_FLAG) {
            out_printf(out, " -x");
        }
        out_printf(out, " -d '");
        fish_text(out, opt->help);
        out_printf(out, "'\n");
    }
}

static void fish(struct out *out, const struct command *const *commands)
{
    struct buf none = {0}; // the condition that no command has been typed yet
    buf_adds(&none, "not __fish_seen_subcommand_from");
    for (size_t i = 1; commands[i]; i++)
        buf_printf(&none, " %s", commands[i]->name);
    out_printf(out, "complete -c fare -f\n");
    for (size_t i = 1; commands[i]; i++) {
        out_printf(out, "complete -c fare -n '%s' -a %s -d '", buf_str(&none), commands[i]->name);
        fish_text(out, commands[i]->summary);
        out_printf(out, "'\n");
    }
    out_printf(out, "complete -c fare -n '%s' -a help -d 'how to use a command'\n", buf_str(&none));
    fish_options(out, commands[0]->options, buf_str(&none));
    fish_options(out, cmd_common_options, "true");
    for (size_t i = 1; commands[i]; i++) {
        struct buf condition = {0};
        buf_printf(&condition, "__fish_seen_subcommand_from %s", commands[i]->name);
        fish_options(out, commands[i]->options, buf_str(&condition));
        out->text.failed |= condition.failed;
        buf_release(&condition);
    }
    out->text.failed |= none.failed;
    buf_release(&none);
}

void cmd_completion(struct out *out, const struct command *const *commands, const char *shell)
{
    if (strcmp(shell, "zsh") == 0)
        out_printf(out, "#compdef fare\n");
    out_printf(out, head, shell);
    if (strcmp(shell, "bash") == 0)
        bash(out, commands);
    else if (strcmp(shell, "zsh") == 0)
        zsh(out, commands);
    else
        fish(out, commands);
}
