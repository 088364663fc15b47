/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "child/boxfiles.h"

#include <stdio.h>

int kg_boxfiles_hosts(const char *hostname, char **ret, struct kg_error *err)
{
	char *text;

	if (asprintf(&text,
		     "127.0.0.1 localhost\n"
		     "::1 localhost ip6-localhost ip6-loopback\n"
		     "127.0.1.1 %s\n",
		     hostname) < 0)
		return kg_fail_system(err, "write the box's hosts file");
	*ret = text;
	return 0;
}

const char *kg_boxfiles_resolv(bool network_box, bool ipv6)
{
	if (!network_box)
		return "# kgate: this box has no network\n";
	if (ipv6)
		return "nameserver 10.0.2.3\nnameserver fd00::3\n";
	return "nameserver 10.0.2.3\n";
}

const char *kg_boxfiles_marker(void)
{
	return "This is a kgate box.\n";
}
