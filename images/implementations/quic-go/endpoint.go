// SPDX-License-Identifier: MIT

// One side of a flow over github.com/quic-go/quic-go: the contract's bytes as one stream of a QUIC connection.
package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
)

const (
	chunk    = 1 << 16
	protocol = "testbed"
	library  = "github.com/quic-go/quic-go"
)

// What the sender has open; it says goodbye when it is ended.
var open atomic.Pointer[quic.Conn]

// The longest silence of a path is a suspension of 10 s.
var config = &quic.Config{MaxIdleTimeout: time.Minute, KeepAlivePeriod: 10 * time.Second}

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

// certificate makes one for the receiver, which the sender does not check.
func certificate() tls.Certificate {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0)}
	written, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	check(err)
	return tls.Certificate{Certificate: [][]byte{written}, PrivateKey: private}
}

func send(total int64) {
	address := net.JoinHostPort(os.Getenv("PEER"), os.Getenv("PORT"))
	secrets := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}
	connection, err := quic.DialAddr(context.Background(), address, secrets, config)
	check(err)
	open.Store(connection)
	stream, err := connection.OpenStreamSync(context.Background())
	check(err)
	for sent := int64(0); sent < total; sent += chunk {
		_, err := stream.Write(expected(sent, min(chunk, total-sent)))
		var goodbye *quic.ApplicationError
		if errors.As(err, &goodbye) && !goodbye.Remote {
			return
		}
		check(err)
	}
	check(stream.Close())
	// the receiver closes the connection when it has everything
	_, err = io.ReadAll(stream)
	var closed *quic.ApplicationError
	if err != nil && !errors.As(err, &closed) {
		fail(1, "%v", err)
	}
}

func receive(total int64, received *atomic.Int64) {
	secrets := &tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: []string{protocol}}
	listener, err := quic.ListenAddr(":"+os.Getenv("PORT"), secrets, config)
	check(err)
	connection, err := listener.Accept(context.Background())
	check(err)
	stream, err := connection.AcceptStream(context.Background())
	check(err)
	payload := io.Discard
	if path := os.Getenv("PAYLOAD"); path != "" {
		payload, err = os.Create(path)
		check(err)
	}
	buffer := make([]byte, chunk)
	for received.Load() < total {
		read, err := stream.Read(buffer)
		start := received.Load()
		if string(buffer[:read]) != string(expected(start, int64(read))) {
			fail(1, "wrong bytes after offset %d", start)
		}
		_, failed := payload.Write(buffer[:read])
		check(failed)
		received.Add(int64(read))
		if err == io.EOF {
			break
		}
		var goodbye *quic.ApplicationError
		if errors.As(err, &goodbye) {
			return
		}
		check(err)
	}
	check(connection.CloseWithError(0, ""))
	check(listener.Close())
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
	// the guest's links take packets one by one, and its buffers are the scenario's
	for _, what := range []string{"GSO", "RECEIVE_BUFFER_WARNING"} {
		check(os.Setenv("QUIC_GO_DISABLE_"+what, "true"))
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
		if connection := open.Load(); connection != nil {
			check(connection.CloseWithError(0, ""))
		}
	case <-done:
	}
	if os.Getenv("ROLE") == "receiver" {
		check(os.WriteFile(os.Getenv("LOGDIR")+"/received_bytes", fmt.Appendf(nil, "%d\n", received.Load()), 0o644))
		if total != math.MaxInt64 && received.Load() < total {
			fail(1, "%d of %d bytes came", received.Load(), total)
		}
	}
}
