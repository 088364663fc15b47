/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/scoped.h"

#define ORIGIN_BYTES 512

/* "~" and "~/x" are the caller's home, as far as there is one to hide. */
static int expand(const struct kg_path_entry *entry, const struct kg_home *home,
		  char **ret, struct kg_error *err)
{
	const char *base = home->env_dir ? home->env_dir : home->passwd_dir;
	const char *text = entry->text;
	bool is_home = text[0] == '~' && (text[1] == '/' || text[1] == '\0');

	if (is_home && !base)
		return kg_fail(err, KG_E_CONFIG, 0,
			       "'%s': there is no home directory", text);
	if (!is_home && text[0] != '/' && entry->origin.kind != KG_ORIGIN_FLAG)
		return kg_fail(err, KG_E_CONFIG, 0,
			       "'%s' is relative, expected an absolute path "
			       "or one that begins with ~/",
			       text);
	if (asprintf(ret, "%s%s", is_home ? base : "",
		     is_home ? text + 1 : text) < 0)
		return kg_fail_system(err, "resolve '%s'", text);
	return 0;
}

/* The name of a link itself, with all that leads to it resolved. */
static char *find_link(const char *path)
{
	kg_auto_free char *copy = strdup(path);
	kg_auto_free char *folder = NULL;
	struct stat st;
	char *slash, *link;

	while (copy && (slash = strrchr(copy, '/')) && slash > copy &&
	       !slash[1])
		*slash = '\0';
	if (!copy || lstat(copy, &st) || !S_ISLNK(st.st_mode))
		return NULL;
	slash = strrchr(copy, '/');
	if (slash == copy)
		return kg_take_ptr(copy);
	if (slash)
		*slash = '\0';
	folder = realpath(slash ? copy : ".", NULL);
	if (!folder || asprintf(&link, "%s/%s", folder[1] ? folder : "",
				slash ? slash + 1 : copy) < 0)
		return NULL;
	return link;
}

static int resolve(struct kg_path_entry *entry, const struct kg_home *home,
		   struct kg_place_rule *ret_rule, struct kg_error *err)
{
	bool is_flag = entry->origin.kind == KG_ORIGIN_FLAG;
	kg_auto_free char *path = NULL;

	if (expand(entry, home, &path, err))
		return -1;
	entry->real = realpath(path, NULL);
	if (!entry->real)
		return kg_fail(err, is_flag ? KG_E_USAGE : KG_E_CONFIG, 0,
			       "'%s': %s; create it, or leave it out", path,
			       strerror(errno));
	entry->link = find_link(path);
	return kg_place_check(is_flag ? KG_PLACE_FLAG : KG_PLACE_PATHS,
			      entry->real, home, ret_rule, err);
}

int kg_paths_resolve(struct kg_policy *policy, const struct kg_home *home,
		     struct kg_place_rule *ret_rule, struct kg_error *err)
{
	char origin[ORIGIN_BYTES];
	size_t i;

	for (i = 0; i < policy->path_count; i++) {
		if (resolve(&policy->paths[i], home, ret_rule, err) == 0)
			continue;
		kg_origin_print(&policy->paths[i].origin, origin,
				sizeof(origin));
		return kg_fail_while(err, "%s", origin);
	}
	return 0;
}
