package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

func TestTextOfAServerCanNotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	if got := clean("a\x1b]0;title\x07b\u202ec\r\nd\te\u009b"); got != "a]0;titlebc\nd\te" {
		t.Errorf("%q", got)
	}
	s := &screen{colour: true, width: 40}
	for _, address := range []string{"javascript:alert(1)", "", "https://a\x1b\\b", "file:///etc/passwd"} {
		if got := s.link(address, "text"); got != "text" {
			t.Errorf("%q becomes the link %q", address, got)
		}
	}
	if got := s.link("https://a.example", "text"); got != "\x1b]8;;https://a.example\x1b\\text\x1b]8;;\x1b\\" {
		t.Errorf("%q", got)
	}
	plain := &screen{width: 40}
	if got := plain.bold("a") + plain.dim("b") + plain.link("https://a.example", "c"); got != "abc" {
		t.Errorf("output that is no terminal has colours: %q", got)
	}
}

func TestTextIsWrapped(t *testing.T) {
	t.Parallel()
	s := &screen{width: 12}
	if got, want := s.wrap("one two three four\n\nfive sixseveneightnine ten", "  "),
		"  one two\n  three four\n\n  five\n  sixseveneightnine\n  ten\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got, want := s.wrap("> one two three\n- four five six\nseven", ""),
		"> one two\n> three\n- four five\n  six\nseven\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// Pieces of an answer are wrapped like the whole answer, and no word is lost.
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zäß漢 \n]{0,80}`).Draw(t, "text")
		whole := (&screen{width: 20}).wrap(text, "")
		var b bytes.Buffer
		w := &wrapWriter{out: &b, width: 20}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			for n < len(rest) && !utf8.RuneStart(rest[n]) {
				n++
			}
			w.write(rest[:n])
			rest = rest[n:]
		}
		w.flush()
		if got := strings.TrimRight(b.String(), "\n") + "\n"; got != whole {
			t.Fatalf("in pieces %q, whole %q", got, whole)
		}
		if got, want := strings.Join(strings.Fields(whole), " "), strings.Join(strings.Fields(text), " "); got != want {
			t.Fatalf("words are %q, want %q", got, want)
		}
		for line := range strings.Lines(whole) {
			line = strings.TrimRight(line, "\n")
			if uniseg.StringWidth(line) > 20 && strings.Contains(line, " ") {
				t.Fatalf("the line %q is too long", line)
			}
		}
	})
}

func TestTablesAlignWideCharacters(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := &screen{out: &b, terminal: true, width: 24}
	err := s.table([]string{"NAME", "TEXT"}, [][]string{{"漢字", "one"}, {"a", "a long text\nwith a line break"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "NAME  TEXT\n漢字  one\na     a long text with …\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
