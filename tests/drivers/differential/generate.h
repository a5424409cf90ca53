/* SPDX-License-Identifier: GPL-2.0 */
/*
 * generate: makes a script from a seed. The same seed, length and omissions give the same script.
 */
#ifndef DIFFERENTIAL_GENERATE_H
#define DIFFERENTIAL_GENERATE_H

#include "script.h"

/* What a script must not use, for drivers that lack it. */
struct omissions {
	bool freeze_notices; /* BC_REQUEST_FREEZE_NOTIFICATION and its kin */
	bool deferral;	     /* TF_DEFER_COMPLETE in replies */
};

struct script *generate(uint64_t seed, size_t steps, const struct omissions *omit);

#endif
