/* SPDX-License-Identifier: MIT */
#ifndef KG_NETNS_COMMIT_H
#define KG_NETNS_COMMIT_H

/*
 * Hears that nf_tables has committed something in this network namespace: one
 * NFT_MSG_NEWGEN for each transaction, which for iptables-restore is a table.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

struct kg_commit; /* a netlink socket and a count; opaque */

/**
 * kg_commit_open() - Listen from now on
 * @ret:	Receives the handle; release with kg_commit_close()
 * @err:	Filled on failure
 *
 * Works on a kernel without nf_tables too: nothing is ever heard there.
 *
 * Return: 0, or -1 with KG_E_NETNS
 */
kg_must_check int kg_commit_open(struct kg_commit **ret, struct kg_error *err);

/**
 * kg_commit_close() - Close the socket and free the handle
 * @commit:	Handle, or NULL
 */
void kg_commit_close(struct kg_commit *commit);

/**
 * kg_commit_fd() - What becomes readable when something was committed
 * @commit:	Handle; borrowed
 *
 * Return: a descriptor, borrowed, or -1 once a message was lost: then only the
 * programs' ends tell
 */
int kg_commit_fd(const struct kg_commit *commit);

/**
 * kg_commit_count() - Take what was heard, without waiting
 * @commit:	Handle; borrowed
 *
 * Return: commits heard since kg_commit_open()
 */
size_t kg_commit_count(struct kg_commit *commit);

#endif /* KG_NETNS_COMMIT_H */
