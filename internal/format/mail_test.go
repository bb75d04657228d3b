package format

import (
	"reflect"
	"strings"
	"testing"

	"carrel/internal/source"
)

func TestHeadersOfMessages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		head string
		want source.Document
	}{
		"plain": {
			"From: Ada <a@x.org>\nSubject: Hello\nDate: Fri, 05 Apr 2019 10:00:00 +0200\nMessage-ID: <1@x>",
			source.Document{
				ExternalID: "1@x", Title: "Hello", Authors: []string{"Ada"}, Year: 2019, PublishedAt: "2019-04-05T08:00:00Z",
			},
		},
		"encoded words": {
			"Subject: =?utf-8?B?R3LDvMOfZQ==?= =?iso-8859-1?q?_=FCber?=\nFrom: =?utf-8?q?J=C3=B6rg?= <j@x>",
			source.Document{Title: "Grüße über", Authors: []string{"Jörg"}},
		},
		"an unknown charset": {"Subject: =?x-none?q?a?=", source.Document{Title: "=?x-none?q?a?="}},
		"folded":             {"Subject: one\n two\n\tthree", source.Document{Title: "one two three"}},
		"several senders": {
			"From: Ada <a@x.org>, b@x.org\nSubject: s", source.Document{Title: "s", Authors: []string{"Ada", "b@x.org"}},
		},
		"a malformed sender": {"From: not an address at all\nSubject: s", source.Document{Title: "s"}},
		"a malformed date":   {"Subject: s\nDate: yesterday", source.Document{Title: "s"}},
		"an endless year":    {"Subject: s\nDate: Fri, 31 Dec 9999 23:59:59 -0100", source.Document{Title: "s"}},
		"no subject":         {"From: a@x.org", source.Document{Title: "Body of it", Authors: []string{"a@x.org"}}},
		"a NUL":              {"Subject: a\x00b", source.Document{Title: "ab"}},
		"bytes of Latin-1":   {"Subject: gr\xfcn", source.Document{Title: "grün"}},
		"a long id":          {"Subject: s\nMessage-ID: <" + strings.Repeat("x", 600) + ">", source.Document{Title: "s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := parseMail(testBudget(t), "file.eml", []byte(c.head+"\n\nBody of it\n\nand more"))
			c.want.Type, c.want.Text = "email", "Body of it\n\nand more"
			if err != nil || !reflect.DeepEqual(d, c.want) {
				t.Errorf("got %+v, %v\nwant %+v", d, err, c.want)
			}
		})
	}
}

func TestBodiesOfMessages(t *testing.T) {
	t.Parallel()
	multipart := func(kind string, parts ...string) string {
		var b strings.Builder
		b.WriteString("Content-Type: multipart/" + kind + "; boundary=b\n\npreamble\n")
		for _, p := range parts {
			b.WriteString("--b\n" + p + "\n")
		}
		return b.String() + "--b--\nepilogue"
	}
	const plain, page = "Content-Type: text/plain\n\nthe text", "Content-Type: text/html\n\n<p>the <b>page</b>"
	for name, c := range map[string]struct{ message, want string }{
		"no type":            {"Subject: s\n\nthe text", "the text"},
		"a malformed type":   {"Content-Type: ;;\n\nthe text", "the text"},
		"HTML":               {page, "the page"},
		"base64":             {"Content-Transfer-Encoding: base64\n\ndGhlIHRl\neHQ=\n", "the text"},
		"damaged base64":     {"Content-Transfer-Encoding: base64\n\ndGhl!!!", "the"},
		"quoted-printable":   {"Content-Transfer-Encoding: Quoted-Printable\n\nthe=20te=\nxt", "the text"},
		"a charset":          {"Content-Type: text/plain; charset=windows-1252\n\n\x93\xe4\x94", "“ä”"},
		"an unknown charset": {"Content-Type: text/plain; charset=none\n\na\xe4b", "ab"},
		"text before HTML":   {multipart("alternative", page, plain), "the text"},
		"HTML alone":         {multipart("alternative", page), "the page"},
		"an image":           {multipart("mixed", "Content-Type: image/png\n\nbytes", plain), "the text"},
		"an attached text": {
			multipart("mixed", plain, "Content-Type: text/plain\nContent-Disposition: attachment\n\nno"), "the text",
		},
		"two texts":          {multipart("mixed", plain, plain), "the text\nthe text"},
		"no boundary":        {"Content-Type: multipart/mixed\n\n--b\n\ntext", ""},
		"a part without end": {"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nthe text", "the text"},
		"Windows line ends":  {"Subject: s\r\n\r\none\r\ntwo", "one\ntwo"},
		"a signature":        {"Subject: s\n\ntext\n-- \nAda", "text\n-- \nAda"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := parseMail(testBudget(t), "file.eml", []byte(c.message))
			if err != nil || d.Text != c.want {
				t.Errorf("got %q, %v, want %q", d.Text, err, c.want)
			}
		})
	}
}

