package favourite

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"carrel/internal/core"
)

func TestCardIDIsTheCardsOwnIDIfValid(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ card, want string }{
		"cardId":                          {`{"cardId":"crd_1"}`, "crd_1"},
		"id":                              {`{"id":"10.1093"}`, "10.1093"},
		"cardId before id":                {`{"id":"b","cardId":"a"}`, "a"},
		"id when cardId is a number":      {`{"id":"b","cardId":7}`, "b"},
		"id when cardId is empty":         {`{"id":"b","cardId":""}`, "b"},
		"id when cardId is a dot segment": {`{"id":"b","cardId":".."}`, "b"},
		"a DOI":                           {`{"cardId":"10.1145/359340.359342"}`, "10.1145/359340.359342"},
		"slashes anywhere":                {`{"cardId":"/a//../b/"}`, "/a//../b/"},
		"200 characters, not bytes": {
			`{"id":"` + strings.Repeat("é", 199) + `😀"}`,
			strings.Repeat("é", 199) + "😀",
		},
		"escapes are read":                      {`{"id":"a\u00e9\ud83d\ude00"}`, "aé😀"},
		"a literal backslash u0000 is no NUL":   {`{"id":"\\u0000"}`, `\u0000`},
		"three dots are no dot segment":         {`{"id":"..."}`, "..."},
		"spaces and signs of a URL can be sent": {`{"id":"a b?c#d%2F"}`, "a b?c#d%2F"},
	} {
		if got, err := CardID([]byte(tc.card)); err != nil || got != tc.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, tc.want)
		}
	}
}

