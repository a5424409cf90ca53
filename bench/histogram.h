/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A histogram of durations: how often each was seen, to within 0.4 %.
 */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>

/* Durations up to 2^40 ns, 18 minutes; longer ones count as that. */
#define HISTOGRAM_BUCKETS 4480

/* All zeroes is an empty one. */
struct histogram {
	uint64_t count, total_ns, min_ns, max_ns;	/* exact; min_ns only if there is one */
	uint32_t buckets[HISTOGRAM_BUCKETS];
};

/* Notes one duration. Touches one bucket and the sums; takes no lock: one writer. */
void histogram_add(struct histogram *histogram, uint64_t duration_ns);

/* Adds all of @from to @to. */
void histogram_merge(struct histogram *to, const struct histogram *from);

/* The duration that @share (0 to 1) of all do not exceed; 0 if there are none. */
uint64_t histogram_quantile_ns(const struct histogram *histogram, double share);

/* Writes the buckets in use as JSON: [[nanoseconds, how many], ...]. */
void histogram_print(const struct histogram *histogram, FILE *file);

#endif
