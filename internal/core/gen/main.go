// Command gen writes core's table of operations from the contract. A row holds the operation's x-carrel traits and what
// follows from its definition: method, path, request body. An operation without an access level, or without a decision
// whether it is an MCP tool, is an error, so that no operation can be served without them.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"carrel/api"
)

// traits is the x-carrel member of an operation.
type traits struct {
	Access  string `yaml:"access"`
	Area    string `yaml:"area"`
	Plan    string `yaml:"plan"`
	Metered bool   `yaml:"metered"`
	Session bool   `yaml:"session"`
	Proof   bool   `yaml:"proof"`
	// Plain operations have a handwritten HTTP handler.
	Plain bool `yaml:"plain"`
	// Creates is "resource" or "turn" for operations that honour an Idempotency-Key.
	Creates string `yaml:"creates"`
	// Secret marks replies that contain a secret.
	Secret bool `yaml:"secret"`
	// Tool describes the MCP tool; NoTool is the reason why there is none, one of noToolReasons.
	Tool   *tool  `yaml:"tool"`
	NoTool string `yaml:"noTool"`
}

// tool is the tool member of the traits. The hints add to those that follow from the HTTP method.
type tool struct {
	Name        string `yaml:"name"`
	Order       int    `yaml:"order"`
	ReadOnly    bool   `yaml:"readOnly"`
	Destructive bool   `yaml:"destructive"`
	Idempotent  bool   `yaml:"idempotent"`
	OpenWorld   bool   `yaml:"openWorld"`
	Note        string `yaml:"note"`
}

// operation is an operation of the contract, as far as the table needs it.
type operation struct {
	ID          string                 `yaml:"operationId"`
	Carrel      yaml.Node              `yaml:"x-carrel"`
	Deprecated  bool                   `yaml:"deprecated"`
	Since       string                 `yaml:"x-deprecated-since"`
	Sunset      string                 `yaml:"x-sunset"`
	Security    *[]map[string][]string `yaml:"security"`
	RequestBody *struct {
		Required bool `yaml:"required"`
	} `yaml:"requestBody"`
	Parameters []struct {
		Ref string `yaml:"$ref"`
	} `yaml:"parameters"`
	// since and sunset are the dates of the deprecation in Unix seconds, or 0.
	since, sunset int64
	traits        traits
	method, path  string
}

// levels are the access levels, with the default area and plan capability of their operations.
var levels = map[string]struct{ name, area, plan string }{
	"read":    {"AccessRead", "agents", ""},
	"use":     {"AccessUse", "agents", ""},
	"manage":  {"AccessManage", "manage", "manage"},
	"own":     {"AccessOwn", "manage", "manage"},
	"account": {"AccessAccount", "account", ""},
	"admin":   {"AccessAdmin", "admin", ""},
	"user":    {"AccessUser", "", ""},
	"public":  {"AccessPublic", "", ""},
}

// agentLevels are the levels of operations on an agent.
var agentLevels = []string{"read", "use", "manage", "own"}

var areas = []string{
	"agents", "search", "chat", "memories", "favourites", "webhooks", "manage", "keys", "billing", "account", "admin",
}

var plans = []string{"search", "chat", "research", "memories", "favourites", "manage", "share"}

// noToolReasons are the reasons why an operation is not an MCP tool.
var noToolReasons = map[string]string{ //nolint:gosec // texts, not credentials
	"bin":    "Deleted items are restored, and deleted for good, by users and their own programs.",
	"binary": "The reply is a file of any format. Read the text of the document instead.",
	"account": "Connected programs work with agents. The account is managed by its owner, in a browser " +
		"or with a key.",
	"administration": "For signed-in administrators.",
	"payment":        "Called by the payment provider.",
	"credential":     "Issues a credential, which the caller of a tool already has.",
	"authorization":  "Part of the OAuth authorization server.",
	"metadata":       "Public discovery metadata.",
	"upload":         "Carries the bytes of a file, which do not fit into the arguments of a tool.",
	"stream":         "An event stream. ask_agent reports progress, list_imports the state of an import.",
}

const agentsPath = "/api/agents/{agentId}"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	found, err := read(api.Document)
	if err != nil {
		return err
	}
	out, err := format.Source(write(found))
	if err != nil {
		return err
	}
	return os.WriteFile("operation_gen.go", out, 0o644) //nolint:gosec // source code is world-readable
}

// read returns the operations of a contract, sorted by id, or all errors in their traits joined into one.
func read(document []byte) ([]operation, error) {
	var doc struct {
		Paths map[string]map[string]yaml.Node `yaml:"paths"`
	}
	if err := yaml.Unmarshal(document, &doc); err != nil {
		return nil, err
	}
	var found []operation
	var bad []error
	for path, item := range doc.Paths {
		for method, node := range item {
			if method == "parameters" {
				continue
			}
			op := operation{method: strings.ToUpper(method), path: path}
			err := node.Decode(&op)
			if err == nil {
				err = op.readTraits()
			}
			if err != nil {
				bad = append(bad, fmt.Errorf("%s %s: %w", op.method, path, err))
			}
			found = append(found, op)
		}
	}
	slices.SortFunc(found, func(a, b operation) int { return strings.Compare(a.ID, b.ID) })
	return found, errors.Join(append(bad, duplicates(found))...)
}

