# SPDX-License-Identifier: MIT
# Every test speaks TAP: Check programs, shell scripts, corpus replays and the
# integration tests alike.
TEST_EXTENSIONS = .t
T_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) \
	$(top_srcdir)/build-aux/tap-driver.sh --comments
AM_TESTS_ENVIRONMENT = \
	CC='$(CC)'; export CC; \
	KG_SRCDIR='$(abs_top_srcdir)'; export KG_SRCDIR; \
	KG_BUILDDIR='$(abs_top_builddir)'; export KG_BUILDDIR; \
	KG_SANITIZERS='$(KG_SANITIZERS)'; export KG_SANITIZERS; \
	KGATE='$(abs_top_builddir)/kgate'; export KGATE; \
	KG_HELPERS='$(abs_top_builddir)/%D%/helpers'; export KG_HELPERS; \
	PROBE='$(abs_top_builddir)/%D%/helpers/probe'; export PROBE; \
	CK_TAP_LOG_FILE_NAME=-; export CK_TAP_LOG_FILE_NAME; \
	CK_VERBOSITY=silent; export CK_VERBOSITY;

EXTRA_DIST += $(lint_tests) $(integration_tests) %D%/lint/lint.sh \
	$(fault_scripts) %D%/fuzz/corpus %D%/golden %D%/integration/run %D%/lib \
	%D%/world/inside %D%/world/world %D%/world/zone

# Unit tests: tests/unit/NAME.t is made of tests/unit/NAME.c and main.c.
unit_tests = \
	%D%/unit/audit.t \
	%D%/unit/cause.t \
	%D%/unit/check.t \
	%D%/unit/digest.t \
	%D%/unit/dns.t \
	%D%/unit/environ.t \
	%D%/unit/error.t \
	%D%/unit/fd.t \
	%D%/unit/filter.t \
	%D%/unit/firewall.t \
	%D%/unit/frame.t \
	%D%/unit/gate.t \
	%D%/unit/home.t \
	%D%/unit/host.t \
	%D%/unit/json.t \
	%D%/unit/landlock.t \
	%D%/unit/launch.t \
	%D%/unit/link.t \
	%D%/unit/netplan.t \
	%D%/unit/options.t \
	%D%/unit/paths.t \
	%D%/unit/payload.t \
	%D%/unit/place.t \
	%D%/unit/plan.t \
	%D%/unit/policy.t \
	%D%/unit/policy_yaml.t \
	%D%/unit/relay.t \
	%D%/unit/resolve.t \
	%D%/unit/resolver.t \
	%D%/unit/role.t \
	%D%/unit/say.t \
	%D%/unit/seccomp.t \
	%D%/unit/session.t \
	%D%/unit/sets.t \
	%D%/unit/shell.t \
	%D%/unit/signals.t \
	%D%/unit/slirp.t \
	%D%/unit/spawn.t \
	%D%/unit/step.t \
	%D%/unit/trace.t

if KG_HAVE_CHECK
check_LIBRARIES += %D%/unit/libunit.a
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
endif
%C%_unit_libunit_a_SOURCES = \
	%D%/unit/golden.c %D%/unit/golden.h \
	%D%/unit/main.c \
	%D%/unit/ownnet.c %D%/unit/ownnet.h
%C%_unit_libunit_a_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
LDADD = %D%/unit/libunit.a $(KG_MODULES) $(KG_LIBS) $(CHECK_LIBS)

# Fuzz targets: libFuzzer programs with --enable-fuzzing, else a replay of the
# corpus tests/fuzz/corpus/NAME.
fuzz_targets = \
	%D%/fuzz/fuzz_check.t \
	%D%/fuzz/fuzz_dns.t \
	%D%/fuzz/fuzz_frame.t \
	%D%/fuzz/fuzz_host.t \
	%D%/fuzz/fuzz_payload.t \
	%D%/fuzz/fuzz_policy_yaml.t \
	%D%/fuzz/fuzz_shell.t

