/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/cause.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/util.h"

static const struct kg_cause_row rows[] = {
	/* clang-format off */
	[KG_CAUSE_BWRAP_MISSING] = {
		"bwrap isn't installed",
		"install the package bubblewrap (0.8.0 or newer)" },
	[KG_CAUSE_BWRAP_UNUSABLE] = {
		"bwrap can't be executed",
		"make it executable for this user" },
	[KG_CAUSE_SLIRP_MISSING] = {
		"slirp4netns isn't installed",
		"install the package slirp4netns, or use `network: off`" },
	[KG_CAUSE_SLIRP_UNUSABLE] = {
		"slirp4netns can't be executed",
		"make it executable for this user, or use `network: off`" },
	[KG_CAUSE_IPTABLES_MISSING] = {
		"iptables-restore isn't installed",
		"install the package iptables, or use `network: off`" },
	[KG_CAUSE_IPTABLES_UNUSABLE] = {
		"iptables-restore can't be executed",
		"make it executable for this user, or use `network: off`" },
	[KG_CAUSE_TUN] = {
		"/dev/net/tun can't be opened for reading and writing",
		"load the module tun and give the device mode 0666, or use "
		"`network: off`" },
	[KG_CAUSE_IP_SET] = {
		"the kernel has no ip_set",
		"load the module ip_set, or use `network: off`" },
	[KG_CAUSE_ENTRY_MISSING] = {
		"kgate-entry can't be opened",
		"install kgate whole: kgate-entry belongs into its libexec "
		"folder" },
	[KG_CAUSE_NESTED] = {
		"already inside a kgate box",
		"run the command without `kgate run`" },
	[KG_CAUSE_CEILING] = {
		"this version can't apply an administrator's policy",
		"move the file away, or use a version that can" },
	[KG_CAUSE_PROJECT_FILE] = {
		"this version can't apply a project's policy",
		"move the file away, or use a version that can" },
	/* clang-format on */
};
static_assert(KG_ARRAY_LEN(rows) == KG_CAUSE_COUNT, "every cause has a row");

const struct kg_cause_row *kg_cause_row(enum kg_cause cause)
{
	return &rows[cause];
}

int kg_cause_fail(struct kg_error *err, enum kg_cause cause, int errnum,
		  const char *found)
{
	const struct kg_cause_row *row = &rows[cause];

	return kg_fail(err, KG_E_BACKEND, 0, "%s%s%s%s%s%s; %s", row->sentence,
		       found ? " (" : "", found ? found : "", found ? ")" : "",
		       errnum ? ": " : "", errnum ? strerror(errnum) : "",
		       row->next);
}
