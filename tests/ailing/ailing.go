// Ailing is a program that has one trouble, by its argument, and serves net/http/pprof so that it shows.
//
//	ailing TROUBLE [ADDRESS]
//
// It prints "listening 127.0.0.1:PORT" once it answers, or at the address. What a trouble is to show in profiles is what
// tests/e2e/67-findings.bats and 69-compare.bats expect of it.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
)

// The functions named here are the ones that a reader of the profile is to be led to.
var troubles = map[string]func(){
	"none":       func() { go compute() },
	"collection": startForest,
	"allocation": func() { go makeSmall() },
	"channels":   func() { go countByChannel() },
	"locks":      startLocking,
	"waking":     startWaking,
	"unbuffered": func() { go writeBytes() },
	"buffered":   func() { go writeBuffered() },
	"native":     func() { go callNative() },
	"regexp":     func() { go matchAnew() },
	"json":       func() { go encodeOften() },
	"waiting":    startWaiting,
	"leaking":    startLeaking,
	"full":       startFull,
}

func main() {
	address := "127.0.0.1:0"
	if len(os.Args) == 3 {
		address = os.Args[2]
	}
	if len(os.Args) < 2 || len(os.Args) > 3 || troubles[os.Args[1]] == nil {
		log.Fatal("usage: ailing TROUBLE [ADDRESS]")
	}
	runtime.GOMAXPROCS(2)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	troubles[os.Args[1]]()
	fmt.Printf("listening %s\n", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
