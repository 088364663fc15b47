/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "child/payload.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/scoped.h"

static size_t measure(char *const *strings, uint32_t *ret_count)
{
	size_t bytes = 0;

	for (*ret_count = 0; strings[*ret_count]; (*ret_count)++)
		bytes += strlen(strings[*ret_count]) + 1;
	return bytes;
}

static char *append(char *p, char *const *strings)
{
	for (; *strings; strings++)
		p = stpcpy(p, *strings) + 1;
	return p;
}

int kg_payload_write(char *const *argv, char *const *envp,
		     const struct kg_payload_head *state, struct kg_error *err)
{
	struct kg_payload_head head = *state;
	kg_auto_free char *bytes = NULL;
	size_t len = sizeof(head);

	len += measure(argv, &head.argc);
	len += measure(envp, &head.envc);
	if (len > KG_PAYLOAD_MAX_BYTES)
		return kg_fail(err, KG_E_LIMIT, 0,
			       "the command line has %zu bytes, more than %u",
			       len, KG_PAYLOAD_MAX_BYTES);
	bytes = malloc(len);
	if (!bytes)
		return kg_fail_system(err, "copy the command line");
	memcpy(bytes, &head, sizeof(head));
	(void)append(append(bytes + sizeof(head), argv), envp);
	return kg_fd_from_bytes("command", bytes, len, err);
}

/* Point at @count strings between *p and @end; NULL if there are fewer. */
static char **split(char **p, const char *end, uint32_t count)
{
	char **list = calloc((size_t)count + 1, sizeof(*list));
	uint32_t i;
	char *nul;

	for (i = 0; list && i < count; i++) {
		nul = memchr(*p, '\0', (size_t)(end - *p));
		if (!nul) {
			free(list);
			return NULL;
		}
		list[i] = *p;
		*p = nul + 1;
	}
	return list;
}

int kg_payload_read(int fd, struct kg_payload *ret, struct kg_error *err)
{
	struct kg_payload got = KG_PAYLOAD_INIT;
	size_t len = 0;
	char *p = NULL;

	if (kg_fd_read_all(fd, KG_PAYLOAD_MAX_BYTES, &got.bytes, &len, err))
		return kg_fail_while(err, "take the command line");
	if (len >= sizeof(got.head))
		memcpy(&got.head, got.bytes, sizeof(got.head));
	if (got.head.argc > 0 && got.head.argc <= len && got.head.envc <= len) {
		p = got.bytes + sizeof(got.head);
		got.argv = split(&p, got.bytes + len, got.head.argc);
		if (got.argv)
			got.envp = split(&p, got.bytes + len, got.head.envc);
	}
	if (!got.envp || p != got.bytes + len) {
		kg_payload_done(&got);
		return kg_fail(err, KG_E_PROTOCOL, 0,
			       "the command line arrived damaged");
	}
	*ret = got;
	return 0;
}

void kg_payload_done(struct kg_payload *payload)
{
	free(payload->argv);
	free(payload->envp);
	free(payload->bytes);
	*payload = KG_PAYLOAD_INIT;
}
