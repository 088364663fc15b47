/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/text.h"

#define LINE_BYTES 4096

/*
 * Terminals obey the controls of C0 and C1, the latter also as characters of
 * UTF-8 (U+0080 to U+009F) and, some of them, as bytes outside of any.
 */
static void make_plain(char *line, size_t len)
{
	uint32_t c = 0;
	size_t i, n;

	for (i = 0; i < len; i += n) {
		n = kg_text_decode(line + i, len - i, &c);
		if (n && c >= ' ' && (c < 0x7f || c > 0x9f))
			continue;
		n = n ? n : 1;
		memset(line + i, '?', n);
	}
}

void kg_say(const char *fmt, ...)
{
	static const char prefix[] = "kgate: ";
	char line[LINE_BYTES];
	size_t len = sizeof(prefix) - 1;
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
	make_plain(line, len);
	line[len++] = '\n';
	(void)kg_fd_write_all(STDERR_FILENO, line, len);
}
