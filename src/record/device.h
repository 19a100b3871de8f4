// SPDX-License-Identifier: Apache-2.0
// The record of a device, printed by 'fare prices devices --json'.
#ifndef FARE_RECORD_DEVICE_H
#define FARE_RECORD_DEVICE_H

#include "record/field.h"

#define DEVICES_SCHEMA "fare.devices/1"

#include "record/device.def"

#endif
