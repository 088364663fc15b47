# SPDX-License-Identifier: MIT
noinst_LIBRARIES += common/libcommon.a
common_libcommon_a_SOURCES = \
	%D%/cause.c %D%/cause.h \
	%D%/digest.c %D%/digest.h \
	%D%/disposition.c %D%/disposition.h \
	%D%/error.c %D%/error.h \
	%D%/fd.c %D%/fd.h \
	%D%/frame.c %D%/frame.h \
	%D%/host.c %D%/host.h \
	%D%/json.c %D%/json.h \
	%D%/policy.c %D%/policy.h \
	%D%/policy_yaml.c %D%/policy_yaml.h \
	%D%/punycode.c %D%/punycode.h \
	%D%/role.c %D%/role.h \
	%D%/scoped.h \
	%D%/seccomp.c %D%/seccomp.h \
	%D%/spawn.c %D%/spawn.h \
	%D%/step.c %D%/step.h \
	%D%/text.c %D%/text.h \
	%D%/util.h