// duplicates reports operation ids, tool names and tool places that are used twice.
func duplicates(found []operation) error {
	var bad []error
	seen := map[string]string{}
	check := func(what, id string) {
		if other, twice := seen[what]; twice {
			bad = append(bad, fmt.Errorf("%s and %s have the same %s", other, id, what))
		}
		seen[what] = id
	}
	for _, op := range found {
		check("operationId "+op.ID, op.ID)
		if t := op.traits.Tool; t != nil {
			check("tool name "+t.Name, op.ID)
			check(fmt.Sprintf("tool order %d", t.Order), op.ID)
		}
	}
	return errors.Join(bad...)
}

// readTraits decodes and checks the x-carrel member and fills in the defaults.
func (op *operation) readTraits() error {
	if op.ID == "" {
		return errors.New("it has no operationId")
	}
	if op.Carrel.IsZero() {
		return errors.New("it has no x-carrel trait: say which access it needs")
	}
	raw, err := yaml.Marshal(&op.Carrel)
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	decoder.KnownFields(true)
	if err := decoder.Decode(&op.traits); err != nil {
		return err
	}
	return errors.Join(op.checkAccess(), op.checkSecurity(), op.checkCreates(), op.checkTool(), op.checkDeprecation())
}

func (op *operation) checkAccess() error {
	t := &op.traits
	level, known := levels[t.Access]
	if !known {
		return fmt.Errorf("x-carrel: access must be one of %s", list(levels))
	}
	if t.Area == "" {
		t.Area = level.area
	}
	if t.Plan == "" {
		t.Plan = level.plan
	}
	public := op.public()
	personal := t.Access == "account" || t.Access == "admin"
	switch {
	case t.Area != "" && !slices.Contains(areas, t.Area):
		return fmt.Errorf("x-carrel: there is no area %s", t.Area)
	case t.Plan != "" && !slices.Contains(plans, t.Plan):
		return fmt.Errorf("x-carrel: there is no capability %s", t.Plan)
	case public != (t.Access == "public"):
		return errors.New(`x-carrel: access must be "public" exactly where security is empty or has an empty alternative`)
	case op.onAgent() && !slices.Contains(agentLevels, t.Access):
		return errors.New("x-carrel: an operation on an agent needs one of the levels " + strings.Join(agentLevels, ", "))
	case (t.Proof || t.Session) && !personal:
		return errors.New("x-carrel: session and proof are for the account and the administration")
	}
	return nil
}

// checkCreates compares the trait with the parameters: both must say whether an Idempotency-Key is honoured.
func (op *operation) checkCreates() error {
	keyed := false
	for _, p := range op.Parameters {
		keyed = keyed || strings.HasSuffix(p.Ref, "/idempotencyKey")
	}
	switch c := op.traits.Creates; {
	case c != "" && c != "resource" && c != "turn":
		return errors.New("x-carrel: creates must be resource or turn")
	case keyed != (c != ""):
		return errors.New("x-carrel: creates must be given exactly where Idempotency-Key is a parameter")
	case op.traits.Secret && c == "":
		return errors.New("x-carrel: secret is for operations that create something")
	}
	return nil
}

func (op *operation) checkTool() error {
	t := op.traits.Tool
	_, known := noToolReasons[op.traits.NoTool]
	switch {
	case t == nil && op.traits.NoTool == "":
		return errors.New("x-carrel: needs tool, or noTool with a reason")
	case t == nil && !known:
		return fmt.Errorf("x-carrel: noTool must be one of %s", list(noToolReasons))
	case t == nil:
		return nil
	case op.traits.NoTool != "":
		return errors.New("x-carrel: has both tool and noTool")
	case t.Order <= 0:
		return errors.New("x-carrel: tool needs an order, its place in the list of tools")
	}
	if t.Name == "" {
		t.Name = snakeCase(op.ID)
	}
	// GET is safe; PUT, PATCH and DELETE are idempotent and replace or remove data (RFC 9110, 9.2).
	replaces := op.method == "PUT" || op.method == "PATCH" || op.method == "DELETE"
	t.ReadOnly = t.ReadOnly || op.method == "GET"
	t.Destructive = t.Destructive || replaces
	t.Idempotent = t.Idempotent || t.ReadOnly || replaces
	return nil
}

// public reports whether the operation can be called without a credential: security is empty, or has an empty
// alternative.
func (op *operation) public() bool {
	if op.Security == nil {
		return false
	}
	return len(*op.Security) == 0 ||
		slices.ContainsFunc(*op.Security, func(alternative map[string][]string) bool { return len(alternative) == 0 })
}

// areaScopes are the scopes that credentials need for an area.
var areaScopes = map[string]string{
	"agents": "agents", "search": "agents", "chat": "agents", "memories": "agents", "favourites": "agents",
	"webhooks": "agents",
	"manage":   "manage", "keys": "account", "billing": "account", "account": "account", "admin": "admin",
}

