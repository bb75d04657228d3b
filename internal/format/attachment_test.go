package format

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// attach returns a message with a text and attachments, given as pairs of headers and content.
func attach(parts ...string) string {
	var b strings.Builder
	b.WriteString("From: Ada <a@x.org>\nSubject: Report\nMessage-ID: <1@x>\n" +
		"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nSee the report.\n")
	for i := 0; i < len(parts); i += 2 {
		b.WriteString("--b\n" + parts[i] + "\n\n" + parts[i+1] + "\n")
	}
	return b.String() + "--b--\n"
}

const attached = "Content-Type: application/octet-stream\nContent-Disposition: attachment; filename="

// readMessageFile reads a message as a file of a folder.
func readMessageFile(t *testing.T, message string) (docs []source.Document, wrong []string) {
	t.Helper()
	return readMailFile(t, "mail/a.eml", message)
}

func readMailFile(t *testing.T, name, message string) (docs []source.Document, wrong []string) {
	t.Helper()
	f := file{name: name, size: int64(len(message))}
	files := filesInMemory{name: []byte(message)}
	if _, err := f.read(testBudget(t), files, func(d source.Document, err error) bool {
		if err != nil {
			wrong = append(wrong, err.Error())
		} else {
			docs = append(docs, d)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return docs, wrong
}

// filesInMemory are files that are no attachments.
type filesInMemory attachedFiles

func TestAttachmentsAreDocumentsOfTheirOwn(t *testing.T) {
	t.Parallel()
	inner := attach(attached+"deep.txt", "deep")
	for name, c := range map[string]struct {
		parts []string
		want  string
	}{
		"a signature": {[]string{"Content-Type: application/pgp-signature; name=s.asc", "x"}, ""},
		"a picture in it": {[]string{attached[len("Content-Type: application/octet-stream\n"):] +
			"l.png\nContent-Type: image/png\nContent-ID: <1>", "x"}, ""},
		"a text": {[]string{attached + "notes.txt", "Some notes."}, "notes.txt: Some notes."},
		"base64": {
			[]string{attached + "a.txt\nContent-Transfer-Encoding: base64", "U29tZSBub3Rlcy4="}, "a.txt: Some notes.",
		},
		"a name of the type": {
			[]string{"Content-Type: text/html; name=a.html\nContent-Disposition: attachment", "<p>x"}, "a.html: x",
		},
		"the type alone": {
			[]string{"Content-Type: text/markdown\nContent-Disposition: attachment", "# A\n\nb"},
			"attachment.md: # A\n\nb",
		},
		"an encoded name":     {[]string{attached + "\"=?utf-8?q?Gr=C3=BC=C3=9Fe.txt?=\"", "x"}, "Grüße.txt: x"},
		"RFC 2231":            {[]string{"Content-Disposition: attachment; filename*=utf-8''%C3%9C.txt", "x"}, "Ü.txt: x"},
		"a path":              {[]string{attached + `"..\\..\\etc/a.txt"`, "x"}, "a.txt: x"},
		"two of the same":     {[]string{attached + "a.txt", "x", attached + "a.txt", "y"}, "a.txt: x|a (2).txt: y"},
		"a list":              {[]string{attached + "l.csv", "id,title\n1,One\n2,Two"}, "l.csv#1: |l.csv#2: "},
		"a picture":           {[]string{"Content-Type: image/png; name=logo.png", "x"}, ""},
		"an attached message": {[]string{"Content-Type: message/rfc822", inner}, "deep.txt: deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, wrong := readMessageFile(t, attach(c.parts...))
			if len(wrong) > 0 || len(docs) == 0 || docs[0].ExternalID != "mail/a.eml" ||
				!strings.HasPrefix(docs[0].Text, "See the report.") {
				t.Fatalf("got %+v (%q)", docs, wrong)
			}
			var got []string
			for _, d := range docs[1:] {
				got = append(got, strings.TrimPrefix(d.ExternalID, "mail/a.eml/")+": "+d.Text)
			}
			if strings.Join(got, "|") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestDamagedAttachmentIsReported(t *testing.T) {
	t.Parallel()
	docs, wrong := readMessageFile(t, attach(attached+"a.pdf", "no PDF", attached+"b.txt", "x"))
	if len(docs) != 2 || len(wrong) != 1 || wrong[0] != "mail/a.eml/a.pdf is not a PDF file, or is damaged" {
		t.Errorf("%d documents, %q", len(docs), wrong)
	}
}

func TestAttachmentThatCannotBeReadIsReported(t *testing.T) {
	t.Parallel()
	inner := strings.ReplaceAll(attach(attached+"deep.txt", "deep", attached+"a.exe", "x"), "--b", "--c")
	inner = strings.ReplaceAll(inner, "boundary=b", "boundary=c")
	const skipped = "is skipped, because its format is not supported"
	for name, c := range map[string]struct {
		part, content string
		want          []string
	}{
		"an unknown format": {attached + "a.exe", "x", []string{"a.exe " + skipped}},
		"no name": {
			"Content-Type: application/x\nContent-Disposition: attachment", "x", []string{"attachment " + skipped},
		},
		"a photograph": {
			"Content-Type: image/png\nContent-Disposition: attachment; filename=p.png", "x", []string{"p.png " + skipped},
		},
		"a long name": {
			attached + "a." + strings.Repeat("x", 200), "x",
			[]string{"a." + strings.Repeat("x", 98) + " has too long an extension"},
		},
		"an archive": {
			attached + "a.zip", "x", []string{"a.zip is an archive inside a folder, archive or message; unpack it first"},
		},
		"an empty file": {attached + "a.txt", "", []string{"a.txt is empty"}},
		"attachments of a message": {attached + "b.eml", inner, []string{
			"b.eml/deep.txt is attached to an attachment; import the attachment on its own", "b.eml/a.exe " + skipped,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, wrong := readMessageFile(t, attach(c.part, c.content, attached+"last.txt", "x"))
			want := "mail/a.eml/" + strings.Join(c.want, "|mail/a.eml/")
			if got := strings.Join(wrong, "|"); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if len(docs) < 2 || docs[len(docs)-1].Text != "x" {
				t.Errorf("the documents are %+v", docs)
			}
		})
	}
	_, wrong := readMessageFile(t, attach(slices.Repeat([]string{attached + "a.txt", "x"}, 300)...))
	if len(wrong) != 1 || !strings.Contains(wrong[0], "more than 200 parts") {
		t.Errorf("got %q", wrong)
	}
}

func TestAttachmentsInMailboxes(t *testing.T) {
	t.Parallel()
	docs, wrong := records(t, readMbox, "From ada\n"+attach(attached+"a.txt", "x")+"\nFrom bob\nSubject: s\n\ntext\n")
	var ids []string
	for _, d := range docs {
		ids = append(ids, d.ExternalID)
	}
	if got := strings.Join(ids, " "); len(wrong) > 0 || got != "1@x 1@x/a.txt message 2" {
		t.Errorf("got %q (%q)", got, wrong)
	}
}

func TestContentOfAnAttachment(t *testing.T) {
	t.Parallel()
	message, name, ok := SplitAttachment("mail/a.eml/b.txt")
	if !ok || message != "mail/a.eml" || name != "b.txt" {
		t.Errorf("got %q %q %v", message, name, ok)
	}
	for _, id := range []string{"a.eml", "mail/b.txt", "a.eml/", "a.txt/b.txt", ""} {
		if _, _, ok := SplitAttachment(id); ok {
			t.Errorf("%q is an attachment", id)
		}
	}
	mail := attach(attached+"b.txt", "the content")
	r, err := OpenAttachment(t.Context(), "a.eml", strings.NewReader(mail), "b.txt")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(r); err != nil || !bytes.Equal(data, []byte("the content")) {
		t.Errorf("got %q, %v", data, err)
	}
	if _, err := OpenAttachment(t.Context(), "a.eml", strings.NewReader(mail), "c.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing attachment: %v", err)
	}
}

func TestEncodingOfAWebServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ data, label, want string }{
		"Latin-1":       {"gr\xfcn", "iso-8859-1", "grün"},
		"Cyrillic":      {"\xcf\xf0\xe8\xe2\xe5\xf2", "windows-1251", "Привет"},
		"UTF-8":         {"grün", "iso-8859-1", ""},
		"declared":      {"<meta charset=windows-1252><p>gr\xfcn", "koi8-r", ""},
		"unknown":       {"gr\xfcn", "none", ""},
		"declared UTF8": {"gr\xfcn", "utf-8", ""},
	} {
		got, changed := ToUTF8([]byte(c.data), c.label)
		if changed != (c.want != "") || changed && string(got) != c.want {
			t.Errorf("%s: %q, %v", name, got, changed)
		}
	}
}

// Open returns the content of a file.
func (f filesInMemory) Open(name string, b *budget.Budget) (io.ReadCloser, error) {
	return attachedFiles(f).Open(name, b)
}
