// SPDX-License-Identifier: Apache-2.0
// bare: `fare` without a command, the main job. This is the one place that says what that is:
// for now, to check this machine. Also the options that belong to the program as a whole.
#include "cmd/cmd.h"

#include "cmd/check.h"
#include "version.h"

struct bare_options {
    struct cmd_common common;
    bool version;
    bool manual;
    bool json_keys;
    bool no_cloud;
    const char *completion;
};

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

#define AT(member) offsetof(struct bare_options, member)
static const struct opt options[] = {
    {"no-cloud", 0, OPT_FLAG, NULL, NULL, AT(no_cloud), NULL,
     "do not ask the cloud's metadata service where this machine is"},
    {"version", 'V', OPT_FLAG, NULL, NULL, AT(version), "About fare", "print the version"},
    {"man", 0, OPT_FLAG, NULL, NULL, AT(manual), "About fare",
     "print the manual page: fare --man | man -l -"},
    {"completion", 0, OPT_CHOICE, "SHELL", shells, AT(completion), "About fare",
     "print completions for bash, zsh or fish"},
    {"json-keys", 0, OPT_FLAG, NULL, NULL, AT(json_keys), "About fare",
     "print what the keys of --json mean, as a Markdown table"},
    {NULL},
};
#undef AT

static const struct cmd_example examples[] = {
    {"fare", "check this machine"},
    {"fare check --json", "the same for scripts"},
    {"source <(fare --completion bash)", "complete commands and options in this shell"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    {"FARE_LIBC", "If set to bundle, the bundle uses the C library it carries even where the "
                  "system's is newer"},
    {NULL, NULL},
};

static int run(const struct cmd_call *call, struct err *err)
{
    const struct bare_options *o = call->options;
    if (o->version) {
        out_printf(call->out, "fare %s (build %s)\n", FARE_VERSION, FARE_BUILD);
        return 0;
    }
    if (o->manual) {
        cmd_manual(call->out, call->commands);
        return 0;
    }
    if (o->completion) {
        cmd_completion(call->out, call->commands, o->completion);
        return 0;
    }
    if (o->json_keys) {
        record_document(machine_fields, "", &call->out->text);
        return 0;
    }
    const struct check_options check = {.common = o->common, .no_cloud = o->no_cloud};
    return check_run(&check, call->out, err);
}

const struct command cmd_bare = {
    .name = NULL,
    .group = "",
    .summary = "what a training run will cost, before you pay for it",
    .arguments = "",
    .about = "Run without a command, fare does its main job: it checks this machine, and says what "
             "will spoil a measurement or cost money.",
    .options = options,
    .options_size = sizeof(struct bare_options),
    .examples = examples,
    .variables = variables,
    .run = run,
};
