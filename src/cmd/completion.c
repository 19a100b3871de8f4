// SPDX-License-Identifier: Apache-2.0
// completion: completions of commands, options and values for bash, zsh and fish, from the tables;
// kept in share/completions/.
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

static void choices(struct out *out, const struct opt *opt)
{
    for (size_t i = 0; opt_choice(opt, i); i++)
        out_printf(out, "%s%s", i ? " " : "", opt_choice(opt, i));
}

typedef void visit_fn(struct out *out, const struct command *command);

// The command and all below it.
static void each_below(struct out *out, const struct command *command, visit_fn *visit)
{
    visit(out, command);
    for (size_t i = 0; command->subcommands && command->subcommands[i]; i++)
        each_below(out, command->subcommands[i], visit);
}

static void each(struct out *out, const struct command *const *commands, visit_fn *visit)
{
    for (; *commands; commands++)
        each_below(out, *commands, visit);
}

// Its options; of one with subcommands, those of the subcommands that need not be named.
static void meant_tables(const struct command *command, const struct opt *tables[3])
{
    const struct opt *first[3];
    cmd_tables(command, first);
    tables[0] = first[0];
    tables[1] = tables[2] = NULL;
    if (command->subcommands && command->with_argument)
        tables[1] = command->with_argument->options;
}

// bash: a `case` on the command and the word before the cursor, then on the command.
static void bash_values(struct out *out, const char *command, const struct opt *opt)
{
    for (; opt->name; opt++) {
        if (opt->kind != OPT_CHOICE && !takes_files(opt) && !takes_dirs(opt))
            continue;
        out_printf(out, "    %s' --%s')\n        COMPREPLY=($(compgen ", command, opt->name);
        if (opt->kind == OPT_CHOICE) {
            out_printf(out, "-W '");
            choices(out, opt);
            out_printf(out, "'");
        } else {
            out_printf(out, "-%c", takes_dirs(opt) ? 'd' : 'f');
        }
        out_printf(out, " -- \"$cur\"))\n        return\n        ;;\n");
    }
}

static void bash_values_of(struct out *out, const struct command *command)
{
    const struct opt *tables[3];
    struct buf name = {0};
    if (command->name)
        buf_printf(&name, "'%s'", command->name);
    meant_tables(command, tables);
    for (size_t t = 0; tables[t]; t++)
        bash_values(out, buf_str(&name), tables[t]);
    out->text.failed |= name.failed;
    buf_release(&name);
}

static void bash_names(struct out *out, const struct opt *opt)
{
    for (; opt->name; opt++) {
        out_printf(out, " --%s", opt->name);
        if (opt->letter)
            out_printf(out, " -%c", opt->letter);
    }
}

static void bash_words(struct out *out, const struct command *command)
{
    const struct opt *tables[3];
    out_printf(out, "    '%s') words='", command->name);
    for (size_t i = 0; command->subcommands && command->subcommands[i]; i++)
        out_printf(out, "%s%s", i ? " " : "", cmd_word(command->subcommands[i]));
    meant_tables(command, tables);
    for (size_t t = 0; tables[t]; t++)
        bash_names(out, tables[t]);
    bash_names(out, cmd_common_options);
    out_printf(out, "' ;;\n");
}

// "|--color|--completion": options whose value is the next word.
static void bash_valued(struct out *out, const struct command *command)
{
    for (const struct opt *opt = command->options; opt && opt->name; opt++)
        if (opt->kind != OPT_FLAG)
            out_printf(out, "|--%s", opt->name);
}

static void bash_path(struct out *out, const struct command *command)
{
    out_printf(out, "|'%s'", command->name);
}

static void bash(struct out *out, const struct command *const *commands)
{
    out_printf(out, "_fare() {\n"
                    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                    "    local command='' words='' i path\n"
                    "    # bash splits --name=value into three words\n"
                    "    [[ $cur == = ]] && cur=''\n"
                    "    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                    "        case ${COMP_WORDS[i]} in\n"
                    "        --) return ;;\n"
                    "        --color");
    each(out, commands, bash_valued);
    out_printf(out, ") [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++)) ;;\n"
                    "        -*) ;;\n"
                    "        *)\n"
                    "            path=${command:+$command }${COMP_WORDS[i]}\n"
                    "            case $path in ''");
    each(out, commands + 1, bash_path);
    out_printf(out, ") command=$path ;; esac\n"
                    "            ;;\n"
                    "        esac\n"
                    "    done\n"
                    "    case \"$command $prev\" in\n");
    each(out, commands, bash_values_of);
    bash_values(out, "*", cmd_common_options);
    out_printf(out, "    esac\n    case $prev in --color");
    each(out, commands, bash_valued);
    out_printf(out, ") COMPREPLY=(); return ;; esac\n    case $command in\n    '') words='");
    for (size_t i = 1; commands[i]; i++)
        out_printf(out, "%s ", commands[i]->name);
    out_printf(out, "help");
    bash_names(out, commands[0]->options);
    bash_names(out, cmd_common_options);
    out_printf(out, "' ;;\n");
    each(out, commands + 1, bash_words);
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
            choices(out, opt);
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

// The arguments of a command; below it those of its subcommands, by the first word.
static void zsh_command(struct out *out, const struct command *command)
{
    const struct command *const *subs = command->subcommands;
    const struct opt *tables[3];
    if (subs)
        out_printf(out, "case $((CURRENT > 2)):$words[2] in\n");
    for (size_t i = 0; subs && subs[i]; i++) {
        out_printf(out, "        1:%s) shift words; ((CURRENT--)); ", cmd_word(subs[i]));
        zsh_command(out, subs[i]);
        out_printf(out, " ;;\n");
    }
    out_printf(out, "%s_arguments", subs ? "        *) " : "");
    meant_tables(command, tables);
    for (size_t t = 0; tables[t]; t++)
        zsh_options(out, tables[t]);
    zsh_options(out, cmd_common_options);
    if (!subs)
        return;
    out_printf(out, " \\\n        '1:command:(");
    for (size_t i = 0; subs[i]; i++)
        out_printf(out, "%s%s", i ? " " : "", cmd_word(subs[i]));
    out_printf(out, ")' ;;\n        esac");
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
        out_printf(out, "        %s) ", commands[i]->name);
        zsh_command(out, commands[i]);
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
            choices(out, opt);
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

// `seen` is the condition that the commands above it were typed.
static void fish_command(struct out *out, const struct command *command, const char *seen)
{
    const struct command *const *subs = command->subcommands;
    const struct opt *tables[3];
    struct buf here = {0}, none = {0};
    buf_printf(&here, "%s%s__fish_seen_subcommand_from %s", seen, *seen ? "; and " : "",
               cmd_word(command));
    buf_adds(&none, buf_str(&here));
    for (size_t i = 0; subs && subs[i]; i++)
        buf_printf(&none, "%s %s", i ? "" : "; and not __fish_seen_subcommand_from",
                   cmd_word(subs[i]));
    for (size_t i = 0; subs && subs[i]; i++) {
        out_printf(out, "complete -c fare -n '%s' -a %s -d '", buf_str(&none), cmd_word(subs[i]));
        fish_text(out, subs[i]->summary);
        out_printf(out, "'\n");
        fish_command(out, subs[i], buf_str(&here));
    }
    meant_tables(command, tables);
    for (size_t t = 0; tables[t]; t++)
        fish_options(out, tables[t], buf_str(&none));
    out->text.failed |= here.failed || none.failed;
    buf_release(&here);
    buf_release(&none);
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
    for (size_t i = 1; commands[i]; i++)
        fish_command(out, commands[i], "");
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
