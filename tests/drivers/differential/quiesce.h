/* SPDX-License-Identifier: GPL-2.0 */
/* quiesce: wait until the driver has released closed opens, which it does asynchronously. */
#ifndef DIFFERENTIAL_QUIESCE_H
#define DIFFERENTIAL_QUIESCE_H

/* The path of the stats of the driver that serves this directory; NULL if there are none. */
const char *quiesce_find_stats(const char *device_dir);
/* Wait until the driver counts no more than this many opens; ends the process after 10 s. */
void quiesce(const char *stats, unsigned int opens);

/* How many things of this kind (proc, thread, node, ref, death, transaction) there are. */
unsigned int quiesce_count(const char *stats, const char *what);

#endif
