// SPDX-License-Identifier: Apache-2.0
// Plans, scripts and answers with their Nth allocation failing.
#include "fleet/plan.h"

#include "fleet/script.h"
#include "oom.h"

static char *command[] = {(char[]){"sh"}, (char[]){"{lr}"}, (char[]){"it's"}, NULL};

static int make(struct dispatch *d, struct places *places, struct sweep *sweep, struct err *err)
{
    TRY(sweep_add(sweep, "lr=1..3", err));
    TRY(target_parse("ssh:a,b=aws/x", places, err));
    const struct plan_what what = {.command = command, .sweep = sweep};
    TRY(TEXTS_SET(err, {&d->id, "abc"}, {&d->bundle.version, "1"}, {&d->bundle.sha256, "00"},
                  {&d->folder.file, "f"}, {&d->folder.sha256, "00"}));
    TRY(task_word_add(&d->arguments, "--max-time=1s", err));
    return plan_make(d, &what, places, err);
}

TEST(test_plan)
{
    OOM_EACH
    {
        struct err err = {0};
        struct dispatch d = {0};
        struct places places = {0};
        struct sweep sweep = {0};
        int rc = make(&d, &places, &sweep, &err);
        record_release(dispatch_fields, &d);
        places_release(&places);
        sweep_release(&sweep);
        OOM_EXPECT(rc, &err);
    }
}

TEST(test_prepare)
{
    struct err err = {0};
    struct dispatch d = {0};
    struct places places = {0};
    struct sweep sweep = {0};
    assert_ok(make(&d, &places, &sweep, &err), &err);
    struct fleet fleet = {&d, "/tmp"};
    struct task *task = &d.tasks.items[1];
    struct chosen chosen = {&task, 1};
    for (int verb = 0; verb < VERBS; verb++)
        OOM_EACH
        {
            struct err why = {0};
            struct call call = {0};
            int rc =
                target_ssh.prepare(&fleet, &places.items[1], (enum verb)verb, &chosen, &call, &why);
            if (rc == 0)
                rc = call_check(&call, &why);
            call_release(&call);
            OOM_EXPECT(rc, &why);
        }
    record_release(dispatch_fields, &d);
    places_release(&places);
    sweep_release(&sweep);
}

TEST(test_reply)
{
    static const char text[] =
        "fare-reply k ended 0 1 2\nfare-reply k record 3\n{}\nfare-reply k end\n";
    OOM_EACH
    {
        struct err err = {0};
        struct task_report report = {0};
        int rc = reply_read(text, sizeof text - 1, "k", &report, &err);
        task_report_release(&report);
        OOM_EXPECT(rc, &err);
    }
}
