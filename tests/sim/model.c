// SPDX-License-Identifier: GPL-2.0
/*
 * What each actor and each player is owed.  A count or a registration becomes true
 * when the engine has heard the command, not when it was said: other threads of the
 * player act in between.
 */
#include "stage.h"

/* ---- transactions ------------------------------------------------------------- */

static struct frame *innermost(struct actor *a)
{
	return a->depth ? &a->stack[a->depth - 1] : NULL;
}

static void push(struct actor *a, char what, u32 message)
{
	if (a->depth == DEPTH)
		stage_wrong("a stack of calls grew too deep");
	a->stack[a->depth++] = (struct frame){ .what = what, .message = message };
}

u32 model_message(struct actor *a, enum message_kind kind, bool scribbled)
{
	struct stage *stage = a->player->stage;
	struct frame *top = innermost(a);
	struct message *m = &stage->messages[stage->nr_messages + 1];

	if (stage->nr_messages + 2 >= MESSAGES_MAX)
		return 0;
	*m = (struct message){ .kind = kind, .from = a, .scribbled = scribbled };
	if (top && top->what == 'S')
		m->parent = top->message;
	if (kind == ONEWAY)
		m->order = ++a->order;
	return ++stage->nr_messages;
}

void model_sent(struct actor *a, enum message_kind kind, u32 message)
{
	if (a->nr_sent == SENDS)
		stage_wrong("too many sends that were not completed");
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

	if (a->player->confused) {
		a->nr_sent -= a->nr_sent > 0;
		return;
	}
	if (!a->nr_sent)
		stage_wrong("actor %u: a completion for nothing sent", a->id);
	sent = take_sent(a);
	stage_log("actor %u: %u is complete (%x)", a->id, sent.message, br);
	if (sent.kind != ONEWAY && br != BR_TRANSACTION_COMPLETE)
		stage_wrong("actor %u: a one-way completion of what is none", a->id);
	if (sent.kind != CALL)
		return;
	if (!top || top->what != 'C' || top->message != sent.message)
		stage_wrong("actor %u: completion of a call that is not the innermost", a->id);
	top->completed = true;
}

static void fail_call(struct actor *a, struct frame *top)
{
	struct message *m = &a->player->stage->messages[top->message];

	m->lost = true;
	a->depth--;
}

void model_failed(struct actor *a, u32 br)
{
	struct stage *stage = a->player->stage;
	struct frame *top = innermost(a);
	struct sent sent;

	stage->failures++;
	stage_log("actor %u hears of a failure (%x)", a->id, br);
	if (a->player->confused) {
		a->nr_sent -= a->nr_sent > 0;
		a->depth -= top && top->what == 'C';
		return;
	}
	if (stage->genre.calm && !stage->over)
		stage_wrong("actor %u: a send failed (%x) with no reason to", a->id, br);
	if (!a->nr_sent) {
		if (!top || top->what != 'C' || !top->completed)
			stage_wrong("actor %u: an error (%x) for nothing sent", a->id, br);
		fail_call(a, top);
		return;
	}
	sent = take_sent(a);
	if (sent.kind == REPLY)
		stage_wrong("actor %u: its reply failed (%x), which is not its to know", a->id,
			    br);
	if (sent.kind == ONEWAY && br == BR_FROZEN_REPLY)
		stage_wrong("actor %u: a one-way call was refused as frozen", a->id);
	if (sent.kind == ONEWAY)
		stage->messages[sent.message].lost = true;
	else
		fail_call(a, top);
}

static struct message *arrived(struct actor *a, u32 message, enum message_kind kind)
{
	struct message *m = &a->player->stage->messages[message];

	if (m->kind != kind)
		stage_wrong("actor %u: message %u arrives as what it is not", a->id, message);
	if (m->delivered)
		stage_wrong("actor %u: message %u arrives twice", a->id, message);
	if (m->lost)
		stage_wrong("actor %u: message %u arrives though it failed", a->id, message);
	m->delivered = true;
	return m;
}

void model_call_arrived(struct actor *a, u32 message)
{
	struct stage *stage = a->player->stage;
	struct message *m = &stage->messages[message];
	struct frame *top = innermost(a);
	bool confused;
	u32 up;

	if (!a->player->confused && !m->from->player->confused)
		m = arrived(a, message, CALL);
	if (a->player->frozen)
		stage_wrong("actor %u: a call arrives in a frozen process", a->id);
	if (a->player->confused) {
		a->depth = a->nr_sent = 0;
	} else if (top && top->what != 'C') {
		stage_wrong("actor %u: a call arrives at a thread that serves one", a->id);
	} else if (top) {
		/* Who is confused does not know whom it served. */
		confused = m->from->player->confused;
		for (up = m->parent; up && up != top->message; up = stage->messages[up].parent)
			confused |= stage->messages[up].from->player->confused;
		if (!up && !confused)
			stage_wrong("actor %u: a call that has nothing to do with the one that "
				    "it waits for", a->id);
	}
	push(a, 'S', message);
}

