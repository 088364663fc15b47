/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "supervisor/say.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

Suite *kg_suite(void);

#define LONGEST_LINE 4096

static int ear = -1, stderr_before = -1;
static char heard[2 * LONGEST_LINE];

/* A socket that keeps what was one write apart from the next. */
static void listen_to_stderr(void)
{
	int ends[2];

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	stderr_before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
	ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[1]);
	ear = ends[0];
}

static void stop_listening(void)
{
	ck_assert_int_eq(dup2(stderr_before, STDERR_FILENO), STDERR_FILENO);
	close(stderr_before);
	close(ear);
}

/* The next write, whole; "" when there was none. */
static const char *hear(void)
{
	ssize_t n = recv(ear, heard, sizeof(heard) - 1, MSG_DONTWAIT);

	heard[n > 0 ? n : 0] = '\0';
	return heard;
}

START_TEST(says_one_line_in_one_write)
{
	kg_say("%s: %d", "the box", 7);
	ck_assert_str_eq(hear(), "kgate: the box: 7\n");
	ck_assert_str_eq(hear(), "");
	kg_say("again");
	ck_assert_str_eq(hear(), "kgate: again\n");
}
END_TEST

START_TEST(says_even_nothing_as_a_line)
{
	kg_say("%s", "");
	ck_assert_str_eq(hear(), "kgate: \n");
}
END_TEST

START_TEST(lets_no_control_character_through)
{
	char all[0x20 + 1];
	int i;

	for (i = 0; i < 0x1f; i++)
		all[i] = (char)(i + 1);
	all[0x1f] = 0x7f;
	all[0x20] = '\0';
	kg_say("%s", all);
	ck_assert_str_eq(hear(), "kgate: ????????????????????????????????\n");
}
END_TEST

/* U+009B begins a sequence like ESC [, as a character and as a byte. */
START_TEST(lets_no_control_of_eight_bits_through)
{
	kg_say("a\xc2\x9b"
	       "2Jb\xc2\x80\xc2\x9f\xc2\xa0.");
	ck_assert_str_eq(hear(), "kgate: a"
				 "??"
				 "2Jb"
				 "????"
				 "\xc2\xa0.\n");
	kg_say("a\x9b"
	       "2Jb\xff.\xc3");
	ck_assert_str_eq(hear(), "kgate: a?2Jb?.?\n");
}
END_TEST

START_TEST(keeps_letters_that_are_not_ascii)
{
	/* With a byte between 0x80 and 0x9f in it. */
	kg_say("%s", "/srv/\xc3\x9c"
		     "bung/\xe2\x82\xac");
	ck_assert_str_eq(hear(), "kgate: /srv/\xc3\x9c"
				 "bung/\xe2\x82\xac\n");
}
END_TEST

/* Around the longest line; the newline is never what is cut. */
START_TEST(cuts_a_line_that_is_too_long)
{
	char text[2 * LONGEST_LINE];
	size_t len, want;

	for (len = LONGEST_LINE - 20; len < LONGEST_LINE + 20; len++) {
		memset(text, 'x', len);
		text[len] = '\0';
		kg_say("%s", text);
		want = strlen("kgate: ") + len + 1;
		if (want > LONGEST_LINE)
			want = LONGEST_LINE;
		(void)hear();
		ck_assert_uint_ge(strlen(heard), want - 1);
		ck_assert_uint_le(strlen(heard), want);
		ck_assert_uint_eq(strspn(heard + 7, "x") + 8, strlen(heard));
		ck_assert_int_eq(heard[strlen(heard) - 1], '\n');
		ck_assert_ptr_eq(strchr(heard, '\n'),
				 heard + strlen(heard) - 1);
	}
}
END_TEST

START_TEST(survives_a_closed_descriptor_two)
{
	close(STDERR_FILENO);
	kg_say("into the void");
	ck_assert_str_eq(hear(), "");
}
END_TEST

Suite *kg_suite(void)
{
	Suite *s = suite_create("supervisor/say");
	TCase *tc = tcase_create("say");

	tcase_add_checked_fixture(tc, listen_to_stderr, stop_listening);
	tcase_add_test(tc, says_one_line_in_one_write);
	tcase_add_test(tc, says_even_nothing_as_a_line);
	tcase_add_test(tc, lets_no_control_character_through);
	tcase_add_test(tc, lets_no_control_of_eight_bits_through);
	tcase_add_test(tc, keeps_letters_that_are_not_ascii);
	tcase_add_test(tc, cuts_a_line_that_is_too_long);
	tcase_add_test(tc, survives_a_closed_descriptor_two);
	suite_add_tcase(s, tc);
	return s;
}
