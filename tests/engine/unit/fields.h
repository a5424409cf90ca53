/* SPDX-License-Identifier: GPL-2.0 */
/* Fields of the state that are lost, and whether the unit tests find it. */
#ifndef ANYBINDER_TEST_UNIT_FIELDS_H
#define ANYBINDER_TEST_UNIT_FIELDS_H

/*
 * For each field that the simulator does not look for, runs the tests that are to find its loss
 * without it. Returns the exit status of the program.
 */
int unit_fields(void (*before)(void), void (*after)(void));

#endif