void model_reply_arrived(struct actor *a, u32 message)
{
	struct frame *top = innermost(a);
	struct message *m;

	if (a->player->confused) {
		a->depth -= top && top->what == 'C';
		return;
	}
	m = &a->player->stage->messages[message];
	if (!m->from->player->confused)
		m = arrived(a, message, REPLY);
	if (!top || top->what != 'C')
		stage_wrong("actor %u: a reply to no call", a->id);
	if (!top->completed)
		stage_wrong("actor %u: a reply before the completion", a->id);
	if (m->parent != top->message && !m->from->player->confused)
		stage_wrong("actor %u: a reply to another call", a->id);
	a->depth--;
}

void model_oneway_arrived(struct actor *a, u32 message, u32 object)
{
	struct own_object *o = &a->player->objects[object];
	struct message *m = &a->player->stage->messages[message];

	if (a->player->confused)
		return;
	if (!m->from->player->confused)
		m = arrived(a, message, ONEWAY);
	if (++o->in_flight != 1)
		stage_wrong("actor %u: a second one-way call of one object", a->id);
	if (o->order[m->from->id] >= m->order)
		stage_wrong("actor %u: one-way calls out of order", a->id);
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

	if (object >= OBJECTS || name->cookie != object_cookie(a->player, (u32)object)) {
		if (a->player->stage->genre.scribbles)
			return;
		stage_wrong("actor %u: told of an object that it has not", a->id);
	}
	o = &a->player->objects[object];
	if (br == BR_ACQUIRE)
		o->strong++;
	else if (br == BR_RELEASE)
		o->strong--;
	else if (br == BR_INCREFS)
		o->weak++;
	else
		o->weak--;
	if (a->player->confused)
		return;
	/* Some threads may be late with what they read. */
	if (o->strong < -2 || o->strong > 3 || o->weak < -2 || o->weak > 3)
		stage_wrong("actor %u: object %u told %d strong, %d weak", a->id, (u32)object,
			    o->strong, o->weak);
}

/* ---- handles -------------------------------------------------------------------------- */

static void take(struct actor *a, struct taking taking)
{
	if (a->nr_takings == TAKINGS)
		stage_wrong("too much was said at once");
	taking.at = a->out_len;
	a->takings[a->nr_takings++] = taking;
}

static bool is_known(const struct handle *h)
{
	return h->strong || h->weak;
}

static struct handle *find(struct player *player, u32 desc)
{
	u32 i;

	if (!desc)
		return &player->handles[0];
	for (i = 1; i < HANDLES; i++)
		if (is_known(&player->handles[i]) && player->handles[i].desc == desc)
			return &player->handles[i];
	return NULL;
}

static struct handle *find_or_new(struct player *player, u32 desc)
{
	struct handle *h = find(player, desc);
	u32 i;

	for (i = 1; !h && i < HANDLES; i++)
		if (!is_known(&player->handles[i]))
			h = &player->handles[i];
	if (h)
		h->desc = desc;
	return h;
}

struct handle *model_use(struct actor *a)
{
	struct player *player = a->player;
	u32 i, at = stage_dice(player->stage, HANDLES);

	for (i = 0; i < HANDLES; i++) {
		struct handle *h = &player->handles[(at + i) % HANDLES];

		if (!h->strong || a->nr_takings + 8 > TAKINGS)
			continue;
		h->in_use++;
		take(a, (struct taking){ .kind = TAKE_USE, .handle = h });
		/* Heard with the command that is said next. */
		a->takings[a->nr_takings - 1].at = a->out_len + 1;
		return h;
	}
	return NULL;
}

void model_take_manager(struct actor *a)
{
	actor_say(a, BC_ACQUIRE, &(u32){ 0 });
	take(a, (struct taking){ .kind = TAKE_STRONG });
}

void model_take(struct actor *a, u32 desc, bool strong)
{
	u32 i, room = 0;

	for (i = 1; i < HANDLES; i++)
		room += !is_known(&a->player->handles[i]);
	if (a->nr_takings + 16 > TAKINGS || room <= 16)
		return;
	actor_say(a, strong ? BC_ACQUIRE : BC_INCREFS, &desc);
	take(a, (struct taking){ .kind = strong ? TAKE_STRONG : TAKE_WEAK, .desc = desc });
}

void model_keep(struct actor *a, u64 buffer, s32 object)
{
	take(a, (struct taking){ .kind = TAKE_BUFFER, .buffer = buffer, .object = object });
}

static void keep(struct player *player, u64 buffer, s32 object)
{
	player->later[player->nr_later] = buffer;
	player->later_object[player->nr_later++] = object;
}

static void heard(struct actor *a, const struct taking *t)
{
	struct handle *h = t->handle;

	switch (t->kind) {
	case TAKE_BUFFER:
		keep(a->player, t->buffer, t->object);
		break;
	case TAKE_USE:
		h->in_use--;
		break;
	case TAKE_NOTICE:
		h->in_use--;
		if (h->notice[t->notice] == ASKING)
			h->notice[t->notice] = ASKED;
		break;
	default:
		h = find_or_new(a->player, t->desc);
		if (!h)
			stage_wrong("no room for one more handle");
		stage_log("actor %u took a count of handle %u of player %u", a->id, t->desc,
			  a->player->id);
		h->strong += t->kind == TAKE_STRONG;
		h->weak += t->kind == TAKE_WEAK;
		break;
	}
}

