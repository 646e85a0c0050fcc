// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
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

// Read tells the stream's end only when the connection has ended: the receiver leaves then, with its answer if that is
// still here.
func (s stream) Read(data []byte) (int, error) {
	read, err := s.Stream.Read(data)
	if read == 0 && err == io.EOF {
		select {
		case <-s.Conn.Context().Done():
		case <-time.After(linger):
		}
	}
	return read, err
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

// certificate makes one of a key for the receiver, which the sender does not check.
func certificate(key crypto.Signer) *tls.Certificate {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0)}
	written, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	check(err)
	return &tls.Certificate{Certificate: [][]byte{written}, PrivateKey: key}
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
	_, key, err := ed25519.GenerateKey(rand.Reader)
	check(err)
	usual := certificate(key)
	choose := func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if hello.SupportsCertificate(usual) == nil {
			return usual, nil
		}
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // picoquic knows no Ed25519
		check(err)
		return certificate(key), nil
	}
	listening, err := quic.ListenAddr(address, &tls.Config{GetCertificate: choose, NextProtos: []string{protocol}}, config)
	return listener{listening}, err
}
