// An imitation of GitLab: a strict and stateful implementation of the part of its REST API that a hand-off uses, written from
// the documentation. It stores projects, issues, notes, uploads and packages, has the users manager (an owner), reporter, guest
// and outsider, and shows each of them, and anonymous visitors, the same objects as GitLab.
//
// If the documentation does not allow a request, it answers as GitLab does, and records a violation. A second listener, the
// control, injects faults on request and reports the requests; see control.go. A third is the object store that some
// installations use for files; see bucket.go. With -to it is a proxy in front of any tracker that injects faults.
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
	to := flag.String("to", "", "be a proxy in front of the tracker at this URL, which only spoils its answers")
	version := flag.String("version", "17.5.1", "the version of GitLab")
	flag.Parse()
	api, control, store := listen(), listen(), listen()
	s := newStub(*version, fmt.Sprintf("http://127.0.0.1:%d", port(api)))
	s.bucket = &bucket{s, fmt.Sprintf("http://127.0.0.1:%d", port(store)), map[string]object{}}
	s.to = *to
	bucketPort := port(store)
	if *ca != "" {
		s.base, s.bucket.base = "https"+s.base[4:], "https"+s.bucket.base[4:]
		wrap := withTLS(*ca)
		api, store = wrap(api), wrap(store)
	}
	go http.Serve(control, controlHandler(s))
	go http.Serve(store, s.bucket)
	fmt.Printf("control=%d\nbucket=%d\nlistening on 127.0.0.1:%d\n", port(control), bucketPort, port(api))
	must(http.Serve(api, s))
}
