// SPDX-License-Identifier: GPL-2.0
/*
 * What is due to each actor and each process. A count or a registration takes effect when the
 * engine has consumed the command, not when it was queued: other threads of the process run in
 * between.
 */
#include "scenario.h"

/* ---- transactions ------------------------------------------------------------- */

static struct frame *innermost(struct actor *a)
{
	return a->depth ? &a->stack[a->depth - 1] : NULL;
}

static void push(struct actor *a, char what, u32 message)
{
	if (a->depth == DEPTH)
		scenario_fail("a stack of calls grew too deep");
	a->stack[a->depth++] = (struct frame){ .what = what, .message = message };
}

u32 model_last_message(const struct scenario *scenario)
{
	return scenario->act ? MESSAGES_MAX / 2 : scenario->nr_messages;
}

u32 model_message(struct actor *a, enum message_kind kind, bool scribbled)
{
	struct scenario *scenario = a->process->scenario;
	struct frame *top = innermost(a);
	struct message *m;
	u32 number = scenario->nr_messages + 1;

	if (scenario->nr_messages + 2 >= MESSAGES_MAX)
		return 0;
	if (scenario->act) /* a number that does not depend on what others do */
		number = (a->id + 1) * MESSAGES_OF_ONE + ++a->nr_messages;
	else
		scenario->nr_messages++;
	m = &scenario->messages[number];
	*m = (struct message){ .kind = kind, .from = a, .scribbled = scribbled };
	if (top && top->what == 'S')
		m->parent = top->message;
	if (kind == ONEWAY)
		m->order = ++a->order;
	return number;
}

void model_sent(struct actor *a, enum message_kind kind, u32 message)
{
	if (a->nr_sent == SENDS)
		scenario_fail("too many sends that were not completed");
	a->sent[a->nr_sent++] = (struct sent){ .kind = kind, .message = message };
	if (kind == CALL)
		push(a, 'C', message);
	else if (kind == REPLY)
		a->depth--;
}

static struct sent take_sent(struct actor *a)
{
	struct sent first = a->sent[0];
	u32 i;

	for (i = 1; i < a->nr_sent; i++)
		a->sent[i - 1] = a->sent[i];
	a->nr_sent--;
	return first;
}

void model_completed(struct actor *a, u32 br)
{
	struct frame *top = innermost(a);
	struct sent sent;

	if (a->process->confused) {
		a->nr_sent -= a->nr_sent > 0;
		return;
	}
	if (!a->nr_sent)
		scenario_fail("actor %u: a completion for nothing sent", a->id);
	sent = take_sent(a);
	scenario_log("actor %u: %u is complete (%x)", a->id, sent.message, br);
	if (sent.kind != ONEWAY && br != BR_TRANSACTION_COMPLETE)
		scenario_fail("actor %u: a one-way completion of a call or a reply", a->id);
	if (sent.kind != CALL)
		return;
	if (!top || top->what != 'C' || top->message != sent.message)
		scenario_fail("actor %u: completion of a call that is not the innermost", a->id);
	top->completed = true;
}

void model_not_read(struct actor *a)
{
	if (a->nr_sent && !a->depth && !a->process->confused && !a->process->dying)
		scenario_fail("actor %u: a completion is due, and was not read", a->id);
}

static void fail_call(struct actor *a, struct frame *top)
{
	struct message *m = &a->process->scenario->messages[top->message];

	m->lost = true;
	a->depth--;
}

void model_failed(struct actor *a, u32 br)
{
	struct scenario *scenario = a->process->scenario;
	struct frame *top = innermost(a);
	struct sent sent;

	scenario->failures++;
	scenario_log("actor %u reads a failure (%x)", a->id, br);
	if (a->process->confused) {
		a->nr_sent -= a->nr_sent > 0;
		a->depth -= top && top->what == 'C';
		return;
	}
	if (scenario->traits.calm && !scenario->over)
		scenario_fail("actor %u: a send failed (%x) without a reason", a->id, br);
	if (!a->nr_sent) {
		if (!top || top->what != 'C' || !top->completed)
			scenario_fail("actor %u: an error (%x) for nothing sent", a->id, br);
		fail_call(a, top);
		return;
	}
	sent = take_sent(a);
	if (sent.kind == REPLY)
		scenario_fail(
			"actor %u: its reply failed (%x), which is not returned to the sender",
			a->id, br);
	if (sent.kind == ONEWAY && br == BR_FROZEN_REPLY)
		scenario_fail("actor %u: a one-way call was refused as frozen", a->id);
	if (sent.kind == ONEWAY)
		scenario->messages[sent.message].lost = true;
	else
		fail_call(a, top);
}

