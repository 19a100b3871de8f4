// SPDX-License-Identifier: Apache-2.0
// frame: from argv to an exit code.
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/money.h"
#include "bill/run_price.h"
#include "book/renew.h"
#include "cmd/cmd.h"
#include "cmd/values.h"
#include "record/run.h"

static const char *const color_choices[] = {"auto", "always", "never", NULL};

#define AT(member) offsetof(struct cmd_common, member)
const struct opt cmd_common_options[] = {
    {"json", 0, OPT_FLAG, NULL, NULL, AT(json), "Output",
     "print one JSON object instead of text (docs/json.md describes its keys)"},
    {"color", 0, OPT_CHOICE, "WHEN", color_choices, AT(color), "Output",
     "colours: auto (on a terminal, unless NO_COLOR is set), always or never"},
    {"help", 'h', OPT_FLAG, NULL, NULL, AT(help), "Output", "print this help"},
    {NULL},
};
#undef AT

void cmd_tables(const struct command *command, const struct opt *tables[3])
{
    while (command->subcommands)
        command = command->subcommands[0];
    static const struct opt none[] = {{NULL}};
    tables[0] = command->options ? command->options : none;
    tables[1] = cmd_common_options;
    tables[2] = NULL;
}

const char *cmd_word(const struct command *command)
{
    const char *space = strrchr(command->name, ' ');
    return space ? space + 1 : command->name;
}

int cmd_exit_code(int rc)
{
    return rc == 0 ? 0 : rc == ERR_USAGE ? 2 : rc == ERR_KEPT ? 74 : 1;
}

static int complain(const struct err *err, int rc)
{
    out_complain(err->text[0] ? err->text : "failed");
    out_complain(err->hint);
    return cmd_exit_code(rc);
}

static const struct command *by_word(const struct command *const *commands, const char *word)
{
    for (; *commands; commands++)
        if (strcmp(cmd_word(*commands), word) == 0)
            return *commands;
    return NULL;
}

// Most people's first try.
static bool is_training(const char *name)
{
    const char *end = strrchr(name, '.');
    return strchr(name, '/') || strncmp(name, "python", 6) == 0 || strcmp(name, "torchrun") == 0 ||
           (end && (strcmp(end, ".py") == 0 || strcmp(end, ".sh") == 0));
}

static int not_a_command(const struct command *const *commands, const char *name, struct err *err)
{
    const char *names[32] = {"help"};
    for (size_t i = 1; commands[i] && i < 31; i++)
        names[i] = commands[i]->name;
    err_set(err, ERR_USAGE, "'%s' is not a command", name);
    const char *nearest = opt_nearest(name, names);
    if (is_training(name))
        err_hint(err, "put a command of your own after '--': fare -- python train.py");
    else if (nearest)
        err_hint(err, "did you mean 'fare %s'? 'fare --help' lists them all", nearest);
    return err_hint(err, "'fare --help' lists the commands");
}

static const char *name_of(const struct command *command)
{
    return command->name ? command->name : "";
}

static const char *space_before(const struct command *command)
{
    return command->name ? " " : "";
}

static int check_rest(const struct command *command, const struct opt_rest *rest, struct err *err)
{
    const char *name = name_of(command), *space = space_before(command);
    if (rest->count > command->max_args) {
        err_set(err, ERR_USAGE, "'fare%s%s' does not take the argument '%s'", space, name,
                rest->args[command->max_args]);
        if (command->too_many)
            err_hint(err, "%s", command->too_many);
    } else if (rest->command && !command->takes_command) {
        err_set(err, ERR_USAGE, "'fare%s%s' takes nothing after '--'", space, name);
    } else {
        return 0;
    }
    return err_hint(err, "'fare%s%s --help' shows how it is used", space, name);
}

// The command or subcommand below `command` that has the option `arg` and is not `but`.
static const struct command *owner_of(const struct command *command, const char *arg,
                                      const struct command *but, const struct opt **opt)
{
    const struct command *found = NULL;
    if (!command->subcommands) {
        const struct opt *const tables[] = {command->options, NULL};
        *opt = command != but ? opt_find(tables, arg) : NULL;
        return *opt ? command : NULL;
    }
    for (size_t i = 0; command->subcommands[i] && !found; i++)
        found = owner_of(command->subcommands[i], arg, but, opt);
    return found;
}

