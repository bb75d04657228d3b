package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// schema is a JSON Schema, of the keywords that our document uses.
type schema struct {
	// name is where the schema stands: a component's name, or a place inside one ("Agent.sources[]"). It is what
	// reports call it, and empty for one that has no component around it.
	name        string
	description string
	types       map[string]bool
	properties  map[string]*schema
	required    []string
	open        bool // additionalProperties: true
	items       *schema
	enum        []any
	constant    any
	isConstant  bool
	dateTime    bool
	binary      bool
	min, max    *float64
	minLength   int
	maxLength   int // 0: none
}

// schema reads a schema. It refuses what it does not know: a keyword that is skipped is a check that is not made.
func (d *document) schema(source map[string]any, name string) (*schema, error) {
	source, ref, err := d.resolve(source)
	if err != nil {
		return nil, err
	}
	s := &schema{name: name, types: map[string]bool{}, properties: map[string]*schema{}}
	if ref != "" {
		if known := d.schemas[ref]; known != nil {
			return known, nil
		}
		s.name = ref
		d.schemas[ref] = s
	}
	if source == nil {
		return nil, fmt.Errorf("%s: a schema is missing", name)
	}
	for _, keyword := range sorted(source) {
		if err := d.keyword(s, keyword, source[keyword]); err != nil {
			return nil, fmt.Errorf("schema %s: %s: %w", s.name, keyword, err)
		}
	}
	for _, name := range s.required {
		if s.properties[name] == nil {
			return nil, fmt.Errorf("schema %s: %s is required but is no property", s.name, name)
		}
	}
	return s, nil
}

var errForm = errors.New("has a form that is not known here")

func (d *document) keyword(s *schema, keyword string, v any) (err error) {
	switch keyword {
	case "example":
	case "description":
		s.description, _ = v.(string)
	case "type":
		return s.setTypes(v)
	case "properties":
		for name, p := range object(v) {
			if s.properties[name], err = d.schema(object(p), s.place("."+name)); err != nil {
				return err
			}
		}
	case "items":
		s.items, err = d.schema(object(v), s.place("[]"))
		return err
	case "required":
		list, _ := v.([]any)
		for _, name := range list {
			s.required = append(s.required, fmt.Sprint(name))
		}
	case "additionalProperties":
		if v != true {
			return errForm // false is our own rule everywhere, and a schema is not used
		}
		s.open = true
	case "enum":
		s.enum, _ = v.([]any)
	case "const":
		s.constant, s.isConstant = v, true
	case "format":
		switch v {
		case "date-time":
			s.dateTime = true
		case "binary":
			s.binary = true
		case "int64": // says how a program keeps it, not what it is
		default:
			return errForm
		}
	case "minimum":
		s.min, err = floatOf(v)
	case "maximum":
		s.max, err = floatOf(v)
	case "minLength":
		s.minLength, _ = v.(int)
	case "maxLength":
		s.maxLength, _ = v.(int)
	default:
		return errors.New("this keyword is not known here")
	}
	return err
}

func (s *schema) place(part string) string {
	if s.name == "" {
		return ""
	}
	return s.name + part
}

func (s *schema) setTypes(v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, t := range list {
		switch t {
		case "string", "integer", "number", "boolean", "array", "object", "null":
			s.types[t.(string)] = true
		default:
			return errForm
		}
	}
	return nil
}

func floatOf(v any) (*float64, error) {
	var f float64
	switch n := v.(type) {
	case int:
		f = float64(n)
	case float64:
		f = n
	default:
		return nil, errForm
	}
	return &f, nil
}

// decode reads one JSON value, keeping numbers as they are written.
func decode(body []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}

// number is a number out of a header.
func number(text string) any {
	if json.Valid([]byte(text)) {
		return json.Number(text)
	}
	return text
}

// value checks a value and notes the fields and words that it shows. where is the kind of place, for a schema
// without a name; at is the pointer to the value.
func (v *visit) value(s *schema, value any, where, at string) {
	kind := kindOf(value)
	if !s.types[kind] && (kind != "integer" || !s.types["number"]) && len(s.types) > 0 {
		v.fail("%s is %s and should be %s (%s)", pointer(at), kind, strings.Join(sorted(s.types), " or "), s.label(where))
		return
	}
	if len(s.types) > 1 {
		v.note("field %s as %s", s.name, kind)
	}
	if s.isConstant && !same(s.constant, value) {
		v.fail("%s is %v and should be %v", pointer(at), value, s.constant)
	}
	if s.enum != nil {
		if !slices.ContainsFunc(s.enum, func(e any) bool { return same(e, value) }) {
			v.fail("%s is %v, which is not in the document's list", pointer(at), value)
		}
		v.note("value %s=%v", s.name, value)
	}
	switch value := value.(type) {
	case string:
		v.text(s, value, at)
	case json.Number:
		v.number(s, value, at)
	case []any:
		if s.items == nil {
			v.fail("%s: the document does not say what the list holds", pointer(at))
			return
		}
		for i, item := range value {
			v.value(s.items, item, where, fmt.Sprintf("%s/%d", at, i))
		}
	case map[string]any:
		v.object(s, value, where, at)
	}
}

func (s *schema) label(where string) string {
	if s.name != "" {
		return s.name
	}
	return where
}

// milliseconds is how the document promises times: RFC 3339 in UTC with milliseconds.
var milliseconds = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

func (v *visit) text(s *schema, text, at string) {
	if s.dateTime {
		if _, err := time.Parse(time.RFC3339, text); err != nil || !milliseconds.MatchString(text) {
			v.fail("%s is %q, which is not a time in UTC with milliseconds", pointer(at), text)
		}
	}
	n := utf8.RuneCountInString(text)
	if n < s.minLength || s.maxLength > 0 && n > s.maxLength {
		v.fail("%s has %d characters", pointer(at), n)
	}
	if !s.binary && !utf8.ValidString(text) {
		v.fail("%s is not valid UTF-8", pointer(at))
	}
}

func (v *visit) number(s *schema, n json.Number, at string) {
	f, err := n.Float64()
	if err != nil || s.min != nil && f < *s.min || s.max != nil && f > *s.max {
		v.fail("%s is %s, which is out of bounds", pointer(at), n)
	}
}

func (v *visit) object(s *schema, fields map[string]any, where, at string) {
	for _, name := range s.required {
		if _, there := fields[name]; !there {
			v.fail("%s/%s is missing (%s)", at, name, s.label(where))
		}
	}
	for _, name := range sorted(fields) {
		property := s.properties[name]
		switch {
		case property != nil:
			if s.name != "" {
				v.note("field %s.%s", s.name, name)
			}
			v.value(property, fields[name], where, at+"/"+name)
		case !s.open:
			v.fail("%s/%s is not in the document (%s)", at, name, s.label(where))
		}
	}
}

// kindOf names the JSON type of a value.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	}
	return fmt.Sprintf("%T", v)
}

// same compares a value of the document, which was YAML, with one of a reply, which was JSON.
func same(documented, served any) bool {
	if n, ok := served.(json.Number); ok {
		return fmt.Sprint(documented) == n.String()
	}
	return reflect.DeepEqual(documented, served)
}

func pointer(at string) string {
	if at == "" {
		return "the body"
	}
	return at
}
