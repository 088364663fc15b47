/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/sets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/ipset/ip_set.h>
#include <linux/netfilter/nfnetlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include "common/cause.h"
#include "common/util.h"
#include "netns/nl.h"

#define MAX_ELEMENTS  65536
#define BATCH_BYTES   32768
#define MESSAGE_BYTES 256

/* Understood by every kernel since 2.6.39; newer ones still take it. */
#define PROTOCOL IPSET_PROTOCOL_MIN

struct kg_sets {
	struct nl_sock *sock;
	uint32_t seq;
	size_t used;
	struct nlmsghdr *last; /* of the queued messages, inside @batch */
	_Alignas(NLMSG_ALIGNTO) char batch[BATCH_BYTES];
};

static const struct set_row {
	const char *name4;
	const char *name6;
	const char *type;
	bool has_ttl;
	bool has_port;
	bool has_prefix;
} rows[KG_SET_COUNT] = {
	/* clang-format off */
	[KG_SET_ADDR]	    = { "kg4-addr", "kg6-addr", "hash:ip",
				.has_ttl = true },
	[KG_SET_ADDR_PORT]  = { "kg4-addr-port", "kg6-addr-port",
				"hash:ip,port",
				.has_ttl = true, .has_port = true },
	[KG_SET_BLOCK]	    = { "kg4-block", "kg6-block", "hash:net",
				.has_prefix = true },
	[KG_SET_BLOCK_PORT] = { "kg4-block-port", "kg6-block-port",
				"hash:net,port",
				.has_port = true, .has_prefix = true },
	/* clang-format on */
};

const char *kg_sets_name(int family, enum kg_set set)
{
	return family == AF_INET6 ? rows[set].name6 : rows[set].name4;
}

int kg_sets_open(struct kg_sets **ret, struct kg_error *err)
{
	struct kg_sets *sets = calloc(1, sizeof(*sets));
	int rc;

	if (!sets)
		return kg_fail(err, KG_E_NETNS, errno, "open address sets");
	if (kg_nl_open(NETLINK_NETFILTER, &sets->sock, err)) {
		kg_sets_close(sets);
		return -1;
	}

	/* The kernel answers before sendmsg() returns: never wait for it. */
	rc = nl_socket_set_nonblocking(sets->sock);
	if (rc < 0) {
		kg_sets_close(sets);
		return kg_nl_fail(err, rc, "open address sets");
	}
	*ret = sets;
	return 0;
}

void kg_sets_close(struct kg_sets *sets)
{
	if (sets)
		kg_nl_close(&sets->sock);
	free(sets);
}

static void free_msg(struct nl_msg **msg)
{
	nlmsg_free(*msg);
}
#define auto_msg __attribute__((cleanup(free_msg)))

/* A message with what all of them begin with, or NULL. */
static struct nl_msg *begin(struct kg_sets *sets, enum ipset_cmd cmd, int flags,
			    int family)
{
	struct nfgenmsg gen = { .nfgen_family = (uint8_t)family,
				.version = NFNETLINK_V0 };
	struct nl_msg *msg = nlmsg_alloc_size(MESSAGE_BYTES);

	if (msg &&
	    nlmsg_put(msg, nl_socket_get_local_port(sets->sock), ++sets->seq,
		      NFNL_SUBSYS_IPSET << 8 | (int)cmd, 0,
		      NLM_F_REQUEST | flags) &&
	    nlmsg_append(msg, &gen, sizeof(gen), NLMSG_ALIGNTO) == 0 &&
	    nla_put_u8(msg, IPSET_ATTR_PROTOCOL, PROTOCOL) == 0)
		return msg;
	nlmsg_free(msg);
	return NULL;
}

static int put_be32(struct nl_msg *msg, int type, uint32_t value)
{
	return nla_put_u32(msg, type | NLA_F_NET_BYTEORDER, htonl(value));
}

static int put_be16(struct nl_msg *msg, int type, uint16_t value)
{
	return nla_put_u16(msg, type | NLA_F_NET_BYTEORDER, htons(value));
}

