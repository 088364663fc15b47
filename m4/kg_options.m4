dnl SPDX-License-Identifier: MIT
dnl The project's own configure macros.

dnl KG_TRY_CFLAG(VARIABLE, FLAG) - append a flag that $CC compiles with
AC_DEFUN([KG_TRY_CFLAG], [
	AC_MSG_CHECKING([whether $CC takes $2])
	kg_saved_CFLAGS=$CFLAGS
	CFLAGS="$CFLAGS -Werror $2"
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[]], [[]])], [
		AC_MSG_RESULT([yes])
		AS_VAR_APPEND([$1], [" $2"])
	], [AC_MSG_RESULT([no])])
	CFLAGS=$kg_saved_CFLAGS
])

dnl KG_TRY_LDFLAG(VARIABLE, FLAG) - append a flag that $CC links with
AC_DEFUN([KG_TRY_LDFLAG], [
	AC_MSG_CHECKING([whether $CC links with $2])
	kg_saved_LDFLAGS=$LDFLAGS
	LDFLAGS="$LDFLAGS $2"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[]], [[]])], [
		AC_MSG_RESULT([yes])
		AS_VAR_APPEND([$1], [" $2"])
	], [AC_MSG_RESULT([no])])
	LDFLAGS=$kg_saved_LDFLAGS
])

