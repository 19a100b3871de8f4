// SPDX-License-Identifier: Apache-2.0
// reader: how the text of a kernel is read, word by word. What is wrong ends it (reader_fail).
#ifndef FARE_TESTS_ENGINE_PTX_READER_H
#define FARE_TESTS_ENGINE_PTX_READER_H

#include <setjmp.h>
#include <string.h>

#include "train/engine/ptx/inside.h"

enum { NAME = 96, WIDE = 128 };

struct symbol { // a range of registers, %r<829>; one register; a piece of shared or local memory
    char name[NAME];
    int words; // of a register: 0 for predicates
    uint32_t first, count;
    bool memory, dynamic;
};

struct label {
    char name[NAME];
    uint32_t at;
};

struct reader {
    const char *p;
    int line;
    struct ptx_kernel *kernel;
    struct symbol *symbols;
    struct label *labels, *jumps; // jumps: by instruction
    int symbol_count, label_count, jump_count;
    char *why;
    size_t why_bytes;
    jmp_buf failed;
};

_Noreturn void reader_fail(struct reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// An array that has a power of two's room.
void *reader_grown(struct reader *r, void *array, int count, size_t size);
#define ADD(array, count)                                                                          \
    (*((array) = reader_grown(r, array, count, sizeof *(array)),                                   \
       memset(&(array)[count], 0, sizeof *(array)), &(array)[(count)++]))

// What an operand is, and its words: -2 for a number of the text.
struct operand {
    int words;
    uint32_t row;
    uint64_t value;
};

void reader_skip(struct reader *r); // blanks and comments
bool reader_is_next(struct reader *r, char c);
void reader_need(struct reader *r, char c);
void reader_word(struct reader *r, char out[NAME]);
uint32_t reader_count(struct reader *r);
struct operand reader_operand(struct reader *r, const char *text);
uint32_t reader_row(struct reader *r, struct operand o, int words);
int reader_registers(struct reader *r, struct operand *out, int most); // {one or more}, or one
void reader_memory(struct reader *r, struct inst *in);                 // [register + number]

// An instruction of compute capability 9.0 (text_hopper.c); false where it is none.
bool reader_hopper(struct reader *r, const char *name, struct inst *in);

#endif