check_PROGRAMS += $(fuzz_targets)
%C%_fuzz_libreplay_a_SOURCES = %D%/fuzz/replay.c
if KG_FUZZING
fuzz_ldadd = $(KG_MODULES) $(KG_LIBS) $(FUZZ_ENGINE)
else
check_LIBRARIES += %D%/fuzz/libreplay.a
TESTS += $(fuzz_targets)
fuzz_ldadd = %D%/fuzz/libreplay.a $(KG_MODULES) $(KG_LIBS)
endif
%C%_fuzz_fuzz_check_t_LDADD = $(fuzz_ldadd)
%C%_fuzz_fuzz_dns_t_LDADD = $(fuzz_ldadd)
%C%_fuzz_fuzz_frame_t_LDADD = $(fuzz_ldadd)
%C%_fuzz_fuzz_host_t_LDADD = $(fuzz_ldadd)
%C%_fuzz_fuzz_payload_t_LDADD = $(fuzz_ldadd)
%C%_fuzz_fuzz_policy_yaml_t_LDADD = $(fuzz_ldadd)
%C%_fuzz_fuzz_shell_t_LDADD = $(fuzz_ldadd)

lint_tests = \
	%D%/lint/doc-comments.t \
	%D%/lint/doors.t \
	%D%/lint/format.t \
	%D%/lint/headers.t \
	%D%/lint/lists.t \
	%D%/lint/shell.t \
	%D%/lint/words.t
TESTS += $(lint_tests)

# What the integration tests run beside kgate.  Sanitizers and the box don't go
# together, and a probe has to tell the truth even when kgate's code is wrong.
fault_scripts = \
	%D%/faults/box \
	%D%/faults/faults.sh \
	%D%/faults/hang \
	%D%/faults/rules \
	%D%/faults/say \
	%D%/faults/slirp \
	%D%/faults/with
helpers = \
	%D%/faults/await \
	%D%/faults/infofd \
	%D%/faults/jsonl \
	%D%/faults/terminal \
	%D%/helpers/box_reach \
	%D%/helpers/net \
	%D%/helpers/probe \
	%D%/helpers/snapshot \
	%D%/world/serve
check_PROGRAMS += $(helpers)
%C%_faults_await_CFLAGS = $(PLAIN_CFLAGS)
%C%_faults_await_LDFLAGS = $(HARDEN_LDFLAGS)
%C%_faults_await_LDADD =
%C%_faults_infofd_CFLAGS = $(PLAIN_CFLAGS)
%C%_faults_infofd_LDFLAGS = $(HARDEN_LDFLAGS)
%C%_faults_infofd_LDADD =
%C%_faults_jsonl_CFLAGS = $(PLAIN_CFLAGS)
%C%_faults_jsonl_LDFLAGS = $(HARDEN_LDFLAGS)
%C%_faults_jsonl_LDADD = $(JANSSON_LIBS)
%C%_faults_terminal_CFLAGS = $(PLAIN_CFLAGS)
%C%_faults_terminal_LDFLAGS = $(HARDEN_LDFLAGS)
%C%_faults_terminal_LDADD =
%C%_helpers_box_reach_CFLAGS = $(PLAIN_CFLAGS)
%C%_helpers_box_reach_LDFLAGS = $(HARDEN_LDFLAGS)
%C%_helpers_box_reach_LDADD =
%C%_helpers_net_CFLAGS = $(PLAIN_CFLAGS)
%C%_helpers_net_LDFLAGS = $(HARDEN_LDFLAGS)
%C%_helpers_net_LDADD =
%C%_helpers_probe_CFLAGS = $(PLAIN_CFLAGS)
%C%_helpers_probe_LDFLAGS = $(HARDEN_LDFLAGS)
%C%_helpers_probe_LDADD =
%C%_helpers_snapshot_CFLAGS = $(PLAIN_CFLAGS)
%C%_helpers_snapshot_LDFLAGS = $(HARDEN_LDFLAGS)
%C%_helpers_snapshot_LDADD =
%C%_world_serve_SOURCES = %D%/world/dns.c %D%/world/dns.h %D%/world/serve.c
%C%_world_serve_CFLAGS = $(PLAIN_CFLAGS)
%C%_world_serve_LDFLAGS = $(HARDEN_LDFLAGS)
%C%_world_serve_LDADD =

