// SPDX-License-Identifier: Apache-2.0
// When this machine was ready for work after its start, by the first of these that tells it:
// cloud-init, which finished; the boot target, which was reached (systemd and SysV init note the
// runlevel in utmp); sshd, which was started. All are files: nobody is asked. If none tells it, it
// is unknown; the time since the start is no substitute.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <utmp.h>

#include "base/clock.h"
#include "machine/probe.h"

// The final stage's end in cloud-init's status, such as 1522066383.56594; 0: not yet, or unknown.
static int64_t by_cloud_init(struct tree *tree, struct buf *text)
{
    if (!tree_text(tree, text, "/run/cloud-init/status.json"))
        return 0;
    json_t *status = json_loads(buf_str(text), 0, NULL);
    const json_t *last = json_object_get(json_object_get(status, "v1"), "modules-final");
    double finished = json_number_value(json_object_get(last, "finished"));
    json_decref(status);
    return finished > 0 && finished < 9e9 ? (int64_t)finished : 0;
}

static int64_t by_runlevel(struct tree *tree, struct buf *text)
{
    struct utmp entry;
    if (!tree_text(tree, text, "/run/utmp"))
        return 0;
    for (size_t at = 0; at + sizeof entry <= text->len; at += sizeof entry) {
        memcpy(&entry, text->data + at, sizeof entry);
        if (entry.ut_type == RUN_LVL)
            return (int64_t)entry.ut_tv.tv_sec;
    }
    return 0;
}

// The 22nd value of /proc/PID/stat, the 20th after the name: its start in hundredths of a second
// since the kernel's.
static int64_t by_sshd(struct tree *tree, struct buf *text, int64_t booted_s)
{
    int64_t pid;
    if (booted_s <= 0 || !tree_int(tree, &pid, "/run/sshd.pid") ||
        !tree_text(tree, text, "/proc/%lld/stat", (long long)pid))
        return 0;
    const char *name = strstr(buf_str(text), " (sshd) "), *at = name ? name + 8 : "";
    for (int i = 1; i < 20; i++) {
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    long long ticks = strtoll(at, NULL, 10);
    return ticks > 0 && ticks < (1LL << 40) ? booted_s + ticks / 100 : 0;
}

int probe_ready(struct probe *probe, struct machine_system *system, struct err *err)
{
    static const char *const names[] = {"cloud-init", "boot target", "sshd"};
    struct buf text = {0};
    char date[CLOCK_ISO_BYTES];
    int64_t booted_s = 0, ready_s[3] = {0};
    if (system->container && strcmp(system->container, "none") != 0)
        return 0; // these files would be the container's
    if (system->booted_at && !clock_parse(system->booted_at, &booted_s))
        booted_s = 0;
    // While cloud-init works, the machine is not ready, whatever else is.
    ready_s[0] = by_cloud_init(&probe->tree, &text);
    if (ready_s[0] == 0 && !tree_exists(&probe->tree, "/run/cloud-init/status.json")) {
        ready_s[1] = by_runlevel(&probe->tree, &text);
        if (ready_s[1] == 0)
            ready_s[2] = by_sshd(&probe->tree, &text, booted_s);
    }
    buf_release(&text);
    for (int i = 0; i < 3; i++)
        if (ready_s[i] > 0 && ready_s[i] >= booted_s) { // else that of an earlier start
            clock_iso(ready_s[i], date);
            TRY(text_set(&system->ready_at, date, err));
            return text_set(&system->ready_by, names[i], err);
        }
    return 0;
}
