// SPDX-License-Identifier: Apache-2.0
// theory: how often to write a checkpoint, and how long a training then takes, if interruptions
// come at random with a constant rate (exponentially distributed times between them).
//
// `cost` is the time of one checkpoint, `mean` the mean time between interruptions, all in the same
// unit; both above 0. The replay (replay.h) needs no such assumption.
#ifndef FARE_SPOT_THEORY_H
#define FARE_SPOT_THEORY_H

// The work between two checkpoints. Young (1974): √(2·cost·mean). Daly (2006) of higher order; from
// cost = 2·mean on, `mean`.
double theory_young(double cost, double mean);
double theory_daly(double cost, double mean);

// The mean time of `work` in segments of `interval`, each followed by a checkpoint. After an
// interruption a machine needs `restart` before it goes on from the last checkpoint; that may be
// interrupted too. Without the first start. Infinite if it is too large to be a number.
double theory_expected(double work, double interval, double cost, double restart, double mean);

// The same for a training that writes no checkpoints: an interruption loses all of it.
double theory_unsaved(double work, double restart, double mean);

#endif