void model_heard(struct actor *a, size_t consumed)
{
	u32 kept = 0, i;

	for (i = 0; i < a->nr_takings; i++) {
		struct taking t = a->takings[i];

		if (t.at <= consumed || (t.kind == TAKE_USE && consumed == a->out_len)) {
			heard(a, &t);
			continue;
		}
		t.at -= consumed;
		a->takings[kept++] = t;
	}
	a->nr_takings = kept;
}

static void ask(struct actor *a, struct handle *h, u32 notice)
{
	struct binder_handle_cookie arg = {
		.handle = h->desc,
		.cookie = ++a->player->stage->last_cookie,
	};

	actor_say(a, notice == DEATH ? BC_REQUEST_DEATH_NOTIFICATION :
				       BC_REQUEST_FREEZE_NOTIFICATION, &arg);
	h->notice[notice] = ASKING;
	h->cookie[notice] = arg.cookie;
	h->in_use++;
	take(a, (struct taking){ .kind = TAKE_NOTICE, .handle = h, .notice = notice });
}

static void take_back(struct actor *a, struct handle *h, u32 notice)
{
	struct binder_handle_cookie arg = { .handle = h->desc, .cookie = h->cookie[notice] };

	actor_say(a, notice == DEATH ? BC_CLEAR_DEATH_NOTIFICATION :
				       BC_CLEAR_FREEZE_NOTIFICATION, &arg);
	h->notice[notice] = h->notice[notice] == TOLD ? CLEARING_TOLD : CLEARING;
	h->in_use++; /* it must not go before this was heard */
	take(a, (struct taking){ .kind = TAKE_USE, .handle = h });
}

void model_ask_notice(struct actor *a)
{
	struct handle *h = model_use(a);
	u32 notice = stage_dice(a->player->stage, NOTICES);

	if (!h)
		return;
	if (h->notice[notice] == NOT_ASKED)
		ask(a, h, notice);
	else if (h->notice[notice] == ASKED || h->notice[notice] == TOLD)
		take_back(a, h, notice);
}

void model_let_go(struct actor *a)
{
	struct player *player = a->player;
	struct handle *h = &player->handles[stage_dice(player->stage, HANDLES)];
	bool last = h->strong + h->weak == 1;
	u32 desc = h->desc;

	if (!is_known(h) || (h->in_use && !player->stage->genre.rude) ||
	    (last && (h->notice[DEATH] != NOT_ASKED || h->notice[FREEZE] != NOT_ASKED)))
		return;
	stage_log("actor %u lets go of handle %u (%u, %u) of player %u", a->id, desc, h->strong,
		  h->weak, player->id);
	if (h->strong && (!h->weak || one_in(player->stage, 2))) {
		h->strong--;
		actor_say(a, BC_RELEASE, &desc);
	} else {
		h->weak--;
		actor_say(a, BC_DECREFS, &desc);
	}
}

/* ---- notices ------------------------------------------------------------------------------ */

static struct handle *of_cookie(struct player *player, u32 notice, u64 cookie)
{
	u32 i;

	for (i = 0; i < HANDLES; i++)
		if (player->handles[i].cookie[notice] == cookie)
			return &player->handles[i];
	return NULL;
}

static void told(struct actor *a, struct handle *h, u32 notice)
{
	enum notice_state *state = &h->notice[notice];

	if (*state == CLEARING)
		*state = CLEARING_TOLD;
	else if (*state == ASKING || *state == ASKED)
		*state = TOLD;
	else
		stage_wrong("actor %u: a notice (%u) in state %d", a->id, notice, *state);
}

void model_notice(struct actor *a, u32 br, const u8 *arg)
{
	u32 notice = br == BR_DEAD_BINDER || br == BR_CLEAR_DEATH_NOTIFICATION_DONE ? DEATH :
										      FREEZE;
	struct handle *h;
	u64 cookie;

	memcpy(&cookie, arg, sizeof(cookie));
	if (br == BR_DEAD_BINDER)
		actor_say(a, BC_DEAD_BINDER_DONE, &cookie);
	else if (br == BR_FROZEN_BINDER)
		actor_say(a, BC_FREEZE_NOTIFICATION_DONE, &cookie);
	h = of_cookie(a->player, notice, cookie);
	if (a->player->confused)
		return;
	if (!h)
		stage_wrong("actor %u: a notice (%x) with an unknown cookie", a->id, br);
	if (br == BR_DEAD_BINDER) {
		told(a, h, notice);
	} else if (br != BR_FROZEN_BINDER) {
		if (h->notice[notice] != CLEARING && h->notice[notice] != CLEARING_TOLD)
			stage_wrong("actor %u: a notice (%u) cleared in state %d", a->id, notice,
				    h->notice[notice]);
		h->notice[notice] = NOT_ASKED;
	} else if (h->notice[notice] == NOT_ASKED) {
		stage_wrong("actor %u: a freeze notice that was cleared", a->id);
	}
}
