// go mod init x && go get github.com/optimism-java/utp-go@19352018cc52 && go run reproduce.go: a SYN of 30 bytes.
package main

import (
	"fmt"
	"net"

	utp "github.com/optimism-java/utp-go"
)

func main() {
	socket, err := net.ListenPacket("udp", "127.0.0.1:5001") // hears the SYN and does not answer
	if err != nil {
		panic(err)
	}
	go utp.Dial("utp", "127.0.0.1:5001")
	packet := make([]byte, 1500)
	length, _, err := socket.ReadFrom(packet)
	if err != nil {
		panic(err)
	}
	fmt.Printf("type %d, extension %d, %d bytes; a header has 20\n", packet[0]>>4, packet[1], length)
}
