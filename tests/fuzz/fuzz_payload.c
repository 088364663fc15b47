/* SPDX-License-Identifier: MIT */
/* What stands behind the descriptor that kgate-entry takes the command from. */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "child/payload.h"
#include "common/fd.h"
#include "common/scoped.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* assert() that NDEBUG leaves in. */
static void must(bool holds)
{
	if (!holds)
		abort();
}

/* @count strings, the first at @p, each right behind the one before it. */
static char *check_list(char *const *list, uint32_t count, char *p,
			const char *end)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		must(list[i] == p && p < end);
		p += strlen(p) + 1;
		must(p <= end);
	}
	must(!list[count]);
	return p;
}

/* Written again it is the same. */
static void check_again(const struct kg_payload *got, const uint8_t *data,
			size_t size)
{
	struct kg_error err = KG_ERROR_INIT;
	kg_auto_free char *again = NULL;
	kg_auto_close int fd = -1;
	size_t len;

	fd = kg_payload_write(got->argv, got->envp, &got->head, &err);
	must(fd >= 0);
	must(kg_fd_read_all(fd, KG_PAYLOAD_MAX_BYTES, &again, &len, &err) == 0);
	must(len == size && memcmp(again, data, len) == 0);
}

static void check_payload(const struct kg_payload *got, const uint8_t *data,
			  size_t size)
{
	const char *end = got->bytes + size;
	char *p = got->bytes + sizeof(got->head);

	must(size >= sizeof(got->head) && got->head.argc > 0);
	must(memcmp(&got->head, data, sizeof(got->head)) == 0);
	p = check_list(got->argv, got->head.argc, p, end);
	(void)check_list(got->envp, got->head.envc, p, end);
	check_again(got, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kg_payload got = KG_PAYLOAD_INIT;
	struct kg_error err = KG_ERROR_INIT;
	kg_auto_close int fd = kg_fd_from_bytes("fuzz", data, size, &err);

	must(fd >= 0);
	if (kg_payload_read(fd, &got, &err)) {
		must(err.code == KG_E_PROTOCOL);
		must(memchr(err.msg, '\0', sizeof(err.msg)));
		must(!got.argv && !got.envp && !got.bytes);
		return 0;
	}
	check_payload(&got, data, size);
	kg_payload_done(&got);
	return 0;
}
