// SPDX-License-Identifier: Apache-2.0
// Any text as a run's record: what our reader takes, jansson takes, with the same result, and the
// other way round, but for keys given twice.
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "record/read.h"
#include "record/run.h"
#include "record/by_jansson.h"

static void to_text(const struct run *run, struct buf *out)
{
    struct err err = {0};
    assert(record_to_text(run_fields, run, out, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run ours = {0}, theirs = {0};
    struct err err = {0}, checked = {0}, their_err = {0};
    json_error_t why;
    int rc = record_from_text(run_fields, (const char *)data, size, &ours, &err);
    assert(record_from_text(run_fields, (const char *)data, size, NULL, &checked) == rc);
    assert(strcmp(err.text, checked.text) == 0);
    // Without the check of what is passed over, whatever the first takes is taken alike.
    struct run kept = {0};
    struct err kept_err = {0};
    int kept_rc = record_from_checked(run_fields, (const char *)data, size, &kept, &kept_err);
    assert(rc != 0 || kept_rc == 0);
    if (rc == 0) {
        struct buf a = {0}, b = {0};
        to_text(&ours, &a);
        to_text(&kept, &b);
        assert(a.len == b.len && memcmp(buf_str(&a), buf_str(&b), a.len) == 0);
        buf_release(&a);
        buf_release(&b);
    }
    record_release(run_fields, &kept);
    struct buf right = {0}, again = {0}; // what is corrected can be read, and stays so
    struct err correct_err = {0};
    assert(run_correct((const char *)data, size, &right, &correct_err) == 0);
    if (rc == 0 && right.len > 0)
        assert(record_from_text(run_fields, buf_str(&right), right.len, NULL, &correct_err) == 0);
    assert(run_correct(buf_str(&right), right.len, &again, &correct_err) == 0 && again.len == 0);
    buf_release(&right);
    buf_release(&again);
    json_t *json = json_loadb((const char *)data, size, 0, &why);
    int their_rc = json ? record_from_json(run_fields, json, &theirs, &their_err) : ERR_FORMAT;
    json_t *once = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, &why);
    bool nul = size > 0 && memchr(data, 0, size);
    assert(rc != 0 || their_rc == 0);
    assert(rc == 0 || their_rc != 0 || !once || nul);
    json_decref(once);
    if (rc == 0) {
        struct buf a = {0}, b = {0};
        to_text(&ours, &a);
        to_text(&theirs, &b);
        assert(a.len == b.len && memcmp(buf_str(&a), buf_str(&b), a.len) == 0);
        buf_release(&a);
        buf_release(&b);
    }
    json_decref(json);
    record_release(run_fields, &ours);
    record_release(run_fields, &theirs);
    return 0;
}
