// SPDX-License-Identifier: GPL-2.0
/*
 * A histogram of durations: how often each occurred, to within 0.4 %.
 *
 * A bucket is what durations have in common in the highest bits of their floating-point form: the
 * exponent and seven bits of the fraction, so each power of two is divided into 128 equal buckets,
 * as in HdrHistogram. A client records millions of calls in a few kilobytes, and recording one
 * disturbs the caches no more than appending it to a list would.
 */
#include "bench/histogram.h"

#include <stdio.h>
#include <string.h>

#define FRACTION_BITS 7
#define SHIFT (52 - FRACTION_BITS)	/* the bits of the fraction that are left out */
#define BUCKET_OF_ONE (1023u << FRACTION_BITS)

static unsigned int bucket_of(uint64_t value)
{
	double number = value ? (double)value : 1;
	uint64_t bits, bucket;

	memcpy(&bits, &number, sizeof(bits));
	bucket = (bits >> SHIFT) - BUCKET_OF_ONE;
	return bucket < HISTOGRAM_BUCKETS ? (unsigned int)bucket : HISTOGRAM_BUCKETS - 1;
}

/* The middle of a bucket. */
static uint64_t value_of(unsigned int bucket)
{
	uint64_t bits = (uint64_t)(bucket + BUCKET_OF_ONE) << SHIFT | 1ull << (SHIFT - 1);
	double number;

	memcpy(&number, &bits, sizeof(number));
	return (uint64_t)number;
}

void histogram_add(struct histogram *histogram, uint64_t duration_ns)
{
	histogram->count++;
	histogram->total_ns += duration_ns;
	histogram->buckets[bucket_of(duration_ns)]++;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	to->count += from->count;
	to->total_ns += from->total_ns;
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
}

void histogram_print(const struct histogram *histogram)
{
	const char *before = "";

	printf("\"total_ns\": %lu, \"histogram_ns\": [", histogram->total_ns);
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (!histogram->buckets[i])
			continue;
		printf("%s[%lu, %u]", before, value_of(i), histogram->buckets[i]);
		before = ", ";
	}
	putchar(']');
}
