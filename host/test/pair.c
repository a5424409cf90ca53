// SPDX-License-Identifier: GPL-2.0
/* The steps of a client and a server that most tests of the whole engine need. */
#include "pair.h"

void pair_make(struct pair *p)
{
	*p = (struct pair){ 0 };
	world_begin(&p->w);
	p->server = world_proc(&p->w);
	p->client = world_proc(&p->w);
	p->s = world_thread(p->server);
	p->c = world_thread(p->client);
}

void pair_start(struct pair *p, u32 flags)
{
	struct flat_binder_object manager = pair_binder(0, 0, flags);

	if (flags)
		world_ioctl(p->s, BINDER_SET_CONTEXT_MGR_EXT, &manager);
	else
		world_become_manager(p->s);
	world_command(p->s, BC_ENTER_LOOPER, NULL);
	world_write_read(p->s, false);
	world_write_read(p->c, false);
	pair_serve(p);
}

void pair_begin(struct pair *p)
{
	pair_make(p);
	pair_start(p, 0);
}

bool pair_end(struct pair *p)
{
	return world_end(&p->w);
}

int pair_call(struct pair *p, u32 handle, u32 code, u32 flags, const char *data)
{
	struct world_call call = {
		.handle = handle,
		.code = code,
		.flags = flags,
		.data = data,
		.size = strlen(data) + 1,
	};

	world_call(p->c, &call);
	return world_write_read(p->c, true);
}

void pair_serve(struct pair *p)
{
	if (!p->s->parked)
		world_write_read(p->s, true);
}

void pair_reply(struct pair *p, const char *data)
{
	struct world_call reply = { .data = data, .size = strlen(data) + 1 };

	if (p->s->parked)
		return; /* because of an injected failure */
	world_reply(p->s, &reply);
	world_poll_read(p->s);
	world_run(&p->w);
}

bool pair_expect(struct world_thread *t, u32 br, void *arg)
{
	u8 got[80];

	if (world_next(t, got) != br)
		return false;
	if (arg)
		host_memcpy(arg, got, ABI_IOC_SIZE(br));
	return true;
}

bool pair_receive(struct pair *p, struct binder_transaction_data *tr)
{
	world_run(&p->w);
	return pair_expect(p->s, BR_TRANSACTION, tr);
}

bool pair_has_data(struct world_thread *t, const struct binder_transaction_data *tr,
		   const char *data)
{
	char got[256];
	size_t size = strlen(data) + 1;

	return tr->data_size == size && size <= sizeof(got) &&
	       !sim_read(t->proc->sim, got, tr->data.ptr.buffer, size) && !memcmp(got, data, size);
}

struct flat_binder_object pair_binder(u64 ptr, u64 cookie, u32 flags)
{
	return (struct flat_binder_object){
		.hdr.type = BINDER_TYPE_BINDER,
		.flags = flags,
		.binder = ptr,
		.cookie = cookie,
	};
}

struct world_call pair_object_call(const void *object, size_t size, u32 flags)
{
	static const u64 at_start;

	return (struct world_call){
		.flags = flags,
		.data = object,
		.size = size,
		.offsets = &at_start,
		.nr_offsets = 1,
	};
}

u32 pair_send_object(struct pair *p, u64 ptr, u64 cookie)
{
	struct flat_binder_object object = pair_binder(ptr, cookie, 0);
	struct world_call call = pair_object_call(&object, sizeof(object), 0);
	u8 arg[80];
	struct binder_transaction_data *tr = (void *)arg;
	u32 handle = 0;
	u32 br;

	world_call(p->c, &call);
	world_write_read(p->c, true);
	world_run(&p->w);
	while ((br = world_next(p->s, arg))) {
		if (br != BR_TRANSACTION ||
		    sim_read(p->server->sim, &object, tr->data.ptr.buffer, sizeof(object)))
			continue;
		handle = object.handle;
		world_command(p->s, BC_ACQUIRE, &handle);
		world_free_buffer(p->s, tr);
	}
	pair_reply(p, "");
	pair_serve(p);
	world_run(&p->w);
	return handle;
}
