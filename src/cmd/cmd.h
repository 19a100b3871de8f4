// SPDX-License-Identifier: Apache-2.0
// cmd: the frame around the commands.
//
// A command is one file cmd/NAME.c that ends in one `const struct command`, and one row in
// main.c's table. It has options or a table of subcommands, which are commands too. The tables
// drive parsing, --help, the man page and the completions.
//
// Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a gate was missed, or that of the user's command.
// Every message on stderr starts with "fare: ".
#ifndef FARE_CMD_CMD_H
#define FARE_CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/opt.h"
#include "cmd/out.h"
#include "bill/market.h"

// The first member of every command's options.
struct cmd_common {
    bool help;
    bool json;
    const char *color;
};
extern const struct opt cmd_common_options[];

struct cmd_example {
    const char *line; // "fare check --json"; null ends the list
    const char *what; // "for scripts: one JSON object"
};

// An environment variable a command reads, for the manual.
struct cmd_variable {
    const char *name; // null ends the list
    const char *help;
};

struct cmd_call {
    const struct command *const *commands; // the whole table
    const void *options;                   // the command's own struct, filled
    const struct opt_rest *rest;
    struct out *out;
    struct desk *desk; // with the ledger and the prices of --ledger and --book, if it has them
    int *exit_code;    // 0, or the exit code of the user's own command that was run
};

struct command {
    const char *name;      // "runs import": with those above it; null: bare fare
    const char *group;     // heading in the list of commands; only for rows of main.c's table
    const char *summary;   // one line, no full stop
    const char *arguments; // (optional) for the usage line: "[RUN...]"
    const char *about;     // (optional) a paragraph for --help and the manual, beyond the summary
    // (optional) null-terminated. Options, arguments and run() are then theirs. Without a name the
    // first one runs; with another word `with_argument` (default: the first too).
    const struct command *const *subcommands;
    const struct command *with_argument;
    const struct opt *options; // (optional) beyond the common ones
    size_t options_size;       // of the struct that begins with struct cmd_common; 0: that alone
    // (optional) such a struct with the defaults. Numbers for which 0 is a possible value are -1.
    const void *defaults;
    size_t max_args;      // more are an error
    const char *too_many; // (optional) hint if there are more
    bool takes_command;   // whether "-- CMD ..." is allowed
    const struct cmd_example *examples;
    // (optional) environment variables it reads, beyond NO_COLOR
    const struct cmd_variable *variables;
    // 0 or a negative code with `err` set; prints into call->out only.
    int (*run)(const struct cmd_call *call, struct err *err);
};

// The program: finds the command, parses, runs, writes, returns the exit code. commands[0] is
// bare fare; the table ends with null.
int cmd_main(const struct command *const *commands, int argc, char **argv);

// The exit code of a command that ended with `rc`: 0, 1, 2 for wrong use, 74 for saved work that
// cannot be used.
int cmd_exit_code(int rc);

// The option tables of a command, its own and the common ones, for opt_parse(). For a command with
// subcommands, those of the first.
void cmd_tables(const struct command *command, const struct opt *tables[3]);

// The last word of its name.
const char *cmd_word(const struct command *command);

// An option's help, with its choices if they come from a registry, and the name it had before.
void cmd_option_help(const struct opt *opt, struct buf *out);

// From the tables (help.c, manual.c, completion.c).
void cmd_help(struct out *out, const struct command *const *commands,
              const struct command *command);
void cmd_manual(struct out *out, const struct command *const *commands);
void cmd_completion(struct out *out, const char *shell);
void cmd_complete(struct out *out, const struct command *const *commands, int count, char **words);

// Writes the whole file or none of it; to `out` if the path is "-" or null (report.c).
int report_write(struct out *out, const char *path, const struct buf *text,
                 struct err *err) MUST_USE;

// The commands.
extern const struct command cmd_bare, cmd_check, cmd_compare, cmd_cron, cmd_prices, cmd_quote,
    cmd_report, cmd_run, cmd_runs, cmd_serve, cmd_workloads;

#endif
