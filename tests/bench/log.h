/* SPDX-License-Identifier: MIT */
#ifndef KG_TESTS_BENCH_LOG_H
#define KG_TESTS_BENCH_LOG_H

/* What a baseline leaves on disk before it starts anything. */

/**
 * kg_log_write() - Append a line as long as one of the audit log, and sync it
 * @path:	File, made if need be; borrowed
 *
 * Return: 0, or -1 with errno set
 */
int kg_log_write(const char *path);

#endif /* KG_TESTS_BENCH_LOG_H */
