/* SPDX-License-Identifier: GPL-2.0 */
/* settle: a driver buries a closed open in its own time; wait until it has. */
#ifndef DIFFERENTIAL_SETTLE_H
#define DIFFERENTIAL_SETTLE_H

/* Where the stats of the driver that serves this directory are; NULL when there are none. */
const char *settle_find_stats(const char *device_dir);
/* Wait until the driver counts no more than this many opens; ends the process after 10 s. */
void settle(const char *stats, unsigned int opens);

/* How many of these (proc, thread, node, ref, death, transaction) there are. */
unsigned int settle_count(const char *stats, const char *what);

#endif
