/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fields of the state whose loss no scenario of the simulator would show, and why; by prefix. The
 * unit tests that are named must find the loss of each.
 */
#ifndef ANYBINDER_TEST_UNMISSED_H
#define ANYBINDER_TEST_UNMISSED_H

#include "state/state_stream.h"

#include <string.h>

static const struct unmissed {
	const char *field, *why;
	char *tests; /* that find it: how their names begin; NULL: there are none */
} unmissed[] = {
	{ "binder_context.name", "there is one device", "call_and_reply" },
	{ "binder_context.manager_uid", "managers have one user", "context_has_one_manager" },
	{ "binder_proc.default_priority.policy", "all openers have one", "priority_of_a_oneway" },
	{ "binder_proc.async_recv", "the model does not ask for it", "freeze_queues" },
	{ "binder_proc.sync_recv", "few worlds ask for it", "freeze_refuses" },
	{ "binder_thread.own_priority.policy", "no real-time thread serves", "priority_" },
	{ "binder_thread.write_nonblock", "no read follows a long write", "command_long" },
	{ "binder_thread.long_command", "no command has so many objects", "command_that" },
	{ "binder_thread.write_stopped", "no error comes with files", "files_that_are_inst" },
	{ "binder_thread.freeze_pid", "no process has two opens", "freeze_of_two" },
	{ "binder_notice.sent", "the model does not count freeze notices", "freeze_changes" },
	{ "binder_notice.resend", "few worlds change twice", "freeze_changes" },
	{ "binder_transaction.start_ns", "few worlds print it", "report_of_the_age" },
	{ "binder_buffer.range.gap_user", "the model does not know it", "oneway_spam_suspect_in" },
	{ "binder_buffer.claimed", "only for what is left behind", "failure_of_a_proc" },
	{ "binder_buffer.released", "only for what is left behind", "failure_of_a_proc" },
	{ "owner", "no process has a limit of memory", "charge_of_a_call" },
	/* By it the writer finds a buffer that is being freed; restored, nothing looks at it. */
	{ "binder_thread.freeing", "only the comparison of what is written finds it", NULL },
};
#define NR_UNMISSED (sizeof(unmissed) / sizeof(unmissed[0]))

/* The field with number @nr among all, from 0; NULL: there are fewer. */
static inline const struct state_field *field_at(u32 nr)
{
	u32 kind;

	for (kind = 0; kind < STATE_KINDS && nr >= state_records[kind].nr; kind++)
		nr -= state_records[kind].nr;
	return kind < STATE_KINDS ? &state_records[kind].fields[nr] : NULL;
}

/* NULL: the simulator looks for it. */
static inline const struct unmissed *unmissed_of(const char *field)
{
	unsigned int i;

	for (i = 0; i < NR_UNMISSED; i++)
		if (!strncmp(field, unmissed[i].field, strlen(unmissed[i].field)))
			return &unmissed[i];
	return NULL;
}

#endif
