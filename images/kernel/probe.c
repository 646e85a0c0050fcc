// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first program of a trial boot: leaves a file on the host's folder and powers off.
 */
#include <fcntl.h>
#include <sys/reboot.h>
#include <unistd.h>

int main(void)
{
	int file = open("/booted", O_WRONLY | O_CREAT, 0644);

	if (file >= 0)
		close(file);
	reboot(RB_POWER_OFF);
	return 1;
}
