# SPDX-License-Identifier: MIT
# Everything but main(), so that unit tests link what ships.
noinst_LIBRARIES += supervisor/libsupervisor.a
supervisor_libsupervisor_a_SOURCES = \
	%D%/audit.c %D%/audit.h \
	%D%/check.c %D%/check.h \
	%D%/environ.c %D%/environ.h \
	%D%/home.c %D%/home.h \
	%D%/lex.c %D%/lex.h \
	%D%/options.c %D%/options.h \
	%D%/paths.c %D%/paths.h \
	%D%/place.c %D%/place.h \
	%D%/program.c %D%/program.h \
	%D%/relay.c %D%/relay.h \
	%D%/run.c %D%/run.h \
	%D%/say.c %D%/say.h \
	%D%/session.c %D%/session.h \
	%D%/shell.c %D%/shell.h \
	%D%/shell_word.c %D%/shell_word.h \
	%D%/signals.c %D%/signals.h \
	%D%/trace.c %D%/trace.h \
	%D%/wrapper.c %D%/wrapper.h

bin_PROGRAMS += kgate
kgate_SOURCES = %D%/main.c
kgate_LDADD = $(KG_MODULES) $(KG_LIBS)
