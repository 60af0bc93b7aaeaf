package main

import (
	"net/http"
	"strings"
	"sync"
)

// Roles in a project, as GitLab numbers them.
const (
	nobody   = 0
	guest    = 10
	reporter = 20
	owner    = 50
)

type user struct {
	id    int
	name  string
	token string
	role  int // in every project; an outsider has an account and no role
}

type note struct {
	ID       int    `json:"id"`
	Body     string `json:"body"`
	Internal bool   `json:"internal"`
	author   *user
}

type issue struct {
	IID          int      `json:"iid"`
	Title        string   `json:"title"`
	Description  string   `json:"description"`
	Confidential bool     `json:"confidential"`
	Labels       []string `json:"labels"`
	WebURL       string   `json:"web_url"`
	State        string   `json:"state"`
	assignees    []int
	author       *user
	notes        []*note
}

type file struct {
	ID      int    `json:"id"`
	Package int    `json:"package_id"`
	Name    string `json:"file_name"`
	Size    int    `json:"size"`
	SHA256  string `json:"file_sha256"`
	version string
	data    []byte
}

type project struct {
	id         int
	path       string
	visibility string
	packages   string // package_registry_access_level
	archived   bool
	issues     []*issue
	uploads    map[string][]byte // by "secret/name"
	files      []*file
}

type stub struct {
	lock       sync.Mutex
	version    string
	base       string
	users      []*user
	projects   []*project
	renamed    map[string]string
	next       int
	faults     []*fault
	log        []string
	violations []string
	bucket     *bucket
	to         string // the tracker behind the proxy
}

func newStub(version, base string) *stub {
	s := &stub{version: version, base: base, next: 100}
	s.users = []*user{
		{1, "manager", "glpat-manager-0123456789", owner},
		{2, "reporter", "glpat-reporter-0123456789", reporter},
		{3, "guest", "glpat-guest-0123456789", guest},
		{4, "outsider", "glpat-outsider-0123456789", nobody},
	}
	s.reset()
	return s
}

func (s *stub) reset() {
	s.projects = nil
	for i, p := range []project{
		{path: "ops/private", visibility: "private", packages: "private"},
		{path: "ops/internal", visibility: "internal", packages: "enabled"},
		{path: "ops/public", visibility: "public", packages: "enabled"},
		{path: "ops/archived", visibility: "private", archived: true},
		{path: "ops/open-packages", visibility: "private", packages: "public"},
		{path: "ops/secretive", visibility: "", packages: "private"}, // GitLab's answer does not contain its visibility
	} {
		copied := p
		copied.id = 11 + i
		copied.uploads = map[string][]byte{}
		s.projects = append(s.projects, &copied)
	}
	s.renamed = map[string]string{"ops/old": "ops/private"}
	s.faults, s.log, s.violations = nil, nil, nil
	// Each project has an issue that each reader of the project can read, #1, and a confidential issue, #2.
	for _, p := range s.projects {
		for i, confidential := range []bool{false, true} {
			p.issues = append(p.issues, &issue{IID: i + 1, Title: "slow pushes", Confidential: confidential, State: "opened",
				WebURL: s.issueURL(p, i+1), author: s.users[0]})
		}
	}
}

func (s *stub) newID() int {
	s.next++
	return s.next
}

// caller returns the user of the token: nil if anonymous; false for an unknown token.
func (s *stub) caller(r *http.Request) (*user, bool) {
	token := r.Header.Get("PRIVATE-TOKEN")
	if bearer := r.Header.Get("Authorization"); strings.HasPrefix(bearer, "Bearer ") {
		token = strings.TrimPrefix(bearer, "Bearer ")
	}
	if token == "" {
		return nil, true
	}
	for _, u := range s.users {
		if u.token == token {
			return u, true
		}
	}
	return nil, false
}

// sees returns whether the project is visible to the user.
func (p *project) sees(u *user) bool {
	switch {
	case u != nil && u.role > nobody:
		return true
	case p.visibility == "public":
		return true
	case p.visibility == "internal":
		return u != nil
	}
	return false
}

func role(u *user) int {
	if u == nil {
		return nobody
	}
	return u.role
}

func (p *project) readsIssue(u *user, i *issue) bool {
	return p.sees(u) && (!i.Confidential || role(u) >= reporter || (u != nil && i.author == u))
}

func (p *project) readsPackages(u *user) bool {
	return role(u) > nobody || p.packages == "public" || (p.sees(u) && p.visibility != "private")
}

func (p *project) issue(iid string) *issue {
	for _, i := range p.issues {
		if itoa(i.IID) == iid && i.State != "deleted" {
			return i
		}
	}
	return nil
}

func (s *stub) issueURL(p *project, iid int) string {
	return s.base + "/" + p.path + "/-/issues/" + itoa(iid)
}
