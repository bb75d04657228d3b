package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-faster/jx"
)

func TestNULErrorsNameKnownFieldsOnly(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"text":"\u0000"}`:             "/text",
		`{"card":{"a":[0,{"b":"\u0000`:  "/card",
		`{"card":{"\u0000":1}}`:         "/card",
		`{"\u0000":1}`:                  "",
		`{"mine":{"text":"\u0000"}}`:    "",
		`{"text":"x","mine":"\u0000"}`:  "",
		`{"mine":[{}],"title":"\u0000"`: "/title",
	} {
		var nul nulError
		if err := checkJSON([]byte(body)); !errors.As(err, &nul) || nul.pointer != want {
			t.Errorf("%s: %v at %q, want %q", body, err, nul.pointer, want)
		}
	}
}

func TestHostileJSONIsRefusedInLinearTime(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"brackets":          strings.Repeat("[", maxBody),
		"braces":            strings.Repeat(`{"":`, maxBody/4),
		"keys alike":        `{` + strings.Repeat(`"a":0,`, maxBody/6),
		"escapes":           `{"a":"` + strings.Repeat(`\ud83d`, maxBody/6),
		"a long number":     `{"a":` + strings.Repeat("9", maxBody) + "x",
		"one endless value": `{"a":"` + strings.Repeat("a", maxBody),
	} {
		if err := checkJSON([]byte(body)); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := `{"a":[` + strings.Repeat(`{},`, maxBody/3) + `{}]}`
	if err := checkJSON([]byte(many)); err != nil {
		t.Errorf("many small objects: %v", err)
	}
}

// FuzzCheckJSON compares the checker with encoding/json and with the generated decoder: both must read every accepted
// body, with the same result, and every unambiguous body must be accepted.
func FuzzCheckJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` {"a": [1, -0.5e+3, true, null, "x"]} `, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":{"b":1,"b":2}}`, `[]`,
		`{"a":"\ud83d\ude00"}`,
		`{"a":"\ud83d"}`, `{"a":"\ude00\ud83d"}`, `{"a":"\u0000"}`, "{\"a\":\"\xff\"}", `{"a":01}`, `{"a":1.}`, `{"a":tru}`,
		`{"a":"\/\b\f\n\r\t\"\\"}`,
		`{"a":"\u00e9","b":"é"}`, `{"":0}`, `{"a":1}x`, "\ufeff{}", `{"a":-}`, `{"a":1e5,"b":1E-5}`,
		"{\"\ufffd\":\"\ufffd\"}", "{\"a\"\v:1}",
		`{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`,
		`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		err := checkJSON(body)
		plain, sure := unambiguous(body)
		if err != nil {
			if sure {
				t.Fatalf("%q is refused: %v", body, err)
			}
			return
		}
		if !plain {
			t.Fatalf("%q is taken", body)
		}
		var std any
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		if err := d.Decode(&std); err != nil {
			t.Fatalf("%q is taken, and encoding/json says %v", body, err)
		}
		ours, err := readAny(jx.DecodeBytes(body))
		if err != nil {
			t.Fatalf("%q is taken, and the decoder says %v", body, err)
		}
		if !reflect.DeepEqual(std, ours) {
			t.Fatalf("%q is %#v for one decoder and %#v for the other", body, std, ours)
		}
	})
}

// unambiguous reports whether a body is a single JSON object in UTF-8 without duplicate keys, at most 64 levels deep.
// It reports false for escaped surrogates and NULs, which encoding/json accepts.
func unambiguous(body []byte) (plain, sure bool) {
	if !utf8.Valid(body) || !json.Valid(body) || !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return false, false
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if !distinct(d, 0) {
		return false, false
	}
	lower := bytes.ToLower(body)
	return true, !bytes.Contains(lower, []byte(`\ud`)) && !bytes.Contains(lower, []byte(`\u0000`))
}

// distinct reports whether a value has no duplicate keys and is not nested too deeply.
func distinct(d *json.Decoder, depth int) bool {
	tok, err := d.Token()
	if err != nil {
		return false
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return true
	}
	if depth == 64 {
		return false
	}
	seen := map[string]bool{}
	for d.More() {
		if delim == '{' {
			key, err := d.Token()
			if err != nil || seen[key.(string)] {
				return false
			}
			seen[key.(string)] = true
		}
		if !distinct(d, depth+1) {
			return false
		}
	}
	_, err = d.Token()
	return err == nil
}

// readAny decodes like encoding/json into any, and keeps numbers as text.
func readAny(d *jx.Decoder) (any, error) {
	switch d.Next() {
	case jx.Object:
		out := map[string]any{}
		err := d.Obj(func(d *jx.Decoder, key string) error {
			v, err := readAny(d)
			out[key] = v
			return err
		})
		return out, err
	case jx.Array:
		out := []any{}
		err := d.Arr(func(d *jx.Decoder) error {
			v, err := readAny(d)
			out = append(out, v)
			return err
		})
		return out, err
	case jx.String:
		return d.Str()
	case jx.Number:
		n, err := d.Num()
		return json.Number(n), err
	case jx.Bool:
		return d.Bool()
	case jx.Null:
		return nil, d.Null()
	default:
		return nil, errMalformed
	}
}
