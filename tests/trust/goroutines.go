// SPDX-License-Identifier: MIT

// The first program of a guest: goroutines that make system calls, and are interrupted by the signals of Go's
// scheduler meanwhile. Says "go ok" or what is wrong, and powers off.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
)

const (
	goroutines = 8
	calls      = 5_000
	threads    = 4
)

// makesCalls makes them without telling Go's scheduler, which takes the goroutine for one that computes for long.
func makesCalls(wrong chan<- string) {
	for range calls {
		parent, _, errno := syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0)
		if parent != 0 || errno != 0 {
			wrong <- fmt.Sprintf("getppid gave %d, %v", parent, errno)
			return
		}
	}
}

// passesBytes blocks in calls, as a pipe holds no more than 64 KiB.
func passesBytes(wrong chan<- string) {
	from, into, err := os.Pipe()
	if err != nil {
		wrong <- err.Error()
		return
	}
	go func() {
		block := make([]byte, 100)
		for i := range calls / 10 {
			block[0] = byte(i)
			into.Write(block)
		}
		into.Close()
	}()
	block, passed := make([]byte, 1000), 0
	for {
		n, err := from.Read(block)
		if err != nil {
			break
		}
		passed += n
	}
	if passed != calls/10*100 {
		wrong <- fmt.Sprintf("%d bytes came through a pipe", passed)
	}
}

func main() {
	runtime.GOMAXPROCS(threads)
	wrong := make(chan string, 3*goroutines)
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() { makesCalls(wrong) })
		all.Go(func() { passesBytes(wrong) })
		all.Go(func() { runtime.GC() })
	}
	all.Wait()
	close(wrong)
	said := "ok"
	for what := range wrong {
		said = what
	}
	fmt.Println("go", said)
	syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}
