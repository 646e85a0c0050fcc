// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fail.h"

void fail(const char *format, ...)
{
	va_list words;

	va_start(words, format);
	vfprintf(stderr, format, words);
	va_end(words);
	fputc('\n', stderr);
	exit(1);
}

void fail_errno(const char *what)
{
	fail("%s: %s", what, strerror(errno));
}
