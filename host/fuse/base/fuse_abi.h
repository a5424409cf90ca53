/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Definitions that <linux/fuse.h> of an older distribution lacks.
 *
 * The daemon speaks the raw /dev/fuse protocol of the running kernel, which may be newer than the
 * installed header. The numbers below are ABI; each is guarded so that a newer header takes
 * precedence. The two structs are copied under other names, because the field that is needed here
 * is called "unused" or "padding" in older headers.
 */
#ifndef HOST_FUSE_FUSE_ABI_H
#define HOST_FUSE_FUSE_ABI_H

#include <linux/fuse.h>
#include <linux/ioctl.h>
#include <stdint.h>

#ifndef FUSE_DIRECT_IO_ALLOW_MMAP
#define FUSE_DIRECT_IO_ALLOW_MMAP	(1ULL << 36)
#endif

#ifndef FUSE_PASSTHROUGH
#define FUSE_PASSTHROUGH		(1ULL << 37)
#endif

#ifndef FUSE_HAS_RESEND
#define FUSE_HAS_RESEND			(1ULL << 39)
#endif

#ifndef FUSE_REQUEST_TIMEOUT
#define FUSE_REQUEST_TIMEOUT		(1ULL << 42)
#endif

#ifndef FOPEN_PASSTHROUGH
#define FOPEN_PASSTHROUGH		(1 << 7)
#endif

#ifndef FUSE_DEV_IOC_BACKING_OPEN
struct fuse_backing_map {
	int32_t fd;
	uint32_t flags;
	uint64_t padding;
};

#define FUSE_DEV_IOC_BACKING_OPEN	_IOW(229, 1, struct fuse_backing_map)
#define FUSE_DEV_IOC_BACKING_CLOSE	_IOW(229, 2, uint32_t)
#endif

/* A value of enum fuse_notify_code, since Linux 6.9. */
#define ABI_NOTIFY_RESEND 7

/* struct fuse_init_out with the names that Linux 6.9 and 6.14 gave to its first unused words. */
struct abi_init_out {
	uint32_t major;
	uint32_t minor;
	uint32_t max_readahead;
	uint32_t flags;
	uint16_t max_background;
	uint16_t congestion_threshold;
	uint32_t max_write;
	uint32_t time_gran;
	uint16_t max_pages;
	uint16_t map_alignment;
	uint32_t flags2;
	uint32_t max_stack_depth;
	uint16_t request_timeout;	/* seconds */
	uint16_t unused[11];
};

/* struct fuse_open_out with the name that Linux 6.9 gave to its padding. */
struct abi_open_out {
	uint64_t fh;
	uint32_t open_flags;
	int32_t backing_id;
};

_Static_assert(sizeof(struct abi_init_out) == sizeof(struct fuse_init_out), "INIT reply size");
_Static_assert(sizeof(struct abi_open_out) == sizeof(struct fuse_open_out), "OPEN reply size");

#endif
