package hostile

import (
	"fmt"
	"strings"
)

func records() []Case {
	return []Case{
		{"JSON Lines of one line of 500 MB", "line.jsonl.gz", func() []byte {
			return gzipped(text{before: `{"id":"x","text":"`, unit: "x", times: 500 * mib})
		}, "longer than 16 MiB|" + unpacked},
		{
			"JSON Lines of 300 million empty objects", "empty.jsonl.gz",
			func() []byte { return gzipped(text{unit: "{}\n", times: 300 * mib}) }, work,
		},
		{"JSON Lines of 500 million blank lines of two bytes", "blank.jsonl.gz", func() []byte {
			return gzipped(text{unit: "\r\n", times: 600 * mib})
		}, unpacked},
		{
			"JSON nested a million levels", "deep.jsonl",
			func() []byte { return []byte(strings.Repeat(`{"id":[`, mib)) }, "not valid JSON",
		},
		{"JSON with five million authors", "authors.jsonl.gz", func() []byte {
			return gzipped(
				text{before: `{"id":1,"title":"t","authors":["a"`, unit: `,"a"`, times: 3 * mib, after: "]}\n"},
			)
		}, "authors of more than 256 KiB"},
		{"CSL-JSON of lists in lists", "lists.json.gz", func() []byte {
			list := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
			return gzipped(
				text{before: `[{"id":"a"}`, unit: `,{"id":"a","title":` + list + "}", times: 3000, after: "]"},
			)
		}, "has neither a title nor a text|" + work},
		{"CSL-JSON of one entry of 400 MB", "entry.json.gz", func() []byte {
			return gzipped(text{before: `[{"id":"a","title":"`, unit: "x", times: 400 * mib})
		}, "more than 16 MiB"},
		{"a table of a million columns", "columns.csv", func() []byte {
			return []byte("title" + strings.Repeat(",c", mib) + "\nx\n")
		}, "does not name the columns"},
		{"a table with a row of 15 million fields", "fields.csv.gz", func() []byte {
			return gzipped(text{before: "title,text\nx,y\n", unit: ",", times: 15 * mib, after: "\n"})
		}, "separators"},
		{"BibTeX of braces that are never closed", "braces.bib.gz", func() []byte {
			return gzipped(text{unit: "@a{b,c={", times: 4 * mib})
		}, work},
		{"BibTeX of macros that double", "macros.bib", func() []byte {
			return []byte("@string{a={aaaaaaaaaaaaaaaa}}\n" + strings.Repeat("@string{a = a # a}\n", 60) +
				"@misc{k, title={T}, abstract = a" + strings.Repeat(" # a", 100_000) + "}\n@misc{l, title={Good}}\n")
		}, ""},
		{"BibTeX of names of nothing but spaces", "spaces.bib.gz", func() []byte {
			return gzipped(text{before: "@misc{k, title={T}, author={a", unit: " ", times: 10 * mib, after: "b}}\n"})
		}, ""},
		{"RIS of five million lines in one value", "lines.ris.gz", func() []byte {
			return gzipped(
				text{before: "TY  - JOUR\nID  - 1\nTI  - T\nAB  - a\n", unit: "x\n", times: 5 * mib, after: "ER  - \n"},
			)
		}, "longer than 16 MiB|" + work},
		{
			"RIS of 900 MB", "huge.ris.gz",
			func() []byte { return gzipped(text{unit: "TY  - JOUR\nER  - \n", times: 50 * mib}) }, work,
		},
	}
}

func mails() []Case {
	return []Case{
		{"a mailbox of a million parts", "parts.mbox.gz", func() []byte {
			return gzipped(text{
				before: "From a\nSubject: Wide\nContent-Type: multipart/mixed; boundary=b\n\n",
				unit:   "--b\nContent-Type: text/plain\n\np\n", times: mib, after: "--b--\n",
			})
		}, "larger than 32 MiB|" + work},
		{"a message nested a thousand deep", "deep.eml", func() []byte {
			var b strings.Builder
			b.WriteString("Subject: Deep\n")
			for i := range 1000 {
				fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
			}
			b.WriteString("Content-Type: text/plain\n\nthe end\n" + strings.Repeat("x\n", 10*mib))
			return []byte(b.String())
		}, ""},
		{"a message of six million headers", "headers.eml", func() []byte {
			return []byte("Subject: H\n" + strings.Repeat("X: y\n", 6*mib) + "\ntext")
		}, "a head of more than 1 MiB"},
		{"a mailbox of 100 million messages", "messages.mbox.gz", func() []byte {
			return gzipped(text{unit: "From a\n\n", times: 100 * mib})
		}, work},
	}
}
