/* SPDX-License-Identifier: MIT */
/*
 * Host patterns.  What is taken has one canonical form, which stands for the
 * same host; what is refused leaves a message of one printable line.
 */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/host.h"
#include "common/scoped.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* assert() that NDEBUG leaves in. */
static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_message(const struct kg_error *err)
{
	size_t i;

	must(err->code == KG_E_CONFIG);
	must(memchr(err->msg, '\0', sizeof(err->msg)));
	must(err->msg[0] == '\'');
	for (i = 0; err->msg[i]; i++)
		must(err->msg[i] >= ' ' && err->msg[i] <= '~');
}

static void check_name(const char *name)
{
	size_t label = 0, len = strlen(name), i;

	must(len > 0 && len < KG_HOST_NAME_BYTES);
	for (i = 0; i <= len; i++) {
		if (i < len && name[i] != '.') {
			must(strchr("abcdefghijklmnopqrstuvwxyz0123456789-_",
				    name[i]));
			label++;
			continue;
		}
		must(label > 0 && label < 64);
		label = 0;
	}
}

static void check_block(const struct kg_block *block)
{
	unsigned bits = block->family == AF_INET ? 32 : 128, i;

	must(block->family == AF_INET || block->family == AF_INET6);
	must(block->prefix > 0 && block->prefix <= bits);
	for (i = block->prefix; i < 128; i++)
		must(!(block->addr[i / 8] & (0x80 >> i % 8)));
	if (block->prefix == bits)
		must(!kg_host_is_reserved(block->family, block->addr));
}

static void check_round_trip(const struct kg_host *host)
{
	char form[KG_HOST_NAME_BYTES + 8], again[sizeof(form)];
	struct kg_error err = KG_ERROR_INIT;
	struct kg_host back;

	kg_host_print(host, form, sizeof(form));
	must(kg_host_parse(form, strlen(form), &back, &err) == 0);
	must(memcmp(host, &back, sizeof(back)) == 0);
	kg_host_print(&back, again, sizeof(again));
	must(strcmp(form, again) == 0);
}

/* Letters of ASCII mean the same in both cases. */
static void check_case(const uint8_t *data, size_t size,
		       const struct kg_host *host)
{
	kg_auto_free char *upper = malloc(size);
	struct kg_error err = KG_ERROR_INIT;
	struct kg_host other;
	size_t i;

	must(upper);
	for (i = 0; i < size; i++)
		upper[i] = (char)(data[i] >= 'a' && data[i] <= 'z'
					  ? data[i] - 'a' + 'A'
					  : data[i]);
	must(kg_host_parse(upper, size, &other, &err) == 0);
	must(memcmp(host, &other, sizeof(other)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kg_error err = KG_ERROR_INIT;
	struct kg_host host;

	if (kg_host_parse((const char *)data, size, &host, &err)) {
		check_message(&err);
		return 0;
	}
	must(err.code == KG_E_NONE);
	must(host.port != 53 && host.port != 853);
	if (host.kind == KG_HOST_NAME)
		check_name(host.name);
	else
		check_block(&host.block);
	check_round_trip(&host);
	check_case(data, size, &host);
	return 0;
}
