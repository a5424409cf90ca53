/* SPDX-License-Identifier: GPL-2.0 */
/* generate: a seed to a script. The same seed, length and omissions give the same script. */
#ifndef DIFFERENTIAL_GENERATE_H
#define DIFFERENTIAL_GENERATE_H

#include "script.h"

/* What a script is to leave alone, for drivers older than the newest. */
struct omissions {
	bool freeze_notices; /* BC_REQUEST_FREEZE_NOTIFICATION and its kin */
};

struct script *generate(uint64_t seed, size_t steps, const struct omissions *omit);

#endif
