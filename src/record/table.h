// SPDX-License-Identifier: Apache-2.0
// table: short rows for tables of fields (record/field.h). Only files that define tables include
// it; they define T as the struct being described.
#ifndef FARE_RECORD_TABLE_H
#define FARE_RECORD_TABLE_H

#define TEXT(member, doc) FIELD(FIELD_TEXT, T, member, doc)
#define INT(member, doc)  FIELD(FIELD_INT, T, member, doc)
#define REAL(member, doc) FIELD(FIELD_REAL, T, member, doc)
#define BOOL(member, doc) FIELD(FIELD_BOOL, T, member, doc)

#endif
