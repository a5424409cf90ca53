// SPDX-License-Identifier: GPL-2.0
/* The switches of measure.h. */
#include "measure.h"

bool measure_global_regime;
atomic_bool measure_stages;