dnl KG_REQUIRE(PREFIX, MODULE, PACKAGE) - a library, named with its package
AC_DEFUN([KG_REQUIRE], [
	PKG_CHECK_MODULES([$1], [$2], [], [
		AC_MSG_WARN([$2 is missing: install the package $3 (Debian's name)])
		AS_VAR_APPEND([kg_missing], [" $3"])
	])
])

dnl KG_REQUIRE_ALL - stop, once, with everything that KG_REQUIRE has missed
AC_DEFUN([KG_REQUIRE_ALL], [
	AS_IF([test -n "$kg_missing"],
		[AC_MSG_ERROR([packages to install (Debian's names):$kg_missing])])
])

AC_DEFUN([KG_ARG_WERROR], [
	AC_ARG_ENABLE([werror],
		[AS_HELP_STRING([--enable-werror], [make compiler warnings errors])],
		[], [enable_werror=no])
])

AC_DEFUN([KG_ARG_INTEGRATION], [
	AC_ARG_ENABLE([integration],
		[AS_HELP_STRING([--disable-integration],
			[leave the integration tests out of make check])],
		[], [enable_integration=yes])
	AM_CONDITIONAL([KG_INTEGRATION], [test "$enable_integration" = yes])
])

dnl The last one: clang finds the macros of libseccomp incomplete.
AC_DEFUN([KG_WARNINGS], [
	WARN_CFLAGS=
	m4_foreach_w([kg_flag], [-Wall -Wextra -Wshadow -Wstrict-prototypes
		-Wmissing-prototypes -Wformat=2 -Wvla -Wswitch-enum
		-Wimplicit-fallthrough -Wdeclaration-after-statement
		-Wpointer-arith -Wwrite-strings -Wundef
		-Wno-missing-field-initializers],
		[KG_TRY_CFLAG([WARN_CFLAGS], [kg_flag])])
	AS_IF([test "$enable_werror" = yes],
		[AS_VAR_APPEND([WARN_CFLAGS], [" -Werror"])])
	AC_SUBST([WARN_CFLAGS])
])

dnl KG_FORTIFY - needs an optimising build, and is in the way of sanitizers
AC_DEFUN([KG_FORTIFY], [
	AS_CASE(["$CPPFLAGS $CFLAGS"], [*_FORTIFY_SOURCE*], [], [*-O@<:@123s@:>@*], [
		AS_IF([test "$kg_sanitizers$enable_fuzzing$enable_coverage" = nono],
			[AS_VAR_APPEND([HARDEN_CFLAGS], [" -D_FORTIFY_SOURCE=2"])])
	])
])

AC_DEFUN([KG_HARDENING], [
	AC_ARG_ENABLE([hardening],
		[AS_HELP_STRING([--disable-hardening], [leave hardening flags out])],
		[], [enable_hardening=yes])
	HARDEN_CFLAGS= HARDEN_LDFLAGS= PIE_CFLAGS= PIE_LDFLAGS=
	AS_IF([test "$enable_hardening" = yes], [
		m4_foreach_w([kg_flag], [-fstack-protector-strong
			-fstack-clash-protection -fcf-protection
			-fno-strict-overflow -ftrivial-auto-var-init=zero],
			[KG_TRY_CFLAG([HARDEN_CFLAGS], [kg_flag])])
		KG_FORTIFY
		KG_TRY_LDFLAG([HARDEN_LDFLAGS], [[-Wl,-z,relro,-z,now]])
		KG_TRY_LDFLAG([HARDEN_LDFLAGS], [[-Wl,-z,noexecstack]])
		KG_TRY_CFLAG([PIE_CFLAGS], [-fPIE])
		KG_TRY_LDFLAG([PIE_LDFLAGS], [-pie])
	])
	AC_SUBST([HARDEN_CFLAGS])
	AC_SUBST([HARDEN_LDFLAGS])
	AC_SUBST([PIE_CFLAGS])
	AC_SUBST([PIE_LDFLAGS])
])

dnl KG_ARG_SANITIZERS - --enable-sanitizers[=LIST], default address,undefined
AC_DEFUN([KG_ARG_SANITIZERS], [
	AC_ARG_ENABLE([sanitizers],
		[AS_HELP_STRING([--enable-sanitizers@<:@=LIST@:>@],
			[build with -fsanitize=LIST (address,undefined)])],
		[], [enable_sanitizers=no])
	AS_CASE([$enable_sanitizers],
		[no],  [kg_sanitizers=],
		[yes], [kg_sanitizers=address,undefined],
		[kg_sanitizers=$enable_sanitizers])
	AS_IF([test -n "$kg_sanitizers"], [
		kg_ok=
		KG_TRY_LDFLAG([kg_ok], [-fsanitize=$kg_sanitizers])
		AS_IF([test -z "$kg_ok"],
			[AC_MSG_ERROR([$CC can't link with -fsanitize=$kg_sanitizers])])
		SANITIZER_CFLAGS="-fsanitize=$kg_sanitizers -fno-omit-frame-pointer -fno-sanitize-recover=all"
		SANITIZER_LDFLAGS="-fsanitize=$kg_sanitizers"
	])
	AC_SUBST([SANITIZER_CFLAGS])
	AC_SUBST([SANITIZER_LDFLAGS])
	AC_SUBST([KG_SANITIZERS], [$kg_sanitizers])
])

AC_DEFUN([KG_ARG_FUZZING], [
	AC_ARG_ENABLE([fuzzing],
		[AS_HELP_STRING([--enable-fuzzing],
			[build the fuzz targets with libFuzzer (needs clang)])],
		[], [enable_fuzzing=no])
	AS_IF([test "$enable_fuzzing" = yes], [
		kg_ok=
		KG_TRY_LDFLAG([kg_ok], [-fsanitize=fuzzer-no-link])
		AS_IF([test -z "$kg_ok"],
			[AC_MSG_ERROR([$CC has no libFuzzer: use clang (CC=clang)])])
		FUZZ_CFLAGS="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"
		FUZZ_LDFLAGS="-fsanitize=address,undefined"
		FUZZ_ENGINE="-fsanitize=fuzzer"
	])
	AC_SUBST([FUZZ_CFLAGS])
	AC_SUBST([FUZZ_LDFLAGS])
	AC_SUBST([FUZZ_ENGINE])
	AM_CONDITIONAL([KG_FUZZING], [test "$enable_fuzzing" = yes])
])

AC_DEFUN([KG_ARG_COVERAGE], [
	AC_ARG_ENABLE([coverage],
		[AS_HELP_STRING([--enable-coverage], [build for gcov])],
		[], [enable_coverage=no])
	AS_IF([test "$enable_coverage" = yes], [
		COVERAGE_CFLAGS="--coverage -O0"
		COVERAGE_LDFLAGS="--coverage"
	])
	AC_SUBST([COVERAGE_CFLAGS])
	AC_SUBST([COVERAGE_LDFLAGS])
])

dnl KG_ARG_STATIC_ENTRY - kgate-entry starts fastest when it is linked statically
AC_DEFUN([KG_ARG_STATIC_ENTRY], [
	AC_ARG_ENABLE([static-entry],
		[AS_HELP_STRING([--disable-static-entry],
			[link kgate-entry dynamically (default: static where it works)])],
		[], [enable_static_entry=auto])
	kg_static_entry=no
	AS_IF([test "$enable_static_entry" != no &&
	       test "$kg_sanitizers$enable_fuzzing$enable_coverage" = nono], [
		AC_MSG_CHECKING([whether a static program links with libcap])
		kg_saved_LDFLAGS=$LDFLAGS
		kg_saved_LIBS=$LIBS
		LDFLAGS="$LDFLAGS -static"
		LIBS="$LIBCAP_LIBS"
		AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <sys/capability.h>]],
			[[cap_t c = cap_get_proc(); return c == 0;]])],
			[kg_static_entry=yes])
		LDFLAGS=$kg_saved_LDFLAGS
		LIBS=$kg_saved_LIBS
		AC_MSG_RESULT([$kg_static_entry])
	])
	AS_IF([test "$enable_static_entry$kg_static_entry" = yesno],
		[AC_MSG_ERROR([kgate-entry can't be linked statically here])])
	AM_CONDITIONAL([KG_STATIC_ENTRY], [test "$kg_static_entry" = yes])
])

dnl KG_ARG_STATIC_LIBS - kgate starts 0.3 ms sooner when the small libraries are
dnl linked in; distributions say --disable-static-libs
AC_DEFUN([KG_ARG_STATIC_LIBS], [
	AC_ARG_ENABLE([static-libs],
		[AS_HELP_STRING([--disable-static-libs],
			[link libcap, libseccomp, libnl, libyaml, jansson and libmd dynamically (default: statically where it works)])],
		[], [enable_static_libs=auto])
	KG_LIBS="$LIBSECCOMP_LIBS $LIBNL_ROUTE_LIBS $LIBNL_LIBS $YAML_LIBS $JANSSON_LIBS $LIBMD_LIBS $LIBCAP_LIBS"
	kg_static_libs=no
	AS_IF([test "$enable_static_libs" != no && test -z "$kg_sanitizers" &&
	       test "$enable_fuzzing" = no && test "$enable_coverage" = no], [
		AC_MSG_CHECKING([whether the libraries can be linked in])
		kg_static="-Wl,-Bstatic $KG_LIBS -Wl,-Bdynamic -lm -lpthread"
		kg_saved_LIBS=$LIBS
		kg_saved_LDFLAGS=$LDFLAGS
		LIBS=$kg_static
		LDFLAGS="$LDFLAGS $PIE_LDFLAGS"
		AC_LINK_IFELSE([AC_LANG_PROGRAM([[
			void *rtnl_route_alloc(void);
			void *seccomp_init(unsigned);]], [[
			return !rtnl_route_alloc() || !seccomp_init(0);]])],
			[kg_static_libs=yes KG_LIBS=$kg_static])
		LIBS=$kg_saved_LIBS
		LDFLAGS=$kg_saved_LDFLAGS
		AC_MSG_RESULT([$kg_static_libs])
		AS_IF([test "$enable_static_libs$kg_static_libs" = yesno],
			[AC_MSG_ERROR([no static libraries to link in])])
	])
	AC_SUBST([KG_LIBS])
])
