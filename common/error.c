/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/util.h"

/* 125 to 127 mean here what env(1) and timeout(1) mean by them. */
static const unsigned char exit_status[] = {
	/* clang-format off */
	[KG_E_NONE]	= 0,
	[KG_E_USAGE]	= 125,
	[KG_E_CONFIG]	= 125,
	[KG_E_POLICY]	= 126,
	[KG_E_BACKEND]	= 125,
	[KG_E_AUDIT]	= 125,
	[KG_E_LIMIT]	= 125,
	[KG_E_TIMEOUT]	= 125,
	[KG_E_PROTOCOL]	= 125,
	[KG_E_SANDBOX]	= 125,
	[KG_E_NETNS]	= 125,
	[KG_E_RESOLVE]	= 125,
	[KG_E_NOEXEC]	= 126,
	[KG_E_NOENT]	= 127,
	[KG_E_SYSTEM]	= 125,
	/* clang-format on */
};
static_assert(KG_ARRAY_LEN(exit_status) == KG_E_COUNT,
	      "every kg_errc needs an exit status");

/* A message that was cut says so. */
static void mark_if_cut(struct kg_error *err, int wanted)
{
	static const char dots[] = "...";

	if (wanted >= KG_ERROR_MSG_BYTES)
		memcpy(err->msg + KG_ERROR_MSG_BYTES - sizeof(dots), dots,
		       sizeof(dots));
}

static void fill(struct kg_error *err, enum kg_errc code, int errnum,
		 const char *fmt, va_list ap)
	__attribute__((format(printf, 4, 0)));

static void fill(struct kg_error *err, enum kg_errc code, int errnum,
		 const char *fmt, va_list ap)
{
	int len;

	memset(err, 0, sizeof(*err));
	err->code = (uint32_t)code;
	err->errnum = errnum;
	len = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	if (errnum && len >= 0 && len < KG_ERROR_MSG_BYTES)
		len += snprintf(err->msg + len, sizeof(err->msg) - (size_t)len,
				": %s", strerror(errnum));
	mark_if_cut(err, len);
}

int kg_fail(struct kg_error *err, enum kg_errc code, int errnum,
	    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(err, code, errnum, fmt, ap);
	va_end(ap);
	return -1;
}

int kg_fail_system(struct kg_error *err, const char *fmt, ...)
{
	int errnum = errno;
	va_list ap;

	va_start(ap, fmt);
	fill(err, KG_E_SYSTEM, errnum, fmt, ap);
	va_end(ap);
	return -1;
}

int kg_fail_while(struct kg_error *err, const char *fmt, ...)
{
	char inner[KG_ERROR_MSG_BYTES];
	va_list ap;
	int len;

	memcpy(inner, err->msg, sizeof(inner));
	inner[sizeof(inner) - 1] = '\0';
	va_start(ap, fmt);
	len = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	if (len >= 0 && len < KG_ERROR_MSG_BYTES)
		len += snprintf(err->msg + len, sizeof(err->msg) - (size_t)len,
				": %s", inner);
	mark_if_cut(err, len);
	return -1;
}

void kg_error_from_peer(struct kg_error *ret, const void *bytes)
{
	size_t i;

	memcpy(ret, bytes, sizeof(*ret));
	ret->msg[KG_ERROR_MSG_BYTES - 1] = '\0';
	if (ret->code == KG_E_NONE || ret->code >= KG_E_COUNT)
		ret->code = KG_E_PROTOCOL;
	for (i = 0; ret->msg[i]; i++)
		if (ret->msg[i] < ' ' || ret->msg[i] > '~')
			ret->msg[i] = '?';
}

int kg_error_exit_status(const struct kg_error *err)
{
	return err->code < KG_E_COUNT ? exit_status[err->code] : 125;
}