static struct message *arrived(struct actor *a, u32 message, enum message_kind kind)
{
	struct message *m = &a->process->scenario->messages[message];

	if (m->kind != kind)
		scenario_fail("actor %u: message %u arrives as another kind", a->id, message);
	if (m->delivered)
		scenario_fail("actor %u: message %u arrives twice", a->id, message);
	if (m->lost)
		scenario_fail("actor %u: message %u arrives though it failed", a->id, message);
	m->delivered = true;
	return m;
}

void model_call_arrived(struct actor *a, u32 message)
{
	struct scenario *scenario = a->process->scenario;
	struct message *m = &scenario->messages[message];
	struct frame *top = innermost(a);
	bool confused;
	u32 up;

	if (!a->process->confused && !m->from->process->confused)
		m = arrived(a, message, CALL);
	if (a->process->frozen)
		scenario_fail("actor %u: a call arrives in a frozen process", a->id);
	if (a->process->confused) {
		a->depth = a->nr_sent = 0;
	} else if (top && top->what != 'C') {
		scenario_fail("actor %u: a call arrives at a thread that serves one", a->id);
	} else if (top) {
		/* A confused process does not know which call it served. */
		confused = m->from->process->confused;
		for (up = m->parent; up && up != top->message; up = scenario->messages[up].parent)
			confused |= scenario->messages[up].from->process->confused;
		if (!up && !confused)
			scenario_fail("actor %u: a call that does not come from the one that "
				      "it waits for",
				      a->id);
	}
	push(a, 'S', message);
}

void model_reply_arrived(struct actor *a, u32 message)
{
	struct frame *top = innermost(a);
	struct message *m;

	if (a->process->confused) {
		a->depth -= top && top->what == 'C';
		return;
	}
	m = &a->process->scenario->messages[message];
	if (!m->from->process->confused)
		m = arrived(a, message, REPLY);
	if (!top || top->what != 'C')
		scenario_fail("actor %u: a reply to no call", a->id);
	if (!top->completed)
		scenario_fail("actor %u: a reply before the completion", a->id);
	if (m->parent != top->message && !m->from->process->confused)
		scenario_fail("actor %u: a reply to another call", a->id);
	a->depth--;
}

void model_oneway_arrived(struct actor *a, u32 message, u32 object)
{
	struct own_object *o = &a->process->objects[object];
	struct message *m = &a->process->scenario->messages[message];

	if (a->process->confused)
		return;
	if (!m->from->process->confused)
		m = arrived(a, message, ONEWAY);
	if (++o->in_flight != 1)
		scenario_fail("actor %u: a second one-way call of one object", a->id);
	if (o->order[m->from->id] >= m->order)
		scenario_fail("actor %u: one-way calls out of order", a->id);
	o->order[m->from->id] = m->order;
}

void model_forget_thread(struct actor *a)
{
	a->nr_sent = 0;
	a->depth = 0;
}

/* ---- own objects --------------------------------------------------------------------- */

void model_object(struct actor *a, u32 br, const struct binder_ptr_cookie *name)
{
	u64 object = (name->ptr - object_ptr(0)) / 0x10;
	struct own_object *o;

	if (object >= OBJECTS || name->cookie != object_cookie(a->process, (u32)object)) {
		if (a->process->scenario->traits.scribbles)
			return;
		scenario_fail("actor %u: a return about an object that is not its own", a->id);
	}
	o = &a->process->objects[object];
	if (br == BR_ACQUIRE)
		o->strong++;
	else if (br == BR_RELEASE)
		o->strong--;
	else if (br == BR_INCREFS)
		o->weak++;
	else
		o->weak--;
	if (a->process->confused)
		return;
	/* Threads may handle the returns they have read in another order. */
	if (o->strong < -2 || o->strong > 3 || o->weak < -2 || o->weak > 3)
		scenario_fail("actor %u: object %u has %d strong, %d weak counts", a->id,
			      (u32)object, o->strong, o->weak);
}

/* ---- handles -------------------------------------------------------------------------- */

static void take(struct actor *a, struct effect effect)
{
	if (a->nr_effects == EFFECTS)
		scenario_fail("too many commands at once");
	effect.at = a->out_len;
	a->effects[a->nr_effects++] = effect;
}

