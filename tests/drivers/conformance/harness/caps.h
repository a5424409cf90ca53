/* SPDX-License-Identifier: GPL-2.0 */
/* caps: the capabilities that a back end may lack, and those that it was declared to lack. */
#ifndef CONFORMANCE_CAPS_H
#define CONFORMANCE_CAPS_H

#include <stdbool.h>

/*
 * Note that the back end lacks something: "NAME=reason". False when there is no such capability
 * or no reason.
 */
bool caps_declare_missing(const char *declaration);
/*
 * Note that it has something after all, or that the machine was prepared for it. False when there
 * is no such capability.
 */
bool caps_declare_present(const char *name);
/* Whether a test with these needs is for a machine that was prepared, which this one was not. */
bool caps_unprepared(const char *needs);
/* The reason why a test with these needs cannot run, NULL when it can. */
const char *caps_missing(const char *needs);
/* The first word of needs that is no capability; NULL if all are. */
const char *caps_unknown(const char *needs);
/* Print the list with what each means. */
void caps_print(void);

#endif