// Whether the argument after `arg` is its value in any of the subcommands: the one that is meant is
// not known yet.
static bool takes_next(const struct command *command, const char *arg)
{
    const struct opt *const common[] = {cmd_common_options, NULL};
    if (strncmp(arg, "--", 2) == 0 && strchr(arg, '='))
        return false;
    for (const char *p = arg + 1; *p; p++) { // of "-an" each letter
        char letter[] = {'-', *p, '\0'};
        const char *option = arg[1] == '-' ? arg : letter;
        const struct opt *opt = opt_find(common, option);
        if (!opt)
            owner_of(command, option, NULL, &opt);
        if (arg[1] == '-' || (opt && opt->kind != OPT_FLAG))
            return opt && opt->kind != OPT_FLAG && (arg[1] == '-' || p[1] == '\0');
    }
    return false;
}

// The index of the first argument that is not an option, or below 0.
static int first_word(const struct command *command, int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (argv[i][0] != '-' || argv[i][1] == '\0')
            return i;
        i += takes_next(command, argv[i]);
    }
    return -1;
}

// The subcommand that is named or implied. Removes its name from argv; `*named` is the last one
// named.
static const struct command *descend(const struct command *command, int *argc, char **argv,
                                     const struct command **named)
{
    *named = command;
    while (command->subcommands) {
        int at = first_word(command, *argc, argv);
        const struct command *sub = at >= 0 ? by_word(command->subcommands, argv[at]) : NULL;
        if (sub) {
            memmove(argv + at, argv + at + 1, (size_t)(*argc - at) * sizeof *argv);
            --*argc;
            *named = sub;
        } else if (at >= 0 && command->with_argument) {
            sub = command->with_argument;
        }
        command = sub ? sub : command->subcommands[0];
    }
    return command;
}

// An option of a sibling is a better hint than one with a similar name.
static void hint_sibling(const struct command *top, const struct command *command, int argc,
                         char **argv, struct err *err)
{
    const struct opt *tables[3], *opt;
    cmd_tables(command, tables);
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--", 2) != 0 || opt_find(tables, argv[i]))
            continue;
        const struct command *owner = owner_of(top, argv[i], command, &opt);
        if (owner) {
            err->hint[0] = '\0';
            err_hint(err, "'--%s' is an option of 'fare %s'", opt->name, owner->name);
        }
        return;
    }
}

// The value of a text option, which the command need not have.
static const char *text_of(const struct opt *const *tables, const void *options, const char *option)
{
    const struct opt *opt = opt_find(tables, option);
    return opt ? *(const char *const *)((const char *)options + opt->at) : NULL;
}

// Parses the rest of the line with the command's own tables and runs it. `given` are the common
// options before the command's name.
static int run_command(const struct command *const *commands, const struct command *top,
                       const struct cmd_common *given, int argc, char **argv, int *code,
                       struct err *err)
{
    const struct command *named;
    const struct command *command = descend(top, &argc, argv, &named);
    const struct opt *tables[3];
    cmd_tables(command, tables);
    struct opt_rest rest = {0};
    struct out out = {0};
    struct desk desk = {0};
    SCOPED(free_pointer)
    struct cmd_common *options =
        calloc(1, command->options_size ? command->options_size : sizeof *options);
    if (!options)
        return err_memory(err);
    if (command->defaults)
        memcpy(options, command->defaults, command->options_size);
    *options = *given;

