package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// A fault changes the answers to matching requests "METHOD PATH", `times` times, after the first `after` requests.
type fault struct {
	on    *regexp.Regexp
	do    string
	arg   string
	times int
	after int
	hit   bool // the current request has the fault
}

// hasFault returns whether the current request has that fault.
func (s *stub) hasFault(do string) bool {
	for _, f := range s.faults {
		if f.hit && f.do == do {
			return true
		}
	}
	return false
}

// faultArg returns the argument of that fault of the current request.
func (s *stub) faultArg(do string) string {
	for _, f := range s.faults {
		if f.hit && f.do == do {
			return f.arg
		}
	}
	return ""
}

// A recorder stores an answer, so that it can be dropped.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

func closeNow(w http.ResponseWriter) {
	if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
		c.Close()
	}
}

func page(w http.ResponseWriter, status int, title string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<!DOCTYPE html>\n<html><head><title>%s</title></head>\n<body><h1>%s</h1></body></html>\n", title, title)
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

// spoiled has the faults that answer instead of GitLab. They do not lock the state.
var spoiled = map[string]func(w http.ResponseWriter, r *http.Request, arg string){
	"401": func(w http.ResponseWriter, r *http.Request, arg string) {
		answer(w, 401, `{"message":"401 Unauthorized"}`)
	},
	"403": func(w http.ResponseWriter, r *http.Request, arg string) {
		answer(w, 403, `{"error":"insufficient_scope","error_description":"The request requires higher privileges","scope":"api"}`)
	},
	"404": func(w http.ResponseWriter, r *http.Request, arg string) {
		answer(w, 404, `{"message":"404 Project Not Found"}`)
	},
	"422": func(w http.ResponseWriter, r *http.Request, arg string) {
		answer(w, 422, `{"message":{"title":["is too long","has <b>markup</b> \u001b[31m"]}}`)
	},
	// Refuses the body after reading all of it.
	"refused-late": func(w http.ResponseWriter, r *http.Request, arg string) {
		io.Copy(io.Discard, r.Body)
		answer(w, 422, `{"message":"the virus scanner is out of order"}`)
	},
	"400": func(w http.ResponseWriter, r *http.Request, arg string) {
		answer(w, 400, `{"error":"title is missing"}`)
	},
	// Refuses before reading all of the body, like Workhorse and nginx.
	"413": func(w http.ResponseWriter, r *http.Request, arg string) { page(w, 413, "413 Request Entity Too Large") },
	"500": func(w http.ResponseWriter, r *http.Request, arg string) {
		io.Copy(io.Discard, r.Body)
		page(w, 500, "We're sorry. Something went wrong on our end")
	},
	"502": func(w http.ResponseWriter, r *http.Request, arg string) {
		io.Copy(io.Discard, r.Body)
		page(w, 502, "502 Bad Gateway")
	},
	"html": func(w http.ResponseWriter, r *http.Request, arg string) {
		io.Copy(io.Discard, r.Body)
		page(w, 200, "Sign in")
	},
	"empty": func(w http.ResponseWriter, r *http.Request, arg string) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(map[string]int{"GET": 200, "PUT": 200, "POST": 201}[r.Method])
	},
	"later-text": func(w http.ResponseWriter, r *http.Request, arg string) {
		w.Header().Set("Retry-After", arg)
		w.Header().Set("RateLimit-Remaining", "0")
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(429)
		io.WriteString(w, "Retry later\n")
	},
	"later-json": func(w http.ResponseWriter, r *http.Request, arg string) {
		answer(w, 429, `{"message":{"error":"This endpoint has been requested too many times. Try again later."}}`)
	},
	"redirect": func(w http.ResponseWriter, r *http.Request, arg string) {
		w.Header().Set("Location", arg+r.URL.RequestURI())
		w.WriteHeader(307)
	},
	"echo": func(w http.ResponseWriter, r *http.Request, arg string) {
		answer(w, 400, fmt.Sprintf(`{"error":"what is %s for?"}`, r.Header.Get("PRIVATE-TOKEN")))
	},
	"endless": func(w http.ResponseWriter, r *http.Request, arg string) {
		for {
			if _, err := w.Write(bytes.Repeat([]byte(" "), 65536)); err != nil {
				return
			}
		}
	},
	// Reads the whole body, and never answers.
	"silent": func(w http.ResponseWriter, r *http.Request, arg string) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	},
	// The connection ends in the middle of the body.
	"cut": func(w http.ResponseWriter, r *http.Request, arg string) {
		io.CopyN(io.Discard, r.Body, 1000)
		closeNow(w)
	},
	// The connection ends after the last byte, and the request has no effect.
	"cut-after": func(w http.ResponseWriter, r *http.Request, arg string) {
		io.Copy(io.Discard, r.Body)
		closeNow(w)
	},
}

