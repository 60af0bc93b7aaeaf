package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A call is one request of a user, with the objects that its path names.
type call struct {
	*stub
	w    http.ResponseWriter
	r    *http.Request
	u    *user
	p    *project
	args []string
}

func (c *call) json(status int, v interface{}) {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	json.NewEncoder(c.w).Encode(v)
}

func (c *call) message(status int, text string) {
	c.json(status, map[string]string{"message": text})
}

func (c *call) notFound(what string) { c.message(404, "404 "+what+" Not Found") }

// violate records a request that the documentation does not allow.
func (c *call) violate(format string, args ...interface{}) {
	text := fmt.Sprintf(format, args...)
	c.violations = append(c.violations, c.r.Method+" "+c.r.URL.EscapedPath()+": "+text)
	c.json(400, map[string]string{"error": text})
}

type route struct {
	method string
	path   *regexp.Regexp
	role   int // the role in the project that the request requires
	serve  func(c *call)
}

// at makes a route. The path may contain :id, :name, :n (a number) and :secret, which become the call's args.
func at(method, path string, role int, serve func(c *call)) route {
	path = strings.NewReplacer(":id", `([^/]+)`, ":name", `([^/]+)`, ":n", `(\d+)`, ":secret", `([0-9a-f]{32})`).Replace(path)
	return route{method, regexp.MustCompile("^" + path + "$"), role, serve}
}

var routes = []route{
	at("GET", "/api/v4/version", nobody, getVersion),
	at("GET", "/api/v4/users", nobody, getUsers),
	at("GET", "/api/v4/projects/:id", nobody, getProject),
	at("POST", "/api/v4/projects/:id/issues", guest, postIssue),
	at("GET", "/api/v4/projects/:id/issues/:n", nobody, getIssue),
	at("PUT", "/api/v4/projects/:id/issues/:n", reporter, putIssue),
	at("DELETE", "/api/v4/projects/:id/issues/:n", owner, deleteIssue),
	at("POST", "/api/v4/projects/:id/issues/:n/notes", guest, postNote),
	at("PUT", "/api/v4/projects/:id/issues/:n/notes/:n", guest, putNote),
	at("GET", "/api/v4/projects/:id/issues/:n/notes/:n", nobody, getNote),
	at("GET", "/api/v4/projects/:id/issues/:n/notes", nobody, getNotes),
	at("POST", "/api/v4/projects/:id/uploads", guest, postUpload),
	at("GET", "/api/v4/projects/:id/uploads/:secret/:name", guest, getUpload),
	at("DELETE", "/api/v4/projects/:id/uploads/:secret/:name", owner-10, deleteUpload),
	at("PUT", "/api/v4/projects/:id/packages/generic/:name/:name/:name", reporter+10, putPackage),
	at("GET", "/api/v4/projects/:id/packages/generic/:name/:name/:name", nobody, getPackage),
	at("GET", "/api/v4/projects/:id/packages/:n/package_files", nobody, getPackageFiles),
	at("GET", "/-/project/:id/uploads/:secret/:name", nobody, getUpload), // the URL that a browser uses
}

// serve finds the route and answers. The caller locks the state.
func (s *stub) serve(w http.ResponseWriter, r *http.Request) {
	c := &call{stub: s, w: w, r: r}
	for name := range r.URL.Query() {
		if strings.Contains(name, "token") {
			c.violate("a token in the query")
			return
		}
	}
	known := false
	if c.u, known = s.caller(r); !known {
		c.message(401, "401 Unauthorized")
		return
	}
	for _, route := range routes {
		found := route.path.FindStringSubmatch(r.URL.EscapedPath())
		if found == nil || route.method != r.Method {
			continue
		}
		c.args = found[1:]
		if strings.Contains(route.path.String(), "project") && !c.enterProject(route.role) {
			return
		}
		route.serve(c)
		return
	}
	c.violations = append(c.violations, r.Method+" "+r.URL.EscapedPath()+": no such route")
	c.json(404, map[string]string{"error": "404 Not Found"})
}

// enterProject finds the project and checks the caller's permission.
func (c *call) enterProject(required int) bool {
	name, _ := url.PathUnescape(c.args[0])
	if to, ok := c.renamed[name]; ok {
		c.w.Header().Set("Location", strings.Replace(c.r.URL.EscapedPath(), c.args[0], url.PathEscape(to), 1))
		status := 301
		if c.r.Method != "GET" {
			status = 307
		}
		c.message(status, "This resource has been moved permanently")
		return false
	}
	for _, p := range c.projects {
		if p.path == name || itoa(p.id) == name {
			c.p = p
		}
	}
	if c.p == nil || !c.p.sees(c.u) {
		c.notFound("Project")
		return false
	}
	if required > nobody && c.u == nil {
		c.message(401, "401 Unauthorized")
		return false
	}
	if role(c.u) < required {
		c.message(403, "403 Forbidden")
		return false
	}
	return true
}

