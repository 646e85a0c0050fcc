// SPDX-License-Identifier: MIT

// One side of a flow over libktorrent's uTP: the contract's bytes as one stream.

#include <QCoreApplication>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRandomGenerator>
#include <QSemaphore>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/random.h>
#include <thread>
#include <unistd.h>
#include <util/log.h>
#include <utp/utpserver.h>
#include <vector>
#include <version.h>

namespace
{
constexpr std::uint64_t CHUNK_BYTES = 1 << 13;
constexpr int AGAIN_MS = 5; // how long room in the window may go unnoticed: the library does not tell of it
constexpr std::chrono::milliseconds LINGER(500);
constexpr std::uint64_t ENDLESS = UINT64_MAX;

std::atomic<std::uint64_t> received = 0;

[[noreturn]] void fail(const std::string &sentence, int status = 1)
{
	std::fprintf(stderr, "%s\n", sentence.c_str());
	_exit(status);
}

std::string told(const char *name)
{
	const char *value = std::getenv(name);
	if (!value)
		fail(std::string(name) + " is not set");
	return value;
}

// The contract's byte at `offset`: 0, 1, 2, ... as 64-bit big-endian numbers.
bt::Uint8 expected(std::uint64_t offset)
{
	return offset / 8 >> (56 - offset % 8 * 8);
}

// Ends the process at once: the library's threads need no end.
[[noreturn]] void finish(int status)
{
	if (told("ROLE") == "receiver")
		std::ofstream(told("LOGDIR") + "/received_bytes") << received << "\n";
	_exit(status);
}

class Server : public utp::UTPServer
{
public:
	QSemaphore changed, accepted_one;

	Server()
	{
		setCreateSockets(false); // connections are taken by acceptedConnection()
		connect(this, &UTPServer::accepted, this, [this] { accepted_one.release(); }, Qt::DirectConnection);
	}

protected:
	void stateChanged(utp::Connection::Ptr, bool, bool) override
	{
		changed.release();
	}
};

// The process ends before the server does.
Server &open(std::uint16_t port)
{
	auto &server = *new Server;
	if (!server.changePort(port))
		fail("port " + std::to_string(port) + " cannot be had");
	server.start();
	return server;
}

// Lets calls of this thread wait, and the library's thread handle the server's events: this one has no event loop.
void prepare(Server &server, utp::Connection &connection)
{
	connection.setBlocking(true);
	server.moveToThread(connection.thread());
}

void send(std::uint64_t total, std::uint16_t port)
{
	auto &server = open(port);
	auto connection = server.connectTo(net::Address(QString::fromStdString(told("PEER")), port)).toStrongRef();
	if (!connection)
		fail("no connection");
	prepare(server, *connection);
	if (!connection->waitUntilConnected())
		fail("not connected");
	std::vector<bt::Uint8> chunk(CHUNK_BYTES);
	for (std::uint64_t offset = 0; offset < total;) {
		if (!connection->isWriteable()) { // send() would start the timer of retransmissions anew
			if (connection->connectionState() != utp::CS_CONNECTED)
				fail("the connection closed");
			server.changed.tryAcquire(1, AGAIN_MS);
			continue;
		}
		const auto length = std::min(CHUNK_BYTES, total - offset);
		for (std::uint64_t i = 0; i < length; i++)
			chunk[i] = expected(offset + i);
		const int taken = connection->send(chunk.data(), length);
		if (taken < 0)
			fail("the connection closed");
		offset += taken;
	}
	while (!connection->allDataSent())
		server.changed.tryAcquire(1, AGAIN_MS);
	connection->close();
	std::this_thread::sleep_for(LINGER);
}

void receive(std::uint64_t total, std::uint16_t port)
{
	auto &server = open(port);
	server.accepted_one.acquire();
	auto connection = server.acceptedConnection().toStrongRef();
	prepare(server, *connection);
	std::ofstream payload;
	if (const char *path = std::getenv("PAYLOAD"))
		payload.open(path, std::ios::binary);
	std::vector<bt::Uint8> buffer(CHUNK_BYTES);
	while (received < total) {
		if (!connection->waitForData(AGAIN_MS)) { // recv() must not be called without data
			if (connection->connectionState() == utp::CS_CLOSED)
				break;
			continue;
		}
		const int length = connection->recv(buffer.data(), buffer.size());
		if (length < 0)
			break;
		for (int i = 0; i < length; i++)
			if (buffer[i] != expected(received + i))
				fail("wrong byte at offset " + std::to_string(received + i));
		payload.write(reinterpret_cast<char *>(buffer.data()), length);
		received += length;
	}
	// time to acknowledge the last bytes and the end of the stream
	std::this_thread::sleep_for(LINGER);
}

void end_by_sigterm()
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, nullptr);
	std::thread([signals] {
		int signal;
		sigwait(&signals, &signal);
		finish(0);
	}).detach();
}
}

// Qt's random numbers, `count` of 32 bits, from the guest's kernel: its randomness follows the seed, an instruction's does
// not. A program's own symbols come before those of libraries.
quint64 QRandomGenerator::_fillRange(void *buffer, qptrdiff count)
{
	quint64 first = 0;
	if (!buffer)
		buffer = &first;
	if (getrandom(buffer, 4 * count, 0) != 4 * count)
		fail("no random numbers");
	std::memcpy(&first, buffer, std::min<std::size_t>(4 * count, sizeof(first)));
	return first;
}

int main(int argc, char **argv)
{
	if (argc == 2 && argv[1] == std::string("--version")) {
		std::printf("libktorrent %u.%u.%u\n", bt::MAJOR, bt::MINOR, bt::RELEASE);
		return 0;
	}
	const auto parameters = QJsonDocument::fromJson(told("PARAMS").c_str()).object();
	if (!parameters.isEmpty())
		fail("unknown parameter " + parameters.keys().first().toStdString(), 127);
	const auto role = told("ROLE");
	if (role != "sender" && role != "receiver")
		fail("unknown role " + role, 127);
	const char *bytes = std::getenv("BYTES");
	const auto total = bytes ? std::strtoull(bytes, nullptr, 10) : ENDLESS;
	const auto port = static_cast<std::uint16_t>(std::stoi(told("PORT")));
	end_by_sigterm();
	QCoreApplication application(argc, argv);
	bt::InitLog("/dev/null", false, false, false);
	if (role == "sender")
		send(total, port);
	else
		receive(total, port);
	finish(total != ENDLESS && role == "receiver" && received < total ? 1 : 0);
}