static bool is_known(const struct handle *h)
{
	return h->strong || h->weak;
}

static struct handle *find(struct process *process, u32 desc)
{
	u32 i;

	if (!desc)
		return &process->handles[0];
	for (i = 1; i < HANDLES; i++)
		if (is_known(&process->handles[i]) && process->handles[i].desc == desc)
			return &process->handles[i];
	return NULL;
}

static struct handle *find_or_new(struct process *process, u32 desc)
{
	struct handle *h = find(process, desc);
	u32 i;

	for (i = 1; !h && i < HANDLES; i++)
		if (!is_known(&process->handles[i]))
			h = &process->handles[i];
	if (h)
		h->desc = desc;
	return h;
}

struct handle *model_use(struct actor *a)
{
	struct process *process = a->process;
	u32 i, at = scenario_random(process->scenario, HANDLES);

	for (i = 0; i < HANDLES; i++) {
		struct handle *h = &process->handles[(at + i) % HANDLES];

		if (!h->strong || a->nr_effects + 8 > EFFECTS)
			continue;
		h->in_use++;
		take(a, (struct effect){ .kind = EFFECT_USE, .handle = h });
		/* Consumed with the command that is queued next. */
		a->effects[a->nr_effects - 1].at = a->out_len + 1;
		return h;
	}
	return NULL;
}

void model_acquire_manager(struct actor *a)
{
	actor_put(a, BC_ACQUIRE, &(u32){ 0 });
	take(a, (struct effect){ .kind = EFFECT_STRONG });
}

void model_acquire(struct actor *a, u32 desc, bool strong)
{
	u32 i, room = 0;

	for (i = 1; i < HANDLES; i++)
		room += !is_known(&a->process->handles[i]);
	if (a->nr_effects + 16 > EFFECTS || room <= 16)
		return;
	actor_put(a, strong ? BC_ACQUIRE : BC_INCREFS, &desc);
	take(a, (struct effect){ .kind = strong ? EFFECT_STRONG : EFFECT_WEAK, .desc = desc });
}

void model_keep(struct actor *a, u64 buffer, s32 object)
{
	take(a, (struct effect){ .kind = EFFECT_BUFFER, .buffer = buffer, .object = object });
}

static void keep(struct process *process, u64 buffer, s32 object)
{
	process->later[process->nr_later] = buffer;
	process->later_object[process->nr_later++] = object;
}

static void apply(struct actor *a, const struct effect *t)
{
	struct handle *h = t->handle;

	switch (t->kind) {
	case EFFECT_BUFFER:
		keep(a->process, t->buffer, t->object);
		break;
	case EFFECT_USE:
		h->in_use--;
		break;
	case EFFECT_NOTICE:
		h->in_use--;
		if (h->notice[t->notice] == REQUESTING)
			h->notice[t->notice] = REQUESTED;
		break;
	default:
		h = find_or_new(a->process, t->desc);
		if (!h)
			scenario_fail("no room for one more handle");
		scenario_log("actor %u took a count of handle %u of process %u", a->id, t->desc,
			     a->process->id);
		h->strong += t->kind == EFFECT_STRONG;
		h->weak += t->kind == EFFECT_WEAK;
		break;
	}
}

void model_consumed(struct actor *a, size_t consumed)
{
	u32 kept = 0, i;

	for (i = 0; i < a->nr_effects; i++) {
		struct effect t = a->effects[i];

		if (t.at <= consumed || (t.kind == EFFECT_USE && consumed == a->out_len)) {
			apply(a, &t);
			continue;
		}
		t.at -= consumed;
		a->effects[kept++] = t;
	}
	a->nr_effects = kept;
}

static u64 new_cookie(struct actor *a)
{
	struct scenario *scenario = a->process->scenario;

	return scenario->act ? (u64)a->id << 32 | ++a->nr_cookies : ++scenario->last_cookie;
}

static void ask(struct actor *a, struct handle *h, u32 notice)
{
	struct binder_handle_cookie arg = {
		.handle = h->desc,
		.cookie = new_cookie(a),
	};

	actor_put(a,
		  notice == DEATH ? BC_REQUEST_DEATH_NOTIFICATION : BC_REQUEST_FREEZE_NOTIFICATION,
		  &arg);
	h->notice[notice] = REQUESTING;
	h->cookie[notice] = arg.cookie;
	h->in_use++;
	take(a, (struct effect){ .kind = EFFECT_NOTICE, .handle = h, .notice = notice });
}

