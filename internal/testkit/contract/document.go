package contract

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// problemType is the media type of every failure.
const problemType = "application/problem+json"

// document is the part of an OpenAPI document that replies are held against.
type document struct {
	root       map[string]any
	operations []*operation
	problem    *schema
	// codes are the problem codes with their statuses, from the table in the description of the schema Problem.
	codes map[string]int
	// schemas are those read already, by name, so that a schema may refer to itself.
	schemas map[string]*schema
}

type operation struct {
	id, method, path string
	segments         []string
	responses        map[int]*response
}

type response struct {
	headers map[string]*schema
	content map[string]*schema
}

func parse(source []byte) (*document, error) {
	var root map[string]any
	if err := yaml.Unmarshal(source, &root); err != nil {
		return nil, err
	}
	d := &document{root: root, schemas: map[string]*schema{}}
	var err error
	if d.problem, err = d.schema(map[string]any{"$ref": "#/components/schemas/Problem"}, ""); err != nil {
		return nil, err
	}
	d.codes = problemCodes(d.problem.description)
	for path, item := range object(root["paths"]) {
		for method, op := range object(item) {
			if method == "parameters" {
				continue
			}
			o, err := d.operation(strings.ToUpper(method), path, object(op))
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
	out := &operation{method: method, path: path, segments: strings.Split(path, "/"), responses: map[int]*response{}}
	if out.id, _ = op["operationId"].(string); out.id == "" {
		return nil, errors.New("has no operationId")
	}
	for status, r := range object(op["responses"]) {
		code, err := strconv.Atoi(status)
		if err != nil {
			return nil, fmt.Errorf("the status %q is not a number", status)
		}
		if out.responses[code], err = d.response(object(r)); err != nil {
			return nil, fmt.Errorf("%s: %w", status, err)
		}
	}
	return out, nil
}

func (d *document) response(r map[string]any) (*response, error) {
	r, _, err := d.resolve(r)
	if err != nil {
		return nil, err
	}
	out := &response{headers: map[string]*schema{}, content: map[string]*schema{}}
	for name, h := range object(r["headers"]) {
		header, _, err := d.resolve(object(h))
		if err != nil {
			return nil, err
		}
		if out.headers[name], err = d.schema(object(header["schema"]), ""); err != nil {
			return nil, err
		}
	}
	for media, m := range object(r["content"]) {
		if out.content[media], err = d.schema(object(object(m)["schema"]), ""); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// resolve follows a reference inside the document and returns its last part as a name.
func (d *document) resolve(o map[string]any) (target map[string]any, name string, err error) {
	ref, ok := o["$ref"].(string)
	if !ok {
		return o, "", nil
	}
	if len(o) != 1 {
		return nil, "", fmt.Errorf("%s: something stands beside the reference", ref)
	}
	target = d.root
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		if target, ok = target[part].(map[string]any); !ok {
			return nil, "", fmt.Errorf("%s leads nowhere", ref)
		}
		name = part
	}
	return target, name, nil
}

// find returns the operation of a request, or nil and whether the path has others. Of several paths that match, the
// one with the fewest parameters counts (OpenAPI 3.1.0, 4.8.8).
func (d *document) find(method, path string) (op *operation, pathKnown bool) {
	if method == http.MethodHead {
		method = http.MethodGet // RFC 9110, 9.3.2
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

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
