// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/quic-go/quic-go"
)

const (
	library  = "github.com/quic-go/quic-go"
	protocol = "testbed"
)

// The longest silence of a path is a suspension of 10 s.
var config = &quic.Config{MaxIdleTimeout: time.Minute, KeepAlivePeriod: 10 * time.Second}

// A stream is the only one of its connection, which ends with it.
type stream struct {
	*quic.Stream
	*quic.Conn
}

func (s stream) Close() error {
	return s.CloseWithError(0, "")
}

type listener struct {
	*quic.Listener
}

func (l listener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept(context.Background())
	if err != nil {
		return nil, err
	}
	accepted, err := connection.AcceptStream(context.Background())
	return stream{accepted, connection}, err
}

// The guest's links take packets one by one, and its buffers are the scenario's.
func init() {
	for _, what := range []string{"GSO", "RECEIVE_BUFFER_WARNING"} {
		check(os.Setenv("QUIC_GO_DISABLE_"+what, "true"))
	}
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

func dial(address string) (net.Conn, error) {
	secrets := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}
	connection, err := quic.DialAddr(context.Background(), address, secrets, config)
	if err != nil {
		return nil, err
	}
	opened, err := connection.OpenStreamSync(context.Background())
	return stream{opened, connection}, err
}

func listen(address string) (net.Listener, error) {
	secrets := &tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: []string{protocol}}
	listening, err := quic.ListenAddr(address, secrets, config)
	return listener{listening}, err
}
