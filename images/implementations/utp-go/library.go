// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"net"

	utp "github.com/optimism-java/utp-go"
)

const library = "github.com/optimism-java/utp-go"

func dial(address string) (net.Conn, error) {
	return utp.Dial("utp", address)
}

// A listener that waits as long as it takes: the library's Accept crashes after 20 s.
type patient struct{ *utp.Listener }

func (p patient) Accept() (net.Conn, error) {
	return p.AcceptContext(context.Background())
}

func listen(address string) (net.Listener, error) {
	listener, err := utp.Listen("utp", address)
	if err != nil {
		return nil, err
	}
	return patient{listener.(*utp.Listener)}, nil
}
