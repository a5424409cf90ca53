/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Binder ABI: the numbers and layouts of <linux/android/binder.h> of the newest
 * mainline, and the flags that Android's own kernels add. Static assertions check the
 * sizes. Defined here because the headers that distributions ship are older than the
 * protocol.
 */
#ifndef BINDER_ABI_H
#define BINDER_ABI_H

#include "base/base_types.h"

/* ioctl numbers: direction, size, letter, number */
#define ABI_IOC(dir, type, nr, size)                                           \
	(((u32)(dir) << 30) | ((u32)(size) << 16) | ((u32)(type) << 8) |       \
	 (u32)(nr))
#define ABI_IO(type, nr)       ABI_IOC(0, type, nr, 0)
#define ABI_IOW(type, nr, t)   ABI_IOC(1, type, nr, sizeof(t))
#define ABI_IOR(type, nr, t)   ABI_IOC(2, type, nr, sizeof(t))
#define ABI_IOWR(type, nr, t)  ABI_IOC(3, type, nr, sizeof(t))
#define ABI_IOC_NR(cmd)	       ((cmd) & 0xff)
#define ABI_IOC_SIZE(cmd)      (((cmd) >> 16) & 0x3fff)
#define ABI_IOC_READS(cmd)     (((cmd) >> 30) & 2) /* the driver writes back */
#define ABI_IOC_WRITES(cmd)    (((cmd) >> 30) & 1) /* the caller passes in */

#define ABI_FOURCC(a, b)                                                       \
	(((u32)(a) << 24) | ((u32)(b) << 16) | ((u32)'*' << 8) | 0x85u)

#define BINDER_TYPE_BINDER	ABI_FOURCC('s', 'b')
#define BINDER_TYPE_WEAK_BINDER ABI_FOURCC('w', 'b')
#define BINDER_TYPE_HANDLE	ABI_FOURCC('s', 'h')
#define BINDER_TYPE_WEAK_HANDLE ABI_FOURCC('w', 'h')
#define BINDER_TYPE_FD		ABI_FOURCC('f', 'd')
#define BINDER_TYPE_FDA		(((u32)'f' << 24) | ((u32)'d' << 16) | ((u32)'a' << 8) | 0x85u)
#define BINDER_TYPE_PTR		ABI_FOURCC('p', 't')

enum {
	FLAT_BINDER_FLAG_PRIORITY_MASK = 0xff,
	FLAT_BINDER_FLAG_ACCEPTS_FDS = 0x100,
	FLAT_BINDER_FLAG_SCHED_POLICY_MASK = 0x600, /* Android's kernels */
	FLAT_BINDER_FLAG_SCHED_POLICY_SHIFT = 9,
	FLAT_BINDER_FLAG_INHERIT_RT = 0x800, /* Android's kernels */
	FLAT_BINDER_FLAG_TXN_SECURITY_CTX = 0x1000,
};

enum {
	BINDER_BUFFER_FLAG_HAS_PARENT = 0x01,
};

struct binder_object_header {
	u32 type;
};

struct flat_binder_object {
	struct binder_object_header hdr;
	u32 flags;
	union {
		u64 binder; /* BINDER: the object in its owner */
		u32 handle; /* HANDLE: an object of another process */
	};
	u64 cookie;
};

struct binder_fd_object {
	struct binder_object_header hdr;
	u32 pad_flags;
	union {
		u64 pad_binder;
		u32 fd;
	};
	u64 cookie;
};

struct binder_buffer_object {
	struct binder_object_header hdr;
	u32 flags;
	u64 buffer;
	u64 length;
	u64 parent;
	u64 parent_offset;
};

struct binder_fd_array_object {
	struct binder_object_header hdr;
	u32 pad;
	u64 num_fds;
	u64 parent;
	u64 parent_offset;
};

struct binder_write_read {
	u64 write_size;
	u64 write_consumed;
	u64 write_buffer;
	u64 read_size;
	u64 read_consumed;
	u64 read_buffer;
};

struct binder_version {
	s32 protocol_version;
};
#define BINDER_CURRENT_PROTOCOL_VERSION 8

struct binder_node_debug_info {
	u64 ptr;
	u64 cookie;
	u32 has_strong_ref;
	u32 has_weak_ref;
};

struct binder_node_info_for_ref {
	u32 handle;
	u32 strong_count;
	u32 weak_count;
	u32 reserved1;
	u32 reserved2;
	u32 reserved3;
};

struct binder_freeze_info {
	u32 pid;
	u32 enable;
	u32 timeout_ms;
};

