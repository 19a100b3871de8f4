// SPDX-License-Identifier: Apache-2.0
// notice: watches for the notice that this machine is about to be taken away.
//
// Each source is one file with one row (notice_source.h): the metadata services of AWS, GCP and
// Azure, a signal, a file. Those with something to ask have a thread each that sleeps between two
// questions; notices_look() never waits. A server that hangs, dies or answers nonsense changes
// nothing: the last answer that had the source's form stands. A notice is withdrawn only after two
// such answers without it.
#ifndef FARE_SAVE_NOTICE_H
#define FARE_SAVE_NOTICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum notice_kind {
    NOTICE_NONE,
    NOTICE_RISK, // the machine may be taken away soon; nothing is decided
    NOTICE_END,  // it will be
};

#define NOTICE_WORDS 160

struct notice {
    enum notice_kind kind;
    const char *source; // "aws"; a row's name
    int64_t seen_ns;    // by clock_now_ns()
    int64_t until_ns;   // NOTICE_END: when the machine goes, by clock_now_ns()
    bool told;          // until_ns is the source's own; otherwise its usual lead
    int signal;         // source "signal": its number
    char words[NOTICE_WORDS];
};

struct notices_options {
    const char *wanted;   // "auto", "none", or words with commas: "aws,signal:USR1@120,file:PATH"
    const char *provider; // (optional) this machine's, as machine/cloud.h names it
    const char *metadata; // (optional) an address instead of the clouds' own, or "off"
    int64_t lead_ns;      // (optional) for notices without a time, instead of the usual lead
    int64_t every_ns; // (optional) between two questions, instead of the source's own: for tests
};

struct notices;

// Reads the wishes and starts the threads. "auto" is SIGTERM, and the cloud that `provider` names.
// ERR_USAGE for words it does not know.
int notices_open(struct notices **out, const struct notices_options *options,
                 struct err *err) MUST_USE;
void notices_close(struct notices *notices); // null is fine; ends the threads at once

// The most urgent notice in force; kind NOTICE_NONE: none.
void notices_look(struct notices *notices, struct notice *out);

// A signal came to this process. True: it is a notice, which stands from now on.
bool notices_signal(struct notices *notices, int number);

// What is watched, for a person: "aws (http://169.254.169.254), SIGTERM". A caller's buffer.
void notices_words(const struct notices *notices, char *out, size_t size);

// The number of a signal by its name, "USR1" or "SIGUSR1", of `len` bytes: those that a job can be
// told by. 0: none of them.
int notice_signal_named(const char *name, size_t len);

// Checks the words of --notice without opening anything.
int notices_check(const char *wanted, struct err *err) MUST_USE;

#endif
