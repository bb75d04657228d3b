package favourite

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCanonicalGivesTheFormsOfRFC8785(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"section 3.2.2, primitive values": {
			`{
			  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
			  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
			  "literals": [null, true, false]
			}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
				`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		"section 3.2.3, keys by UTF-16 code units": {
			`{
			  "\u20ac": "Euro Sign",
			  "\r": "Carriage Return",
			  "\ufb33": "Hebrew Letter Dalet With Dagesh",
			  "1": "One",
			  "\ud83d\ude00": "Emoji: Grinning Face",
			  "\u0080": "Control",
			  "\u00f6": "Latin Small Letter O With Diaeresis"
			}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\"," +
				"\"€\":\"Euro Sign\",\"\U0001f600\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		"the RFC's arrays.json": {`[ 56, { "d": true, "10": null, "1": [ ] } ]`, `[56,{"1":[],"10":null,"d":true}]`},
		"the RFC's french.json": {
			`{"peach":"This sorting order","péché":"is wrong according to French",` +
				`"pêche":"but canonicalization MUST","sin":"ignore locale"}`,
			`{"peach":"This sorting order","péché":"is wrong according to French",` +
				`"pêche":"but canonicalization MUST","sin":"ignore locale"}`,
		},
		"the RFC's structures.json": {
			`{"1":{"f":{"f":"hi","F":5},"\n":56.0},"10":{},"":"empty","a":{},"111":[{"e":"yes","E":"no"}],"A":{}}`,
			`{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}`,
		},
		"the RFC's unicode.json, left unnormalised": {
			`{"Unnormalized Unicode":"A\u030a"}`,
			"{\"Unnormalized Unicode\":\"A\u030a\"}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Canonical([]byte(tc.in))
			if err != nil || string(got) != tc.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, tc.want)
			}
		})
	}
}

// The samples of RFC 8785, appendix B: the bits of a double and its text.
func TestCanonicalPrintsNumbersAsRFC8785AppendixB(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0",
		0x8000000000000000: "0",
		0x0000000000000001: "5e-324",
		0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308",
		0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000",
		0x444b1ae4d6e2ef4f: "999999999999999900000",
		0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
		0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332",
		0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334",
		0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		in, err := json.Marshal(math.Float64frombits(bits))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Canonical(in); err != nil || string(got) != want {
			t.Errorf("%016x: got %s, %v, want %s", bits, got, err, want)
		}
	}
}

func TestCanonicalRejectsInvalidJSON(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"nothing":                     "",
		"white space":                 " \n",
		"a byte order mark":           "\ufeff{}",
		"half a literal":              "nul",
		"half a string":               `"a`,
		"half an object":              `{"a":1`,
		"two values":                  `{}{}`,
		"a trailing comma":            `[1,]`,
		"a leading zero":              `[01]`,
		"NaN":                         `[NaN]`,
		"a number past a double":      `[1e400]`,
		"a repeated key":              `{"a":1,"a":1}`,
		"a repeated key, escaped":     `{"a":1,"\u0061":2}`,
		"a lone high surrogate":       `["\ud800"]`,
		"a lone low surrogate":        `["\udc00"]`,
		"a surrogate pair turned":     `["\ude00\ud83d"]`,
		"a lone surrogate in a key":   `{"\ud800":1}`,
		"invalid UTF-8":               "[\"\xff\"]",
		"an overlong NUL":             "[\"\xc0\x80\"]",
		"a surrogate in UTF-8":        "[\"\xed\xa0\x80\"]",
		"a raw control character":     "[\"\x01\"]",
		"an unknown escape":           `["\x41"]`,
		"nesting past any use":        strings.Repeat("[", 100_000),
		"closed nesting past any use": strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
	} {
		if got, err := Canonical([]byte(in)); err == nil {
			t.Errorf("%s: accepted as %.40s", name, got)
		}
	}
	if _, err := Canonical(nil); err == nil {
		t.Error("nil: accepted")
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, `null`, ` 42 `, `"x"`, `{"b":[1,2.50,-0],"a":{"é":"\u0000\u20ac"}}`,
		`{"\ud83d\ude00":1,"\ufb33":2}`,
		`["\ud800"]`, `{"a":1,"a":2}`, `[1e400]`, "[\"\xff\"]", `[[[[`, `{"a":`, `[9007199254740993,1e-7,1e21]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := Canonical(in)
		if err != nil {
			return
		}
		if !utf8.Valid(once) {
			t.Fatalf("not UTF-8: %q", once)
		}
		twice, err := Canonical(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("not idempotent: %q, then %q, %v", once, twice, err)
		}
		var before, after any
		if err := json.Unmarshal(in, &before); err != nil {
			t.Fatalf("accepted invalid JSON: %q: %v", in, err)
		}
		if err := json.Unmarshal(once, &after); err != nil {
			t.Fatalf("produced invalid JSON: %q: %v", once, err)
		}
		// DeepEqual is sufficient: a decoded -0 equals 0, and JSON has no NaN.
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("another value: %q became %q", in, once)
		}
	})
}
