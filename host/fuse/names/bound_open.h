/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rule by which an open of a device may use the pages of its inode, or is bound.
 *
 * Each LOOKUP of a device creates an inode (tree.h), and the open(2) that caused the LOOKUP is
 * normally its only open: a direct open, which may use the inode's pages for its buffer. A bind
 * mount of a device file, on the other hand, keeps an inode, and every open through it is an open
 * of that inode. In FUSE all of them share the inode's pages, so none may use them: these are bound
 * opens, whose buffers are written in another way (bound_buffer.h).
 *
 * The two differ in the requests that they cause. A direct open is a LOOKUP and at once the OPEN,
 * by one thread. Any other OPEN fails with ESTALE once, whereupon the kernel walks the path again:
 * a path in the mount is looked up again, and another inode is opened; a bound file needs no LOOKUP
 * and the same inode is opened again.
 *
 * The kernel itself opens the inode of an open file, without flags, to ask for its attributes
 * (FS_IOC_GETFLAGS and its like). Every open(2) has flags, O_LARGEFILE at least, but for one of a
 * 32-bit program, which is served if it is the first of the inode.
 *
 * The lock of the tree is held for all functions but the first.
 */
#ifndef HOST_FUSE_BOUND_OPEN_H
#define HOST_FUSE_BOUND_OPEN_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The opens of one inode of a device. */
struct inode_opens {
	pid_t looked_by;	/* the thread whose LOOKUP created the inode */
	uint64_t looked_ns;
	bool repeated;		/* that thread was walking a path again */
	bool opened;		/* once, at least */
	bool direct;		/* a direct open exists */
	bool bound;
	unsigned int nr_opens;	/* that exist */
};

/* How an open is answered: with an error if the value is below 0. */
enum bound_open_result {
	OPEN_DIRECT,
	OPEN_BOUND,
	OPEN_RETRY = -ESTALE,
	OPEN_BUSY = -EBUSY,	/* a direct open uses the inode's pages */
	/* a direct open may have left pages: bound_open_pages_dropped() */
	OPEN_HAS_PAGES = -EAGAIN,
};

void bound_open_init(void);

/* Thread @tid has looked up the new inode of @opens. */
void bound_open_looked_up(struct inode_opens *opens, pid_t tid);

/* Has the kernel itself opened the inode? @flags: those of the OPEN. */
bool bound_open_is_kernels(const struct inode_opens *opens, uint32_t flags);

/* Thread @tid opens inode @id. OPEN_DIRECT and OPEN_BOUND count an open. */
enum bound_open_result bound_open_decide(struct inode_opens *opens, uint64_t id, pid_t tid);

/*
 * The pages of the inode were dropped after OPEN_HAS_PAGES: its opens are bound from now on. They
 * fill its pages with zeroes only.
 */
void bound_open_pages_dropped(struct inode_opens *opens);

/* An open of the inode has ended. */
void bound_open_release(struct inode_opens *opens);

#endif