/* sync_recv: bit 0: calls arrived since the freeze; bit 1: calls are still pending */
struct binder_frozen_status_info {
	u32 pid;
	u32 sync_recv;
	u32 async_recv;
};

struct binder_frozen_state_info {
	u64 cookie;
	u32 is_frozen;
	u32 reserved;
};

struct binder_extended_error {
	u32 id;
	u32 command;
	s32 param;
};

#define BINDER_WRITE_READ	     ABI_IOWR('b', 1, struct binder_write_read)
#define BINDER_SET_IDLE_TIMEOUT	     ABI_IOW('b', 3, s64)
#define BINDER_SET_MAX_THREADS	     ABI_IOW('b', 5, u32)
#define BINDER_SET_IDLE_PRIORITY     ABI_IOW('b', 6, s32)
#define BINDER_SET_CONTEXT_MGR	     ABI_IOW('b', 7, s32)
#define BINDER_THREAD_EXIT	     ABI_IOW('b', 8, s32)
#define BINDER_VERSION		     ABI_IOWR('b', 9, struct binder_version)
/* Some Android kernels have it, and no header; hwservicemanager knows the number. */
#define BINDER_SET_INHERIT_FIFO_PRIO ABI_IO('b', 10)
#define BINDER_GET_NODE_DEBUG_INFO   ABI_IOWR('b', 11, struct binder_node_debug_info)
#define BINDER_GET_NODE_INFO_FOR_REF ABI_IOWR('b', 12, struct binder_node_info_for_ref)
#define BINDER_SET_CONTEXT_MGR_EXT   ABI_IOW('b', 13, struct flat_binder_object)
#define BINDER_FREEZE		     ABI_IOW('b', 14, struct binder_freeze_info)
#define BINDER_GET_FROZEN_INFO	     ABI_IOWR('b', 15, struct binder_frozen_status_info)
#define BINDER_ENABLE_ONEWAY_SPAM_DETECTION ABI_IOW('b', 16, u32)
#define BINDER_GET_EXTENDED_ERROR    ABI_IOWR('b', 17, struct binder_extended_error)

enum transaction_flags {
	TF_ONE_WAY = 0x01,
	TF_ROOT_OBJECT = 0x04,
	TF_STATUS_CODE = 0x08,
	TF_ACCEPT_FDS = 0x10,
	TF_CLEAR_BUF = 0x20,
	TF_UPDATE_TXN = 0x40,
	TF_DEFER_COMPLETE = 0x80, /* of a reply; in no header of mainline yet */
};

/*
 * Arguments in streams of commands and returns follow a code of 4 bytes, so their 8-byte
 * members are only aligned to 4. The attribute lets the compiler access them in place.
 */
#define ABI_IN_STREAM __attribute__((packed, aligned(4)))
typedef u64 abi_stream_u64 __attribute__((aligned(4)));

struct binder_transaction_data {
	union {
		u32 handle; /* in commands */
		u64 ptr;    /* in returns */
	} target;
	u64 cookie;
	u32 code;
	u32 flags;
	s32 sender_pid;
	u32 sender_euid;
	u64 data_size;
	u64 offsets_size;
	union {
		struct {
			u64 buffer;
			u64 offsets;
		} ptr;
		u8 buf[8];
	} data;
} ABI_IN_STREAM;

struct binder_transaction_data_secctx {
	struct binder_transaction_data transaction_data;
	u64 secctx;
} ABI_IN_STREAM;

struct binder_transaction_data_sg {
	struct binder_transaction_data transaction_data;
	u64 buffers_size;
} ABI_IN_STREAM;

struct binder_ptr_cookie {
	u64 ptr;
	u64 cookie;
} ABI_IN_STREAM;

struct binder_handle_cookie {
	u32 handle;
	u64 cookie;
} ABI_IN_STREAM;

struct binder_pri_desc {
	s32 priority;
	u32 desc;
};

struct binder_pri_ptr_cookie {
	s32 priority;
	u64 ptr;
	u64 cookie;
};

