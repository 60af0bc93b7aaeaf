// A GitLab that is none: the part of its REST API that a hand-off uses, from the documentation and in our own words, strict
// and with a memory. It keeps projects, issues, notes, uploads and packages, knows a maintainer, a reporter, a guest and an
// outsider, and shows each of them, and anonymous visitors, what GitLab would.
//
// A request that the documentation does not allow is answered as GitLab would, and written down as a violation. A second
// listener, the control, spoils answers on demand and tells what happened; see control.go.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
)

func listen() net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	return l
}

func port(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	ca := flag.String("ca", "", "speak TLS, and write the authority's certificate to this file")
	version := flag.String("version", "17.5.1", "what /version says")
	flag.Parse()
	api, control := listen(), listen()
	s := newStub(*version, fmt.Sprintf("http://127.0.0.1:%d", port(api)))
	if *ca != "" {
		s.base = fmt.Sprintf("https://127.0.0.1:%d", port(api))
		api = withTLS(api, *ca)
	}
	go http.Serve(control, controlOf(s))
	fmt.Printf("control=%d\nlistening on 127.0.0.1:%d\n", port(control), port(api))
	must(http.Serve(api, s))
}
