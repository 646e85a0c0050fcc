// SPDX-License-Identifier: MIT
#pragma once

/* Print a sentence to standard error and exit with status 1. */
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char *format, ...);

/* The same, with the text for errno. */
[[noreturn]] void fail_errno(const char *what);