static void clear_notice(struct actor *a, struct handle *h, u32 notice)
{
	struct binder_handle_cookie arg = { .handle = h->desc, .cookie = h->cookie[notice] };

	actor_put(a, notice == DEATH ? BC_CLEAR_DEATH_NOTIFICATION : BC_CLEAR_FREEZE_NOTIFICATION,
		  &arg);
	h->notice[notice] = h->notice[notice] == DELIVERED ? CLEARING_DELIVERED : CLEARING;
	h->in_use++; /* it must stay until this is consumed */
	take(a, (struct effect){ .kind = EFFECT_USE, .handle = h });
}

void model_request_notice(struct actor *a)
{
	model_toggle_notice(a, NOTICES);
}

void model_toggle_notice(struct actor *a, u32 notice)
{
	struct handle *h = model_use(a);

	if (notice == NOTICES)
		notice = scenario_random(a->process->scenario, NOTICES);
	if (!h)
		return;
	if (h->notice[notice] == NOT_REQUESTED)
		ask(a, h, notice);
	else if (h->notice[notice] == REQUESTED || h->notice[notice] == DELIVERED)
		clear_notice(a, h, notice);
}

void model_release(struct actor *a)
{
	struct process *process = a->process;

	model_release_handle(a,
			     &process->handles[scenario_random(process->scenario, HANDLES)]);
}

void model_release_handle(struct actor *a, struct handle *h)
{
	struct process *process = a->process;
	bool last = h->strong + h->weak == 1;
	u32 desc = h->desc;

	if (!is_known(h) || (h->in_use && !process->scenario->traits.misbehaves) ||
	    (last && (h->notice[DEATH] != NOT_REQUESTED || h->notice[FREEZE] != NOT_REQUESTED)))
		return;
	scenario_log("actor %u releases handle %u (%u, %u) of process %u", a->id, desc, h->strong,
		     h->weak, process->id);
	if (h->strong && (!h->weak || one_in(process->scenario, 2))) {
		h->strong--;
		actor_put(a, BC_RELEASE, &desc);
	} else {
		h->weak--;
		actor_put(a, BC_DECREFS, &desc);
	}
}

/* ---- notices ------------------------------------------------------------------------------ */

static struct handle *of_cookie(struct process *process, u32 notice, u64 cookie)
{
	u32 i;

	for (i = 0; i < HANDLES; i++)
		if (process->handles[i].cookie[notice] == cookie)
			return &process->handles[i];
	return NULL;
}

static void note_delivered(struct actor *a, struct handle *h, u32 notice)
{
	enum notice_state *state = &h->notice[notice];

	if (*state == CLEARING)
		*state = CLEARING_DELIVERED;
	else if (*state == REQUESTING || *state == REQUESTED)
		*state = DELIVERED;
	else
		scenario_fail("actor %u: a notice (%u) in state %d", a->id, notice, *state);
}

void model_notice(struct actor *a, u32 br, const u8 *arg)
{
	u32 notice =
		br == BR_DEAD_BINDER || br == BR_CLEAR_DEATH_NOTIFICATION_DONE ? DEATH : FREEZE;
	struct handle *h;
	u64 cookie;

	memcpy(&cookie, arg, sizeof(cookie));
	if (br == BR_DEAD_BINDER)
		actor_put(a, BC_DEAD_BINDER_DONE, &cookie);
	else if (br == BR_FROZEN_BINDER)
		actor_put(a, BC_FREEZE_NOTIFICATION_DONE, &cookie);
	h = of_cookie(a->process, notice, cookie);
	if (a->process->confused)
		return;
	if (!h)
		scenario_fail("actor %u: a notice (%x) with an unknown cookie", a->id, br);
	if (br == BR_DEAD_BINDER) {
		note_delivered(a, h, notice);
	} else if (br != BR_FROZEN_BINDER) {
		if (h->notice[notice] != CLEARING && h->notice[notice] != CLEARING_DELIVERED)
			scenario_fail("actor %u: a notice (%u) cleared in state %d", a->id, notice,
				      h->notice[notice]);
		h->notice[notice] = NOT_REQUESTED;
	} else if (h->notice[notice] == NOT_REQUESTED) {
		scenario_fail("actor %u: a freeze notice that was cleared", a->id);
	}
}
