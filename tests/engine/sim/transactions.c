// SPDX-License-Identifier: GPL-2.0
/*
 * What actors send each other: a number and its complement, which identify the message, then some
 * of everything that a transaction can carry. While it is sent, another fiber may overwrite all
 * but the number.
 */
#include "scenario.h"

#define FLATS 3
#define MAGIC 0x5ca1ab1e0ddba11ull

struct parcel {
	u64 number, check;
	struct flat_binder_object flat[FLATS];
	struct binder_fd_object fd;
	struct binder_buffer_object outer, inner;
	struct binder_fd_array_object fda;
	u64 offsets[FLATS + 4];
	u64 outer_data[4]; /* [1]: where inner is; [2]: two files */
	u64 inner_data[2];
};

#define HEADER (2 * sizeof(u64))
#define PARCEL_SIZE offsetof(struct parcel, offsets)
#define BUFFERS_SIZE (6 * sizeof(u64))

static u8 *memory_of(struct process *process, u64 at)
{
	return process->sim->memory + (at - SIM_BASE);
}

/* ---- making one -------------------------------------------------------------------- */

static void add(struct parcel *p, u32 *nr, const void *object)
{
	p->offsets[(*nr)++] = (u64)((const u8 *)object - (const u8 *)p);
}

static void put_object(struct actor *a, struct flat_binder_object *o, u32 object, bool strong)
{
	struct scenario *scenario = a->process->scenario;

	*o = (struct flat_binder_object){
		.hdr.type = strong ? BINDER_TYPE_BINDER : BINDER_TYPE_WEAK_BINDER,
		.flags = FLAT_BINDER_FLAG_ACCEPTS_FDS,
		.binder = object_ptr(object),
		.cookie = object_cookie(a->process, object),
	};
	if (scenario->traits.secctx && object % 2)
		o->flags |= FLAT_BINDER_FLAG_TXN_SECURITY_CTX;
	if (scenario->traits.realtime && object)
		o->flags |= FLAT_BINDER_FLAG_INHERIT_RT | (object == 2 ? 1 << 9 | 10 : object);
}

static void put_own(struct actor *a, struct flat_binder_object *o)
{
	u32 object = scenario_random(a->process->scenario, OBJECTS);

	put_object(a, o, object, scenario_random(a->process->scenario, 4));
}

static void put_flat(struct actor *a, struct flat_binder_object *o)
{
	struct scenario *scenario = a->process->scenario;
	bool careless = scenario->traits.misbehaves && one_in(scenario, 3);
	struct handle *h = scenario_random(scenario, 2) && !careless ? model_use(a) : NULL;
	u32 desc = h ? h->desc : 1 + scenario_random(scenario, 5);

	if (!h && !careless) {
		put_own(a, o);
		return;
	}
	*o = (struct flat_binder_object){
		.hdr.type =
			scenario_random(scenario, 4) ? BINDER_TYPE_HANDLE : BINDER_TYPE_WEAK_HANDLE,
		.handle = desc, /* careless: another thread may release it meanwhile */
	};
}

static void put_buffers(struct actor *a, struct parcel *p, u32 *nr, u64 at)
{
	struct scenario *scenario = a->process->scenario;
	u32 fds[2] = { scenario_random(scenario, 3), scenario_random(scenario, 3) };

	memcpy(&p->outer_data[2], fds, sizeof(fds));
	p->outer = (struct binder_buffer_object){
		.hdr.type = BINDER_TYPE_PTR,
		.buffer = at + offsetof(struct parcel, outer_data),
		.length = sizeof(p->outer_data),
	};
	p->inner = (struct binder_buffer_object){
		.hdr.type = BINDER_TYPE_PTR,
		.flags = BINDER_BUFFER_FLAG_HAS_PARENT,
		.buffer = at + offsetof(struct parcel, inner_data),
		.length = sizeof(p->inner_data),
		.parent = *nr,
		.parent_offset = sizeof(u64),
	};
	p->fda = (struct binder_fd_array_object){
		.hdr.type = BINDER_TYPE_FDA,
		.num_fds = 2,
		.parent = *nr,
		.parent_offset = 2 * sizeof(u64),
	};
	add(p, nr, &p->outer);
	add(p, nr, &p->inner);
	if (one_in(scenario, 2))
		add(p, nr, &p->fda);
}

/* Fills in a parcel at @at of the actor's memory; returns the number of objects. */
static u32 fill(struct actor *a, u64 at, u32 message, bool *buffers)
{
	struct scenario *scenario = a->process->scenario;
	struct parcel *p = (struct parcel *)memory_of(a->process, at);
	u32 nr = 0, i;

	*p = (struct parcel){ .number = message, .check = message ^ MAGIC };
	if (a->cargo) {
		put_object(a, &p->flat[0], a->cargo, true);
		add(p, &nr, &p->flat[0]);
		a->cargo = 0;
	}
	for (i = 0; i < FLATS; i++) {
		if (scenario_random(scenario, 3))
			continue;
		put_flat(a, &p->flat[i]);
		add(p, &nr, &p->flat[i]);
	}
	if (!scenario_random(scenario, 4)) {
		p->fd = (struct binder_fd_object){ .hdr.type = BINDER_TYPE_FD,
						   .fd = scenario_random(scenario, 3) };
		add(p, &nr, &p->fd);
	}
	*buffers = !scenario_random(scenario, 5);
	if (*buffers)
		put_buffers(a, p, &nr, at);
	return nr;
}

