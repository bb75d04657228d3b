package model_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel/internal/model"
)

func TestAPriceIsRoundedUpToTheNextMillionth(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		price model.Price
		usage model.Usage
		want  model.Micros
	}{
		{model.Price{In: 2_500_000, Out: 10_000_000}, model.Usage{In: 1000, Out: 100}, 3500},
		{model.Price{In: 2_500_000, Out: 10_000_000}, model.Usage{In: 1000, Out: 100, Cached: 900}, 3500},
		{model.Price{In: 75_000, Out: 300_000}, model.Usage{In: 1}, 1},
		{model.Price{In: 75_000, Out: 300_000}, model.Usage{In: 40}, 3},
		{model.Price{In: 75_000, Out: 300_000}, model.Usage{In: 41}, 4},
		{model.Price{}, model.Usage{In: 1e6, Out: 1e6}, 0},
		{model.Price{In: 1}, model.Usage{}, 0},
		{model.Price{In: 1_000_000_000, Out: 1_000_000_000}, model.Usage{In: 1 << 60, Out: -5}, (1 << 31) * 1000},
	} {
		if got := tc.price.Cost(tc.usage); got != tc.want {
			t.Errorf("%+v at %+v costs %d, want %d", tc.usage, tc.price, got, tc.want)
		}
	}
}

func TestAModelWithoutAPriceCountsAsADearOne(t *testing.T) {
	t.Parallel()
	prices := model.Prices{Each: map[string]model.Price{"free": {}}}
	usage := model.Usage{In: 1_000_000, Out: 1_000_000}
	if got := prices.Cost("free", usage); got != 0 {
		t.Errorf("a free model costs %d", got)
	}
	if _, known := prices.Of("other"); known || prices.Cost("other", usage) != 40_000_000 {
		t.Errorf("a model without a price: %v, %d", known, prices.Cost("other", usage))
	}
	prices.Default = &model.Price{In: 1, Out: 2}
	if price, known := prices.Of("other"); !known || price != *prices.Default {
		t.Errorf("with a default: %+v, %v", price, known)
	}
}

func TestFailuresOfManyServersAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		body   string
		want   error
	}{
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, model.ErrTooLong},
		{500, `{"error":{"code":500,"message":"context size exceeded","type":"server_error"}}`, model.ErrTooLong},
		{404, `{"error":"model \"llama9\" not found, try pulling it first"}`, model.ErrUnknownModel},
		{400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, model.ErrKey},
		{429, `[{"error":{"code":429,"message":"Check your plan and billing details","status":"RESOURCE_EXHAUSTED"}}]`, model.ErrRateLimited},
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens","type":"BadRequestError","code":400}`, model.ErrTooLong},
		{400, `{"error":{"message":"no/such is not a valid model ID","code":400}}`, model.ErrUnknownModel},
		{502, `<html>Bad gateway</html>`, model.ErrProvider},
		{400, ``, model.ErrRequest},
		{418, `null`, model.ErrRequest},
	} {
		if got := model.Classify(tc.status, tc.body); !errors.Is(got, tc.want) {
			t.Errorf("%d %s: %v, want %v", tc.status, tc.body, got, tc.want)
		}
	}
}

func FuzzComplaintsAreReadWithoutHarm(f *testing.F) {
	f.Add(`{"error":{"code":400}}`)
	f.Add(`[]`)
	f.Add(`{"error":null}`)
	f.Fuzz(func(t *testing.T, body string) {
		if model.Classify(400, body) == nil {
			t.Error("no failure")
		}
	})
}

func FuzzTextInPiecesIsAsSafeAndAsLongAsInOne(f *testing.F) {
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
		// A run of bad bytes may become one sign or several, depending on where it was cut.
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

func FuzzArgumentsAreSafeObjectsOrRefused(f *testing.F) {
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
