package format

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"carrel/internal/source"
	"carrel/internal/testkit/hostile"
)

// property returns an entry of a property stream.
func property(id, kind int, value uint64) string {
	var b []byte
	b = binary.LittleEndian.AppendUint16(b, uint16(kind))
	b = binary.LittleEndian.AppendUint16(b, uint16(id))
	b = append(b, 0, 0, 0, 0)
	return string(binary.LittleEndian.AppendUint64(b, value))
}

// properties returns the stream of fixed properties after a head of this length.
func properties(head int, list ...string) hostile.CompoundEntry {
	return hostile.CompoundEntry{
		Name: "__properties_version1.0", Content: strings.Repeat("\x00", head) + strings.Join(list, ""),
	}
}

// wide returns a property of text in UTF-16.
func wide(id, text string) hostile.CompoundEntry {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return hostile.CompoundEntry{Name: "__substg1.0_" + id + "001F", Content: string(b)}
}

// narrow returns a property of text in a code page, binary one of bytes.
func narrow(id, text string) hostile.CompoundEntry {
	return hostile.CompoundEntry{Name: "__substg1.0_" + id + "001E", Content: text}
}

func rawBytes(id, data string) hostile.CompoundEntry {
	return hostile.CompoundEntry{Name: "__substg1.0_" + id + "0102", Content: data}
}

func attachedStorage(n string, children ...hostile.CompoundEntry) hostile.CompoundEntry {
	return hostile.CompoundEntry{Name: "__attach_version1.0_#0000000" + n, Children: children}
}

// sentAt is the submission time of 5 April 2019, 10:00 UTC.
func sentAt() string {
	at := time.Date(2019, 4, 5, 10, 0, 0, 0, time.UTC).Unix()
	return property(0x39, 0x40, uint64(at+fileTimeEpoch)*1e7)
}

func TestOutlookMessageIsRead(t *testing.T) {
	t.Parallel()
	inner := hostile.CompoundEntry{Name: "__substg1.0_3701000D", Children: []hostile.CompoundEntry{
		properties(24), wide("0037", "Inner"), wide("0C1A", "Bob"), wide("1000", "The inner text."),
		attachedStorage("0", properties(8), wide("3707", "deep.txt"), rawBytes("3701", "deep")),
	}}
	long := strings.Repeat("A long attachment. ", 400)
	message := hostile.Compound(
		properties(32, sentAt()), wide("0037", "Grüße"), wide("0042", "Ada Lövelace"), wide("1000", "Schöne Grüße\r\n"),
		attachedStorage("0", properties(8), wide("3707", `C:\notes.txt`), rawBytes("3701", long)),
		attachedStorage("1", properties(8), inner),
		attachedStorage("2", properties(8), wide("3707", "a.exe"), rawBytes("3701", "x")),
		attachedStorage("3", properties(8), wide("3707", "logo.png"), wide("3712", "1@x"), rawBytes("3701", "x")),
		attachedStorage("4", properties(8), narrow("3704", "page"), narrow("370E", "text/html"), rawBytes("3701", "<p>p")),
	)
	docs, wrong := readMailFile(t, "a.msg", string(message))
	want := []source.Document{
		{
			ExternalID: "a.msg", Title: "Grüße", Authors: []string{"Ada Lövelace"}, Year: 2019,
			PublishedAt: "2019-04-05T10:00:00Z", Type: "email",
			Text: "Schöne Grüße\n\n\nSubject: Inner\nFrom: Bob\n\nThe inner text.",
		},
		{ExternalID: "a.msg/notes.txt", Title: "notes", Text: strings.TrimSpace(long)},
		{ExternalID: "a.msg/deep.txt", Title: "deep", Text: "deep"},
		{ExternalID: "a.msg/page.html", Title: "page", Text: "p"},
	}
	if len(docs) != len(want) {
		t.Fatalf("got %+v", docs)
	}
	for i := range want {
		docs[i].Text = strings.TrimSpace(docs[i].Text)
		if docs[i].Title == docs[i].Text { // the first line of a short text
			docs[i].Title = want[i].Title
		}
		if !reflect.DeepEqual(docs[i], want[i]) {
			t.Errorf("got  %+v\nwant %+v", docs[i], want[i])
		}
	}
	if len(wrong) != 1 || wrong[0] != "a.msg/a.exe is skipped, because its format is not supported" {
		t.Errorf("wrong %q", wrong)
	}
	file, err := OpenAttachment(t.Context(), "a.msg", bytes.NewReader(message), "notes.txt")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(file); err != nil || string(data) != long {
		t.Errorf("the attachment is %.50q, %v", data, err)
	}
}

