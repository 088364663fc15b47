/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/step.h"

#include <assert.h>
#include <time.h>

#include "common/util.h"

static const char *const steps[] = {
	/* clang-format off */
	[KG_STEP_START]	   = "start",
	[KG_STEP_POLICY]   = "policy merged",
	[KG_STEP_PLAN]	   = "plan built",
	[KG_STEP_AUDIT]	   = "audit line written",
	[KG_STEP_SYNCED]   = "audit line on disk",
	[KG_STEP_INFO]	   = "bwrap's child known",
	[KG_STEP_ENTRY]	   = "box made",
	[KG_STEP_RULES]	   = "firewall closed",
	[KG_STEP_SLIRP]	   = "slirp4netns ready",
	[KG_STEP_LINK]	   = "link up",
	[KG_STEP_HOSTS]	   = "hosts resolved and open",
	[KG_STEP_CHAIN]	   = "chain complete",
	[KG_STEP_GO]	   = "released",
	[KG_STEP_STARTED]  = "command started",
	[KG_STEP_EXITED]   = "command ended",
	[KG_STEP_BOX_GONE] = "box gone",
	[KG_STEP_END]	   = "output relayed",
	/* clang-format on */
};
static_assert(KG_ARRAY_LEN(steps) == KG_STEP_COUNT, "every step has a name");

static const struct {
	int ms;
	const char *name;
} waits[] = {
	/* clang-format off */
	[KG_WAIT_PEER]	  = { 2000,  "a process of kgate to listen" },
	[KG_WAIT_LOCK]	  = { 1500,  "the lock of the audit log" },
	[KG_WAIT_INFO]	  = { 5000,  "bwrap to make the box" },
	[KG_WAIT_ENTRY]	  = { 5000,  "bwrap to start kgate-entry in the box" },
	[KG_WAIT_RULES]	  = { 10000, "iptables-restore and ip6tables-restore" },
	[KG_WAIT_RULES_END] = { 3000,
				"iptables-restore and ip6tables-restore" },
	[KG_WAIT_GATE]	  = { 12000, "the gate to close the firewall" },
	[KG_WAIT_RESOLVER] = { 5000, "the resolver to make its sockets" },
	[KG_WAIT_SLIRP]	  = { 5000,  "slirp4netns to become ready" },
	[KG_WAIT_LINK]	  = { 5000,  "the address and route on tap0" },
	[KG_WAIT_HOSTS]	  = { 10000, "the DNS server to resolve the hosts" },
	[KG_WAIT_OPEN]	  = { 12000, "the resolver to open the hosts" },
	[KG_WAIT_COMMIT]  = { 30000, "the audit line to reach the disk" },
	[KG_WAIT_STARTED] = { 5000,  "the command to start" },
	[KG_WAIT_LAUNCH]  = { 90000, "the launch" },
	[KG_WAIT_END]	  = { 5000,  "the processes of the box to end" },
	[KG_WAIT_LAST_WORDS] = { 200, "a helper's last words" },
	[KG_WAIT_SECOND_SIGNAL] = { 2000, "a second signal" },
	[KG_WAIT_GRACE]	  = { 5000,  "the command to end after SIGTERM" },
	/* clang-format on */
};
static_assert(KG_ARRAY_LEN(waits) == KG_WAIT_COUNT,
	      "every wait has a deadline and a name");

const char *kg_step_name(enum kg_step step)
{
	return steps[step];
}

int kg_wait_ms(enum kg_wait wait)
{
	return waits[wait].ms;
}

const char *kg_wait_name(enum kg_wait wait)
{
	return waits[wait].name;
}

uint64_t kg_now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)ts.tv_nsec;
}

int kg_deadline_ms(uint64_t since_ns, enum kg_wait wait)
{
	uint64_t gone_ms = (kg_now_ns() - since_ns) / 1000000;

	if (gone_ms >= (uint64_t)kg_wait_ms(wait))
		return 0;
	return kg_wait_ms(wait) - (int)gone_ms;
}
