package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
)

// A bucket is the object store behind a GitLab with `proxy_download: false`: GitLab redirects a permitted user there, to an
// address that is valid for a while and needs no other credentials. Like S3, it refuses a request with two authorizations. It
// records each credential of the tracker (its token, a cookie) as a violation.
type bucket struct {
	*stub
	base    string
	objects map[string]object // by path
}

type object struct {
	data      []byte
	signature string
	fault     string // see redirect
}

// redirect answers with a redirect to the data. arg selects the fault of the next answer:
//
//	loop        the store redirects to itself in a loop
//	truncate    the second half is missing
//	403         the address has expired
//	back        the store redirects to the tracker
//	user        the address contains a name and a password
//	https://... the redirect leads to this store instead
func (b *bucket) redirect(w http.ResponseWriter, r *http.Request, data []byte, arg string) {
	random := make([]byte, 16)
	rand.Read(random)
	path, signature := "/uploads/"+hex.EncodeToString(random[:8]), hex.EncodeToString(random[8:])
	b.objects[path] = object{data, signature, arg}
	base := b.base
	switch {
	case arg == "user":
		base = strings.Replace(base, "://", "://name:password@", 1)
	case strings.Contains(arg, "://"):
		base = arg
	}
	w.Header().Set("Location", base+path+"?X-Amz-Expires=600&X-Amz-Signature="+signature)
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(302)
	fmt.Fprintf(w, "This resource has been moved temporarily to %s.\n", w.Header().Get("Location"))
}

func (b *bucket) refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\"?>\n<Error><Code>%s</Code></Error>\n", code)
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.log = append(b.log, "BUCKET "+r.Method+" "+r.URL.EscapedPath())
	for name := range r.Header {
		if strings.Contains(name, "Token") || name == "Authorization" || name == "Cookie" || name == "Referer" {
			b.violations = append(b.violations, "the bucket was sent "+name)
			b.refuse(w, 400, "InvalidArgument")
			return
		}
	}
	o, exists := b.objects[r.URL.Path]
	switch {
	case r.Method != "GET" || !exists || r.URL.Query().Get("X-Amz-Signature") != o.signature || o.fault == "403":
		b.refuse(w, 403, "AccessDenied")
	case o.fault == "loop":
		w.Header().Set("Location", r.URL.RequestURI())
		w.WriteHeader(302)
	case o.fault == "back":
		w.Header().Set("Location", b.stub.base+"/api/v4/projects/11")
		w.WriteHeader(302)
	case o.fault == "truncate":
		w.Write(o.data[:len(o.data)/2])
	default:
		w.Write(o.data)
	}
}
