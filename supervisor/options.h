/* SPDX-License-Identifier: MIT */
#ifndef KG_SUPERVISOR_OPTIONS_H
#define KG_SUPERVISOR_OPTIONS_H

/*
 * The command line.
 *
 * One table of commands and one of flags drive parsing and the help text.
 * GNU getopt_long(3) conventions: "--" ends the flags; without it the first
 * word that is no flag begins the command.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/host.h"
#include "common/policy.h"

/**
 * enum kg_command - What kgate is asked to do
 * @KG_COMMAND_RUN:	Launch a command in a box
 * @KG_COMMAND_HELP:	Print a help text
 * @KG_COMMAND_VERSION:	Print the version
 */
enum kg_command {
	KG_COMMAND_RUN,
	KG_COMMAND_HELP,
	KG_COMMAND_VERSION,

	KG_COMMAND_COUNT
};

/**
 * struct kg_options_path - One --allow-path
 * @text:	Path as written, without its mode; owned
 * @writable:	rw, else ro
 */
struct kg_options_path {
	char *text;
	bool writable;
};

/**
 * struct kg_options_host - One --allow-net
 * @text:	As written; borrowed from argv
 * @host:	What it stands for
 */
struct kg_options_host {
	const char *text;
	struct kg_host host;
};

/**
 * struct kg_options - A command line, understood
 * @command:	What to do
 * @argv:	For KG_COMMAND_RUN: the command and its arguments, ended by
 *		NULL; borrowed from argv
 * @allow_paths: Paths to add; owned
 * @allow_path_count: How many
 * @allow_hosts: Hosts to add; owned
 * @allow_host_count: How many
 * @config:	File instead of the user's, or NULL; borrowed from argv
 * @audit:	File instead of the user's audit log, or NULL; borrowed from
 *		argv
 * @timeout_ms:	Longest run in milliseconds, 0 for none
 * @trace:	Tell where the time goes
 * @topic:	For KG_COMMAND_HELP: name of a command, or NULL for all; static
 */
struct kg_options {
	enum kg_command command;
	char **argv;
	struct kg_options_path *allow_paths;
	size_t allow_path_count;
	struct kg_options_host *allow_hosts;
	size_t allow_host_count;
	const char *config;
	const char *audit;
	int64_t timeout_ms;
	bool trace;
	const char *topic;
};

#define KG_OPTIONS_INIT ((struct kg_options){ .command = KG_COMMAND_HELP })

/**
 * kg_options_parse() - Read a command line
 * @argc:	As main() has it
 * @argv:	As main() has it; borrowed as long as @ret is used
 * @ret:	Holds KG_OPTIONS_INIT; filled, also in part on failure; release
 *		with kg_options_done()
 * @err:	Filled on failure; names the word that is wrong
 *
 * Uses the state of getopt_long(3), which a process has once.  Prints nothing.
 *
 * Return: 0, or -1 with KG_E_USAGE, KG_E_SYSTEM
 */
kg_must_check int kg_options_parse(int argc, char **argv,
				   struct kg_options *ret,
				   struct kg_error *err);

/**
 * kg_options_done() - Release what options own
 * @opts:	Options; become KG_OPTIONS_INIT
 */
void kg_options_done(struct kg_options *opts);

/**
 * kg_options_apply() - Add the flags to the policy of the files
 * @opts:	Options; borrowed
 * @policy:	Policy; borrowed.  In part filled on failure
 * @err:	Filled on failure
 *
 * With --allow-net, a policy of off becomes restricted to the hosts of the
 * flags alone; in restricted they are added; open has no use for them.
 *
 * Return: 0, or -1 with KG_E_USAGE, KG_E_LIMIT, KG_E_SYSTEM
 */
kg_must_check int kg_options_apply(const struct kg_options *opts,
				   struct kg_policy *policy,
				   struct kg_error *err);

/**
 * kg_options_print_help() - Write a help text
 * @out:	Where to; borrowed
 * @topic:	Name of a command, or NULL for kgate as a whole; borrowed
 */
void kg_options_print_help(FILE *out, const char *topic);

#endif /* KG_SUPERVISOR_OPTIONS_H */
