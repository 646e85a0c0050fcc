// go mod init x && go get github.com/quic-go/quic-go@v0.55.0, then
// unshare -rn sh -c 'ip link set lo mtu 1280 up; go run reproduce.go': it gives up, and connects with the argument 1200.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"os"

	"github.com/quic-go/quic-go"
)

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check(err)
	secrets := []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}
	config := &quic.Config{}
	if len(os.Args) > 1 {
		config.InitialPacketSize = 1200
	}
	listener, err := quic.ListenAddr("127.0.0.1:5001", &tls.Config{Certificates: secrets, NextProtos: []string{"x"}}, config)
	check(err)
	go listener.Accept(context.Background())
	_, err = quic.DialAddr(context.Background(), "127.0.0.1:5001",
		&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"x"}}, config)
	check(err)
	fmt.Println("connected")
}
