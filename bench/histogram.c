// SPDX-License-Identifier: GPL-2.0
/*
 * A histogram of durations: how often each occurred, to within 0.4 %.
 *
 * Below 256 ns each nanosecond has a bucket; above, each power of two is divided into 128 equal
 * ones, as in HdrHistogram. A client records millions of calls in a few kilobytes, and
 * recording one disturbs the caches no more than appending it to a list would.
 */
#include "bench/histogram.h"

#include <stdio.h>

#define SUB_BITS 7
#define SUB_BUCKETS (1u << SUB_BITS)
#define MAX_NS ((1ull << 40) - 1)

static unsigned int bucket_of(uint64_t value)
{
	unsigned int shift;

	if (value > MAX_NS)
		value = MAX_NS;
	if (value < 2 * SUB_BUCKETS)
		return (unsigned int)value;
	shift = 63 - (unsigned int)__builtin_clzll(value) - SUB_BITS;
	return shift * SUB_BUCKETS + (unsigned int)(value >> shift);
}

/* The middle of a bucket. */
static uint64_t value_of(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < 2 * SUB_BUCKETS)
		return bucket;
	shift = bucket / SUB_BUCKETS - 1;
	return ((uint64_t)(bucket - shift * SUB_BUCKETS) << shift) + (1ull << shift) / 2;
}

void histogram_add(struct histogram *histogram, uint64_t duration_ns)
{
	if (!histogram->count || duration_ns < histogram->min_ns)
		histogram->min_ns = duration_ns;
	if (duration_ns > histogram->max_ns)
		histogram->max_ns = duration_ns;
	histogram->count++;
	histogram->total_ns += duration_ns;
	histogram->buckets[bucket_of(duration_ns)]++;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	if (!from->count)
		return;
	if (!to->count || from->min_ns < to->min_ns)
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	to->count += from->count;
	to->total_ns += from->total_ns;
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
}

void histogram_print(const struct histogram *histogram)
{
	const char *before = "";

	printf("\"calls\": %lu, \"min_ns\": %lu, \"max_ns\": %lu, \"total_ns\": %lu, "
	       "\"histogram_ns\": [", histogram->count, histogram->min_ns, histogram->max_ns,
	       histogram->total_ns);
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (!histogram->buckets[i])
			continue;
		printf("%s[%lu, %u]", before, value_of(i), histogram->buckets[i]);
		before = ", ";
	}
	putchar(']');
}
