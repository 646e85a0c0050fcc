// SPDX-License-Identifier: MIT
/*
 * Plays a flow by an image made for the QUIC interop runner: its server is the sender, its client the receiver.
 *
 * Such an image has its server at port 443, and a client that asks for a file. So both talk to this program at port 443
 * of their own host's loopback, and it carries each datagram over the flow's path, between PORT of the receiver and one
 * port of the sender. The server's side says by a datagram of one byte that it is there, and the client's side that it
 * has all; no packet of QUIC is that short.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "traffic.h"

#define HTTPS 443
#define ENTRY "/opt/implementation/entry"
#define FILE_NAME "data"
#define ENDLESS_BYTES (1LL << 40)
#define MOST_BYTES (1 << 16)
#define AGAIN_NS (NS / 5)
#define STARTING_NS (NS / 100)

enum { THERE = 't', HAS_ALL = 'a', SEEN = 's' };

static pid_t image;
static volatile sig_atomic_t image_ended;
static bool has_all, path_ended;

static void leave_with_image(int signal)
{
	(void)signal;
	if (image)	/* kill(0) would be this program's own end */
		kill(-image, SIGKILL);
	leave(0);
}

static void note_end(int signal)
{
	(void)signal;
	image_ended = 1;
}

/* Signals arrive only in ppoll. */
static void begin_to_wait(void)
{
	sigset_t blocked;

	sigemptyset(&open_to_all);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGTERM, leave_with_image);
	signal(SIGCHLD, note_end);
}

static void pause_ns(long ns)
{
	const struct timespec time = { .tv_nsec = ns };

	ppoll(NULL, 0, &time, &open_to_all);
}

/* Starts the image's entry point in a role of the runner's; what it prints goes into a log of the run. */
static void start(const char *role)
{
	char log[4096];
	int fd;

	image = fork();
	if (image < 0)
		fail("fork");
	if (image)
		return;
	snprintf(log, sizeof(log), "%s/image.log", told("LOGDIR"));
	fd = open(log, O_WRONLY | O_CREAT, 0644);
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
		fail(log);
	sigprocmask(SIG_SETMASK, &open_to_all, NULL);
	setpgid(0, 0);
	setenv("ROLE", role, 1);
	setenv("TESTCASE", "transfer", 1);
	setenv("REQUESTS", "https://127.0.0.1:443/" FILE_NAME, 1);
	setenv("SSLKEYLOGFILE", "/logs/keys.log", 1);
	execl(ENTRY, ENTRY, NULL);
	fail(ENTRY);
}

/* The image's exit status, as the contract's: 127 of an image says that it lacks the test case. */
static void leave_as_image(void)
{
	int status;

	if (waitpid(image, &status, 0) != image)
		fail("waitpid");
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (status == NOT_SUPPORTED)
		leave(NOT_SUPPORTED);
	fprintf(stderr, "the image ended too early, with status %d; image.log is what it printed\n", status);
	leave(1);
}

static void make_folder(const char *path)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		fail(path);
}

static void copy(const char *name)
{
	char from[64], to[64], data[8192];
	FILE *in, *out;
	size_t length;

	snprintf(from, sizeof(from), "/opt/implementation/%s", name);
	snprintf(to, sizeof(to), "/certs/%s", name);
	in = fopen(from, "r");
	out = fopen(to, "w");
	if (!in || !out)
		fail(to);
	length = fread(data, 1, sizeof(data), in);
	if (fwrite(data, 1, length, out) != length || fclose(out))
		fail(to);
	fclose(in);
}

/* What the server has: the contract's bytes, or without an end a file of zeros that takes no memory. */
static void make_file(uint64_t total)
{
	FILE *file = fopen("/www/" FILE_NAME, "w");

	if (!file)
		fail("/www/" FILE_NAME);
	if (total == UINT64_MAX && ftruncate(fileno(file), ENDLESS_BYTES))
		fail("ftruncate");
	for (uint64_t at = 0; total != UINT64_MAX && at < total; at++)
		putc(expected(at), file);
	if (fclose(file))
		fail("/www/" FILE_NAME);
}

/* Whether a program of this host has UDP's port 443. */
static bool is_served(const char *table)
{
	char line[512];
	FILE *file = fopen(table, "r");
	bool found = false;
	unsigned int port;

	while (file && fgets(line, sizeof(line), file))
		found |= sscanf(line, " %*d: %*[0-9A-F]:%x", &port) == 1 && port == HTTPS;
	if (file)
		fclose(file);
	return found;
}

/* A socket to the image: connected to its server, or where its client finds one. */
static int opened_to_image(bool server)
{
	const int fd = opened(SOCK_DGRAM);
	const struct sockaddr_in own = {
		.sin_family = AF_INET,
		.sin_port = htons(HTTPS),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};

	if ((server ? connect : bind)(fd, (const struct sockaddr *)&own, sizeof(own)))
		fail("port 443, which only one flow of a host can have");
	return fd;
}

static void say(int path, char what)
{
	send(path, &what, 1, 0);
}