func TestMailboxes(t *testing.T) {
	t.Parallel()
	const first = "From ada Fri\nSubject: One\nMessage-ID: <1@x>\n\ntext\n"
	for name, c := range map[string]struct{ content, want string }{
		"one":                     {first, "1@x"},
		"two":                     {first + "\n" + strings.ReplaceAll(first, "1@x", "2@x"), "1@x 2@x"},
		"From inside a paragraph": {first + "From the start\n", "1@x"},
		"without an id":           {"From a\nSubject: s\n\ntext\n\nFrom b\nSubject: t\n\ntext", "message 1 message 2"},
		"the same twice":          {first + "\n" + first, "1@x;message 2 repeats the id of message 1"},
		"no message": {
			"Subject: x\n\ntext", ";the file is not a mailbox: it holds no line that begins with From",
		},
		"an empty file":         {"", ";the file is not a mailbox: it holds no line that begins with From"},
		"not a message":         {"From ada\nno header\n", ";message 1 is not a mail message"},
		"text before the first": {"\n\n" + first, "1@x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, wrong := records(t, readMbox, c.content)
			var found []string
			for _, d := range docs {
				found = append(found, d.ExternalID)
			}
			if got := strings.Join(append([]string{strings.Join(found, " ")}, wrong...), ";"); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
	docs, _ := records(t, readMbox, first+">From here\n>>From there\n> From quoted\n")
	if len(docs) != 1 || docs[0].Text != "text\nFrom here\n>From there\n> From quoted" {
		t.Errorf("got %+v", docs)
	}
}

func TestTextEncodings(t *testing.T) {
	t.Parallel()
	const notUTF8, nul = "is not UTF-8 text; save it as UTF-8", "holds a NUL character; it may not be a text"
	for name, c := range map[string]struct{ data, want, wrong string }{
		"ASCII":                  {"abc", "abc", ""},
		"UTF-8":                  {"Grüße 你好 😀", "Grüße 你好 😀", ""},
		"UTF-8 with a mark":      {"\xef\xbb\xbfabc", "abc", ""},
		"two marks":              {"\xef\xbb\xbf\xef\xbb\xbfabc", "\ufeffabc", ""},
		"UTF-16, little endian":  {"\xff\xfea\x00\xe4\x00", "aä", ""},
		"UTF-16, big endian":     {"\xfe\xff\x00a\x00\xe4", "aä", ""},
		"a surrogate pair":       {"\xfe\xff\xd8\x3d\xde\x00", "😀", ""},
		"half a surrogate pair":  {"\xfe\xff\xd8\x3d\x00a", "\ufffda", ""},
		"an odd number of bytes": {"\xff\xfea\x00b", "a\ufffd", ""},
		"UTF-16 without a mark":  {"a\x00b\x00", "", nul},
		"Latin-1":                {"gr\xfcn", "grün", ""},
		"no text":                {"a\x00\xfcb", "", notUTF8},
		"Windows line ends":      {"a\r\nb\rc\n", "a\nb\nc\n", ""},
		"UTF-16 line ends":       {"\xff\xfea\x00\r\x00\n\x00b\x00", "a\nb", ""},
		"a NUL":                  {"a\x00b", "", nul},
		"nothing":                {"", "", ""},
		"only a mark":            {"\xff\xfe", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := decodeText([]byte(c.data))
			if got != c.want || (err == nil) != (c.wrong == "") || err != nil && err.Error() != c.wrong {
				t.Errorf("got %q, %v, want %q, %q", got, err, c.want, c.wrong)
			}
		})
	}
}

func TestGapsAreWrittenBetweenWordsOnly(t *testing.T) {
	t.Parallel()
	var f flow
	f.want(gapParagraph)
	f.words("  one two ")
	f.want(gapLine)
	f.want(gapSpace) // narrower
	f.words("three")
	f.words("four")
	f.want(gapCell)
	f.words("")
	f.verbatim("\n  five\n six \n")
	f.words("seven")
	f.want(gapParagraph)
	if got, want := f.String(), "one two\nthreefour\n  five\n six \nseven"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTextBeyondTheLimitIsDropped(t *testing.T) {
	t.Parallel()
	var f flow
	line := strings.Repeat("word ", 1000)
	for range maxText/len(line) + 10 {
		f.words(line)
	}
	if n := len(f.String()); n <= maxText || n > maxText+len(line) {
		t.Errorf("%d bytes are kept of a text that exceeds %d", n, maxText)
	}
}
