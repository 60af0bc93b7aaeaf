// Ailing is a program that has one trouble, by its argument, and serves net/http/pprof so that it shows.
//
//	ailing TROUBLE
//
// It prints "listening 127.0.0.1:PORT" once it answers. What a trouble is to show in profiles is what
// tests/e2e/67-words.bats expects of it.
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
}

func main() {
	if len(os.Args) != 2 || troubles[os.Args[1]] == nil {
		log.Fatal("usage: ailing TROUBLE")
	}
	runtime.GOMAXPROCS(2)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	troubles[os.Args[1]]()
	fmt.Printf("listening %s\n", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