// checkSecurity compares the declared credentials with the traits: bearer tokens need the scope of the area, OAuth
// tokens have only the scopes agents and manage, webhooks are open to the scope account too, and some operations need a
// session.
func (op *operation) checkSecurity() error {
	scope := areaScopes[op.traits.Area]
	if scope == "" {
		return nil // public, or an operation of OpenID Connect with a scope of its own
	}
	want := []map[string][]string{{"sessionCookie": {}}}
	if !op.traits.Session {
		want = slices.Insert(want, 0, map[string][]string{"bearer": {scope}})
		if scope == "agents" || scope == "manage" {
			want = slices.Insert(want, 1, map[string][]string{"oauth2": {scope}})
		}
		if op.traits.Area == "webhooks" {
			want = slices.Insert(want, 1, map[string][]string{"bearer": {"account"}})
		}
	}
	if op.Security == nil || !reflect.DeepEqual(*op.Security, want) {
		return fmt.Errorf("security must be %v, by its area", want)
	}
	return nil
}

// checkDeprecation checks the dates of an operation that is deprecated, or whose reply has deprecated fields.
func (op *operation) checkDeprecation() error {
	if op.Since == "" && op.Sunset == "" {
		if op.Deprecated {
			return errors.New("a deprecated operation needs x-deprecated-since and x-sunset")
		}
		return nil
	}
	since, err1 := time.Parse(time.DateOnly, op.Since)
	sunset, err2 := time.Parse(time.DateOnly, op.Sunset)
	if err1 != nil || err2 != nil || !sunset.After(since) {
		return errors.New("x-deprecated-since and x-sunset must be dates, in this order")
	}
	op.since, op.sunset = since.Unix(), sunset.Unix()
	return nil
}

func (op *operation) onAgent() bool {
	return op.path == agentsPath || strings.HasPrefix(op.path, agentsPath+"/")
}

func (op *operation) body() string {
	switch {
	case op.RequestBody == nil:
		return ""
	case op.RequestBody.Required:
		return "BodyRequired"
	}
	return "BodyOptional"
}

func list[V any](m map[string]V) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }

// title capitalises a word for use in a Go name.
func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// snakeCase turns listAgents into list_agents.
func snakeCase(id string) string {
	var b strings.Builder
	for _, r := range id {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

func write(found []operation) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated by internal/core/gen from api/openapi.yaml. DO NOT EDIT.\n\npackage core\n\n")
	b.WriteString("// The operations of the contract.\nconst (\n")
	for _, op := range found {
		fmt.Fprintf(&b, "\tOp%s Operation = %q\n", title(op.ID), op.ID)
	}
	b.WriteString(")\n\n// operations holds the traits of each operation, as the contract declares them.\n")
	b.WriteString("var operations = map[Operation]*Traits{\n")
	for _, op := range found {
		op.writeRow(&b)
	}
	b.WriteString("}\n")
	return b.Bytes()
}

func (op *operation) writeRow(b *bytes.Buffer) {
	t := op.traits
	fmt.Fprintf(b, "\tOp%s: {\nRule: Rule{%s},\nMethod: %q, Path: %q,\n", title(op.ID), op.rule(), op.method, op.path)
	row := fields{}
	row.add("Body", op.body())
	if t.Creates != "" {
		row.add("Creates", "Creates"+title(t.Creates))
	}
	row.flag("Secret", t.Secret)
	row.flag("Plain", t.Plain)
	if op.since != 0 {
		row.add("Deprecated", fmt.Sprintf("Deprecation{Since: %d, Sunset: %d}", op.since, op.sunset))
	}
	if len(row) > 0 {
		b.WriteString(strings.Join(row, ", ") + ",\n")
	}
	if t.Tool != nil {
		fmt.Fprintf(b, "Tool: Tool{%s},\n", t.Tool.fields())
	}
	b.WriteString("},\n")
}

func (op *operation) rule() string {
	t := op.traits
	row := fields{"Access: " + levels[t.Access].name}
	if t.Area != "" {
		row.add("Area", "Area"+title(t.Area))
	}
	if t.Plan != "" {
		row.add("Plan", "Cap"+title(t.Plan))
	}
	row.flag("Metered", t.Metered)
	row.flag("Session", t.Session)
	row.flag("Proof", t.Proof)
	row.flag("OnAgent", op.onAgent())
	return strings.Join(row, ", ")
}

func (t *tool) fields() string {
	row := fields{fmt.Sprintf("Name: %q", t.Name), fmt.Sprintf("Order: %d", t.Order)}
	row.flag("ReadOnly", t.ReadOnly)
	row.flag("Destructive", t.Destructive)
	row.flag("Idempotent", t.Idempotent)
	row.flag("OpenWorld", t.OpenWorld)
	if t.Note != "" {
		row.add("Note", fmt.Sprintf("%q", t.Note))
	}
	return strings.Join(row, ", ")
}

// fields are the fields of a composite literal that are not zero.
type fields []string

func (f *fields) add(name, value string) {
	if value != "" {
		*f = append(*f, name+": "+value)
	}
}

func (f *fields) flag(name string, set bool) {
	if set {
		f.add(name, "true")
	}
}
