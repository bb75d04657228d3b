package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// documentURL is the address of the document inside the schema compiler.
const documentURL = "carrel://openapi.json"

// formats lists the formats that a document may use. The validator ignores the formats of numbers and files.
var formats = []any{"date-time", "date", "email", "uri", "uri-reference", "binary", "int32", "int64"}

// milliseconds is the format of times in replies: RFC 3339 in UTC with milliseconds.
var milliseconds = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

// newCompiler returns a compiler of the document's schemas. It adds two rules of our own: objects have no properties
// but the documented ones, and times are written with milliseconds.
func newCompiler(root map[string]any) (*jsonschema.Compiler, error) {
	encoded, err := json.Marshal(root) // the compiler wants the types of JSON, not of YAML
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	closeObjects(doc)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: func(v any) error {
		text, ok := v.(string)
		if !ok {
			return nil
		}
		if _, err := time.Parse(time.RFC3339, text); err != nil || !milliseconds.MatchString(text) {
			return errors.New("not a time in UTC with milliseconds")
		}
		return nil
	}})
	return c, c.AddResource(documentURL, doc)
}

// closeObjects sets additionalProperties to false in all schemas that do not set it.
func closeObjects(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			closeObjects(item)
		}
	case map[string]any:
		types, _ := v["type"].([]any)
		if _, set := v["additionalProperties"]; !set && (v["type"] == "object" || slices.Contains(types, any("object"))) {
			v["additionalProperties"] = false
		}
		for _, item := range v {
			closeObjects(item)
		}
	}
}

// checked is the schema of a header or a body, once to validate values and once to record coverage.
type checked struct {
	*schema
	validator *jsonschema.Schema
}

// schema holds the keywords of a JSON Schema that coverage is recorded for.
type schema struct {
	// name is the name of a component, or a place inside one ("Agent.sources[]"). It is empty for inline schemas.
	name        string
	description string
	types       map[string]bool
	properties  map[string]*schema
	items       *schema
	enum        []any
	binary      bool
}

// schema reads a schema. It refuses unknown keywords, which the validator would ignore.
func (d *document) schema(source map[string]any, name string) (*schema, error) {
	source, at, err := d.resolve(source, "")
	if err != nil {
		return nil, err
	}
	s := &schema{name: name, types: map[string]bool{}, properties: map[string]*schema{}}
	if at != "" {
		if known := d.schemas[at]; known != nil {
			return known, nil
		}
		s.name = at[strings.LastIndex(at, "/")+1:]
		d.schemas[at] = s // before its properties are read, so that it may refer to itself
	}
	if source == nil {
		return nil, fmt.Errorf("%s: a schema is missing", name)
	}
	for _, keyword := range sorted(source) {
		if err := d.keyword(s, keyword, source[keyword]); err != nil {
			return nil, fmt.Errorf("schema %s: %s: %w", s.name, keyword, err)
		}
	}
	if s.types["array"] && s.items == nil {
		return nil, fmt.Errorf("schema %s: an array without items", s.name)
	}
	required, _ := source["required"].([]any)
	for _, name := range required {
		if s.properties[fmt.Sprint(name)] == nil {
			return nil, fmt.Errorf("schema %s: %v is required but is not a property", s.name, name)
		}
	}
	return s, nil
}

var errUnknown = errors.New("not supported by this package")

func (d *document) keyword(s *schema, keyword string, v any) (err error) {
	switch keyword {
	case "example", "required", "const", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern",
		"not", "deprecated":
	case "description":
		s.description, _ = v.(string)
	case "type":
		types, ok := v.([]any)
		if !ok {
			types = []any{v}
		}
		for _, t := range types {
			s.types[fmt.Sprint(t)] = true
		}
	case "properties":
		for name, p := range object(v) {
			if s.properties[name], err = d.schema(object(p), s.place("."+name)); err != nil {
				return err
			}
		}
	case "items":
		s.items, err = d.schema(object(v), s.place("[]"))
	case "additionalProperties":
		if v != true { // false is the default of this package, and schemas are not used
			return errUnknown
		}
	case "enum":
		s.enum, _ = v.([]any)
	case "format":
		s.binary = v == "binary"
		if !slices.Contains(formats, v) {
			return errUnknown
		}
	default:
		return errUnknown
	}
	return err
}

func (s *schema) place(part string) string {
	if s.name == "" {
		return ""
	}
	return s.name + part
}

// decode reads one JSON value, with numbers as json.Number.
func decode(body []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data follows the value")
	}
	return v, nil
}

// headerNumber returns the value of a header of type integer.
func headerNumber(text string) any {
	if json.Valid([]byte(text)) {
		return json.Number(text)
	}
	return text
}

var english = message.NewPrinter(language.English)

// value validates a value and records its coverage. at is the JSON pointer of the value, or the name of a header.
func (v *visit) value(b *checked, value any, at string) {
	var invalid *jsonschema.ValidationError
	if err := b.validator.Validate(value); errors.As(err, &invalid) {
		v.invalid(invalid, at)
	}
	if text, ok := value.(string); ok && !b.binary && !utf8.ValidString(text) {
		v.fail("%s: invalid UTF-8", pointer(at))
	}
	v.record(b.schema, value, at)
}

// invalid reports the innermost causes of an error, which are the precise ones.
func (v *visit) invalid(e *jsonschema.ValidationError, at string) {
	for _, cause := range e.Causes {
		v.invalid(cause, at)
	}
	if len(e.Causes) == 0 {
		for _, part := range e.InstanceLocation {
			at += "/" + part
		}
		schemaAt := strings.TrimPrefix(e.SchemaURL, documentURL)
		v.fail("%s: %s (%s)", pointer(at), e.ErrorKind.LocalizedString(english), schemaAt)
	}
}

// record notes the fields, types and enum values that a value shows. It also checks that integers are written as such:
// JSON Schema accepts 1.0, which strict clients do not.
func (v *visit) record(s *schema, value any, at string) {
	kind := kindOf(value)
	if kind == "number" && s.types["integer"] && !s.types["number"] {
		v.fail("%s: %v is not written as an integer", pointer(at), value)
	}
	if len(s.types) > 1 {
		v.note("field %s as %s", s.name, kind)
	}
	if s.enum != nil {
		v.note("value %s=%v", s.name, value)
	}
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			if s.items != nil {
				v.record(s.items, item, fmt.Sprintf("%s/%d", at, i))
			}
		}
	case map[string]any:
		for name, property := range s.properties {
			field, present := value[name]
			if !present {
				continue
			}
			if s.name != "" {
				v.note("field %s.%s", s.name, name)
			}
			v.record(property, field, at+"/"+name)
		}
	}
}

// kindOf returns the JSON type of a value.
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

func pointer(at string) string {
	if at == "" {
		return "the body"
	}
	return at
}