static u32 flags_of(struct scenario *scenario, enum message_kind kind)
{
	u32 flags = TF_ACCEPT_FDS;

	if (kind == ONEWAY)
		flags |= TF_ONE_WAY | (one_in(scenario, 2) ? TF_UPDATE_TXN : 0);
	if (kind == REPLY && one_in(scenario, 2))
		flags |= TF_DEFER_COMPLETE;
	if (one_in(scenario, 4))
		flags |= TF_CLEAR_BUF;
	return flags;
}

void parcel_send(struct actor *a, enum message_kind kind, u32 handle)
{
	struct scenario *scenario = a->process->scenario;
	u64 at = a->area + DATA_AT + (a->next_data++ % DATAS) * DATA_SIZE;
	bool scribbled = scenario->traits.scribbles && one_in(scenario, 2), buffers = false, sg;
	u32 message = model_message(a, kind, scribbled);
	struct binder_transaction_data_sg args = { .buffers_size = 0 };
	struct binder_transaction_data *tr = &args.transaction_data;
	u32 nr;

	nr = fill(a, at, message, &buffers);
	tr->target.handle = handle;
	tr->flags = flags_of(scenario, kind);
	tr->code = tr->flags & TF_UPDATE_TXN
			   ? 0
			   : message; /* equal codes, so that a newer one replaces it */
	tr->data_size = nr ? PARCEL_SIZE : HEADER;
	if (!nr && (one_in(scenario, 4) || scenario->traits.pressure))
		tr->data_size += scenario_random(scenario, scenario->traits.calm ? 512 : 0x2800);
	tr->offsets_size = nr * sizeof(u64);
	tr->data.ptr.buffer = at;
	tr->data.ptr.offsets = at + offsetof(struct parcel, offsets);
	sg = buffers || one_in(scenario, 8);
	args.buffers_size = buffers ? BUFFERS_SIZE : 0;
	if (sg)
		actor_put(a, kind == REPLY ? BC_REPLY_SG : BC_TRANSACTION_SG, &args);
	else
		actor_put(a, kind == REPLY ? BC_REPLY : BC_TRANSACTION, tr);
	scenario->messages[message].nr_offsets = nr;
	scenario_log("actor %u sends %u (%s) to %u: %u objects", a->id, message,
		     kind == CALL     ? "call"
		     : kind == ONEWAY ? "one-way"
				      : "reply",
		     handle, nr);
	model_sent(a, kind, message);
}

/* Overwrites what a thread is about to send, or is sending. */
void parcel_scribble(struct scenario *scenario)
{
	struct process *process = pick_process(scenario, false);
	struct parcel *p;
	struct actor *a;
	u8 *byte;

	if (!process || !process->nr_actors)
		return;
	a = process->actors[scenario_random(scenario, process->nr_actors)];
	p = (struct parcel *)memory_of(
		process, a->area + DATA_AT + scenario_random(scenario, DATAS) * DATA_SIZE);
	if (!p->number || !scenario->messages[p->number].scribbled)
		return;
	if (one_in(scenario, 2))
		put_own(a, &p->flat[scenario_random(scenario, FLATS)]);
	else if (one_in(scenario, 2))
		p->flat[scenario_random(scenario, FLATS)] =
			(struct flat_binder_object){ .hdr.type = BINDER_TYPE_HANDLE,
						     .handle = scenario_random(scenario, 6) };
	byte = (u8 *)p + HEADER + scenario_random(scenario, sizeof(*p) - HEADER);
	*byte = (u8)scenario_random(scenario, 256);
}

/* ---- receiving one -------------------------------------------------------------------- */

/* Memory of the actor's process, as the process itself sees it. */
static bool read_own(struct actor *a, void *dst, u64 at, size_t size)
{
	return !sim_read(a->process->sim, dst, at, size);
}

static void unpack_flat(struct actor *a, const struct flat_binder_object *o)
{
	bool strong = o->hdr.type == BINDER_TYPE_HANDLE;
	u64 object = (o->binder - object_ptr(0)) / 0x10;

	if (strong || o->hdr.type == BINDER_TYPE_WEAK_HANDLE) {
		if (scenario_random(a->process->scenario, 3))
			model_acquire(a, o->handle, strong);
	} else if (!a->process->scenario->traits.scribbles &&
		   (object >= OBJECTS || o->cookie != object_cookie(a->process, (u32)object))) {
		scenario_fail("actor %u: an object came back that is not its own", a->id);
	}
}