func TestCardIDIsMadeFromTheContentOtherwise(t *testing.T) {
	t.Parallel()
	for name, card := range map[string]string{
		"no id":             `{"title":"x"}`,
		"an empty card":     `{}`,
		"null":              `{"cardId":null,"id":null}`,
		"another case":      `{"CARDID":"x","Id":"y"}`,
		"not at the top":    `{"card":{"cardId":"x"}}`,
		"dot":               `{"cardId":"."}`,
		"dot dot":           `{"cardId":".."}`,
		"a newline":         `{"id":"a\nb"}`,
		"DEL":               `{"id":"a\u007fb"}`,
		"a C1 control":      `{"id":"a\u0085b"}`,
		"201 characters":    `{"id":"` + strings.Repeat("é", 201) + `"}`,
		"an object as id":   `{"id":{"id":"x"}}`,
		"an array of an id": `{"id":["x"]}`,
	} {
		got, err := CardID([]byte(card))
		if err != nil || !strings.HasPrefix(got, "card_") || !ValidCardID(got) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// The id is part of the API: another id would make every saved card a second favourite.
func TestCardIDOfContentIsStable(t *testing.T) {
	t.Parallel()
	const want = "card_FtRjDJEjFFxnKUtSvZK3euotnqMMvLwUNz9AyLANEffe"
	for _, card := range []string{
		`{"title":"On Computable Numbers","year":1936,"tags":["a","b"]}`,
		"{\n \"tags\": [\"a\", \"\\u0062\"],\t\"year\": 1.936e3, \"title\": \"On Computable Numbers\" }",
	} {
		if got, err := CardID([]byte(card)); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", card, got, err, want)
		}
	}
	other, err := CardID([]byte(`{"title":"On Computable Numbers","year":1936,"tags":["b","a"]}`))
	if err != nil || other == want {
		t.Errorf("the order of an array does not count: %q, %v", other, err)
	}
}

func TestCardIDRejectsInvalidCards(t *testing.T) {
	t.Parallel()
	fill := func(n int) string { return `{"id":"x","a":"` + strings.Repeat("y", n-len(`{"id":"x","a":""}`)) + `"}` }
	nested := func(n int) string {
		return `{"id":"x","a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
	}
	for name, card := range map[string]string{
		"nothing":                     ``,
		"an array":                    `[{"id":"x"}]`,
		"a string":                    `"x"`,
		"null":                        `null`,
		"not JSON":                    `{"id":"x"`,
		"one byte too many":           fill(MaxCard + 1),
		"NUL in the id":               `{"id":"a\u0000"}`,
		"NUL in another string":       `{"id":"a","b":[{"c":"\\\u0000"}]}`,
		"NUL in a key":                `{"id":"a","\u0000":1}`,
		"a lone surrogate in the id":  `{"cardId":"\ud800"}`,
		"a lone surrogate, id or not": `{"cardId":"x","title":"\ud800"}`,
		"invalid UTF-8":               "{\"id\":\"\xff\"}",
		"a repeated key":              `{"id":"x","id":"y"}`,
		"nested one level too deep":   nested(maxCardDepth + 1),
		"nested as deep as 64 KiB go": nested(30_000),
		"a number past a double":      `{"id":"x","n":1e999}`,
	} {
		got, err := CardID([]byte(card))
		var e *core.Error
		if !errors.As(err, &e) || e.Kind != core.KindInvalid || len(e.Fields) != 1 || e.Fields[0].Pointer != "/card" ||
			got != "" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	for name, card := range map[string]string{
		"the largest card": fill(MaxCard),
		"the deepest card": nested(maxCardDepth),
	} {
		if got, err := CardID([]byte(card)); err != nil || got != "x" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestValidCardIDRejectsInvalidPathSegments(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", ".", "..", "a\x00", "a\x1f", "a\x7f", "a\u009f", "\xff", "a\xed\xa0\x80",
		strings.Repeat("x", 201),
	} {
		if ValidCardID(s) {
			t.Errorf("%q is taken", s)
		}
	}
	for _, s := range []string{"a", "...", " ", "%2F", "a/b", "/", "../..", "日本", strings.Repeat("😀", 200)} {
		if !ValidCardID(s) {
			t.Errorf("%q is refused", s)
		}
	}
}

// The samples of draft-msporny-base58, which documents Bitcoin's encoding.
func TestBase58MatchesBitcoin(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                         "",
		"48656c6c6f20576f726c6421": "2NEpo7TZRRrLZSi2U",
		"54686520717569636b2062726f776e20666f78206a756d7073206f76657220746865206c617a7920646f672e": "" +
			"USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z",
		"0000287fb4cd": "11233QC4",
	} {
		b, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := base58(b); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func FuzzCardID(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"id":"a"}`, `{"cardId":"a/b","id":"c"}`, `{"id":"\u0000"}`, `{"id":"\ud800"}`,
		`{"id":"\\u0000","b":"\\"}`,
		`{"z":[1,2.0,{"y":"\"\\"}],"a":null}`, `[`, `"x"`, "{\"id\":\"\xff\"}", `{"a":1,"a":2}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, card []byte) {
		id, err := CardID(card)
		if err != nil {
			if !core.IsKind(err, core.KindInvalid) || id != "" {
				t.Fatalf("%q: %q, %v", card, id, err)
			}
			return
		}
		if !ValidCardID(id) {
			t.Fatalf("%q: not a valid id: %q", card, id)
		}
		again, err := CardID(respell(t, card))
		if len(card) < MaxCard/16 && (err != nil || again != id) {
			t.Fatalf("%q: %q, and spelled otherwise %q, %v", card, id, again, err)
		}
	})
}

// respell rewrites an object with its keys in reverse order and white space in between. Nested values are kept, because
// Canonical normalizes them and has its own tests.
func respell(t *testing.T, object []byte) []byte {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		t.Fatal(err)
	}
	canonical, err := Canonical(object)
	if err != nil {
		t.Fatal(err)
	}
	// The keys in canonical order, from a token stream, then written backwards.
	var keys []string
	d := json.NewDecoder(bytes.NewReader(canonical))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	out := []byte("\n{")
	for i := len(keys) - 1; i >= 0; i-- {
		key, err := json.Marshal(keys[i])
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(append(append(out, ' '), key...), '\t', ':', '\n'), members[keys[i]]...)
		if i > 0 {
			out = append(out, ',')
		}
	}
	return append(out, ' ', '}', '\n')
}
