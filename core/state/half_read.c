// SPDX-License-Identifier: GPL-2.0
/*
 * A report that is half read goes on in the process that takes over. It is a stream by itself, with
 * one record. The dead node that it has pinned is named by its number in reports; its pin is an
 * excess of the state, which keeps the node until the report has a pin again.
 *
 * Tested in: core/state/state_test.c
 */
#include "state/state_fields.h"

#include "reports/report_place.h"
#include "entities/node.h"
#include "entities/world.h"

static void write_dead(struct state_writer *w, const void *object)
{
	const struct binder_report *report = object;

	state_add_number(&w->out, report->dead ? report->dead->debug_id : 0);
}

static void make_dead(struct state_reader *r, struct state_cursor *from, void *object)
{
	struct binder_report *report = object;
	u64 id = state_take_number(from);
	struct binder_node *node;

	(void)r;
	binder_pi_mutex_lock(&binder_world.lock);
	bl_for_each(node, &binder_world.dead_nodes, dead_link) {
		if (id && node->debug_id == id && !report->dead) {
			binder_node_pin(node);
			report->dead = node;
		}
	}
	binder_pi_mutex_unlock(&binder_world.lock);
}

const struct state_own state_own_dead = { write_dead, make_dead, NULL };

int binder_report_write(const struct binder_report *report, struct binder_state_sink *sink,
			u32 version)
{
	struct state_writer w = { .sink = sink, .version = version };

	if (version < BINDER_STATE_OLDEST || version > BINDER_STATE_VERSION)
		return -EINVAL;
	state_begin(&w);
	state_put_record(&w, STATE_REPORT, report);
	state_end(&w);
	state_writer_free(&w);
	return w.err;
}

struct binder_report *binder_report_restore(const void *bytes, size_t size)
{
	struct state_cursor from = { bytes, (const u8 *)bytes + size, false };
	struct state_reader r = { .kind = STATE_REPORT };
	struct binder_report *report = binder_report_new(REPORT_STATE, 0);
	u64 kind, version;

	state_read_begin(&r, &from);
	kind = state_take_number(&from);
	version = state_take_number(&from);
	if (kind != STATE_REPORT || version < 1 || version > r.version)
		from.bad = true;
	if (report && !from.bad)
		state_read_fields(&r, STATE_REPORT, state_take_part(&from), report);
	if (from.bad || r.err) {
		binder_report_free(report);
		report = NULL;
	}
	return report;
}
