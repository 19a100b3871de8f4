// SPDX-License-Identifier: Apache-2.0
// completion: scripts for bash, zsh and fish (kept in share/completions/), and the program's
// answers to them. A script runs `fare --complete WORD...` with the words up to the cursor and gets
// a line for each that fits: the word, a tab, its description; or ":files" or ":dirs".
#include "cmd/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/tree.h"
#include "train/data/sets.h"
#include "bill/market.h"
#include "book/book.h"
#include "tables/device.h"
#include "record/read.h"
#include "train/workload/workload.h"

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

// ---- names: workloads, GPUs, offers, runs, data sets

typedef void completion_fn(void *context, const char *word, const char *help);
#define RUNS 50 // the newest

struct words {
    completion_fn *each;
    void *context;
    char last[256]; // offer
};

static void list_workloads(struct words *w)
{
    for (size_t i = 0; workloads[i]; i++)
        w->each(w->context, workloads[i]->name, workloads[i]->summary);
}

static void list_workloads_and_all(struct words *w)
{
    list_workloads(w);
    w->each(w->context, "all", "every workload");
}

static void list_data(struct words *w)
{
    for (const struct public_set *set = public_sets; set->name; set++)
        w->each(w->context, set->name, set->format);
}

static void list_gpus(struct words *w)
{
    struct devices *devices = NULL;
    const struct device *d;
    if (devices_open(&devices, NULL) != 0)
        return;
    for (size_t i = 0; (d = device_at(devices, i)); i++)
        if (d->vector_bits == 0) // no processor
            w->each(w->context, d->name, d->architecture);
    devices_close(devices);
}

// They come in the order of their names, once for each region.
static int add_offer(void *arg, const struct offer *offer, struct err *err)
{
    (void)err;
    struct words *w = arg;
    char name[sizeof w->last];
    snprintf(name, sizeof name, "%s/%s", offer->provider, offer->name);
    if (strcmp(name, w->last) == 0)
        return 0;
    memcpy(w->last, name, sizeof name);
    w->each(w->context, name, offer->gpu);
    return 0;
}

static void list_offers(struct words *w)
{
    struct book *book = NULL;
    const struct book_filter all = {0};
    if (book_open(&book, NULL, NULL) == 0)
        (void)!book_each(book, &all, add_offer, w, NULL);
    book_close(book);
}

static int add_run(void *arg, const char *id, const char *text, struct err *err)
{
    struct words *w = arg;
    SCOPED(run_release) struct run run = {0};
    TRY(record_from_text(run_fields, text, strlen(text), &run, err));
    w->each(w->context, id, run.name ? run.name : "");
    return 0;
}

// A database on another machine may be slow to answer.
static void list_runs(struct words *w)
{
    const char *where = getenv("FARE_LEDGER");
    const struct ledger_filter newest = {.limit = RUNS, .heads = true};
    struct ledger *ledger;
    struct desk desk;
    w->each(w->context, "last", "the newest");
    if (where && strstr(where, "://"))
        return;
    if (desk_open(&desk, NULL, NULL, NULL) == 0 && desk_ledger(&desk, &ledger, NULL) == 0)
        (void)!ledger_each(ledger, &newest, add_run, w, NULL);
    desk_close(&desk);
}

static void list_published(struct words *w)
{
    SCOPED(buf_release) struct buf share = {0}, names = {0};
    if (folder_share(&share, NULL) == 0) {
        struct tree tree = {.root = buf_str(&share)};
        char *cursor = tree_list(&tree, &names, "/published") ? names.data : NULL;
        for (char *name; cursor && (name = text_line(&cursor));) {
            char *end = strstr(name, ".jsonl");
            if (end)
                *end = '\0';
            if (end)
                w->each(w->context, name, "published results");
        }
    }
}

// The names that an option's value or a command's arguments can have; those that cannot be read are
// left out. `typed`: the beginning of the word; without one offers are no arguments, as they are
// thousands.
static void completion_values(const struct opt *opt, completion_fn *each, void *context)
{
    static const struct {
        const char *option, *value; // null: any
        void (*list)(struct words *words);
    } rows[] = {{"gpu", NULL, list_gpus},
                {"workload", NULL, list_workloads},
                {"published", "SET", list_published},
                {NULL, "OFFER", list_offers},
                {NULL, "OFFER|GPU", list_gpus},
                {NULL, "OFFER|GPU", list_offers},
                {NULL, "RUN", list_runs}};
    struct words words = {.each = each, .context = context};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((!rows[i].option || strcmp(rows[i].option, opt->name) == 0) && opt->value &&
            (!rows[i].value || strcmp(rows[i].value, opt->value) == 0))
            rows[i].list(&words);
}

static void completion_arguments(const struct command *command, const char *typed,
                                 completion_fn *each, void *context)
{
    static const struct {
        const char *command, *argument; // the beginning of its name, and a part of its arguments
        void (*list)(struct words *words);
        bool many; // only for a word that was begun
    } rows[] = {{"run", "NAME...|all", list_workloads_and_all, false},
                {"workloads data", "NAME", list_data, false},
                {"workloads", "NAME", list_workloads, false},
                {"", "WORKLOAD", list_workloads, false},
                {"", "RUN", list_runs, false},
                {"", "OFFER", list_offers, true}};
    struct words words = {.each = each, .context = context};
    if (!command->name || !command->arguments)
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strncmp(command->name, rows[i].command, strlen(rows[i].command)) != 0 ||
            !strstr(command->arguments, rows[i].argument) || (rows[i].many && !*typed))
            continue;
        rows[i].list(&words);
        if (*rows[i].command)
            return;
    }
}

// ---- answers

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
