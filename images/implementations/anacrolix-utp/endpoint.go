// SPDX-License-Identifier: MIT

// One side of a flow over a Go package, which library.go names: the contract's bytes as one stream.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	chunk  = 1 << 16
	linger = 5 * time.Second
)

func fail(status int, format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(status)
}

func check(err error) {
	if err != nil {
		fail(1, "%v", err)
	}
}

// expected returns the contract's bytes from offset: 0, 1, 2, ... as 64-bit big-endian numbers.
func expected(offset, length int64) []byte {
	skip := offset % 8
	bytes := make([]byte, 0, length+16)
	for number := offset / 8; int64(len(bytes)) < skip+length; number++ {
		bytes = binary.BigEndian.AppendUint64(bytes, uint64(number))
	}
	return bytes[skip : skip+length]
}

func send(total int64) {
	connection, err := dial(net.JoinHostPort(os.Getenv("PEER"), os.Getenv("PORT")))
	check(err)
	for sent := int64(0); sent < total; sent += chunk {
		_, err := connection.Write(expected(sent, min(chunk, total-sent)))
		check(err)
	}
	// the receiver answers when it has everything
	_, err = io.ReadFull(connection, make([]byte, 1))
	check(err)
	check(connection.Close())
}

func receive(total int64, received *atomic.Int64) {
	listener, err := listen(":" + os.Getenv("PORT"))
	check(err)
	connection, err := listener.Accept()
	check(err)
	payload := io.Discard
	if path := os.Getenv("PAYLOAD"); path != "" {
		payload, err = os.Create(path)
		check(err)
	}
	buffer := make([]byte, chunk)
	for received.Load() < total {
		read, err := connection.Read(buffer)
		if err != io.EOF { // the last bytes may come with it
			check(err)
		} else if read == 0 {
			return
		}
		start := received.Load()
		if string(buffer[:read]) != string(expected(start, int64(read))) {
			fail(1, "wrong bytes after offset %d", start)
		}
		_, err = payload.Write(buffer[:read])
		check(err)
		received.Add(int64(read))
	}
	// Answer with a byte: the library sends the end of a stream only once, and never retransmits it.
	_, err = connection.Write([]byte{0})
	check(err)
	check(connection.SetReadDeadline(time.Now().Add(linger)))
	connection.Read(buffer) // returns when the sender closes, or after `linger`
}

func version() string {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == library {
			return fmt.Sprintf("%s %s, %s", module.Path, module.Version, build.GoVersion)
		}
	}
	return ""
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(version())
		return
	}
	var parameters map[string]any
	check(json.Unmarshal([]byte(os.Getenv("PARAMS")), &parameters))
	for name := range parameters {
		fail(127, "unknown parameter %s", name)
	}
	total := int64(math.MaxInt64)
	if text, set := os.LookupEnv("BYTES"); set {
		var err error
		total, err = strconv.ParseInt(text, 10, 64)
		check(err)
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	done := make(chan os.Signal)
	var received atomic.Int64
	go func() {
		switch role := os.Getenv("ROLE"); role {
		case "sender":
			send(total)
		case "receiver":
			receive(total, &received)
		default:
			fail(127, "unknown role %s", role)
		}
		close(done)
	}()
	select {
	case <-end:
	case <-done:
	}
	if os.Getenv("ROLE") == "receiver" {
		check(os.WriteFile(os.Getenv("LOGDIR")+"/received_bytes", fmt.Appendf(nil, "%d\n", received.Load()), 0o644))
		if total != math.MaxInt64 && received.Load() < total {
			fail(1, "%d of %d bytes came", received.Load(), total)
		}
	}
}
