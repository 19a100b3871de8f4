// SPDX-License-Identifier: Apache-2.0
// speed: how fast one thread of this machine is, by a short, fixed piece of arithmetic.
#ifndef FARE_MACHINE_SPEED_H
#define FARE_MACHINE_SPEED_H

#define SPEED_LOOP_OPS 64000 // multiply-adds of one loop: some tens of microseconds

// Runs the loop once. Sixteen independent chains of multiply-adds are limited by the core's clock
// and throughput, so that a neighbour on the same core shows up.
void speed_loop(void);

// Multiply-adds per second of one thread: the fastest loop within five milliseconds.
double speed_thread(void);

#endif
