/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What outlives a server: a memory file that the supervisor creates and every server maps.
 *
 * It holds the names that the mount has, with owners and permissions; what the next server needs to
 * tidy up after one that has crashed; and what binder_logs/daemon shows. Each entry is written so
 * that a server can be killed at any point. The next server may be of another version, so the
 * format has one (PERSISTENT_VERSION), and what a server reads is checked: the one that wrote it
 * may have crashed because its memory was damaged.
 */
#ifndef HOST_FUSE_PERSISTENT_H
#define HOST_FUSE_PERSISTENT_H

#include "session/handles.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PERSISTENT_MAGIC 0x6b6e6962u
#define PERSISTENT_VERSION 1u

/* Room for every device, for directories and texts, and for one that is being changed. */
#define PERSISTENT_NAMES (NODEID_DEVICES_MAX + 256u)
#define PERSISTENT_NAME_SIZE 256u

/* Threads whose open is being walked again (bound_open.h); a newer one may replace another. */
#define PERSISTENT_REFUSED 1024u

/* A device; or a directory or text whose owner or permissions were changed. */
struct persistent_name {
	_Atomic uint64_t sequence;	/* the newer of two is valid; 0: free */
	uint64_t ino;			/* struct entry */
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
	char name[PERSISTENT_NAME_SIZE];	/* of a device; else empty */
};

/* The end of a hand-over. */
struct persistent_hand_over {
	char end[16];			/* done, refused, failed, dry-run-done; empty: none */
	char reason[200];		/* of a refusal or failure */
	uint32_t pause_us;
	uint32_t left_behind;		/* calls */
};

struct persistent {
	uint32_t magic;
	uint32_t version;

	/* Written by the supervisor, for binder_logs/daemon. */
	uint32_t supervisor;		/* pid */
	_Atomic uint32_t server;	/* pid */
	_Atomic uint32_t generation;	/* of the server */
	_Atomic uint32_t crashes;
	_Atomic uint32_t attempts;	/* hand-overs that have ended, whatever the end */
	struct persistent_hand_over last;

	/* Written by the server. */
	_Atomic uint32_t backing_first;	/* registrations that may exist (session_backing_open()) */
	_Atomic uint32_t backing_last;
	_Atomic uint32_t polls_end;	/* above the index of each handle that was polled */
	_Atomic uint32_t names_end;	/* slots that were ever in use */
	_Atomic uint64_t last_sequence;
	_Atomic int refused[PERSISTENT_REFUSED];	/* threads, by their number */
	struct persistent_name names[PERSISTENT_NAMES];
	_Atomic uint64_t polls[HANDLE_CHUNK * HANDLE_CHUNKS_MAX];	/* 0: none is waiting */
};

/* Creates the memory file; -1: errno. Unused parts of it take no memory. */
int persistent_create(void);

/* Maps @fd in this process. False: errno, EPROTO: a version that this program does not know. */
bool persistent_attach(int fd);

/* The state that is mapped. */
static inline struct persistent *persistent_get(void)
{
	return daemon_self->persistent;
}

/* ---- names; the lock of the tree is held ---- */

/* Replaces the entry in *@slot, 0: none, by @name, whose sequence is not looked at. */
void persistent_put_name(uint32_t *slot, const struct persistent_name *name);
void persistent_remove_name(uint32_t *slot);

/*
 * The valid entries of a predecessor, the newest first; sets *@nr. To be freed by the caller. NULL:
 * no memory. @slots: the slot of each, likewise.
 */
struct persistent_name *persistent_names(uint32_t *nr, uint32_t **slots);

/* ---- threads whose OPEN was refused ---- */

static inline void persistent_note_refused(int tid, bool refused)
{
	_Atomic int *slot = &persistent_get()->refused[(unsigned int)tid % PERSISTENT_REFUSED];

	if (refused || atomic_load(slot) == tid)
		atomic_store(slot, refused ? tid : 0);
}

static inline bool persistent_was_refused(int tid)
{
	return tid &&
	       atomic_load(&persistent_get()->refused[(unsigned int)tid % PERSISTENT_REFUSED]) ==
		       tid;
}

/* ---- registrations of backing files ---- */

/* The kernel numbers them upwards. */
void persistent_note_backing(uint32_t id);

/* The number of the newest. */
uint32_t persistent_last_backing(void);

/* Calls @end for each up to @last that a crashed server may have left behind. */
void persistent_end_backings(uint32_t last, void (*end)(int id));

/* ---- pollers ---- */

/* The kernel wants a notification, which it names @poll_handle, about the file of @handle. */
void persistent_note_poll(uint64_t handle, uint64_t poll_handle);
/* The file is closed. */
void persistent_forget_poll(uint64_t handle);

/* Calls @notify for each that a predecessor has noted, and forgets it. */
void persistent_notify_polls(void (*notify)(uint64_t poll_handle));

#endif
