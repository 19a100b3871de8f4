// SPDX-License-Identifier: Apache-2.0
// opt: command-line options as a table.
//
// One table per command drives parsing, help, the man page and shell completion. Values land in
// the command's own struct, at the offset each row names; defaults are the values it held
// before. Texts point into argv. Options may stand before, between and after other arguments;
// "--name=value", "--name value", "-n value", "-nvalue" and "-ab" (two flags) are understood,
// abbreviations are not: they break scripts when an option is added.
#ifndef FARE_BASE_OPT_H
#define FARE_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum opt_kind {
    OPT_FLAG,     // bool
    OPT_TEXT,     // const char *
    OPT_TEXTS,    // struct opt_texts; may be given several times
    OPT_CHOICE,   // const char *, one of `choices` or of `choice`
    OPT_COUNT,    // int64_t, `least` or more
    OPT_DURATION, // int64_t, nanoseconds: 3w, 30d, 1h30m, 90s, 250ms; `least` or more
    OPT_BYTES,    // int64_t: 512, 64K, 100GB (1000s), 16GiB (1024s); `least` or more
};

struct opt_texts {
    const char **items;
    size_t count;
};

struct opt {
    const char *name; // without the dashes; null ends a table
    char letter;      // 0: none
    enum opt_kind kind;
    const char *value;          // its name in help: "DIR"; files and folders are
                                // completed after FILE and DIR
    const char *const *choices; // OPT_CHOICE: null-terminated
    size_t at;
    const char *group; // heading in help; null: "Options"
    const char *help;  // one sentence, no full stop
    int least;         // of numbers, 0 or 1: smaller ones are refused. 1 where 0 makes no sense, or
                       // stands for an option that was not given
    const char *(*choice)(size_t i); // OPT_CHOICE: the words of a registry, null behind the last
    // (optional) OPT_TEXT: the value may be left out, and is then ""; whether the next word is it
    bool (*takes)(const char *next);
    int64_t bare_ns; // OPT_DURATION: the unit of a bare number; 0: seconds
    // (optional) its name in the release before, which still works; help and manual say so
    const char *was;
};

// The words an OPT_CHOICE takes; null behind the last.
const char *opt_choice(const struct opt *opt, size_t i);

// The arguments without the options: pointers into argv.
struct opt_rest {
    const char **args; // arguments; on the heap
    size_t count;
    char **command;            // the arguments after "--", null-terminated, or null
    const struct opt *renamed; // the last option given by the name that it had before, or null
};

// Parses argv[0..argc) with `tables` (a null-terminated list of tables whose offsets all count
// from `values`). With `leading`, stops before the first argument that is not an option and says
// in `*used` how many were taken. Errors are ERR_USAGE, with "did you mean" where something is
// near. On failure too, opt_release() must be called.
int opt_parse(const struct opt *const *tables, int argc, char **argv, void *values, bool leading,
              struct opt_rest *rest, int *used, struct err *err) MUST_USE;

// Sets one option, which errors call `name`: "--batch", or a page's parameter. Not for flags.
int opt_set(const struct opt *opt, const char *name, const char *text, void *values,
            struct err *err) MUST_USE;

// The option of the tables that `arg` ("--name", "--name=value", "-n") begins with, or null. A name
// that an option had before counts if none has it now.
const struct opt *opt_find(const struct opt *const *tables, const char *arg);

void opt_release(const struct opt *const *tables, void *values, struct opt_rest *rest);

// The entry of `words` (null-terminated) most likely meant by `word`, or null when none is near:
// one edit for short words, a third of the letters for long ones.
const char *opt_nearest(const char *word, const char *const *words);

#endif