func TestBodiesAndEncodingsOfOutlookMessages(t *testing.T) {
	t.Parallel()
	headers := wide("007D", "Received: by x\r\nDate: Fri, 05 Apr 2019 12:00:00 +0200\r\nSubject: s\r\n")
	// "Hello, hello" in compressed RTF: the second word repeats four bytes of the first.
	packed := "\x00\x00\x00\x00\x16\x00\x00\x00LZFu\x00\x00\x00\x00" +
		"\x00{\\rtf1 H\x80ello, h\x0d\x72\x02}\x0e\x30"
	plain := "\x00\x00\x00\x00\x0f\x00\x00\x00MELA\x00\x00\x00\x00" + `{\rtf1 Hello}` + "\x00\x00"
	for name, c := range map[string]struct {
		entries     []hostile.CompoundEntry
		title, text string
		at          string
	}{
		"a code page": {
			[]hostile.CompoundEntry{
				properties(32, property(0x3ffd, 3, 1251)), narrow("0037", "\xcf\xf0\xe8\xe2\xe5\xf2"),
				narrow("1000", "\xcc\xe8\xf0"),
			}, "Привет", "Мир", "",
		},
		"no code page": {
			[]hostile.CompoundEntry{properties(32), narrow("0037", "Gr\xfc\xdfe"), narrow("1000", "sch\xf6n")},
			"Grüße", "schön", "",
		},
		"not UTF-8": {
			[]hostile.CompoundEntry{
				properties(32, property(0x3fde, 3, 65001)), narrow("0037", "Gr\xfc\xdfe"), narrow("1000", "sch\xf6n"),
			}, "Grüße", "schön", "",
		},
		"HTML": {
			[]hostile.CompoundEntry{
				properties(32, property(0x3fde, 3, 28591), property(0x3ffd, 3, 1252)), wide("0037", "S"),
				rawBytes("1013", "<html><p>Gr\xfc\xdfe</p>"),
			}, "S", "Grüße", "",
		},
		"HTML with an encoding": {
			[]hostile.CompoundEntry{
				properties(32), wide("0037", "S"), rawBytes("1013", "<meta charset=utf-8><p>Grüße"),
			}, "S", "Grüße", "",
		},
		"RTF": {
			[]hostile.CompoundEntry{properties(32), wide("0037", "S"), rawBytes("1009", plain)}, "S", "Hello", "",
		},
		"compressed RTF": {
			[]hostile.CompoundEntry{properties(32), wide("0037", "S"), rawBytes("1009", packed)},
			"S", "Hello, hello", "",
		},
		"a date of headers": {
			[]hostile.CompoundEntry{properties(32), wide("0037", "S"), headers}, "S", "", "2019-04-05T10:00:00Z",
		},
		"no subject": {
			[]hostile.CompoundEntry{properties(32), wide("1000", "A first line\nAnd more")},
			"A first line", "A first line\nAnd more", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := parseMSG(testBudget(t), "a.msg", hostile.Compound(c.entries...))
			if err != nil || d.Title != c.title || d.Text != c.text || d.PublishedAt != c.at {
				t.Errorf("got %q, %q, %q (%v)", d.Title, d.Text, d.PublishedAt, err)
			}
		})
	}
}

func TestFileThatIsNoOutlookMessageIsRefused(t *testing.T) {
	t.Parallel()
	other := hostile.Compound(hostile.CompoundEntry{Name: "WordDocument", Content: "x"})
	for name, data := range map[string][]byte{
		"a Word file": other, "an empty file": nil, "a text": []byte("Subject: x"), "a cut file": other[:600],
	} {
		if d, err := parseMSG(testBudget(t), "a.msg", data); err == nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func FuzzMSG(f *testing.F) {
	f.Add(hostile.Compound(properties(32, sentAt()), wide("0037", "Grüße"), wide("1000", strings.Repeat("text ", 1000)),
		attachedStorage("0", properties(8), wide("3707", "a.txt"), rawBytes("3701", "x"))))
	f.Add(hostile.Compound(properties(32), rawBytes("1009",
		"\x00\x00\x00\x00\x16\x00\x00\x00LZFu\x00\x00\x00\x00\x00{\\rtf1 H")))
	if folder := os.Getenv(officeCorpus); folder != "" {
		files, _ := filepath.Glob(filepath.Join(folder, "*", "*.msg")) // the pattern is valid
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil && len(data) < 1<<20 {
				f.Add(data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzzFile(t, "file.msg", data) })
}
