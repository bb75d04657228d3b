package pdf

import (
	"reflect"
	"strings"
	"testing"

	"carrel/internal/format/budget"
)

func unlimited(t testing.TB) *budget.Budget {
	t.Helper()
	return budget.New(t.Context(), budget.Default, 0, nil)
}

// objects returns everything that a lexer reads from a text.
func objects(t testing.TB, text string, refs bool) []any {
	t.Helper()
	l := lexer{data: []byte(text), refs: refs, b: unlimited(t)}
	var out []any
	for {
		x, ok := l.next()
		if !ok {
			return out
		}
		out = append(out, x)
	}
}

func TestLexerReadsEveryKindOfObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]any{
		"true false null":        {true, false, nil},
		"1 -2 +3 4.5 -.5 6.":     {1.0, -2.0, 3.0, 4.5, -0.5, 6.0},
		"/Name /A#20B /":         {name("Name"), name("A B"), name("")},
		"(text) <4865>":          {str("text"), str("He")},
		"[1 [2] (x)]":            {array{1.0, array{2.0}, str("x")}},
		"<</A 1/B<</C/D>>>>":     {dict{"A": 1.0, "B": dict{"C": name("D")}}},
		"BT 1 0 0 rg T* ET":      {opword("BT"), 1.0, 0.0, 0.0, opword("rg"), opword("T*"), opword("ET")},
		"1 % a comment\n2":       {1.0, 2.0},
		"1 %a comment\r2":        {1.0, 2.0},
		"1%to the end":           {1.0},
		"/A/B(x)[/C]":            {name("A"), name("B"), str("x"), array{name("C")}},
		"\x00\t\n\f\r 7\x00\x00": {7.0},
	} {
		if got := objects(t, text, false); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %#v, want %#v", text, got, want)
		}
	}
}

// Other readers accept these numbers, so files with them exist.
func TestMalformedNumbersAreReadAsOtherReadersDo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"--5": -5.0, "+-5": -5.0, "1.2.3": 1.2, "12-34": 12.0, "5abc": 5.0, ".": 0.0, "-.": 0.0, "1.": 1.0,
		"00012": 12.0, "-": opword("-"), "+x": opword("+x"), ".x": opword(".x"),
		strings.Repeat("9", 300):        0.0,
		"0." + strings.Repeat("1", 300): 0.0,
	} {
		got := objects(t, text, false)
		if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%.20q: got %#v, want %#v", text, got, want)
		}
	}
}

func TestReferencesAreReadOutsideContentStreams(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]any{
		"12 0 R":         {ref{12, 0}},
		"12 3 R":         {ref{12, 3}},
		"[1 0 R 2 0 R]":  {array{ref{1, 0}, ref{2, 0}}},
		"[1 2 3 0 R]":    {array{1.0, 2.0, ref{3, 0}}},
		"<</A 1 0 R/B 2": {dict{"A": ref{1, 0}, "B": 2.0}},
		"1 0 RG":         {1.0, 0.0, opword("RG")},
		"1 0 R/N":        {ref{1, 0}, name("N")},
		"-1 0 R":         {-1.0, 0.0, opword("R")},
		"1 123456 R":     {1.0, 123456.0, opword("R")},
		"99999999999 0 R": {
			99999999999.0, 0.0, opword("R"),
		},
		"1 %x\n0 %y\nR": {ref{1, 0}},
	} {
		if got := objects(t, text, true); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %#v, want %#v", text, got, want)
		}
	}
	if got := objects(t, "1 0 R", false); !reflect.DeepEqual(got, []any{1.0, 0.0, opword("R")}) {
		t.Errorf("a content stream has the reference %#v", got)
	}
}

func TestNamesAreUnescaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/Lime#20Green": "Lime Green", "/paired#28#29": "paired()", "/A#42": "AB", "/A#4": "A#4", "/A#": "A#",
		"/A#GG": "A#GG", "/#c3#A9": "é", "/A;_-*": "A;_-*",
	} {
		if got := objects(t, text, false); len(got) != 1 || got[0] != name(want) {
			t.Errorf("%s: got %#v, want %q", text, got, want)
		}
	}
}

