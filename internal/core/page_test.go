package core

import (
	"encoding/base64"
	"slices"
	"testing"
)

func TestCursorsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, key := range [][]string{{"a"}, {"1700000000000", "thr_x"}, {"", "ü/😀\"\\"}} {
		got, err := DecodeCursor("threads", EncodeCursor("threads", key...), len(key))
		if err != nil || !slices.Equal(got, key) {
			t.Errorf("%q came back as %q, %v", key, got, err)
		}
	}
}

func TestForeignCursorsAreRefused(t *testing.T) {
	t.Parallel()
	encode := base64.RawURLEncoding.EncodeToString
	for name, cursor := range map[string]string{
		"of another list":       EncodeCursor("memories", "x"),
		"with too many parts":   EncodeCursor("threads", "x", "y"),
		"not base64":            "***",
		"padded":                EncodeCursor("threads", "x") + "==",
		"not JSON":              encode([]byte("x")),
		"of other JSON":         encode([]byte(`{"threads":"x"}`)),
		"with numbers":          encode([]byte(`["threads",1]`)),
		"with white space":      encode([]byte(`["threads", "x"]`)),
		"with invalid UTF-8":    encode([]byte("[\"threads\",\"\xff\"]")),
		"with a NUL":            encode([]byte(`["threads","\u0000"]`)),
		"far too long":          EncodeCursor("threads", string(make([]byte, maxCursor))),
		"with something behind": encode([]byte(`["threads","x"]x`)),
	} {
		if key, err := DecodeCursor("threads", cursor, 1); !IsKind(err, KindInvalid) {
			t.Errorf("a cursor %s gives %q, %v", name, key, err)
		}
	}
	if key, err := DecodeCursor("threads", "", 1); key != nil || err != nil {
		t.Errorf("no cursor gives %q, %v", key, err)
	}
	if _, err := CursorTime("soon"); !IsKind(err, KindInvalid) {
		t.Errorf("an invalid time gives %v", err)
	}
}

func TestPageLimitsAreChecked(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{0: 50, 1: 1, 200: 200, -1: -1, 201: -1} {
		got, err := Page{Limit: limit}.Rows(50)
		if want < 0 != IsKind(err, KindInvalid) || want >= 0 && got != want {
			t.Errorf("limit %d gives %d, %v", limit, got, err)
		}
	}
}

func FuzzDecodeCursor(f *testing.F) {
	f.Add(EncodeCursor("threads", "1700000000000", "thr_x"))
	f.Add("W10")
	f.Add("====")
	f.Fuzz(func(t *testing.T, cursor string) {
		key, err := DecodeCursor("threads", cursor, 2)
		if err != nil || cursor == "" {
			return
		}
		if again := EncodeCursor("threads", key...); again != cursor {
			t.Errorf("%q was taken for %q", cursor, again)
		}
	})
}
