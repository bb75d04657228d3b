package contract

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// problemType is the media type of error replies.
const problemType = "application/problem+json"

// document is the part of an OpenAPI document that replies are checked against.
type document struct {
	root       map[string]any
	operations []*operation
	problem    *checked
	// warning is the schema of a warning. Every reply that is a JSON object may have a list of warnings.
	warning *checked
	// codes maps problem codes to statuses. It is read from the table in the description of the schema Problem.
	codes    map[string]int
	compiler *jsonschema.Compiler
	// schemas caches schemas by the location of their component.
	schemas map[string]*schema
}

type operation struct {
	id, method, path string
	segments         []string
	responses        map[int]*response
}

type response struct {
	headers map[string]*checked
	// optional are the headers that a reply may lack.
	optional map[string]bool
	content  map[string]*checked
	// events are the schemas of the data of server-sent events, by event.
	events map[string]*checked
}

func parse(source []byte) (*document, error) {
	var root map[string]any
	if err := yaml.Unmarshal(source, &root); err != nil {
		return nil, err
	}
	compiler, err := newCompiler(root)
	if err != nil {
		return nil, err
	}
	d := &document{root: root, compiler: compiler, schemas: map[string]*schema{}}
	const problemAt = "#/components/schemas/Problem"
	if d.problem, err = d.checked(map[string]any{"$ref": problemAt}, problemAt); err != nil {
		return nil, err
	}
	const warningAt = "#/components/schemas/SearchWarning"
	if _, given := object(object(root["components"])["schemas"])["SearchWarning"]; given {
		if d.warning, err = d.checked(map[string]any{"$ref": warningAt}, warningAt); err != nil {
			return nil, err
		}
	}
	d.codes = problemCodes(d.problem.description)
	for path, item := range object(root["paths"]) {
		for method, op := range object(item) {
			if method == "parameters" {
				continue
			}
			o, err := d.operation(method, path, object(op))
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			d.operations = append(d.operations, o)
		}
	}
	if len(d.operations) == 0 {
		return nil, errors.New("has no operations")
	}
	return d, nil
}

var problemRow = regexp.MustCompile("(?m)^\\| (\\d{3}) \\| `([a-z_]+)` \\|")

func problemCodes(description string) map[string]int {
	codes := map[string]int{}
	for _, m := range problemRow.FindAllStringSubmatch(description, -1) {
		codes[m[2]], _ = strconv.Atoi(m[1]) // three digits
	}
	return codes
}

func (d *document) operation(method, path string, op map[string]any) (*operation, error) {
	out := &operation{
		method: strings.ToUpper(method), path: path, segments: strings.Split(path, "/"), responses: map[int]*response{},
	}
	if out.id, _ = op["operationId"].(string); out.id == "" {
		return nil, errors.New("has no operationId")
	}
	for status, r := range object(op["responses"]) {
		code, err := strconv.Atoi(status)
		if err != nil {
			return nil, fmt.Errorf("the status %q is not a number", status)
		}
		at := "#/paths/" + escape(path) + "/" + method + "/responses/" + status
		if out.responses[code], err = d.response(object(r), at); err != nil {
			return nil, fmt.Errorf("%s: %w", status, err)
		}
	}
	return out, nil
}

func (d *document) response(r map[string]any, at string) (*response, error) {
	r, at, err := d.resolve(r, at)
	if err != nil {
		return nil, err
	}
	out := &response{
		headers: map[string]*checked{}, optional: map[string]bool{}, content: map[string]*checked{},
		events: map[string]*checked{},
	}
	for name, h := range object(r["headers"]) {
		header, headerAt, err := d.resolve(object(h), at+"/headers/"+escape(name))
		if err != nil {
			return nil, err
		}
		if out.headers[name], err = d.checked(object(header["schema"]), headerAt+"/schema"); err != nil {
			return nil, err
		}
		out.optional[name] = header["required"] == false
	}
	for media, m := range object(r["content"]) {
		for event, s := range object(object(m)["x-events"]) {
			if out.events[event], err = d.checked(object(s), at+"/content/"+escape(media)+"/x-events/"+event); err != nil {
				return nil, err
			}
		}
		schemaAt := at + "/content/" + escape(media) + "/schema"
		if out.content[media], err = d.checked(object(object(m)["schema"]), schemaAt); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// message returns the schema of the message of a webhook's event.
func (d *document) message(event string) (*checked, error) {
	at := "#/webhooks/" + escape(event) + "/post/requestBody/content/application~1json/schema"
	body := object(object(object(object(d.root["webhooks"])[event])["post"])["requestBody"])
	return d.checked(object(object(object(body["content"])["application/json"])["schema"]), at)
}

// checked reads and compiles the schema at a location of the document.
func (d *document) checked(source map[string]any, at string) (*checked, error) {
	s, err := d.schema(source, "")
	if err != nil {
		return nil, err
	}
	validator, err := d.compiler.Compile(documentURL + at)
	if err != nil {
		return nil, err
	}
	return &checked{s, validator}, nil
}

// resolve follows a reference inside the document. It returns the target and its location, or o and at if o is not a
// reference.
func (d *document) resolve(o map[string]any, at string) (target map[string]any, location string, err error) {
	ref, ok := o["$ref"].(string)
	if !ok {
		return o, at, nil
	}
	if len(o) != 1 {
		return nil, "", fmt.Errorf("%s: a reference has no other keywords", ref)
	}
	target = d.root
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		if target, ok = target[part].(map[string]any); !ok {
			return nil, "", fmt.Errorf("%s does not exist", ref)
		}
	}
	return target, ref, nil
}

// escape encodes a name for a JSON pointer in a URL fragment (RFC 6901, section 6).
func escape(name string) string {
	return url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
}

// find returns the operation of a request, or nil, and whether the path has operations of other methods. If several
// paths match, it prefers the path with the fewest parameters (OpenAPI 3.1.0, section 4.8.8).
func (d *document) find(method, path string) (op *operation, pathKnown bool) {
	if method == http.MethodHead {
		method = http.MethodGet // RFC 9110, section 9.3.2
	}
	segments := strings.Split(path, "/")
	fewest := len(segments) + 1
	for _, o := range d.operations {
		parameters, ok := o.match(segments)
		if !ok {
			continue
		}
		pathKnown = true
		if o.method == method && parameters < fewest {
			op, fewest = o, parameters
		}
	}
	return op, pathKnown
}

func (o *operation) match(segments []string) (parameters int, ok bool) {
	if len(segments) != len(o.segments) {
		return 0, false
	}
	for i, s := range o.segments {
		switch {
		case strings.HasPrefix(s, "{"):
			if segments[i] == "" {
				return 0, false
			}
			parameters++
		case s != segments[i]:
			return 0, false
		}
	}
	return parameters, true
}

func object(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
