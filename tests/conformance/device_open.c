// SPDX-License-Identifier: GPL-2.0
/* Opening a device file, mapping it, and what each needs of the other. */
#include <sys/mman.h>

#include "expect.h"
#include "test.h"

TEST(device_call_round_trip, "A call reaches the context manager and its reply comes back", "")
{
	struct client *manager = manager_new();
	struct client *client = client_new();

	round_trip(client, 0, manager);
	expect_nothing(client);
	expect_nothing(manager);
}