// ISO 32000-1, table 3 and section 7.3.4.2.
func TestStringEscapes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`(a\nb\rc\td\be\ff)`:   "a\nb\rc\td\be\ff",
		`(\(\)\\)`:             `()\`,
		`(balanced (x) y)`:     "balanced (x) y",
		`(\101\60\7x)`:         "A0\ax",
		`(\0053)`:              "\x053", // at most three digits
		`(\777)`:               "\xff",  // overflow is cut to a byte
		`(\8\q)`:               "8q",    // the backslash of an unknown escape is dropped
		"(a\\\nb\\\r\nc\\\rd)": "abcd",
		"(a\nb)":               "a\nb",
		"(not closed":          "not closed",
		`(ends in \`:           "ends in ",
		"()":                   "",
	} {
		got := objects(t, text, false)
		if len(got) != 1 || got[0] != str(want) {
			t.Errorf("%q: got %#v, want %q", text, got, want)
		}
	}
}

func TestHexadecimalStrings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"<48656C6c6f>": "Hello", "<48 65\n6C>": "Hel", "<4>": "@", "<>": "", "<48zz65>": "He", "<4865": "He", "<48 6>": "H`",
	} {
		if got := objects(t, text, false); len(got) != 1 || got[0] != str(want) {
			t.Errorf("%s: got %#v, want %q", text, got, want)
		}
	}
}

func TestUnclosedObjectsEndWithTheirObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]any{
		"[1 2":                      {array{1.0, 2.0}},
		"[1 2 endobj 3":             {array{1.0, 2.0}, 3.0},
		"[1 unknown 2]":             {array{1.0, 2.0}},
		"<</A 1":                    {dict{"A": 1.0}},
		"<</A 1 endobj":             {dict{"A": 1.0}, opword("endobj")},
		"<</A 1 stream":             {dict{"A": 1.0}, opword("stream")}, // the stream is still found
		"<</A>>":                    {dict{}},
		"<</A 1 /B>> 2":             {dict{"A": 1.0}, 2.0},
		"<<1 2 /A 3>>":              {dict{"A": 3.0}}, // keys are names
		"<</A 1/A 2>>":              {dict{"A": 2.0}},
		"> ) ] }":                   {closer('>'), closer(')'), closer(']'), closer('}')},
		"<</A [1 2 >> /B 3":         {dict{"A": array{1.0, 2.0}, "B": 3.0}},
		"{ 1 }":                     {opword("{"), 1.0, closer('}')},
		"[(unclosed string 1 0 R ]": {array{str("unclosed string 1 0 R ]")}},
	} {
		if got := objects(t, text, true); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %#v, want %#v", text, got, want)
		}
	}
}

func TestNestingHasALimit(t *testing.T) {
	t.Parallel()
	depth := func(x any) (n int) {
		for {
			switch y := x.(type) {
			case array:
				if len(y) == 0 {
					return n + 1
				}
				x = y[0]
			case dict:
				if len(y) == 0 {
					return n + 1
				}
				x = y["A"]
			default:
				return n
			}
			n++
		}
	}
	for _, open := range []string{"[", "<</A"} {
		if got := depth(objects(t, strings.Repeat(open, maxNesting/2), false)[0]); got != maxNesting/2 {
			t.Errorf("%s nested %d times is read to a depth of %d", open, maxNesting/2, got)
		}
		if got := depth(objects(t, strings.Repeat(open, 100*maxNesting), false)[0]); got > maxNesting+1 {
			t.Errorf("%s is read to a depth of %d, more than %d", open, got, maxNesting)
		}
	}
}

func TestReadObjectsAreChargedToTheBudget(t *testing.T) {
	t.Parallel()
	for kind, text := range map[string]string{
		"names":        strings.Repeat("/"+strings.Repeat("n", 100), 100),
		"arrays":       "[" + strings.Repeat("1 ", 1000) + "]",
		"dictionaries": "<<" + strings.Repeat("/A 1", 1000) + ">>",
		"hexadecimal":  "<" + strings.Repeat("41", 10_000) + ">",
		"strings":      "(" + strings.Repeat("a", 3*chunk) + ")",
	} {
		b := unlimited(t)
		l := lexer{data: []byte(text), b: b}
		for {
			if _, ok := l.next(); !ok {
				break
			}
		}
		used := b.Used()
		if l.held < 8000 || used.Memory < int64(l.held) || used.Work < int64(len(text))/2 {
			t.Errorf("%s: %d bytes of text hold %d bytes and cost %d", kind, len(text), l.held, used.Work)
		}
	}
}

func FuzzLexer(f *testing.F) {
	for _, seed := range []string{
		"<</A[1 0 R(x)<4142>/N#20]/B true>>", "[[[[", "(\\", "<", "/", ">>", "1 0", "1 0 R", "%", "(\\7", "--", "<</A", "{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := lexer{data: data, refs: true, b: unlimited(t)}
		for {
			before := l.pos
			if _, ok := l.next(); !ok {
				return
			}
			if l.pos <= before || l.pos > len(data) {
				t.Fatalf("the position went from %d to %d of %d", before, l.pos, len(data))
			}
		}
	})
}
