// SPDX-License-Identifier: MIT

package main

import (
	"net"

	"github.com/anacrolix/utp"
)

const library = "github.com/anacrolix/utp"

func dial(address string) (net.Conn, error) {
	return utp.Dial(address)
}

func listen(address string) (net.Listener, error) {
	return utp.Listen(address)
}
