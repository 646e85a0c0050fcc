// SPDX-License-Identifier: MIT
#pragma once

/* Ends the endpoint: a sentence to its standard error, exit status 1. */
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char *format, ...);

/* The same with what errno says. */
[[noreturn]] void fail_errno(const char *what);
