// SPDX-License-Identifier: Apache-2.0
// The table of commands, and nothing else. The first row is bare `fare`, the main job.
#include "cmd/cmd.h"

static const struct command *const commands[] = {
    &cmd_bare,    &cmd_check,  &cmd_run,  &cmd_runs,   &cmd_workloads, &cmd_quote,
    &cmd_compare, &cmd_prices, &cmd_cron, &cmd_report, &cmd_serve,     NULL,
};

int main(int argc, char **argv)
{
    return cmd_main(commands, argc, argv);
}
