/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One-way spam detection: which sender exhausts a receiver's space for one-way calls.
 */
#ifndef BINDER_ONEWAY_SPAM_H
#define BINDER_ONEWAY_SPAM_H

struct binder_alloc;
struct binder_buffer;

/*
 * Sets oneway_spam_suspect of a one-way @buffer that was just reserved. Once less than a
 * tenth of the space is left to one-way calls, a sender with more than 50 one-way buffers,
 * or more than a quarter of the whole space, is a suspect; it is reported once, until space
 * has recovered (as in the C driver). No lock held.
 */
void binder_oneway_spam_check(struct binder_alloc *alloc, struct binder_buffer *buffer);

#endif
