#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Bugs of the engine that the simulator must find, and how they are planted in a copy of one file.

    mutants.py --plant NAME DIR      plants that bug in DIR, which has a link to each file
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../lib"))
import anchors  # noqa: E402

# name: function, text in it (must be there once; white space does not matter), what is planted
MUTANTS = {
    "a wake-up is dropped": (
        "binder_wake_ilocked", "host_wake(&thread->host, sync);", ""),
    "work of the process wakes no thread": (
        "binder_wake_proc_ilocked",
        "binder_wake_ilocked(proc, binder_select_thread_ilocked(proc), false);",
        "(void)proc;"),
    "a deferred completion keeps calls away": (
        "check_work_ilocked", "*proc_work = binder_thread_is_available_ilocked(thread);",
        "*proc_work = !thread->stack && bl_empty(&thread->todo);"),
    "a deferred completion is not returned": (
        "check_work_ilocked", "if (*proc_work && !bl_empty(&thread->todo)) return 0;", ""),
    "a node is found and pinned without the lock": (
        "binder_node_find",
        "node = node_pinned(bt_find(&proc->nodes, &ptr, compare_ptr)); "
        "binder_unlock(&proc->inner_lock);",
        "struct bt_node *found = bt_find(&proc->nodes, &ptr, compare_ptr); "
        "binder_unlock(&proc->inner_lock); node = node_pinned(found);"),
    "a count of a node is not dropped": (
        "binder_node_dec_nlocked", "if (*count) --*count;", "(void)count;"),
    "the owner of a node is not notified again": (
        "binder_node_reconcile",
        "BINDER_WRITE_ONCE(node->has_strong, false); notify |= NODE_NOTIFY_RELEASE;",
        "BINDER_WRITE_ONCE(node->has_strong, false);"),
    "a handle is counted as if it were still there": (
        "remove_olocked", "proc->nr_refs--;", ""),
    "one-way calls overtake each other": (
        "place_nlocked", "bl_add_tail(&node->async_todo", "bl_add_head(&node->async_todo"),
    "two one-way calls of a node at once": (
        "place_nlocked", "bool behind = oneway && node->async_busy;", "bool behind = false;"),
    "an object stays busy": (
        "binder_oneway_next", "node->async_busy = false;", ""),
    "a frozen process is called": (
        "binder_queue_call", "frozen = proc->is_frozen;", "frozen = false;"),
    "a reply to a thread that has ended": (
        "deliver_reply", "alive = !to->is_dead && to->stack == s->in_reply_to;", "alive = true;"),
    "a call outlives its failure": (
        "queue_call", "BINDER_WRITE_ONCE(s->thread->stack, t->from_parent);", ";"),
    "outstanding calls are not counted down": (
        "binder_proc_txn_end_ilocked",
        "if (!--proc->outstanding_txns) binder_proc_wake_freezers_ilocked(proc);",
        ""),
    "a file is not put": (
        "transaction_end", "host_file_put(t->files[i].file);", ";"),
    "a priority is not restored": (
        "binder_inherit_default", "set_back(thread, thread->proc->default_priority);", ""),
    "a death is not notified": (
        "binder_death_notify_nlocked",
        "if (!bl_linked(&notice->work.link) && !proc->is_dead)", "if (0)"),
    "a page stays in use": (
        "release_alocked", "binder_pages_release(&alloc->pages, range_release(",
        "((void)range_release("),
    "space of one-way calls is lost": (
        "release_alocked", "alloc->async_free += buffer->range.size;", ";"),
    "an eviction is not waited for": (
        "binder_pages_populate", "binder_pi_mutex_lock(&pages->evicting); "
        "binder_pi_mutex_unlock(&pages->evicting);", ""),
}


def plant(functions, name, there, planted):
    """The file that the function is in, and its text with the bug in it."""
    function = anchors.find(functions, name, there)
    with open(function.path, encoding="utf-8") as file:
        text = file.read()
    changed = anchors.pattern_of(there).sub(lambda _: planted, function.text)
    return function.path, text.replace(function.text, changed)


def plant_in(directory, name):
    source, text = plant(anchors.engine_functions(), *MUTANTS[name])
    os.remove(os.path.join(directory, source))
    with open(os.path.join(directory, source), "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    plant_in(sys.argv[3], sys.argv[2])
