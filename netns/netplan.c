/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "netns/netplan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Entries of one name next to each other, the one for every port first. */
static int by_name_and_port(const void *a, const void *b)
{
	const struct kg_host *const *x = a, *const *y = b;
	int order = strcmp((*x)->name, (*y)->name);

	return order ? order : (int)(*x)->port - (int)(*y)->port;
}

/* How many of the sorted entries carry the name of the first. */
static size_t count_same(const struct kg_host *const *hosts, size_t count)
{
	size_t n = 1;

	while (n < count && strcmp(hosts[n]->name, hosts[0]->name) == 0)
		n++;
	return n;
}

static int fill_name(const struct kg_host *const *hosts, size_t count,
		     struct kg_netplan_name *name)
{
	size_t i;

	memcpy(name->name, hosts[0]->name, sizeof(name->name));
	if (hosts[0]->port == 0)
		return 0;
	name->ports = calloc(count, sizeof(*name->ports));
	if (!name->ports)
		return -1;
	for (i = 0; i < count; i++)
		if (i == 0 || hosts[i]->port != hosts[i - 1]->port)
			name->ports[name->port_count++] = hosts[i]->port;
	return 0;
}

static int fill_names(const struct kg_host *const *hosts, size_t count,
		      struct kg_netplan *plan)
{
	size_t i, same;

	for (i = 0; i < count; i += same) {
		same = count_same(hosts + i, count - i);
		if (fill_name(hosts + i, same, &plan->names[plan->name_count]))
			return -1;
		plan->name_count++;
	}
	return 0;
}

static bool is_wanted(const struct kg_block *block, bool ipv6)
{
	return block->family == AF_INET || ipv6;
}

static void fill_blocks(const struct kg_policy *policy, struct kg_netplan *plan)
{
	const struct kg_host *host;
	size_t i;

	for (i = 0; i < policy->host_count; i++) {
		host = &policy->hosts[i].host;
		if (host->kind != KG_HOST_BLOCK ||
		    !is_wanted(&host->block, plan->ipv6))
			continue;
		plan->blocks[plan->block_count++] = (struct kg_netplan_block){
			.block = host->block,
			.port = host->port,
		};
	}
}

static size_t sort_names(const struct kg_policy *policy,
			 const struct kg_host **ret)
{
	size_t i, count = 0;

	for (i = 0; i < policy->host_count; i++)
		if (policy->hosts[i].host.kind == KG_HOST_NAME)
			ret[count++] = &policy->hosts[i].host;
	qsort(ret, count, sizeof(*ret), by_name_and_port);
	return count;
}

static int fill_plan(const struct kg_policy *policy, struct kg_netplan *plan)
{
	const struct kg_host **sorted;
	int rc;

	plan->names = calloc(policy->host_count, sizeof(*plan->names));
	plan->blocks = calloc(policy->host_count, sizeof(*plan->blocks));
	sorted = calloc(policy->host_count, sizeof(*sorted));
	if (!plan->names || !plan->blocks || !sorted) {
		free(sorted);
		return -1;
	}
	rc = fill_names(sorted, sort_names(policy, sorted), plan);
	fill_blocks(policy, plan);
	free(sorted);
	return rc;
}

int kg_netplan_build(const struct kg_policy *policy, bool ipv6,
		     struct kg_netplan *ret, struct kg_error *err)
{
	struct kg_netplan plan = KG_NETPLAN_INIT;

	plan.ipv6 = ipv6;
	if (policy->host_count && fill_plan(policy, &plan)) {
		kg_netplan_done(&plan);
		return kg_fail_system(err, "plan the network");
	}
	*ret = plan;
	return 0;
}

static int name_order(const void *key, const void *entry)
{
	return strcmp(key, ((const struct kg_netplan_name *)entry)->name);
}

const struct kg_netplan_name *kg_netplan_find(const struct kg_netplan *plan,
					      const char *name)
{
	if (plan->name_count == 0)
		return NULL;
	return bsearch(name, plan->names, plan->name_count,
		       sizeof(*plan->names), name_order);
}

void kg_netplan_done(struct kg_netplan *plan)
{
	size_t i;

	for (i = 0; plan->names && i < plan->name_count; i++)
		free(plan->names[i].ports);
	free(plan->names);
	free(plan->blocks);
	*plan = KG_NETPLAN_INIT;
}
