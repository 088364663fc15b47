# SPDX-License-Identifier: MIT
noinst_LIBRARIES += netns/libnetns.a
netns_libnetns_a_SOURCES = \
	%D%/dns.c %D%/dns.h \
	%D%/firewall.c %D%/firewall.h \
	%D%/gate.c %D%/gate.h \
	%D%/join.c %D%/join.h \
	%D%/link.c %D%/link.h \
	%D%/netplan.c %D%/netplan.h \
	%D%/resolver.c %D%/resolver.h \
	%D%/sets.c %D%/sets.h