/**
 * struct talk - What the kernel has answered to a row of messages
 * @last:	Sequence number of the last, which asked for an answer
 * @done:	That answer is there
 * @refusal:	First error, as a positive number, or 0
 * @revision:	Lowest revision of a set type, if it was asked for
 */
struct talk {
	uint32_t last;
	bool done;
	int refusal;
	uint8_t revision;
};

static void note_answer(struct nlmsghdr *answer, struct talk *talk)
{
	struct nlattr *lowest;

	if (answer->nlmsg_type == NLMSG_ERROR) {
		struct nlmsgerr *e = nlmsg_data(answer);

		if (e->error && !talk->refusal)
			talk->refusal = -e->error;
		if (answer->nlmsg_seq == talk->last)
			talk->done = true;
		return;
	}
	lowest = nlmsg_find_attr(answer, sizeof(struct nfgenmsg),
				 IPSET_ATTR_REVISION_MIN);
	if (lowest)
		talk->revision = nla_get_u8(lowest);
}

/* All answers are queued by now; one that isn't there has been lost. */
static int hear(struct kg_sets *sets, struct talk *talk, struct kg_error *err)
{
	struct sockaddr_nl from;
	unsigned char *buf;
	struct nlmsghdr *m;
	int len;

	while (!talk->done) {
		buf = NULL;
		len = nl_recv(sets->sock, &from, &buf, NULL);
		if (len <= 0)
			return kg_nl_fail(err, len ? len : -NLE_AGAIN,
					  "hear the kernel's ip_set");
		for (m = (struct nlmsghdr *)buf; nlmsg_ok(m, len);
		     m = nlmsg_next(m, &len))
			note_answer(m, talk);
		free(buf);
	}
	return 0;
}

static int ask(struct kg_sets *sets, struct nl_msg *msg, struct talk *talk,
	       struct kg_error *err)
{
	struct nlmsghdr *header = nlmsg_hdr(msg);
	int rc;

	header->nlmsg_flags |= NLM_F_ACK;
	talk->last = header->nlmsg_seq;
	rc = nl_sendto(sets->sock, header, header->nlmsg_len);
	if (rc < 0)
		return kg_nl_fail(err, rc, "speak to the kernel's ip_set");
	return hear(sets, talk, err);
}

/* ip_set has error numbers of its own above those of errno. */
static int fail_refused(struct kg_error *err, int refusal, const char *what,
			const char *name)
{
	static const struct {
		int refusal;
		const char *text;
	} texts[] = {
		{ IPSET_ERR_TYPE_SPECIFIC, "the set is full" },
		{ IPSET_ERR_MAX_SETS, "too many sets" },
		{ IPSET_ERR_FIND_TYPE, "unknown type of set" },
		{ IPSET_ERR_INVALID_CIDR, "prefix out of range" },
	};
	size_t i;

	if (refusal < IPSET_ERR_PRIVATE)
		return kg_fail(err, KG_E_NETNS, refusal, "%s %s", what, name);
	for (i = 0; i < KG_ARRAY_LEN(texts); i++)
		if (texts[i].refusal == refusal)
			return kg_fail(err, KG_E_NETNS, 0, "%s %s: %s", what,
				       name, texts[i].text);
	return kg_fail(err, KG_E_NETNS, 0, "%s %s: ip_set error %d", what, name,
		       refusal);
}

int kg_sets_explain_absence(int refusal, const char *type, struct kg_error *err)
{
	switch (refusal) {
	case EINVAL: /* no such nfnetlink subsystem */
	case EOPNOTSUPP:
		return kg_cause_fail(err, KG_CAUSE_IP_SET, 0, NULL);
	case IPSET_ERR_FIND_TYPE:
		return kg_cause_fail(err, KG_CAUSE_IP_SET, 0, type);
	default:
		return fail_refused(err, refusal, "look for sets of type",
				    type);
	}
}

