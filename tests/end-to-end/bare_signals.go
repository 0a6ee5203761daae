// tests/end-to-end/bare_signals.go - signals of a Go program. Prints ok.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func fault() (caught bool) {
	var p *int
	defer func() { caught = recover() != nil }()
	return *p == 0
}

func main() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	for i := 0; i < 50; i++ {
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		<-c
		if !fault() {
			os.Exit(1)
		}
		runtime.GC()
	}
	fmt.Println("ok")
	os.Exit(7)
}
