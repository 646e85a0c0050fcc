// SPDX-License-Identifier: MIT
#include <endian.h>

#include "payload.h"

const unsigned char *payload_bytes::from(uint64_t offset)
{
	if (offset < begin || offset + AT_ONCE > begin + sizeof(numbers)) {
		const uint64_t first = offset / sizeof(*numbers);

		begin = first * sizeof(*numbers);
		for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
			numbers[i] = htobe64(first + i);
	}
	return reinterpret_cast<const unsigned char *>(numbers) + (offset - begin);
}
