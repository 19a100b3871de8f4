// SPDX-License-Identifier: Apache-2.0
// A command measured with every allocation of ours failing in turn: an error each time, nothing
// leaked, nothing left running.
#include "oom.h"

#include <unistd.h>

#include "measure/command.h"
#include "measure/measure.h"

TEST(commands)
{
    char sh[] = "sh", c[] = "-c";
    char script[] = "for i in 1 2 3; do echo \"{\\\"step\\\": $i, \\\"epoch\\\": $i}\" "
                    ">>\"$FARE_EVENTS\"; done";
    char *argv[] = {sh, c, script, NULL};
    const struct measure_options told = {
        .step_pattern = "x\\d", .total_epochs = 9, .grace_ns = 1000000};
    const struct command_options options = {.argv = argv, .output_to_stderr = true};
    OOM_EACH
    {
        struct err err = {0};
        struct run run = {0};
        struct buf says = {0};
        struct session session = {.o = &told, .run = &run, .says = &says};
        int rc = command_run(&options, &session, &err);
        OOM_EXPECT(rc, &err);
        assert_int_equal(session.exit_code, 0);
        session_release(&session);
        buf_release(&says);
        record_release(run_fields, &run);
    }
}
