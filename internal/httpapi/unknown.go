package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-faster/jx"

	"carrel/internal/core"
	"carrel/internal/lazyregexp"
)

// Unknown query parameters and members of a body are ignored, so that a client of a later version works. A misspelt one
// would be ignored, too, so they are reported: in the member warnings of a JSON reply, and in a header of the replies
// of plain operations, which are files, streams and the results of uploads.

// fields is a row of the generated table requestFields.
type fields struct {
	query []string
	body  members
}

// members are the members of an object, each with the members of the object or list of objects that it contains. Nil
// members are not checked.
type members map[string]members

const (
	codeUnknownField = "unknown_field"
	// maxUnknown limits the fields that a reply reports.
	maxUnknown = 10
	// warningsHeader reports unknown query parameters in replies that are not JSON.
	warningsHeader = "Carrel-Warnings"
)

// unknownFields returns the names of query parameters and the JSON pointers of body members that an operation does not
// have, at most maxUnknown. Names with other characters than those of identifiers are empty: replies do not repeat
// arbitrary input.
func unknownFields(op core.Operation, query string, body []byte) []string {
	known, ok := requestFields[op]
	if !ok {
		return nil
	}
	var unknown []string
	if query != "" {
		values, _ := url.ParseQuery(query) // an invalid part is no parameter
		for name := range values {
			if !slices.Contains(known.query, name) {
				unknown = append(unknown, printable(name))
			}
		}
		slices.Sort(unknown)
	}
	if len(body) > 0 && known.body != nil {
		d := jx.GetDecoder()
		defer jx.PutDecoder(d)
		d.ResetBytes(body)
		unknown = known.body.unknown(d, "", unknown)
	}
	return unknown[:min(len(unknown), maxUnknown)]
}

// unknown adds the pointers of unknown members of the next value to list. The body has been checked already, and an
// error ends the search.
func (m members) unknown(d *jx.Decoder, at string, list []string) []string {
	switch d.Next() {
	case jx.Object:
		_ = d.ObjBytes(func(d *jx.Decoder, key []byte) error {
			inner, known := m[string(key)]
			switch {
			case !known && len(list) < maxUnknown:
				list = append(list, at+"/"+printable(string(key)))
			case inner != nil:
				list = inner.unknown(d, at+"/"+string(key), list)
				return nil
			}
			return d.Skip()
		})
	case jx.Array:
		index := 0
		_ = d.Arr(func(d *jx.Decoder) error {
			list = m.unknown(d, at+"/"+strconv.Itoa(index), list)
			index++
			return nil
		})
	default:
		_ = d.Skip()
	}
	return list
}

// identifier matches the names that a reply may repeat.
var identifier = lazyregexp.New(`^[A-Za-z0-9_.-]{1,64}$`)

func printable(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return ""
}

// withWarnings adds a warning for each unknown field to a JSON object, behind the warnings that it has.
func withWarnings(body []byte, unknown []string) []byte {
	if len(unknown) == 0 || len(body) == 0 || body[0] != '{' {
		return body
	}
	out := bytes.NewBuffer(make([]byte, 0, len(body)+100*len(unknown)))
	warnings := []json.RawMessage{}
	out.WriteByte('{')
	err := jx.DecodeBytes(body).Obj(func(d *jx.Decoder, key string) error {
		raw, err := d.Raw()
		if err != nil || key == "warnings" {
			if err == nil {
				err = json.Unmarshal(raw, &warnings)
			}
			return err
		}
		out.WriteString(strconv.Quote(key) + ":")
		out.Write(raw)
		out.WriteByte(',')
		return nil
	})
	if err != nil {
		return body // no reply of ours
	}
	for _, pointer := range unknown {
		warning, _ := json.Marshal(struct { // texts always marshal
			Code    string `json:"code"`
			Detail  string `json:"detail"`
			Pointer string `json:"pointer"`
		}{codeUnknownField, unknownDetail(pointer), pointer})
		warnings = append(warnings, warning)
	}
	list, _ := json.Marshal(warnings)
	out.WriteString(`"warnings":`)
	out.Write(list)
	out.WriteByte('}')
	return out.Bytes()
}

func unknownDetail(pointer string) string {
	if strings.HasPrefix(pointer, "/") {
		return "This request has no such field; it was ignored."
	}
	return "This request has no such parameter; it was ignored."
}

// reportUnknown reports unknown query parameters of a plain operation in a header.
func reportUnknown(op core.Operation, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, name := range unknownFields(op, r.URL.RawQuery, nil) {
			w.Header().Add(warningsHeader, codeUnknownField+`; pointer="`+name+`"`)
		}
		h(w, r)
	}
}

// WithWarnings adds a warning for each unknown argument of an operation to its encoded reply.
func WithWarnings(op core.Operation, args Arguments, reply []byte) []byte {
	known, row := requestFields[op], invokers[op]
	var unknown []string
	for name := range args {
		_, inBody := known.body[name]
		if !inBody && !slices.Contains(known.query, name) && !slices.Contains(row.path, name) {
			unknown = append(unknown, "/"+printable(name))
		}
	}
	slices.Sort(unknown)
	return withWarnings(reply, unknown[:min(len(unknown), maxUnknown)])
}