# Integration tests: each runs once as an ordinary user and once as root, under
# a name that says which.
integration_tests = \
	%D%/integration/000-world.t \
	%D%/integration/100-reach.t \
	%D%/integration/110-modes.t \
	%D%/integration/120-hosts.t \
	%D%/integration/130-resolve.t \
	%D%/integration/140-hold.t \
	%D%/integration/150-loss.t \
	%D%/integration/160-tools.t \
	%D%/integration/170-no-ipv6.t \
	%D%/integration/180-flows.t \
	%D%/integration/200-inside.t \
	%D%/integration/210-files.t \
	%D%/integration/220-places.t \
	%D%/integration/230-paths.t \
	%D%/integration/240-stdio.t \
	%D%/integration/250-hostile.t \
	%D%/integration/260-tools.t \
	%D%/integration/270-killed.t \
	%D%/integration/280-callers.t \
	%D%/integration/300-status.t \
	%D%/integration/310-signals.t \
	%D%/integration/320-end.t \
	%D%/integration/330-argv.t \
	%D%/integration/340-streams.t \
	%D%/integration/350-audit.t \
	%D%/integration/360-order.t \
	%D%/integration/370-refusals.t \
	%D%/integration/400-rules.t \
	%D%/integration/410-helpers.t \
	%D%/integration/420-hang.t \
	%D%/integration/430-interrupt.t \
	%D%/integration/440-load.t \
	%D%/integration/450-machine.t
as_user = $(integration_tests:.t=.user.t)
as_root = $(integration_tests:.t=.root.t)
if KG_INTEGRATION
TESTS += $(as_user) $(as_root)
endif
CLEANFILES += $(as_user) $(as_root)


$(as_user) $(as_root): Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D); \
	case $@ in *.root.t) user=root ;; *) user=kgate-test ;; esac; \
	test=`echo $@ | sed 's/\.[a-z]*\.t$$/.t/'`; \
	printf '%s\n' '#!/bin/sh' \
		"exec '$(abs_top_srcdir)/%D%/integration/run' $$user \\" \
		"	'$(abs_top_srcdir)/$$test'" >$@ && chmod +x $@

# The unit tests once more under valgrind: make check-valgrind.  Without those
# that enter a seccomp filter, which valgrind's own calls don't pass, or a
# Landlock domain, which it doesn't know.  Leaks are for --enable-sanitizers to
# find: a process that ends in _exit() frees nothing, and valgrind would count
# that.
VALGRIND = valgrind
VALGRIND_FLAGS = --quiet --error-exitcode=99
not_under_valgrind = %D%/unit/filter.t %D%/unit/landlock.t \
	%D%/unit/resolver.t %D%/unit/seccomp.t
.PHONY: check-valgrind
check-valgrind:
	tests=; for t in $(unit_tests); do \
		case ' $(not_under_valgrind) ' in *" $$t "*) ;; \
		*) tests="$$tests $$t" ;; esac; done; \
	KG_VALGRIND=1 CK_TIMEOUT_MULTIPLIER=10 $(MAKE) $(AM_MAKEFLAGS) check \
		TESTS="$$tests" T_LOG_COMPILER='$(VALGRIND)' \
		AM_T_LOG_FLAGS='$(VALGRIND_FLAGS)'

# Bounded fuzzing of every target: make fuzz FUZZ_SECONDS=20
FUZZ_SECONDS = 20
.PHONY: fuzz
fuzz: $(fuzz_targets)
if KG_FUZZING
	@set -e; for target in $(fuzz_targets); do \
		name=`echo $$target | sed 's/.*fuzz_//; s/\.t$$//'`; \
		out=fuzz-out/$$name; \
		$(MKDIR_P) $$out; \
		echo "fuzz $$name for $(FUZZ_SECONDS) seconds"; \
		./$$target -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
			-rss_limit_mb=1024 -artifact_prefix=$$out.crash- \
			-verbosity=0 $$out $(srcdir)/%D%/fuzz/corpus/$$name; \
	done
else
	@echo 'configure with --enable-fuzzing and CC=clang first' >&2; exit 1
endif
clean-local:
	rm -rf fuzz-out
