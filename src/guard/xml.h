// SPDX-License-Identifier: Apache-2.0
// xml: the elements of an answer of S3, from front to back.
//
// Only what S3 sends: elements, texts, the five named entities and numbered ones. Attributes,
// comments and declarations are skipped; there are no document types to expand. Answers are
// untrusted: they may be cut, nested without end, or not XML at all.
#ifndef FARE_GUARD_XML_H
#define FARE_GUARD_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

// Called at the end of each element. A leaf has its text as `value`; an element with others in it
// has null. `parent` is "" for the outermost. Not 0 ends the walk, which returns it.
typedef int xml_element(void *context, const char *parent, const char *name, const char *value,
                        struct err *err);

// ERR_FORMAT where the text is not well-formed.
int xml_walk(const char *text, size_t len, xml_element *element, void *context,
             struct err *err) MUST_USE;

// The text of the first leaf of that name, cut to `size` - 1 bytes; "" and false: none, or no XML.
bool xml_find(const char *text, size_t len, const char *name, char *out, size_t size);

#endif
