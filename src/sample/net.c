// SPDX-License-Identifier: Apache-2.0
// Bytes received and sent by the machine: /proc/net/dev. A bridge and its card count the same
// bytes, so only interfaces with a device count; if none has one (in a container), all but the
// loopback.
#include <string.h>

#include "sample/proc_file.h"
#include "sample/source.h"

#define INTERFACES_MAX 64
#define NAME_BYTES     16 // IFNAMSIZ

struct interface {
    char name[NAME_BYTES];
    int64_t last[2]; // counters: in, out
};

struct net {
    struct proc_file dev;
    bool devices_only;
    int count;
    struct interface all[INTERFACES_MAX];
    int64_t sum[2];
    char text[16384];
};

// "  eth0: 1234 ...": the name, and the start of the numbers; null for other lines.
static const char *line_name(const char *line, char name[NAME_BYTES])
{
    while (*line == ' ')
        line++;
    size_t len = strcspn(line, ": \n");
    if (line[len] != ':' || len == 0 || len >= NAME_BYTES)
        return NULL;
    memcpy(name, line, len);
    name[len] = '\0';
    return strcmp(name, "lo") == 0 || strchr(name, '/') ? NULL : line + len + 1;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

static struct interface *find(struct net *net, const char *name)
{
    for (int i = 0; i < net->count; i++)
        if (strcmp(net->all[i].name, name) == 0)
            return &net->all[i];
    return NULL;
}

static int net_open(void *state, struct place *place, struct err *err)
{
    struct net *net = state;
    (void)err;
    if (!proc_file_open(&net->dev, &place->tree, "/proc/net/dev") ||
        proc_file_read(&net->dev, net->text, sizeof net->text) == 0)
        return ERR_MISSING;
    char name[NAME_BYTES];
    for (const char *line = net->text; *line && net->count < INTERFACES_MAX; line = next_line(line))
        if (line_name(line, name) && tree_exists(&place->tree, "/sys/class/net/%s/device", name))
            memcpy(net->all[net->count++].name, name, sizeof name);
    net->devices_only = net->count > 0;
    for (int i = 0; i < net->count; i++)
        net->all[i].last[0] = net->all[i].last[1] = INT64_MAX; // nothing counted yet
    return 0;
}

// A counter that went back was reset to zero.
static void count(struct net *net, struct interface *at, const int64_t now[2])
{
    for (int i = 0; i < 2; i++) {
        if (at->last[i] != INT64_MAX)
            net->sum[i] += now[i] >= at->last[i] ? now[i] - at->last[i] : now[i];
        at->last[i] = now[i];
    }
}

static void net_read(void *state, struct place *place, struct reading *reading)
{
    struct net *net = state;
    (void)place;
    if (proc_file_read(&net->dev, net->text, sizeof net->text) == 0)
        return;
    for (const char *line = net->text; *line; line = next_line(line)) {
        char name[NAME_BYTES];
        const char *at = line_name(line, name);
        int64_t v[9] = {0}; // bytes in, seven other counts, bytes out
        int fields = 0;
        while (at && fields < 9 && text_number(&at, &v[fields]))
            fields++;
        if (fields < 9)
            continue;
        struct interface *known = find(net, name);
        if (!known && !net->devices_only && net->count < INTERFACES_MAX) {
            known = &net->all[net->count++];
            memcpy(known->name, name, sizeof name);
            known->last[0] = known->last[1] = INT64_MAX;
        }
        if (known && v[0] >= 0 && v[0] <= COUNT_MAX && v[8] >= 0 && v[8] <= COUNT_MAX)
            count(net, known, (const int64_t[]){v[0], v[8]});
    }
    reading->network_in_bytes = some_int(net->sum[0]);
    reading->network_out_bytes = some_int(net->sum[1]);
}

static void net_close(void *state)
{
    proc_file_close(&((struct net *)state)->dev);
}

const struct source source_net = {
    .name = "net",
    .lane = LANE_HOST,
    .size = sizeof(struct net),
    .open = net_open,
    .read = net_read,
    .close = net_close,
};
