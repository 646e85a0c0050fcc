// SPDX-License-Identifier: MIT
/*
 * std::random_device from getrandom(2). libstdc++ uses the rdrand instruction, which no seed controls.
 * This file uses no C library, so that it works in every root.
 */
unsigned int random_device(void *self) __asm__("_ZNSt13random_device9_M_getvalEv");

unsigned int random_device(void *self)
{
	unsigned int value = 0;
	long number = 318, length = sizeof(value); /* getrandom */

	(void)self;
	__asm__ volatile("syscall"
			 : "+a"(number)
			 : "D"(&value), "S"(length), "d"(0L)
			 : "rcx", "r11", "memory");
	return value;
}
