// Ailing is a program with one trouble, which its argument selects. It serves net/http/pprof, so that profiles show the trouble.
//
//	ailing TROUBLE [ADDRESS]
//
// It listens at ADDRESS, by default at a free port of 127.0.0.1, and prints "listening HOST:PORT". tests/e2e/67-findings.bats and
// 69-compare.bats check the findings on each trouble.
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

// Each function starts one trouble. The findings should lead a reader to this function, or to one that it calls.
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
