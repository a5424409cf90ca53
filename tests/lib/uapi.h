/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uapi: the Binder ABI for the tests. The system's own header comes first; what an older one
 * (Debian 12's is that of Linux 6.1) lacks is added as macros, which agree with a newer header's
 * enumerators.
 */
#ifndef TESTS_UAPI_H
#define TESTS_UAPI_H

#include <linux/android/binder.h>
#include <linux/android/binderfs.h>

/*
 * struct binder_frozen_state_info of newer headers; a name of our own, so that both can be
 * present.
 */
struct frozen_state {
	binder_uintptr_t cookie;
	__u32 is_frozen;
	__u32 reserved;
};

#define BR_TRANSACTION_PENDING_FROZEN _IO('r', 20)
#define BR_FROZEN_BINDER _IOR('r', 21, struct frozen_state)
#define BR_CLEAR_FREEZE_NOTIFICATION_DONE _IOR('r', 22, binder_uintptr_t)

#define TF_DEFER_COMPLETE 0x80

#define BC_REQUEST_FREEZE_NOTIFICATION _IOW('c', 19, struct binder_handle_cookie)
#define BC_CLEAR_FREEZE_NOTIFICATION _IOW('c', 20, struct binder_handle_cookie)
#define BC_FREEZE_NOTIFICATION_DONE _IOW('c', 21, binder_uintptr_t)

#endif
