// go mod init x && go get github.com/optimism-java/utp-go@19352018cc52 && go run reproduce.go: a panic after 20 s.
package main

import utp "github.com/optimism-java/utp-go"

func main() {
	listener, err := utp.Listen("utp", "127.0.0.1:5001")
	if err != nil {
		panic(err)
	}
	_, err = listener.Accept() // nobody connects
	println("accept ended:", err.Error())
}
