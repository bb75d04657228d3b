package model_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel/internal/model"
)

func FuzzSanitizedDeltasEqualTheSanitizedText(f *testing.F) {
	f.Add("híd 🌉\x00 \xff", 2, 5)
	f.Add("\xf0\x9f\x8c", 1, 2)
	f.Add("", 0, 0)
	f.Fuzz(func(t *testing.T, s string, i, j int) {
		i = min(max(i, 0), len(s))
		j = min(max(j, i), len(s))
		got := strings.Join(model.SanitizeDeltas([]string{s[:i], s[i:j], s[j:]}), "")
		if !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			t.Errorf("%q became %q", s, got)
		}
		// A run of invalid bytes becomes one or several replacement characters, depending on where it was split.
		squeeze := func(s string) string {
			for strings.Contains(s, "\uFFFD\uFFFD") {
				s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
			}
			return s
		}
		if squeeze(got) != squeeze(model.Sanitize(s)) {
			t.Errorf("%q became %q, want %q", s, got, model.Sanitize(s))
		}
	})
}

func FuzzToolArguments(f *testing.F) {
	f.Add(`{"a":"\u0000","b":[1,{"\u0000":"\ud800"}]}`)
	f.Add(`{"a":"\\u0000"}`)
	f.Add(`{`)
	f.Add(`{"n":1e999}`)
	f.Fuzz(func(t *testing.T, args string) {
		got, ok := model.SanitizeObject(args)
		if !ok {
			return
		}
		var v map[string]any
		d := json.NewDecoder(strings.NewReader(string(got)))
		d.UseNumber()
		if err := d.Decode(&v); err != nil || !utf8.Valid(got) {
			t.Fatalf("%q became %q: %v", args, got, err)
		}
		var check func(v any)
		check = func(v any) {
			switch v := v.(type) {
			case string:
				if strings.ContainsRune(v, 0) {
					t.Errorf("%q became %q", args, got)
				}
			case []any:
				for _, x := range v {
					check(x)
				}
			case map[string]any:
				for key, x := range v {
					check(key)
					check(x)
				}
			}
		}
		check(v)
	})
}
