// SPDX-License-Identifier: Apache-2.0
// What schedulers answer: frames in logs, lines of squeue, sinfo and kubectl, SkyPilot's JSON, and
// the settings of --on. The first byte chooses.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "fleet/queues.h"
#include "fleet/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Any bytes go through a frame; and a log gives back no more than it holds.
static void frames(const char *text, size_t len)
{
    struct buf frame = {0}, back = {0};
    if (frame_read(text, len, "k", &back))
        assert(back.len < len);
    buf_reset(&back);
    frame_write(&frame, "k", text, len);
    assert(frame_read(buf_str(&frame), frame.len, "k", &back) == (len > 0));
    assert(back.len == len && memcmp(buf_str(&back), text, len) == 0);
    buf_release(&frame);
    buf_release(&back);
}

static void pairs(const char *text, size_t len)
{
    struct slurm_pairs found = {0};
    struct err err = {0};
    assert(slurm_pairs_read(&found, "queue", text, len, &err) == 0);
    for (size_t i = 0; i < found.count; i++)
        assert(slurm_pairs_find(&found, found.items[i].key) &&
               !strpbrk(found.items[i].value, " '\"$;\n"));
    slurm_pairs_release(&found);
}

static int count_type(void *arg, const char *value, struct err *err)
{
    (void)err;
    ++*(size_t *)arg;
    assert(!strchr(value, '\n') && !strchr(value, ','));
    return 0;
}

static void settings(const char *text)
{
    struct place_words words;
    struct err err = {0};
    if (place_words_read(&words, "k8s", text, k8s_keys, &err) == 0) {
        for (size_t i = 0; i < K8S_KEYS; i++)
            assert(!words.values[i] || (*words.values[i] && !strchr(words.values[i], ',')));
        if (k8s_check(&words, &err) == 0)
            assert(!words.values[K8S_GPU] || !strpbrk(words.values[K8S_GPU], " '\"$"));
        place_words_release(&words);
    }
}

static void yaml(const char *text)
{
    struct buf out = {0};
    struct err err = {0};
    bool good = utf8_bad(text, strlen(text)) == strlen(text);
    assert((yaml_quote(&out, text, &err) == 0) == good);
    assert(!good || !strpbrk(buf_str(&out), "\n\r\t"));
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = malloc(size), status[24];
    size_t len = size - 1, count = 0;
    struct k8s_pod pod;
    struct err err = {0};
    struct buf words = {0};
    bool limit;
    assert(text);
    memcpy(text, data + 1, len);
    text[len] = '\0';
    switch (data[0] % 6) {
    case 0:
        frames(text, len);
        break;
    case 1:
        pairs(text, len);
        break;
    case 2:
        assert(slurm_types(text, data[0] & 8, count_type, &count, &err) == 0);
        break;
    case 3:
        if (k8s_pod_read(text, len, &pod))
            k8s_meaning(&pod, 0, &limit, &words);
        break;
    case 4:
        sky_status(text, "c", status);
        sky_enabled(text, "aws");
        yaml(text);
        break;
    default:
        settings(text);
    }
    buf_release(&words);
    free(text);
    return 0;
}