// takeFault returns the fault for a request, and counts the request.
func (s *stub) takeFault(r *http.Request) *fault {
	for _, f := range s.faults {
		if f.times == 0 || !f.on.MatchString(r.Method+" "+r.URL.EscapedPath()) {
			continue
		}
		if f.after > 0 {
			f.after--
			continue
		}
		f.times--
		return f
	}
	return nil
}

// logRequest records the request, its status or fault, and its user.
func (s *stub) logRequest(r *http.Request, status string) {
	name := "anonymous"
	if u, known := s.caller(r); u != nil {
		name = u.name
	} else if !known {
		name = "unknown"
	}
	s.log = append(s.log, r.Method+" "+r.URL.EscapedPath()+" "+status+" "+name)
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	f := s.takeFault(r)
	if f != nil {
		if spoil := spoiled[f.do]; spoil != nil {
			s.logRequest(r, f.do)
			s.lock.Unlock()
			spoil(w, r, f.arg)
			return
		}
		f.hit = true
	}
	rec := &recorder{header: w.Header(), status: http.StatusOK}
	// serve and forward read the body under the lock; it is small in tests.
	if s.to != "" {
		s.forward(rec, r)
	} else {
		s.serve(rec, r)
	}
	s.logRequest(r, itoa(rec.status))
	lost, held := f != nil && f.do == "lost", f != nil && f.do == "held"
	if f != nil {
		f.hit = false
		// "visibility": after this request every project has another visibility.
		if f.do == "visibility" {
			for _, p := range s.projects {
				p.visibility = f.arg
			}
		}
		// "packages": after this request every project has this package visibility.
		if f.do == "packages" {
			for _, p := range s.projects {
				p.packages = f.arg
			}
		}
		// "open": after this request no issue is confidential.
		if f.do == "open" {
			for _, p := range s.projects {
				for _, i := range p.issues {
					i.Confidential = false
				}
			}
		}
	}
	s.lock.Unlock()
	if held {
		<-r.Context().Done()
	}
	if lost || held { // the request took effect, but the answer is dropped
		closeNow(w)
		return
	}
	w.WriteHeader(rec.status)
	w.Write(rec.body.Bytes())
}

// controlHandler serves the second listener:
//
//	POST /fault?on=REGEX&do=NAME&arg=TEXT&times=N&after=N    times is 1 by default
//	POST /reset
//	GET /address        the address on which it listens
//	GET /log            METHOD PATH STATUS USER, a line for each request
//	GET /violations     the requests that the documentation does not allow
//	GET /state          all stored objects
func controlHandler(s *stub) http.Handler {
	mux := http.NewServeMux()
	handle := func(path string, serve func(w http.ResponseWriter, r *http.Request)) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			s.lock.Lock()
			defer s.lock.Unlock()
			serve(w, r)
		})
	}
	handle("/fault", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		f := &fault{do: q.Get("do"), arg: q.Get("arg"), times: 1}
		if n, err := strconv.Atoi(q.Get("times")); err == nil {
			f.times = n
		}
		f.after, _ = strconv.Atoi(q.Get("after"))
		var err error
		if f.on, err = regexp.Compile(q.Get("on")); err != nil {
			http.Error(w, err.Error(), 400)
			return
		}
		s.faults = append(s.faults, f)
	})
	handle("/reset", func(w http.ResponseWriter, r *http.Request) { s.reset() })
	handle("/address", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, s.base) })
	handle("/log", func(w http.ResponseWriter, r *http.Request) { lines(w, s.log) })
	handle("/violations", func(w http.ResponseWriter, r *http.Request) { lines(w, s.violations) })
	handle("/state", func(w http.ResponseWriter, r *http.Request) { s.writeState(w) })
	return mux
}

func lines(w io.Writer, all []string) {
	for _, line := range all {
		fmt.Fprintln(w, line)
	}
}

func (s *stub) writeState(w io.Writer) {
	state := map[string]interface{}{"at": time.Now().UTC()}
	for _, p := range s.projects {
		issues := []interface{}{}
		for _, i := range p.issues {
			issues = append(issues, map[string]interface{}{"issue": i, "notes": i.notes, "assignees": i.assignees})
		}
		uploads := []string{}
		for name := range p.uploads {
			uploads = append(uploads, name)
		}
		state[p.path] = map[string]interface{}{"issues": issues, "uploads": uploads, "packages": p.files}
	}
	json.NewEncoder(w).Encode(state)
}