/* Sets of any revision can do what is needed: the lowest is the stablest. */
static int find_revision(struct kg_sets *sets, int family, const char *type,
			 uint8_t *ret, struct kg_error *err)
{
	auto_msg struct nl_msg *msg = NULL;
	struct talk talk = { 0 };

	msg = begin(sets, IPSET_CMD_TYPE, 0, family);
	if (!msg || nla_put_string(msg, IPSET_ATTR_TYPENAME, type) ||
	    nla_put_u8(msg, IPSET_ATTR_FAMILY, (uint8_t)family))
		return kg_fail(err, KG_E_NETNS, ENOMEM, "look for %s", type);
	if (ask(sets, msg, &talk, err))
		return -1;
	if (talk.refusal)
		return kg_sets_explain_absence(talk.refusal, type, err);
	*ret = talk.revision;
	return 0;
}

static int put_creation(struct nl_msg *msg, int family, enum kg_set set,
			uint8_t revision)
{
	struct nlattr *data;

	if (nla_put_string(msg, IPSET_ATTR_SETNAME,
			   kg_sets_name(family, set)) ||
	    nla_put_string(msg, IPSET_ATTR_TYPENAME, rows[set].type) ||
	    nla_put_u8(msg, IPSET_ATTR_REVISION, revision) ||
	    nla_put_u8(msg, IPSET_ATTR_FAMILY, (uint8_t)family))
		return -1;
	data = nla_nest_start(msg, IPSET_ATTR_DATA | NLA_F_NESTED);
	if (!data || put_be32(msg, IPSET_ATTR_MAXELEM, MAX_ELEMENTS))
		return -1;

	/* 0: entries may have a time-out, and have none unless they say so. */
	if (rows[set].has_ttl && put_be32(msg, IPSET_ATTR_TIMEOUT, 0))
		return -1;
	return nla_nest_end(msg, data);
}

static int create_set(struct kg_sets *sets, int family, enum kg_set set,
		      struct kg_error *err)
{
	const char *name = kg_sets_name(family, set);
	auto_msg struct nl_msg *msg = NULL;
	struct talk talk = { 0 };
	uint8_t revision = 0;

	if (find_revision(sets, family, rows[set].type, &revision, err))
		return -1;

	/* NLM_F_EXCL: a set that is there already isn't known to be empty. */
	msg = begin(sets, IPSET_CMD_CREATE, NLM_F_CREATE | NLM_F_EXCL, family);
	if (!msg || put_creation(msg, family, set, revision))
		return kg_fail(err, KG_E_NETNS, ENOMEM, "make set %s", name);
	if (ask(sets, msg, &talk, err))
		return -1;
	if (talk.refusal)
		return fail_refused(err, talk.refusal, "make set", name);
	return 0;
}

int kg_sets_create(struct kg_sets *sets, int family, struct kg_error *err)
{
	enum kg_set set;

	for (set = 0; set < KG_SET_COUNT; set++)
		if (create_set(sets, family, set, err))
			return -1;
	return 0;
}

static int put_address(struct nl_msg *msg, const struct kg_block *block)
{
	bool is6 = block->family == AF_INET6;
	struct nlattr *nest;
	int type = is6 ? IPSET_ATTR_IPADDR_IPV6 : IPSET_ATTR_IPADDR_IPV4;

	nest = nla_nest_start(msg, IPSET_ATTR_IP | NLA_F_NESTED);
	if (!nest ||
	    nla_put(msg, type | NLA_F_NET_BYTEORDER, is6 ? 16 : 4, block->addr))
		return -1;
	return nla_nest_end(msg, nest);
}

/**
 * struct element - One entry of one set
 * @set:	Which
 * @block:	Address or block
 * @proto:	IPPROTO_TCP or IPPROTO_UDP, where the set has ports
 * @port:	Port in host byte order, where the set has ports
 * @ttl_s:	Seconds, where the set has time-outs
 */
struct element {
	enum kg_set set;
	const struct kg_block *block;
	uint8_t proto;
	uint16_t port;
	uint32_t ttl_s;
};

