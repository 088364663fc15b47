/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/step.h"

/* Where close_range() is missing: more than any launch has open. */
#define HIGHEST_FD 65536

int kg_fd_open_standard(struct kg_error *err)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return kg_fail_system(err, "open /dev/null");
	} while (fd <= 2);
	(void)close(fd);

	for (fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) & FD_CLOEXEC && fcntl(fd, F_SETFD, 0))
			return kg_fail_system(err, "keep descriptor %d", fd);
	return 0;
}

int kg_fd_seal_inherited(struct kg_error *err)
{
	int fd, flags;

	if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
		return 0;
	if (errno != ENOSYS && errno != EINVAL)
		return kg_fail_system(err, "seal inherited descriptors");
	for (fd = 3; fd < HIGHEST_FD; fd++) {
		flags = fcntl(fd, F_GETFD);
		if (flags >= 0 && fcntl(fd, F_SETFD, flags | FD_CLOEXEC))
			return kg_fail_system(err, "seal descriptor %d", fd);
	}
	return 0;
}

static void close_between(unsigned first, unsigned last)
{
	unsigned fd;

	if (first > last || syscall(SYS_close_range, first, last, 0U) == 0)
		return;
	for (fd = first; fd <= last && fd < HIGHEST_FD; fd++)
		(void)close((int)fd);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void kg_fd_close_others(const int *keep, size_t count)
{
	unsigned next = 3;
	int sorted[KG_FD_KEEP_MAX];
	size_t i;

	if (count > KG_FD_KEEP_MAX)
		count = KG_FD_KEEP_MAX;
	memcpy(sorted, keep, count * sizeof(*keep));
	qsort(sorted, count, sizeof(*sorted), by_number);
	for (i = 0; i < count; i++) {
		if (sorted[i] < (int)next)
			continue;
		close_between(next, (unsigned)sorted[i] - 1);
		next = (unsigned)sorted[i] + 1;
	}
	close_between(next, ~0U);
}

int kg_fd_share(int fd, struct kg_error *err)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags < 0 || fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC))
		return kg_fail_system(err, "pass on descriptor %d", fd);
	return 0;
}

int kg_fd_from_bytes(const char *name, const void *data, size_t len,
		     struct kg_error *err)
{
	kg_auto_close int fd = -1;

	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || kg_fd_write_all(fd, data, len) ||
	    lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS,
		  F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
		return kg_fail_system(err, "make the %s descriptor", name);
	return kg_take_fd(&fd);
}

int kg_fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;

	while (len) {
		n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int kg_fd_read_all(int fd, size_t max, char **ret, size_t *ret_len,
		   struct kg_error *err)
{
	kg_auto_free char *buf = NULL;
	size_t len = 0, room = 0;
	char *grown;
	ssize_t n;

	for (;;) {
		if (len + 1 >= room) {
			room = room ? 2 * room : 4096;
			grown = realloc(buf, room);
			if (!grown)
				return kg_fail_system(err, "read");
			buf = grown;
		}
		n = read(fd, buf + len, room - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return kg_fail_system(err, "read");
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > max)
			return kg_fail(err, KG_E_LIMIT, 0,
				       "more than %zu bytes", max);
	}
	buf[len] = '\0';
	*ret_len = len;
	*ret = kg_take_ptr(buf);
	return 0;
}

bool kg_fd_is_ready(int fd)
{
	return kg_fd_wait(fd, 0);
}

bool kg_fd_wait(int fd, int timeout_ms)
{
	uint64_t end_ns = kg_now_ns() + (uint64_t)timeout_ms * 1000000;
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	uint64_t now_ns;
	int rc;

	for (;;) {
		rc = poll(&pfd, 1, timeout_ms);
		if (rc >= 0 || errno != EINTR)
			return rc > 0;
		now_ns = kg_now_ns();
		if (now_ns >= end_ns)
			return false;
		timeout_ms = (int)((end_ns - now_ns) / 1000000);
	}
}

int kg_fd_open_pid(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

void kg_fd_kill(int pidfd, int sig)
{
	if (pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}
