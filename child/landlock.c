/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "child/landlock.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/util.h"

/* linux/landlock.h; spelled out since older headers lack the scopes. */
#define CREATE_RULESET_VERSION	   KG_BIT32(0)
#define SCOPE_ABSTRACT_UNIX_SOCKET KG_BIT64(0)
#define SCOPE_SIGNAL		   KG_BIT64(1)
#define FIRST_ABI_WITH_SCOPES	   6

struct ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

static bool has_scopes(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0,
		       CREATE_RULESET_VERSION) >= FIRST_ABI_WITH_SCOPES;
}

int kg_landlock_scope(struct kg_error *err)
{
	const struct ruleset_attr attr = {
		.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL,
	};
	kg_auto_close int fd = -1;

	if (!has_scopes())
		return 0;
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0))
		return kg_fail_system(err, "enter a Landlock domain");
	return 0;
}
