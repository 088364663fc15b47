/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "common/fd.h"

#define LINE_BYTES 4096

void kg_say(const char *fmt, ...)
{
	static const char prefix[] = "kgate: ";
	char line[LINE_BYTES];
	size_t len = sizeof(prefix) - 1, i;
	va_list ap;
	int n;

	(void)snprintf(line, sizeof(line), "%s", prefix);
	va_start(ap, fmt);
	n = vsnprintf(line + len, sizeof(line) - len - 1, fmt, ap);
	va_end(ap);
	if (n > 0)
		len += (size_t)n < sizeof(line) - len - 1
			       ? (size_t)n
			       : sizeof(line) - len - 2;
	for (i = 0; i < len; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[len++] = '\n';
	(void)kg_fd_write_all(STDERR_FILENO, line, len);
}