// body reads a JSON object whose keys have the types of `fields` ("!string" is required); nil after an error.
func (c *call) body(fields map[string]string) map[string]interface{} {
	kind, _, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if kind != "application/json" {
		c.violate("Content-Type is %q", kind)
		return nil
	}
	got := map[string]interface{}{}
	if err := json.NewDecoder(c.r.Body).Decode(&got); err != nil {
		c.violate("no JSON: %v", err)
		return nil
	}
	for key, value := range got {
		if want := strings.TrimPrefix(fields[key], "!"); want != fmt.Sprintf("%T", value) {
			c.violate("%s is a %T, not %q", key, value, want)
			return nil
		}
	}
	for key, want := range fields {
		if _, exists := got[key]; !exists && want[0] == '!' {
			c.violate("%s is missing", key)
			return nil
		}
	}
	return got
}

func getVersion(c *call) {
	if c.u == nil {
		c.message(401, "401 Unauthorized")
		return
	}
	c.json(200, map[string]string{"version": c.version, "revision": "0"})
}

func getUsers(c *call) {
	found := []interface{}{}
	for _, u := range c.users {
		if u.name == c.r.URL.Query().Get("username") {
			found = append(found, map[string]interface{}{"id": u.id, "username": u.name})
		}
	}
	c.json(200, found)
}

func getProject(c *call) {
	p := map[string]interface{}{"id": c.p.id, "path_with_namespace": c.p.path, "archived": c.p.archived,
		"web_url": c.base + "/" + c.p.path, "package_registry_access_level": c.p.packages}
	if c.p.visibility != "" {
		p["visibility"] = c.p.visibility
	}
	c.json(200, p)
}

// ---- issues and notes ----

func postIssue(c *call) {
	got := c.body(map[string]string{"title": "!string", "description": "string", "confidential": "bool",
		"labels": "[]interface {}", "assignee_ids": "[]interface {}", "issue_type": "string"})
	if got == nil {
		return
	}
	if got["title"] == "" {
		c.json(400, map[string]interface{}{"message": map[string]interface{}{"title": []string{"can't be blank"}}})
		return
	}
	i := &issue{IID: len(c.p.issues) + 1, State: "opened", author: c.u}
	i.Title = got["title"].(string)
	i.Description, _ = got["description"].(string)
	i.Confidential, _ = got["confidential"].(bool)
	if c.hasFault("drop-confidential") {
		i.Confidential = false
	}
	if labels, ok := got["labels"].([]interface{}); ok {
		for _, l := range labels {
			i.Labels = append(i.Labels, fmt.Sprint(l))
		}
	}
	if ids, ok := got["assignee_ids"].([]interface{}); ok {
		for _, id := range ids {
			i.assignees = append(i.assignees, int(id.(float64)))
		}
	}
	i.WebURL = c.issueURL(c.p, i.IID)
	c.p.issues = append(c.p.issues, i)
	c.json(201, i)
}

// findIssue finds the issue of the path, if the caller may read it.
func (c *call) findIssue() *issue {
	i := c.p.issue(c.args[1])
	if i == nil || !c.p.readsIssue(c.u, i) {
		c.notFound("Issue")
		return nil
	}
	return i
}

func getIssue(c *call) {
	if i := c.findIssue(); i != nil {
		c.json(200, i)
	}
}

func putIssue(c *call) {
	i := c.findIssue()
	if i == nil {
		return
	}
	if got := c.body(map[string]string{"state_event": "!string"}); got != nil {
		i.State = got["state_event"].(string) + "d"
		c.json(200, i)
	}
}

// deleteIssue removes the issue; its number is never used again.
func deleteIssue(c *call) {
	if i := c.findIssue(); i != nil {
		i.State = "deleted"
		c.w.WriteHeader(204)
	}
}

// onlyCommands returns whether GitLab would execute the whole text as quick actions and store nothing.
func onlyCommands(text string) bool {
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if !strings.HasPrefix(line, "/") {
			return false
		}
	}
	return true
}

func postNote(c *call) {
	i := c.findIssue()
	if i == nil {
		return
	}
	got := c.body(map[string]string{"body": "!string", "internal": "bool"})
	if got == nil {
		return
	}
	n := &note{ID: c.newID(), Body: got["body"].(string), author: c.u}
	if onlyCommands(n.Body) {
		c.json(202, map[string]interface{}{"commands_changes": map[string]string{}})
		return
	}
	// A user who may not mark notes as internal gets a public note, without an error.
	requested, _ := got["internal"].(bool)
	n.Internal = requested && role(c.u) >= reporter && !c.hasFault("drop-internal")
	i.notes = append(i.notes, n)
	c.json(201, n)
}

func (c *call) findNote() *note {
	i := c.findIssue()
	if i == nil {
		return nil
	}
	for _, n := range i.notes {
		if itoa(n.ID) == c.args[2] && (!n.Internal || role(c.u) >= reporter) {
			return n
		}
	}
	c.notFound("Note")
	return nil
}