static void unpack_fd(struct actor *a, u32 fd)
{
	if (!sim_file_id(a->process->sim, fd))
		scenario_fail("actor %u: file %u arrived and is not open", a->id, fd);
	sim_file_close(a->process->sim, fd);
}

/* The two files of an array are open; they are closed with the buffer. */
static void check_array(struct actor *a, const struct parcel *p)
{
	u32 fds[2];

	if (read_own(a, fds, p->outer.buffer + 2 * sizeof(u64), sizeof(fds)) &&
	    (!sim_file_id(a->process->sim, fds[0]) || !sim_file_id(a->process->sim, fds[1])))
		scenario_fail("actor %u: the files of an array are not open", a->id);
}

static void unpack(struct actor *a, const struct binder_transaction_data *tr,
		   const struct message *m)
{
	u64 offsets[FLATS + 4] = { 0 };
	struct parcel p = { 0 };
	u64 nr = tr->offsets_size / sizeof(u64), i;

	/* Another thread may have freed the buffer, and a later message be in its place. */
	if (nr != m->nr_offsets && a->process->confused)
		return;
	if (nr > FLATS + 4 || (nr != m->nr_offsets && !m->from->process->confused))
		scenario_fail("actor %u: a message with the wrong number of objects", a->id);
	if (!nr)
		return;
	if (!read_own(a, &p, tr->data.ptr.buffer, PARCEL_SIZE) ||
	    !read_own(a, offsets, tr->data.ptr.offsets, tr->offsets_size))
		scenario_fail("actor %u: a buffer that cannot be read", a->id);
	for (i = 0; i < nr; i++) {
		union {
			struct binder_object_header hdr;
			struct flat_binder_object flat;
			struct binder_fd_object fd;
		} o;

		if (offsets[i] > PARCEL_SIZE - sizeof(o))
			continue; /* overwritten; or a buffer, which comes last */
		memcpy(&o, (u8 *)&p + offsets[i], sizeof(o));
		if (o.hdr.type == BINDER_TYPE_FD)
			unpack_fd(a, o.fd.fd);
		else if (o.hdr.type == BINDER_TYPE_FDA && !m->scribbled)
			check_array(a, &p);
		else if (o.hdr.type != BINDER_TYPE_PTR && o.hdr.type != BINDER_TYPE_FDA)
			unpack_flat(a, &o.flat);
	}
}

/* ---- freeing buffers ---------------------------------------------------------------------- */

static void free_buffer(struct actor *a, u64 buffer, s32 object)
{
	if (object >= 0)
		a->process->objects[object].in_flight--;
	actor_put(a, BC_FREE_BUFFER, &buffer);
}

void parcel_free_later(struct actor *a)
{
	struct process *process = a->process;
	u32 at;

	if (!process->nr_later)
		return;
	at = scenario_random(process->scenario, process->nr_later);
	free_buffer(a, process->later[at], process->later_object[at]);
	process->nr_later--;
	process->later[at] = process->later[process->nr_later];
	process->later_object[at] = process->later_object[process->nr_later];
}

static void keep_or_free(struct actor *a, u64 buffer, s32 object)
{
	struct process *process = a->process;

	/* Each actor may have one that is not in the list yet. */
	if (process->nr_later + ACTORS_MAX > LATER || scenario_random(process->scenario, 8))
		free_buffer(a, buffer, object);
	else
		model_keep(a, buffer, object);
}

void parcel_receive(struct actor *a, u32 br, const struct binder_transaction_data *tr)
{
	struct scenario *scenario = a->process->scenario;
	u64 header[2] = { 0 }, object = (tr->target.ptr - object_ptr(0)) / 0x10;
	bool oneway = tr->flags & TF_ONE_WAY, strange;
	struct message *m;

	if (!read_own(a, header, tr->data.ptr.buffer, sizeof(header)) ||
	    (header[0] ^ MAGIC) != header[1] || header[0] > model_last_message(scenario)) {
		if (a->process->confused) /* it may have freed the buffer already */
			return;
		scenario_fail("actor %u: a message that was never sent", a->id);
	}
	scenario_log("actor %u receives %u (%s)", a->id, (u32)header[0],
		     br == BR_REPLY ? "reply"
		     : oneway	    ? "one-way"
				    : "call");
	m = &scenario->messages[header[0]];
	strange = object >= OBJECTS || tr->cookie != object_cookie(a->process, (u32)object);
	if (br != BR_REPLY && strange && !scenario->traits.scribbles)
		scenario_fail("actor %u: a call of an object that is not its own", a->id);
	oneway &= br != BR_REPLY;
	if (br == BR_REPLY)
		model_reply_arrived(a, (u32)header[0]);
	else if (oneway && !strange)
		model_oneway_arrived(a, (u32)header[0], (u32)object);
	else if (!oneway)
		model_call_arrived(a, (u32)header[0]);
	unpack(a, tr, m);
	keep_or_free(a, tr->data.ptr.buffer, oneway && !strange ? (s32)object : -1);
}
