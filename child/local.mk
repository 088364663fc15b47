# SPDX-License-Identifier: MIT
noinst_LIBRARIES += child/libchild.a
child_libchild_a_SOURCES = \
	%D%/boxfiles.c %D%/boxfiles.h \
	%D%/bwrap.c %D%/bwrap.h \
	%D%/filter.c %D%/filter.h \
	%D%/landlock.c %D%/landlock.h \
	%D%/launch.c %D%/launch.h \
	%D%/linux.c %D%/linux.h \
	%D%/mounter.c %D%/mounter.h \
	%D%/payload.c %D%/payload.h \
	%D%/plan.c %D%/plan.h \
	%D%/worker.c %D%/worker.h

# The first program inside the box, built beside kgate.
pkglibexec_PROGRAMS += kgate-entry
kgate_entry_SOURCES = %D%/entry.c
kgate_entry_LDADD = child/libchild.a common/libcommon.a $(LIBCAP_LIBS)
kgate_entry_CFLAGS = $(BASE_CFLAGS)
if KG_STATIC_ENTRY
kgate_entry_LDFLAGS = $(BASE_LINK) -static
else
kgate_entry_LDFLAGS = $(AM_LDFLAGS)
kgate_entry_CFLAGS += $(PIE_CFLAGS)
endif
