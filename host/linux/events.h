/* SPDX-License-Identifier: GPL-2.0 */
/* events: what the tracepoints need beside their definitions. */
#ifndef HOST_LINUX_EVENTS_H
#define HOST_LINUX_EVENTS_H

/* Lets perf give the data that is to be cleared after use to root alone. */
void events_init(void);

#endif
