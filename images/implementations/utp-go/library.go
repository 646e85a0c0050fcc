// SPDX-License-Identifier: MIT

package main

import (
	"net"

	utp "github.com/optimism-java/utp-go"
)

const library = "github.com/optimism-java/utp-go"

func dial(address string) (net.Conn, error) {
	return utp.Dial("utp", address)
}

func listen(address string) (net.Listener, error) {
	return utp.Listen("utp", address)
}