#define BR_ERROR		     ABI_IOR('r', 0, s32)
#define BR_OK			     ABI_IO('r', 1)
#define BR_TRANSACTION_SEC_CTX	     ABI_IOR('r', 2, struct binder_transaction_data_secctx)
#define BR_TRANSACTION		     ABI_IOR('r', 2, struct binder_transaction_data)
#define BR_REPLY		     ABI_IOR('r', 3, struct binder_transaction_data)
#define BR_ACQUIRE_RESULT	     ABI_IOR('r', 4, s32)
#define BR_DEAD_REPLY		     ABI_IO('r', 5)
#define BR_TRANSACTION_COMPLETE	     ABI_IO('r', 6)
#define BR_INCREFS		     ABI_IOR('r', 7, struct binder_ptr_cookie)
#define BR_ACQUIRE		     ABI_IOR('r', 8, struct binder_ptr_cookie)
#define BR_RELEASE		     ABI_IOR('r', 9, struct binder_ptr_cookie)
#define BR_DECREFS		     ABI_IOR('r', 10, struct binder_ptr_cookie)
#define BR_ATTEMPT_ACQUIRE	     ABI_IOR('r', 11, struct binder_pri_ptr_cookie)
#define BR_NOOP			     ABI_IO('r', 12)
#define BR_SPAWN_LOOPER		     ABI_IO('r', 13)
#define BR_FINISHED		     ABI_IO('r', 14)
#define BR_DEAD_BINDER		     ABI_IOR('r', 15, u64)
#define BR_CLEAR_DEATH_NOTIFICATION_DONE ABI_IOR('r', 16, u64)
#define BR_FAILED_REPLY		     ABI_IO('r', 17)
#define BR_FROZEN_REPLY		     ABI_IO('r', 18)
#define BR_ONEWAY_SPAM_SUSPECT	     ABI_IO('r', 19)
#define BR_TRANSACTION_PENDING_FROZEN ABI_IO('r', 20)
#define BR_FROZEN_BINDER	     ABI_IOR('r', 21, struct binder_frozen_state_info)
#define BR_CLEAR_FREEZE_NOTIFICATION_DONE ABI_IOR('r', 22, u64)

#define BC_TRANSACTION		     ABI_IOW('c', 0, struct binder_transaction_data)
#define BC_REPLY		     ABI_IOW('c', 1, struct binder_transaction_data)
#define BC_ACQUIRE_RESULT	     ABI_IOW('c', 2, s32)
#define BC_FREE_BUFFER		     ABI_IOW('c', 3, u64)
#define BC_INCREFS		     ABI_IOW('c', 4, u32)
#define BC_ACQUIRE		     ABI_IOW('c', 5, u32)
#define BC_RELEASE		     ABI_IOW('c', 6, u32)
#define BC_DECREFS		     ABI_IOW('c', 7, u32)
#define BC_INCREFS_DONE		     ABI_IOW('c', 8, struct binder_ptr_cookie)
#define BC_ACQUIRE_DONE		     ABI_IOW('c', 9, struct binder_ptr_cookie)
#define BC_ATTEMPT_ACQUIRE	     ABI_IOW('c', 10, struct binder_pri_desc)
#define BC_REGISTER_LOOPER	     ABI_IO('c', 11)
#define BC_ENTER_LOOPER		     ABI_IO('c', 12)
#define BC_EXIT_LOOPER		     ABI_IO('c', 13)
#define BC_REQUEST_DEATH_NOTIFICATION ABI_IOW('c', 14, struct binder_handle_cookie)
#define BC_CLEAR_DEATH_NOTIFICATION  ABI_IOW('c', 15, struct binder_handle_cookie)
#define BC_DEAD_BINDER_DONE	     ABI_IOW('c', 16, u64)
#define BC_TRANSACTION_SG	     ABI_IOW('c', 17, struct binder_transaction_data_sg)
#define BC_REPLY_SG		     ABI_IOW('c', 18, struct binder_transaction_data_sg)
#define BC_REQUEST_FREEZE_NOTIFICATION ABI_IOW('c', 19, struct binder_handle_cookie)
#define BC_CLEAR_FREEZE_NOTIFICATION ABI_IOW('c', 20, struct binder_handle_cookie)
#define BC_FREEZE_NOTIFICATION_DONE  ABI_IOW('c', 21, u64)

_Static_assert(sizeof(struct flat_binder_object) == 24, "flat object");
_Static_assert(sizeof(struct binder_fd_object) == 24, "fd object");
_Static_assert(sizeof(struct binder_buffer_object) == 40, "buffer object");
_Static_assert(sizeof(struct binder_fd_array_object) == 32, "fd array object");
_Static_assert(sizeof(struct binder_write_read) == 48, "write_read");
_Static_assert(sizeof(struct binder_transaction_data) == 64, "transaction");
_Static_assert(sizeof(struct binder_transaction_data_secctx) == 72, "with context");
_Static_assert(sizeof(struct binder_transaction_data_sg) == 72, "scatter-gather");
_Static_assert(sizeof(struct binder_handle_cookie) == 12, "packed");
_Static_assert(sizeof(struct binder_frozen_state_info) == 16, "frozen state");

#endif
