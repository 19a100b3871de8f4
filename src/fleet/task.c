// SPDX-License-Identifier: Apache-2.0
#include "fleet/task.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

const char *const task_states[] = {
    [TASK_WAITING] = "waiting", [TASK_STARTING] = "starting", [TASK_RUNNING] = "running",
    [TASK_DONE] = "done",       [TASK_FAILED] = "failed",     [TASK_CANCELLED] = "cancelled",
    [TASK_CANCELLED + 1] = NULL};

enum task_state task_state(const struct task *task)
{
    for (int i = 0; task->now.state && task_states[i]; i++)
        if (strcmp(task_states[i], task->now.state) == 0)
            return (enum task_state)i;
    return TASK_WAITING;
}

bool task_over(const struct task *task)
{
    return task_state(task) >= TASK_DONE;
}

bool task_begun(const struct task *task)
{
    enum task_state state = task_state(task);
    return state == TASK_STARTING || state == TASK_RUNNING;
}

bool task_unsettled(const struct task *task)
{
    return task->now.unsettled.known && task->now.unsettled.v;
}

bool task_left(const struct task *task)
{
    bool cleaned = task->now.cleaned.known && task->now.cleaned.v;
    return task_over(task) && task_state(task) != TASK_CANCELLED && !task_unsettled(task) &&
           task->now.attempts.v > 0 && !cleaned;
}

int task_set_state(struct task *task, enum task_state state, struct err *err)
{
    char date[CLOCK_ISO_BYTES];
    clock_iso(clock_date_s(), date);
    return TEXTS_SET(err, {&task->now.state, task_states[state]}, {&task->now.since, date});
}

void task_key(const struct dispatch *dispatch, const struct task *task, char out[TASK_KEY_BYTES])
{
    snprintf(out, TASK_KEY_BYTES, "%.12s-%lld-%lld", dispatch->id, (long long)task->number.v,
             (long long)task->now.attempts.v);
}

// ---- words

static void write_word(const char *word, struct buf *out)
{
    size_t len = strlen(word);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)word[i];
        bool plain = c > ' ' && c < 0x7F && c != '%';
        if (plain || (c == ' ' && i > 0 && i + 1 < len))
            buf_addc(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
    if (len == 0)
        buf_addc(out, '%');
}

int task_word_add(void *texts, const char *word, struct err *err)
{
    struct buf text = {0};
    write_word(word, &text);
    return texts_take(texts, &text, err);
}

int task_word_set(char **member, const char *word, struct err *err)
{
    struct buf text = {0};
    write_word(word, &text);
    return text_take(member, &text, err);
}

static int digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void task_word(const char *written, struct buf *out)
{
    for (const char *p = written; *p; p++) {
        int high = *p == '%' ? digit(p[1]) : -1, low = high >= 0 ? digit(p[2]) : -1;
        if (low >= 0 && (high | low) != 0) {
            buf_addc(out, (char)(high << 4 | low));
            p += 2;
        } else if (*p != '%') {
            buf_addc(out, *p);
        }
    }
}
