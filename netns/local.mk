# SPDX-License-Identifier: MIT
noinst_LIBRARIES += netns/libnetns.a
netns_libnetns_a_SOURCES = \
	%D%/commit.c %D%/commit.h \
	%D%/dns.c %D%/dns.h \
	%D%/firewall.c %D%/firewall.h \
	%D%/gate.c %D%/gate.h \
	%D%/join.c %D%/join.h \
	%D%/link.c %D%/link.h \
	%D%/netplan.c %D%/netplan.h \
	%D%/nl.c %D%/nl.h \
	%D%/resolve.c %D%/resolve.h \
	%D%/resolver.c %D%/resolver.h \
	%D%/sets.c %D%/sets.h \
	%D%/slirp.c %D%/slirp.h
