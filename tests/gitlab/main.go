// A GitLab that is none: the part of its REST API that a hand-off uses, from the documentation and in our own words, strict
// and with a memory. It keeps projects, issues, notes, uploads and packages, knows a maintainer, a reporter, a guest and an
// outsider, and shows each of them, and anonymous visitors, what GitLab would.
//
// A request that the documentation does not allow is answered as GitLab would, and written down as a violation. A second
// listener, the control, spoils answers on demand and tells what happened; see control.go. A third is the object store where
// some installations keep their files; see bucket.go. With -to it is no GitLab, but stands in front of any tracker, and spoils
// the answers of that.
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
	to := flag.String("to", "", "stand in front of the tracker at this URL instead, and only spoil its answers")
	version := flag.String("version", "17.5.1", "what /version says")
	flag.Parse()
	api, control, store := listen(), listen(), listen()
	s := newStub(*version, fmt.Sprintf("http://127.0.0.1:%d", port(api)))
	s.bucket = &bucket{s, fmt.Sprintf("http://127.0.0.1:%d", port(store)), map[string]object{}}
	s.to = *to
	bucketPort := port(store)
	if *ca != "" {
		s.base, s.bucket.base = "https"+s.base[4:], "https"+s.bucket.base[4:]
		speak := withTLS(*ca)
		api, store = speak(api), speak(store)
	}
	go http.Serve(control, controlOf(s))
	go http.Serve(store, s.bucket)
	fmt.Printf("control=%d\nbucket=%d\nlistening on 127.0.0.1:%d\n", port(control), bucketPort, port(api))
	must(http.Serve(api, s))
}
