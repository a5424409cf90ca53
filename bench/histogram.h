/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A histogram of durations: how often each occurred, to within 0.4 %.
 */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

/* Up to 2^40 ns, 18 minutes; longer durations count as that. */
#define HISTOGRAM_BUCKETS 5120

/* All zeroes: empty. */
struct histogram {
	uint64_t count, total_ns; /* exact */
	uint32_t buckets[HISTOGRAM_BUCKETS];
};

/* Records one duration. Takes no lock; one writer only. */
void histogram_add(struct histogram *histogram, uint64_t duration_ns);

/* Adds all of @from to @to. */
void histogram_merge(struct histogram *to, const struct histogram *from);

/* Prints the sum and the buckets in use as members of a JSON object. */
void histogram_print(const struct histogram *histogram);

#endif
