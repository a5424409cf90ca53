// SPDX-License-Identifier: GPL-2.0
/* Calls that are put back behind those of other clients. */
#include "queues/backlog.h"

struct fair_queue backlog;
struct fair_queue slow_lane;
