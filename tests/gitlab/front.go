package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// edit replaces the text before `=>` in arg by the text after it.
func edit(text []byte, arg string) []byte {
	from, to, _ := strings.Cut(arg, "=>")
	return bytes.ReplaceAll(text, []byte(from), []byte(to))
}

// forward sends the request to the tracker behind the proxy. Two faults change the data: `edit` the request's body,
// `rewrite` the answer's.
func (s *stub) forward(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil && s.hasFault("edit") {
		body = edit(body, s.faultArg("edit"))
	}
	var request *http.Request
	if err == nil {
		request, err = http.NewRequest(r.Method, s.to+r.URL.RequestURI(), bytes.NewReader(body))
	}
	if err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	request.Header = r.Header.Clone()
	request.Header.Del("Expect")
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		http.Error(w, err.Error(), 502)
		return
	}
	defer answer.Body.Close()
	content, _ := io.ReadAll(answer.Body)
	if s.hasFault("rewrite") {
		content = edit(content, s.faultArg("rewrite"))
	}
	for name, values := range answer.Header {
		if name != "Content-Length" && name != "Connection" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.StatusCode)
	w.Write(content)
}
