// SPDX-License-Identifier: Apache-2.0
// k8s_parts: the manifests of the Kubernetes target, and the reading of answers; for k8s.c and
// tests.
//
// A task is a Job of one Pod that runs `fare run` without any shell: the image needs only fare. Its
// words are an argument vector in JSON, with "$" doubled, because Kubernetes expands $(NAME) in it.
// The record comes back through the Pod's log (frame.h): copying files needs a Pod that still runs,
// logs stay until the Job is deleted.
#ifndef FARE_FLEET_K8S_PARTS_H
#define FARE_FLEET_K8S_PARTS_H

#include "fleet/place_words.h"
#include "fleet/target.h"

enum k8s_key {
    K8S_IMAGE,
    K8S_PROGRAM,
    K8S_NAMESPACE,
    K8S_GPU,
    K8S_GPUS,
    K8S_TYPE,
    K8S_SELECT,
    K8S_CPU,
    K8S_MEMORY,
    K8S_RUNTIME,
    K8S_KEYS
};
extern const char *const k8s_keys[K8S_KEYS + 1];

// Checks what Kubernetes would refuse; ERR_USAGE.
int k8s_check(const struct place_words *words, struct err *err) MUST_USE;

// "fare-KEY": the Job's name.
#define K8S_NAME_BYTES (TASK_KEY_BYTES + 8)
void k8s_name(const struct dispatch *dispatch, const struct task *task, char out[K8S_NAME_BYTES]);

// Appends a List of the tasks' Jobs as JSON. ERR_FORMAT for words that are not UTF-8.
int k8s_manifest(const struct fleet *fleet, const struct place *place,
                 const struct place_words *words, const struct chosen *chosen, struct buf *out,
                 struct err *err) MUST_USE;

// A Pod as k8s.c asks for it; "" where kubectl says <none>.
struct k8s_pod {
    char job[64], phase[16], reason[40], waiting[40];
    int code;                              // of its container; -1: it has none yet
    int64_t created_s, started_s, ended_s; // since 1970; -1: unknown
};

// Reads one line "pod JOB PHASE REASON WAITING CODE CREATED STARTED ENDED", of `len` bytes. False:
// it is not one.
bool k8s_pod_read(const char *line, size_t len, struct k8s_pod *pod);

// What a Pod without a result means. `words` gets why.
enum report_state k8s_meaning(const struct k8s_pod *pod, int64_t now_s, bool *limit,
                              struct buf *words);

#endif
