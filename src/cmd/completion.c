// SPDX-License-Identifier: Apache-2.0
// completion: scripts for bash, zsh and fish (kept in share/completions/), and the program's
// answers to them. A script runs `fare --complete WORD...` with the words up to the cursor and gets
// a line for each that fits: the word, a tab, its description; or ":files" or ":dirs".
#include "cmd/completion.h"

#include <stdio.h>
#include <string.h>

static const char bash[] =
    "_fare() {\n"
    "    local line cur=${COMP_WORDS[COMP_CWORD]} IFS=$'\\n'\n"
    "    [[ $cur == = ]] && cur='' # bash splits --name=value into three words\n"
    "    COMPREPLY=()\n"
    "    for line in $(\"${COMP_WORDS[0]}\" --complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
    "2>/dev/null)\n"
    "    do\n"
    "        case $line in\n"
    "        :files) COMPREPLY+=($(compgen -f -- \"$cur\")) ;;\n"
    "        :dirs) COMPREPLY+=($(compgen -d -- \"$cur\")) ;;\n"
    "        *) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
    "        esac\n"
    "    done\n"
    "}\n"
    "complete -F _fare fare\n";

static const char zsh[] =
    "#compdef fare\n"
    "_fare() {\n"
    "    local -a lines\n"
    "    lines=(\"${(@f)$(\"$words[1]\" --complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    case $lines[1] in\n"
    "    '') return 1 ;;\n"
    "    :files) _files ;;\n"
    "    :dirs) _files -/ ;;\n"
    "    *)\n"
    "        lines=(\"${(@)lines//:/\\\\:}\")\n"
    "        lines=(\"${(@)lines/$'\\t'/:}\")\n"
    "        _describe fare lines\n"
    "        ;;\n"
    "    esac\n"
    "}\n"
    "compdef _fare fare\n";

static const char fish[] =
    "function __fare_complete\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    for line in (command $words[1] --complete $words[2..] 2>/dev/null)\n"
    "        switch $line\n"
    "            case :files\n"
    "                __fish_complete_path (commandline -ct)\n"
    "            case :dirs\n"
    "                __fish_complete_directories (commandline -ct)\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c fare -f -a '(__fare_complete)'\n";

void cmd_completion(struct out *out, const char *shell)
{
    out_printf(out, "%s",
               strcmp(shell, "bash") == 0  ? bash
               : strcmp(shell, "zsh") == 0 ? zsh
                                           : fish);
}

// The word being completed, and how far the words before it lead.
struct place {
    struct out *out;
    const struct command *command; // null: none yet
    const struct command *const *next;
    const struct opt *value_of; // the option whose value is completed, or null
    const char *before, *word;  // a value may have "--name=" before it
};

static void offer(const struct place *p, const char *word, const char *help)
{
    if (strncmp(word, p->word, strlen(p->word)) == 0)
        out_printf(p->out, "%.*s%s\t%s\n", (int)(p->word - p->before), p->before, word, help);
}

// A name, whose case does not matter.
static void offer_name(void *context, const char *word, const char *help)
{
    const struct place *p = context;
    if (strncasecmp(word, p->word, strlen(p->word)) == 0)
        out_printf(p->out, "%.*s%s\t%s\n", (int)(p->word - p->before), p->before, word, help);
}

static void offer_values(struct place *p)
{
    const struct opt *opt = p->value_of;
    for (size_t i = 0; opt->kind == OPT_CHOICE && opt_choice(opt, i); i++)
        offer(p, opt_choice(opt, i), opt->value);
    if (strcmp(opt->value, "FILE") == 0 || strcmp(opt->value, "DIR") == 0)
        out_printf(p->out, opt->value[0] == 'F' ? ":files\n" : ":dirs\n");
    else if (opt->kind != OPT_CHOICE)
        completion_values(opt, offer_name, p);
}

static void offer_options(const struct place *p, const struct opt *opt)
{
    for (; opt && opt->name; opt++) {
        const char name[] = {'-', opt->letter, '\0'};
        char full[64];
        snprintf(full, sizeof full, "--%s", opt->name);
        offer(p, full, opt->help);
        if (opt->letter)
            offer(p, name, opt->help);
    }
}

// The command's options, or those of the subcommands that run without being named.
static const struct opt *own_options(const struct command *command, size_t which)
{
    while (which == 0 && command->subcommands)
        command = command->subcommands[0];
    return which == 0               ? command->options
           : command->with_argument ? command->with_argument->options
                                    : NULL;
}

static void read_words(struct place *p, const struct command *bare, int count, char **words)
{
    for (int i = 0; i + 1 < count; i++) {
        const struct command *command = p->command ? p->command : bare;
        const struct opt *const tables[] = {cmd_common_options, NULL};
        const struct opt *opt = opt_find(tables, words[i]);
        for (size_t k = 0; k < 2 && !opt; k++) {
            const struct opt *const own[] = {own_options(command, k), NULL};
            opt = opt_find(own, words[i]);
        }
        bool valued = opt && opt->kind != OPT_FLAG && !opt->takes && !strchr(words[i], '=');
        i += valued && strcmp(words[i + 1], "=") == 0 && i + 2 < count;
        if (valued && i + 2 == count)
            p->value_of = opt;
        i += valued;
        for (size_t k = 0; !valued && p->next && p->next[k]; k++)
            if (strcmp(cmd_word(p->next[k]), words[i]) == 0) {
                p->command = p->next[k];
                p->next = p->command->subcommands;
                break;
            }
    }
}

void cmd_complete(struct out *out, const struct command *const *commands, int count, char **words)
{
    const char *word = count > 0 ? words[count - 1] : "";
    struct place p = {out,  NULL, commands + 1,
                      NULL, word, strcmp(word, "=") == 0 ? word + 1 : word};
    p.before = p.word;
    for (int i = 0; i + 1 < count; i++)
        if (strcmp(words[i], "--") == 0) { // another program's words
            out_printf(out, ":files\n");
            return;
        }
    read_words(&p, commands[0], count, words);
    const struct command *command = p.command ? p.command : commands[0];
    const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    for (size_t k = 0; equals && k < 3; k++) {
        const struct opt *const table[] = {k == 2 ? cmd_common_options : own_options(command, k),
                                           NULL};
        p.value_of = p.value_of ? p.value_of : opt_find(table, word);
        p.word = equals + 1;
    }
    if (p.value_of) {
        offer_values(&p);
        return;
    }
    bool files = command->arguments && strstr(command->arguments, "FILE");
    bool options = *word == '-' || (p.command && !p.next && !files);
    for (size_t i = 0; p.next && p.next[i]; i++)
        offer(&p, cmd_word(p.next[i]), p.next[i]->summary);
    if (!p.command)
        offer(&p, "help", "how to use a command");
    else if (*word != '-')
        completion_arguments(command, word, offer_name, &p);
    for (size_t k = 0; options && k < 3; k++)
        offer_options(&p, k == 2 ? cmd_common_options : own_options(command, k));
    if (!options && files)
        out_printf(out, ":files\n");
}
