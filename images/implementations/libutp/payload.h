// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

/* The payload of every flow: the numbers 0, 1, 2, ... as 64-bit big-endian integers, generated in long pieces. */
class payload_bytes {
public:
	static constexpr size_t AT_ONCE = 64 << 10;

	/* AT_ONCE bytes from `offset` on, valid until the next call. */
	const unsigned char *from(uint64_t offset);

private:
	uint64_t begin = UINT64_MAX;	/* offset of the first number; nothing is made yet */
	uint64_t numbers[4 * AT_ONCE / sizeof(uint64_t)];
};
