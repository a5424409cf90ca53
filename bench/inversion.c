// SPDX-License-Identifier: GPL-2.0
/*
 * How long an urgent caller waits, on one CPU, while unrelated processes run:
 *
 *   low   a caller and its server at nice 19, with large payloads on a device of their own, in a
 *	   loop: nearly always one of them is inside the driver
 *   hog   SCHED_FIFO 50: uses the whole CPU for most of each period
 *   high  a caller and its server at SCHED_FIFO 90: an empty call from time to time, timed
 *
 * If `low` holds a lock that `high` needs, `high` waits for `low`, which gets no CPU time before
 * the hog's burst is over: the priorities are inverted.
 */
#include "bench/child.h"
#include "bench/fail.h"
#include "bench/histogram.h"
#include "bench/wire.h"
#include "tests/version.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define HOG_PERIOD_NS 12000000u
#define HOG_BURST_NS  9000000u
/* Not a fraction of the hog's period, so that calls are made at all points of it. */
#define HIGH_PERIOD_NS 7300000u
#define LOW_BYTES      65536u

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec until = { .tv_sec = (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		;
}

/* Gives this process the real-time priority @fifo; 0: nice 19. */
static void set_priority(int fifo)
{
	const struct sched_param param = { .sched_priority = fifo };

	if (fifo ? sched_setscheduler(0, SCHED_FIFO, &param) : setpriority(PRIO_PROCESS, 0, 19))
		fail_errno("cannot set priority %d", fifo);
}

static void no_limit_for_realtime(void)
{
	FILE *file = fopen("/proc/sys/kernel/sched_rt_runtime_us", "w");

	if (!file || fputs("-1", file) < 0 || fclose(file))
		fail_errno("sched_rt_runtime_us");
}

/* Runs @role in a process that ends with this one; returns when it is ready. */
static void start(void (*role)(const char *device, int ready), const char *device)
{
	int pipes[2];
	char byte;

	if (pipe(pipes))
		fail_errno("pipe");
	if (!child_fork()) {
		role(device, pipes[1]);
		_exit(1);
	}
	close(pipes[1]);
	if (read(pipes[0], &byte, 1) != 1)
		fail("%s: a process did not get ready", device);
	close(pipes[0]);
}

static void signal_ready(int ready)
{
	if (write(ready, "", 1) != 1)
		fail_errno("pipe");
	close(ready);
}

static void serve(const char *device, int ready)
{
	struct binder_transaction_data reply = { .code = 1 }, got;
	struct wire wire;

	wire_open(&wire, device, WIRE_MAP_BYTES);
	if (ioctl(wire.fd, BINDER_SET_CONTEXT_MGR, 0))
		fail_errno("BINDER_SET_CONTEXT_MGR");
	wire_put(&wire, BC_ENTER_LOOPER, NULL, 0);
	signal_ready(ready);
	while (wire_wait(&wire, &got) == BR_TRANSACTION) {
		wire_free(&wire, got.data.ptr.buffer);
		wire_reply(&wire, &reply);
	}
}

static void serve_low(const char *device, int ready)
{
	set_priority(0);
	serve(device, ready);
}

static void serve_high(const char *device, int ready)
{
	set_priority(90);
	serve(device, ready);
}

static void call_once(struct wire *wire, const struct binder_transaction_data *call)
{
	struct binder_transaction_data answer;

	wire_call(wire, call, &answer);
	wire_free(wire, answer.data.ptr.buffer);
}

static void call_low(const char *device, int ready)
{
	static uint8_t payload[LOW_BYTES];
	const struct binder_transaction_data call = {
		.code = 1,
		.data_size = sizeof(payload),
		.data.ptr.buffer = (uintptr_t)payload,
	};
	struct wire wire;

	set_priority(0);
	memset(payload, 1, sizeof(payload));
	wire_open(&wire, device, WIRE_MAP_BYTES);
	call_once(&wire, &call);
	signal_ready(ready);
	for (;;)
		call_once(&wire, &call);
}

static void hog(const char *device, int ready)
{
	uint64_t begin;

	set_priority(50);
	signal_ready(ready);
	for (begin = now_ns();; begin += HOG_PERIOD_NS) {
		sleep_until(begin);
		while (now_ns() < begin + HOG_BURST_NS)
			;
	}
}

static void call_high(const char *device, unsigned int samples, struct histogram *latencies)
{
	const struct binder_transaction_data call = { .code = 1 };
	struct wire wire;
	uint64_t next;
	unsigned int i;

	wire_open(&wire, device, WIRE_MAP_BYTES);
	call_once(&wire, &call);
	next = now_ns();
	for (i = 0; i < samples; i++) {
		uint64_t begin;

		next += HIGH_PERIOD_NS;
		sleep_until(next);
		begin = now_ns();
		call_once(&wire, &call);
		histogram_add(latencies, now_ns() - begin);
	}
}

static double quantile_us(const struct histogram *latencies, double share)
{
	return (double)histogram_quantile_ns(latencies, share) / 1000;
}

static void print(const struct histogram *latencies)
{
	printf("{\"samples\": %llu, \"min_us\": %.1f, \"avg_us\": %.1f, \"p50_us\": %.1f, "
	       "\"p90_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f, \"histogram_ns\": ",
	       (unsigned long long)latencies->count, (double)latencies->min_ns / 1000,
	       (double)latencies->total_ns / (double)latencies->count / 1000,
	       quantile_us(latencies, 0.5), quantile_us(latencies, 0.9),
	       quantile_us(latencies, 0.99), (double)latencies->max_ns / 1000);
	histogram_print(latencies, stdout);
	printf("}\n");
}

int main(int argc, char **argv)
{
	static struct histogram latencies;
	unsigned int samples = argc == 4 ? (unsigned int)atoi(argv[3]) : 0;
	cpu_set_t one;

	version_if_asked(argc, argv);
	if (!samples)
		fail("usage: bench-inversion DEVICE-OF-HIGH DEVICE-OF-LOW SAMPLES");
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one) || mlockall(MCL_CURRENT))
		fail_errno("cannot run on CPU 0 only with locked memory");
	no_limit_for_realtime();
	start(serve_high, argv[1]);
	start(serve_low, argv[2]);
	start(call_low, argv[2]);
	start(hog, "hog");
	set_priority(90);
	call_high(argv[1], samples, &latencies);
	print(&latencies);
	return 0;
}
