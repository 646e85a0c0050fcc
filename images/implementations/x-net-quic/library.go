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
	"time"

	"golang.org/x/net/quic"
)

const (
	library  = "golang.org/x/net"
	protocol = "testbed"
	farewell = time.Second
)

// The longest silence of a path is a suspension of 10 s.
func config(secrets *tls.Config) *quic.Config {
	secrets.NextProtos = []string{protocol}
	secrets.MinVersion = tls.VersionTLS13
	return &quic.Config{TLSConfig: secrets, MaxIdleTimeout: time.Minute, KeepAlivePeriod: 10 * time.Second}
}

// A stream is the only one of its connection, which ends with it.
type stream struct {
	*quic.Stream
	connection *quic.Conn
	endpoint   *quic.Endpoint
}

// Read tells the stream's end only when the connection has ended: the receiver leaves then, with its answer if that is
// still here.
func (s stream) Read(data []byte) (int, error) {
	read, err := s.Stream.Read(data)
	if read == 0 && err == io.EOF {
		soon, cancel := context.WithTimeout(context.Background(), linger)
		defer cancel()
		s.connection.Wait(soon)
	}
	return read, err
}

// Write also sends what the library would keep until a packet is full.
func (s stream) Write(data []byte) (int, error) {
	written, err := s.Stream.Write(data)
	if err == nil {
		err = s.Stream.Flush()
	}
	return written, err
}

// Close tells the peer, which need not answer: it leaves when it hears of the end.
func (s stream) Close() error {
	s.connection.Abort(nil)
	soon, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	s.endpoint.Close(soon)
	return nil
}

func (s stream) LocalAddr() net.Addr  { return net.UDPAddrFromAddrPort(s.connection.LocalAddr()) }
func (s stream) RemoteAddr() net.Addr { return net.UDPAddrFromAddrPort(s.connection.RemoteAddr()) }

func (s stream) SetReadDeadline(end time.Time) error {
	s.SetReadContext(until(end))
	return nil
}

func (s stream) SetWriteDeadline(end time.Time) error {
	s.SetWriteContext(until(end))
	return nil
}

func (s stream) SetDeadline(end time.Time) error {
	check(s.SetReadDeadline(end))
	return s.SetWriteDeadline(end)
}

func until(end time.Time) context.Context {
	reached, cancel := context.WithDeadline(context.Background(), end)
	context.AfterFunc(reached, cancel)
	return reached
}

type listener struct {
	*quic.Endpoint
}

func (l listener) Accept() (net.Conn, error) {
	connection, err := l.Endpoint.Accept(context.Background())
	if err != nil {
		return nil, err
	}
	accepted, err := connection.AcceptStream(context.Background())
	return stream{accepted, connection, l.Endpoint}, err
}

func (l listener) Addr() net.Addr { return net.UDPAddrFromAddrPort(l.LocalAddr()) }
func (l listener) Close() error   { return l.Endpoint.Close(context.Background()) }

// certificate makes one of a key for the receiver, which the sender does not check.
func certificate(key crypto.Signer) *tls.Certificate {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0)}
	written, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	check(err)
	return &tls.Certificate{Certificate: [][]byte{written}, PrivateKey: key}
}

func dial(address string) (net.Conn, error) {
	endpoint, err := quic.Listen("udp", ":0", nil)
	check(err)
	secrets := config(&tls.Config{InsecureSkipVerify: true})
	connection, err := endpoint.Dial(context.Background(), "udp", address, secrets)
	if err != nil {
		return nil, err
	}
	opened, err := connection.NewStream(context.Background())
	return stream{opened, connection, endpoint}, err
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
	endpoint, err := quic.Listen("udp", address, config(&tls.Config{GetCertificate: choose}))
	return listener{endpoint}, err
}