/* Carries a datagram from the path to the image, or hears what the other side says. */
static void take_from_path(int path, int inside, const struct sockaddr_in *client)
{
	static char data[MOST_BYTES];
	const ssize_t length = recv(path, data, sizeof(data), MSG_DONTWAIT);

	if (length < 0) {
		path_ended |= errno == ECONNREFUSED;
		return;
	}
	if (length == 1) {
		has_all |= data[0] == HAS_ALL || data[0] == SEEN;
		return;
	}
	if (client->sin_port)
		sendto(inside, data, length, 0, (const struct sockaddr *)client, sizeof(*client));
	else if (!is_receiver())
		send(inside, data, length, 0);
}

static void take_from_image(int path, int inside, struct sockaddr_in *client)
{
	static char data[MOST_BYTES];
	socklen_t size = sizeof(*client);
	ssize_t length;

	if (is_receiver())
		length = recvfrom(inside, data, sizeof(data), MSG_DONTWAIT, (struct sockaddr *)client, &size);
	else
		length = recv(inside, data, sizeof(data), MSG_DONTWAIT);
	if (length > 0)
		send(path, data, length, 0);
}

/* Counts what the client writes; what has no end is zeros, which nobody compares. */
static ssize_t take_from_file(int file, bool has_end)
{
	static unsigned char data[MOST_BYTES];
	const ssize_t length = read(file, data, sizeof(data));

	if (length > 0 && has_end)
		take(data, length);
	else if (length > 0)
		received += length;
	return length;
}

static void serve(uint64_t total)
{
	const struct timespec again = { .tv_nsec = AGAIN_NS };
	const struct sockaddr_in nobody = { 0 };
	const int path = opened(SOCK_DGRAM);
	struct pollfd waited[2] = { { path, POLLIN, 0 }, { -1, POLLIN, 0 } };
	bool answered = false;

	connect_to_peer(path);
	make_folder("/tmp/www");
	make_folder("/tmp/certs");
	copy("cert.pem");
	copy("priv.key");
	make_file(total);
	start("server");
	while (!is_served("/proc/net/udp") && !is_served("/proc/net/udp6") && !image_ended)
		pause_ns(STARTING_NS);
	waited[1].fd = opened_to_image(true);
	while (!has_all && !image_ended) {
		if (!answered)
			say(path, THERE);
		if (ppoll(waited, 2, answered ? NULL : &again, &open_to_all) <= 0)
			continue;
		if (waited[0].revents) {
			answered = true;
			take_from_path(path, waited[1].fd, &nobody);
		}
		if (waited[1].revents)
			take_from_image(path, waited[1].fd, NULL);
	}
	if (!has_all)
		leave_as_image();
	say(path, SEEN);
	kill(-image, SIGKILL);
	leave(0);
}

/* The first datagram says where the server's side is. */
static void wait_for_server(int path)
{
	struct pollfd readable = { path, POLLIN, 0 };
	struct sockaddr_in server;
	socklen_t length = sizeof(server);
	char said;

	while (ppoll(&readable, 1, NULL, &open_to_all) < 0)
		;
	if (recvfrom(path, &said, 1, 0, (struct sockaddr *)&server, &length) < 0 ||
	    connect(path, (const struct sockaddr *)&server, length))
		fail("the sender");
}

static void ask(uint64_t total)
{
	struct sockaddr_in client = { 0 };
	const int path = opened(SOCK_DGRAM);
	struct pollfd waited[3] = { { path, POLLIN, 0 }, { -1, POLLIN, 0 }, { -1, POLLIN, 0 } };

	bind_to_port(path);
	wait_for_server(path);
	waited[1].fd = opened_to_image(false);
	make_folder("/tmp/downloads");
	if (mkfifo("/downloads/" FILE_NAME, 0644))
		fail("/downloads/" FILE_NAME);
	waited[2].fd = open("/downloads/" FILE_NAME, O_RDONLY | O_NONBLOCK);
	start("client");
	while (!image_ended) {
		if (ppoll(waited, 3, NULL, &open_to_all) < 0)
			continue;
		if (waited[0].revents)
			take_from_path(path, waited[1].fd, &client);
		if (waited[1].revents)
			take_from_image(path, waited[1].fd, &client);
		if (waited[2].revents && take_from_file(waited[2].fd, total != UINT64_MAX) == 0)
			waited[2].fd = -1;
	}
	while (waited[2].fd >= 0 && take_from_file(waited[2].fd, total != UINT64_MAX) > 0)
		;
	if (received != total)
		leave_as_image();
	while (!has_all && !path_ended) {
		say(path, HAS_ALL);
		pause_ns(AGAIN_NS);
		take_from_path(path, waited[1].fd, &client);
	}
	leave(0);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	if (strcmp(told("PARAMS"), "{}"))
		exit(NOT_SUPPORTED);
	begin_to_wait();
	if (is_receiver())
		ask(length_of_transfer());
	else
		serve(length_of_transfer());
}
