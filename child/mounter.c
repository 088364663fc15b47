/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "child/mounter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/role.h"
#include "common/util.h"

/* linux/mount.h; missing from older headers. */
#define ATTR_RDONLY UINT64_C(1)

struct attributes {
	uint64_t set;
	uint64_t clear;
	uint64_t propagation;
	uint64_t userns_fd;
};

/* What bwrap's --dev shows of the host: bwrap(1). */
static const char *const devices[] = { "/dev/null",    "/dev/zero",
				       "/dev/full",    "/dev/random",
				       "/dev/urandom", "/dev/tty" };

static int seal(const char *path)
{
	struct attributes attr = { .set = ATTR_RDONLY };

	return (int)syscall(SYS_mount_setattr, AT_FDCWD, path,
			    AT_SYMLINK_NOFOLLOW, &attr, sizeof(attr));
}

static int work(const struct kg_mounter *m, struct kg_error *err)
{
	const int keep[] = { m->userns_fd, m->mntns_fd };
	size_t i;

	kg_fd_close_others(keep, KG_ARRAY_LEN(keep));
	if (setns(m->userns_fd, CLONE_NEWUSER) ||
	    setns(m->mntns_fd, CLONE_NEWNS))
		return kg_fail_system(err, "join the box's mounts");
	if (kg_role_enter(KG_ROLE_MOUNTER, m->parent, err))
		return -1;
	for (i = 0; i < KG_ARRAY_LEN(devices); i++)
		if (seal(devices[i]))
			return kg_fail_system(err, "seal %s", devices[i]);
	return 0;
}

void kg_mounter_main(void *ctx)
{
	struct kg_error err = KG_ERROR_INIT;

	if (work(ctx, &err))
		_exit(err.errnum > 0 && err.errnum < 256 ? err.errnum : 255);
	_exit(0);
}