func putNote(c *call) {
	n := c.findNote()
	if n == nil {
		return
	}
	if got := c.body(map[string]string{"body": "!string"}); got != nil {
		n.Body = got["body"].(string)
		c.json(200, n)
	}
}

func getNote(c *call) {
	if n := c.findNote(); n != nil {
		c.json(200, n)
	}
}

func getNotes(c *call) {
	i := c.findIssue()
	if i == nil {
		return
	}
	shown := []*note{}
	for _, n := range i.notes {
		if !n.Internal || role(c.u) >= reporter {
			shown = append(shown, n)
		}
	}
	c.json(200, shown)
}

// ---- uploads ----

// form reads the multipart body: one part named `file`, with a file name, and nothing else.
func (c *call) form() (string, []byte, bool) {
	kind, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		c.violate("Content-Type is %q", kind)
		return "", nil, false
	}
	reader := multipart.NewReader(c.r.Body, params["boundary"])
	part, err := reader.NextRawPart()
	if err != nil || part.FormName() != "file" || part.FileName() == "" {
		c.violate("file is missing: %v", err)
		return "", nil, false
	}
	name := part.FileName()
	data, err := io.ReadAll(part)
	if err == nil {
		_, err = reader.NextRawPart()
	}
	if err != io.EOF {
		c.violate("the form does not end: %v", err)
		return "", nil, false
	}
	return name, data, true
}

// damage applies a fault of stored data.
func (c *call) damage(data []byte) []byte {
	if c.hasFault("truncate") {
		return data[:len(data)/2]
	}
	if c.hasFault("flip") {
		data[len(data)/2] ^= 1
	}
	return data
}

func postUpload(c *call) {
	name, data, ok := c.form()
	if !ok {
		return
	}
	random := make([]byte, 16)
	rand.Read(random)
	secret := hex.EncodeToString(random)
	c.p.uploads[secret+"/"+name] = c.damage(data)
	path := "/uploads/" + secret + "/" + name
	c.json(201, map[string]interface{}{"id": c.newID(), "alt": name, "url": path,
		"full_path": "/-/project/" + itoa(c.p.id) + path, "markdown": "[" + name + "](" + path + ")"})
}

// getUpload answers the API, which requires a member, and the browser: in a public project anyone with the address gets the
// file, in an internal project every user with an account.
func getUpload(c *call) {
	name, _ := url.PathUnescape(c.args[2])
	data, exists := c.p.uploads[c.args[1]+"/"+name]
	if !exists {
		c.notFound("Upload")
		return
	}
	c.file(data)
}

func deleteUpload(c *call) {
	name, _ := url.PathUnescape(c.args[2])
	if _, exists := c.p.uploads[c.args[1]+"/"+name]; !exists {
		c.notFound("Upload")
		return
	}
	delete(c.p.uploads, c.args[1]+"/"+name)
	c.w.WriteHeader(204)
}

// file answers with the data, or with a redirect to the object store.
func (c *call) file(data []byte) {
	if c.hasFault("bucket") {
		c.bucket.redirect(c.w, c.r, data, c.faultArg("bucket"))
		return
	}
	c.w.Header().Set("Content-Type", "application/octet-stream")
	c.w.Write(data)
}

// ---- packages ----

var (
	packageName = regexp.MustCompile(`^[A-Za-z0-9._+~@/-]+$`)
	versionName = regexp.MustCompile(`^(\.?[\w+-]+\.?)+$`)
)

func putPackage(c *call) {
	if !packageName.MatchString(c.args[3]) || !versionName.MatchString(c.args[2]) {
		c.violate("a package's name or version is not allowed")
		return
	}
	data, err := io.ReadAll(c.r.Body)
	if err != nil || c.r.ContentLength != int64(len(data)) {
		c.violate("the body: %v", err)
		return
	}
	data = c.damage(data)
	sum := sha256.Sum256(data)
	f := &file{ID: c.newID(), Package: c.newID(), Name: c.args[3], Size: len(data), SHA256: hex.EncodeToString(sum[:]),
		version: c.args[2], data: data}
	c.p.files = append(c.p.files, f)
	if c.r.URL.Query().Get("select") == "package_file" {
		c.json(201, f)
		return
	}
	c.message(201, "201 Created")
}

func getPackage(c *call) {
	for _, f := range c.p.files {
		if c.p.readsPackages(c.u) && f.version == c.args[2] && f.Name == c.args[3] {
			c.file(f.data)
			return
		}
	}
	c.notFound("Package")
}

func getPackageFiles(c *call) {
	found := []*file{}
	for _, f := range c.p.files {
		if c.p.readsPackages(c.u) && itoa(f.Package) == c.args[1] {
			shown := *f
			if c.hasFault("no-digest") {
				shown.SHA256 = ""
			}
			found = append(found, &shown)
		}
	}
	c.json(200, found)
}
