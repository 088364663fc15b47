/* SPDX-License-Identifier: MIT */
#ifndef KG_COMMON_SCOPED_H
#define KG_COMMON_SCOPED_H

/*
 * Owners that clean up after themselves when their scope ends.
 *
 *	kg_auto_close int fd = -1;	closes fd
 *	kg_auto_free char *line = NULL;	frees line
 *	kg_auto_file FILE *f = NULL;	closes f
 *	kg_auto_reap pid_t pid = -1;	kills and reaps the child
 *
 * Initialise in the declaration, to the empty value if need be.  One owner a
 * line, declared before what only borrows.  Ownership leaves through
 * kg_take_fd(), kg_take_pid() and kg_take_ptr() alone, which empty the source.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define kg_auto_close __attribute__((cleanup(kg_scope_close_)))
#define kg_auto_free  __attribute__((cleanup(kg_scope_free_)))
#define kg_auto_file  __attribute__((cleanup(kg_scope_file_)))
#define kg_auto_reap  __attribute__((cleanup(kg_scope_reap_)))

/* errno survives: the failure being reported is older than this close(). */
static inline void kg_scope_close_(int *fd)
{
	int saved = errno;

	/* Once only: Linux has released the number even on EINTR. */
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

static inline void kg_scope_free_(void *ptr)
{
	free(*(void **)ptr);
}

static inline void kg_scope_file_(FILE **f)
{
	int saved = errno;

	if (*f)
		(void)fclose(*f);
	*f = NULL;
	errno = saved;
}

static inline void kg_scope_reap_(pid_t *pid)
{
	int saved = errno;

	if (*pid > 0) {
		(void)kill(*pid, SIGKILL);
		while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	*pid = -1;
	errno = saved;
}

static inline int kg_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline pid_t kg_take_pid(pid_t *pid)
{
	pid_t taken = *pid;

	*pid = -1;
	return taken;
}

/* clang-format off */
#define kg_take_ptr(p)				\
	__extension__({				\
		__typeof__(p) taken_ = (p);	\
		(p) = NULL;			\
		taken_;				\
	})
/* clang-format on */

#endif /* KG_COMMON_SCOPED_H */