    int rc = opt_parse(tables, argc, argv, options, false, &rest, NULL, err);
    if (rc == ERR_USAGE)
        hint_sibling(top, command, argc, argv, err);
    if (rc != 0)
        err_hint(err, "'fare%s%s --help' lists the options", space_before(named), name_of(named));
    if (rest.renamed)
        out_complain(
            short_text("--%s is now called --%s; the old name works until the next release",
                       rest.renamed->was, rest.renamed->name)
                .s);
    out_init(&out, options->color);
    if (rc == 0 && options->help) {
        cmd_help(&out, commands, named);
    } else if (rc == 0) {
        rc = check_rest(command, &rest, err);
        if (rc == 0)
            rc = desk_open(&desk, text_of(tables, options, "--ledger"),
                           text_of(tables, options, "--book"), err);
        const struct cmd_call call = {commands, options, &rest, &out, &desk, code};
        if (rc == 0)
            rc = command->run(&call, err);
        if (rc == 0)
            rc = buf_lost(err);
    }
    // Output from before a failure is still worth reading.
    int written = out_write(&out, err);
    if (rc == 0)
        rc = written;
    out_release(&out);
    desk_close(&desk);
    opt_release(tables, options, &rest);
    return rc;
}

static int complete(const struct command *const *commands, int argc, char **argv, struct err *err)
{
    struct out out;
    out_init(&out, "never");
    cmd_complete(&out, commands, argc, argv);
    int rc = out_write(&out, err);
    out_release(&out);
    return rc;
}

static int misplaced(const char *option, const char *command, struct err *err)
{
    err_set(err, ERR_USAGE, "'%s' is before the command", option);
    return err_hint(err, "put it after the command: fare %s %s", command, option);
}

// Finds the command after any common options. `fare help X` is `fare X --help`.
static int dispatch(const struct command *const *commands, int argc, char **argv, int *code,
                    struct err *err)
{
    const struct opt *tables[2] = {cmd_common_options, NULL};
    const struct opt *const bares[2] = {commands[0]->options, NULL};
    struct cmd_common given = {0};
    struct opt_rest rest = {0};
    struct err ignored = {0};
    if (argc > 0 && strcmp(argv[0], "--complete") == 0)
        return complete(commands, argc - 1, argv + 1, err);
    int used = 0;
    // If only bare fare knows the option, the whole line is for bare fare.
    int rc = opt_parse(tables, argc, argv, &given, true, &rest, &used, &ignored);
    bool bare = rc != 0 || rest.command || used == argc;
    opt_release(tables, &given, &rest);
    if (rc == ERR_MEMORY)
        return err_memory(err);
    if (bare) {
        // An option before the command's name is most likely the command's.
        for (int i = 1; rc != 0 && i < argc && strcmp(argv[i], "--") != 0; i++)
            if (by_word(commands + 1, argv[i]) && opt_find(bares, argv[0]))
                return misplaced(argv[0], argv[i], err);
        return run_command(commands, commands[0], &(struct cmd_common){0}, argc, argv, code, err);
    }

    const char *name = argv[used++];
    if (strcmp(name, "help") == 0) {
        given.help = true;
        if (used == argc || strcmp(argv[used], "help") == 0)
            return run_command(commands, commands[0], &given, 0, NULL, code, err);
        name = argv[used++];
    }
    const struct command *command = by_word(commands + 1, name);
    if (!command)
        return not_a_command(commands, name, err);
    return run_command(commands, command, &given, argc - used, argv + used, code, err);
}

// A program started with a closed stdin, stdout or stderr would open its first file there. Put
// something in place that fails on writing, so that lost output is still an error.
static void fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", O_RDONLY) < 0)
            return;
}

static void say_damaged(void *arg, const char *id, const char *why)
{
    SCOPED(buf_release) struct buf line = {0};
    (void)arg;
    buf_printf(&line, "run %s is damaged and left out: %s", id, why);
    out_complain(buf_str(&line));
}

int cmd_main(const struct command *const *commands, int argc, char **argv)
{
    struct err err = {0};
    prctl(PR_SET_NAME, "fare"); // in the bundle the kernel only knows the loader's name
    // A closed pipe and a file at its size limit are errors of write(), reported like any other.
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); // if a parent ignored it, waitpid() would not work
    fill_standard_descriptors();
    ledger_on_damage(say_damaged, NULL);
    run_correct_costs(run_cost_again);
    int skip = argc > 0; // exec() can start a program without even its own name
    int code = 0;
    int rc = dispatch(commands, argc - skip, argv + skip, &code, &err);
    int failed = rc == 0 ? 0 : complain(&err, rc);
    return code != 0 ? code : failed;
}

