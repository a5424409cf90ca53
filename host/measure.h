/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What only logs and measurements need of a host. Optional: for an operation that a host
 * does not define, defaults.h does nothing. A host that implements an operation also
 * defines a macro of its name (see trace.h); those of one group come together.
 */
#ifndef BINDER_MEASURE_H
#define BINDER_MEASURE_H

/* ---- the rings of common/translog.h --------------------------------------- */

/* A number that threads running at the same time rarely share; it may change. [atomic] */
static inline u32 host_shard(void);

/* ---- stages of a round trip (entities/stage.h) ------------------------------ */

enum host_stage {
	HOST_STAGE_IOC,
	HOST_STAGE_WR_IN,
	HOST_STAGE_ENQ,
	HOST_STAGE_DEQ,
	HOST_STAGE_COPY,
	HOST_STAGE_COUNT,
};
/* Are stages recorded at present? [atomic] */
static inline bool host_trace_stages_wanted(void);
/*
 * Records @stage of transaction @id with the time. @answers: the call that reply @id
 * answers, or 0; @pid, @tid: the thread that reached the stage. [atomic]
 */
static inline void host_trace_stage(enum host_stage stage, u32 id, u32 answers, s32 pid, s32 tid);

#endif