static int put_element(struct nl_msg *msg, const struct element *e)
{
	const struct set_row *row = &rows[e->set];
	struct nlattr *data;

	if (nla_put_string(msg, IPSET_ATTR_SETNAME,
			   kg_sets_name(e->block->family, e->set)))
		return -1;
	data = nla_nest_start(msg, IPSET_ATTR_DATA | NLA_F_NESTED);
	if (!data || put_address(msg, e->block))
		return -1;
	if (row->has_prefix &&
	    nla_put_u8(msg, IPSET_ATTR_CIDR, e->block->prefix))
		return -1;
	if (row->has_port && (put_be16(msg, IPSET_ATTR_PORT, e->port) ||
			      nla_put_u8(msg, IPSET_ATTR_PROTO, e->proto)))
		return -1;
	if (row->has_ttl && put_be32(msg, IPSET_ATTR_TIMEOUT, e->ttl_s))
		return -1;
	return nla_nest_end(msg, data);
}

static int queue(struct kg_sets *sets, const struct element *e,
		 struct kg_error *err)
{
	auto_msg struct nl_msg *msg = NULL;
	struct nlmsghdr *header;
	size_t bytes;

	if (sizeof(sets->batch) - sets->used < MESSAGE_BYTES &&
	    kg_sets_flush(sets, err))
		return -1;

	/* Without NLM_F_EXCL an entry that is there is refreshed. */
	msg = begin(sets, IPSET_CMD_ADD, 0, e->block->family);
	if (!msg || put_element(msg, e))
		return kg_fail(err, KG_E_NETNS, ENOMEM, "queue an address");
	header = nlmsg_hdr(msg);
	bytes = NLMSG_ALIGN(header->nlmsg_len);
	sets->last = (struct nlmsghdr *)(void *)(sets->batch + sets->used);
	memcpy(sets->last, header, bytes);
	sets->used += bytes;
	return 0;
}

static int check_block(const struct kg_block *block, struct kg_error *err)
{
	bool is6 = block->family == AF_INET6;

	if ((!is6 && block->family != AF_INET) || block->prefix == 0 ||
	    block->prefix > (is6 ? 128 : 32))
		return kg_fail(err, KG_E_NETNS, 0,
			       "no such address: family %u, prefix %u",
			       block->family, block->prefix);
	return 0;
}

int kg_sets_add(struct kg_sets *sets, const struct kg_block *block,
		uint16_t port, uint32_t ttl_s, struct kg_error *err)
{
	bool whole = block->prefix == (block->family == AF_INET6 ? 128 : 32);
	struct element e = {
		.set = whole ? KG_SET_ADDR : KG_SET_BLOCK,
		.block = block,
		.port = port,
		.ttl_s = ttl_s,
	};

	if (check_block(block, err))
		return -1;
	if (port == 0)
		return queue(sets, &e, err);
	e.set = whole ? KG_SET_ADDR_PORT : KG_SET_BLOCK_PORT;
	e.proto = IPPROTO_TCP;
	if (queue(sets, &e, err))
		return -1;
	e.proto = IPPROTO_UDP;
	return queue(sets, &e, err);
}

int kg_sets_flush(struct kg_sets *sets, struct kg_error *err)
{
	struct talk talk = { 0 };
	size_t bytes = sets->used;
	int rc;

	if (bytes == 0)
		return 0;
	sets->used = 0;

	/* Every refusal is answered; success only where it is asked for. */
	sets->last->nlmsg_flags |= NLM_F_ACK;
	talk.last = sets->last->nlmsg_seq;
	rc = nl_sendto(sets->sock, sets->batch, bytes);
	if (rc < 0)
		return kg_nl_fail(err, rc, "speak to the kernel's ip_set");
	if (hear(sets, &talk, err))
		return -1;
	if (talk.refusal)
		return fail_refused(err, talk.refusal, "open an address in",
				    "a set");
	return 0;
}