// ---- values of options

#define DAY_S INT64_C(86400)

const char *const value_rules[] = {"paid", "prorated", NULL};
const char *const value_compare_rules[] = {"paid", "prorated", "published", NULL};

int value_day(const char *text, int *day, struct err *err)
{
    int64_t date_s = 0;
    if (!text)
        return 0;
    if (!clock_parse(text, &date_s) || date_s < DAY_S)
        return word_bad("--date", text, "a date such as 2026-11-01", err);
    *day = (int)(date_s / DAY_S);
    return 0;
}

int value_format(bool json, const char *format, const char *otherwise, const char **out,
                 struct err *err)
{
    *out = json ? "json" : format ? format : otherwise;
    if (json && format && strcmp(format, "json") != 0)
        return err_set(err, ERR_USAGE, "--json and '--format %s' exclude each other", format);
    return 0;
}

// "4.5%" in hundredths of a per cent.
static int read_interest(const char *text, int64_t *interest, struct err *err)
{
    char number[24];
    int64_t nano = 0;
    if (!text)
        return 0;
    snprintf(number, sizeof number, "%.*s", (int)strcspn(text, "%"), text);
    if (strcspn(text, "%") + 1 < strlen(text) || money_parse(number, &nano, NULL) != 0 ||
        nano < 0 || nano > 1000 * MONEY_UNIT)
        return word_bad("--interest", text, "a percentage such as 5%", err);
    *interest = nano / (MONEY_UNIT / 100);
    return 0;
}

int value_power(const struct power_options *o, struct power_given *given, struct err *err)
{
    *given = POWER_NOT_GIVEN;
    if (o->watts >= 1000000)
        return err_set(err, ERR_USAGE, "'--watts' takes less than a million");
    if (o->watts >= 0)
        given->busy_mw = o->watts * 1000;
    return word_amount("--kwh", o->kwh, &given->kwh, err);
}

int value_own(const struct own_options *o, bool power_alone, struct own_machine *own,
              struct err *err)
{
    int64_t hours = o->hours_per_month;
    if (hours > 720)
        return err_set(err, ERR_USAGE, "'--hours-per-month' takes 1 to 720: a month of 30 days");
    if (o->life > 1200)
        return err_set(err, ERR_USAGE, "'--life' takes 1 to 1200 months");
    if (o->watts >= 1000000 || o->idle_watts >= 1000000)
        return err_set(err, ERR_USAGE, "'--watts' and '--idle-watts' take less than a million");
    *own = (struct own_machine){.life_months = o->life,
                                .use_s_a_month = hours > 0 ? hours * 3600 : 30 * DAY_S,
                                .busy_mw = o->watts >= 0 ? o->watts * 1000 : -1,
                                .idle_mw = o->idle_watts >= 0 ? o->idle_watts * 1000 : -1,
                                .kwh = -1};
    TRY(word_amount("--buy", o->buy, &own->purchase, err));
    TRY(word_amount("--resale", o->resale, &own->resale, err));
    TRY(word_amount("--kwh", o->kwh, &own->kwh, err));
    TRY(read_interest(o->interest, &own->interest, err));
    const char *alone = o->resale            ? "resale"
                        : o->interest        ? "interest"
                        : power_alone        ? NULL
                        : o->kwh             ? "kwh"
                        : o->watts >= 0      ? "watts"
                        : o->idle_watts >= 0 ? "idle-watts"
                                             : NULL;
    if (alone && !o->buy)
        TRY(err_set(err, ERR_USAGE, "--%s describes a machine to buy: it needs --buy USD", alone));
    return 0;
}

// ---- current prices

// In one line, when it begins.
static void say_renewal(size_t sources)
{
    SCOPED(buf_release) struct buf line = {0};
    buf_printf(&line,
               "fetching current prices from %zu public source%s (never with FARE_OFFLINE=1)\n",
               sources, sources == 1 ? "" : "s");
    out_complain(buf_str(&line));
}

int prices_renew(const char *book, const char *date, struct err *err)
{
    return book || date ? 0 : renewal_soon(say_renewal, err);
}
