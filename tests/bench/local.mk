# SPDX-License-Identifier: MIT
# What make bench runs.  make check builds it, so that it keeps compiling, and
# runs none of it: no test here depends on time.
bench_programs = \
	%D%/bare \
	%D%/first \
	%D%/launch \
	%D%/memory \
	%D%/slirp
check_PROGRAMS += $(bench_programs)
EXTRA_DIST += %D%/run

%C%_bare_SOURCES = %D%/bare.c %D%/log.c %D%/log.h
%C%_bare_CFLAGS = $(PLAIN_CFLAGS)
%C%_bare_LDFLAGS = $(HARDEN_LDFLAGS)
%C%_bare_LDADD =
%C%_first_CFLAGS = $(PLAIN_CFLAGS)
%C%_first_LDADD =
if KG_STATIC_ENTRY
%C%_first_LDFLAGS = $(HARDEN_LDFLAGS) -static
else
%C%_first_LDFLAGS = $(HARDEN_LDFLAGS)
endif
%C%_launch_SOURCES = %D%/launch.c %D%/box.c %D%/box.h %D%/shot.c %D%/shot.h
%C%_launch_LDADD = $(KG_MODULES) $(KG_LIBS)
%C%_memory_LDADD = common/libcommon.a $(JANSSON_LIBS)
%C%_slirp_SOURCES = %D%/slirp.c %D%/log.c %D%/log.h
%C%_slirp_LDADD = netns/libnetns.a common/libcommon.a $(LIBCAP_LIBS)

# make bench BENCH_FLAGS='--rounds 200 --json'
BENCH_FLAGS =
.PHONY: bench
bench: $(bin_PROGRAMS) $(pkglibexec_PROGRAMS) $(bench_programs) $(helpers)
	@KG_SRCDIR='$(abs_top_srcdir)' KG_BUILDDIR='$(abs_top_builddir)' \
		KG_SANITIZERS='$(KG_SANITIZERS)' \
		$(SHELL) '$(srcdir)/%D%/run' $(BENCH_FLAGS)
