// SPDX-License-Identifier: GPL-2.0
#include "inject_test.h"
const struct test inject_hard_tests[] = { { NULL, NULL } };
