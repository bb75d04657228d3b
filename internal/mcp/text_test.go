package mcp

import "testing"

func TestOutlineOfReplies(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{}`:                                             "Nothing.",
		`{"deleted":true}`:                               "deleted: yes",
		`{"a":"","b":null,"c":[],"d":{}}`:                "Nothing.",
		`{"n":12345678901234567890}`:                     "n: 12345678901234567890",
		`{"text":"two\nlines"}`:                          "text: two\n  lines",
		`{"m":[{"id":"1","t":["a","b"]}]}`:               "m: \n  - id: 1\n    t: \n      - a\n      - b",
		`{"o":{"x":1,"y":false}}`:                        "o: \n  x: 1\n  y: no",
		`{"l":[{},{"a":1}]}`:                             "l: \n  - \n  - a: 1",
		`[{"byMeaning":true},{"a":1,"byMeaning":false}]`: "- found by meaning: yes\n- a: 1",
		`{"a":"- x","b":"  y","c":" ","d":"a\n- b"}`:     "a: \n- x\nb: \n  y\nd: a\n  - b",
		`{"o":{"x":{"y":[1]},"z":"no"},"e":1.50}`:        "o: \n  x: \n    y: \n      - 1\n  z: no\ne: 1.50",

		`[[2,[]]]`: "-   - 2\n  -",
		`not json`: "not json",
	} {
		if got := outline([]byte(body)); got != want {
			t.Errorf("%s\n got %q\nwant %q", body, got, want)
		}
	}
}
