// Package hostile generates files that are expensive to parse: zip bombs, endless nesting, and input that makes
// parsers quadratic. They are generated, so that the code shows what is hostile about each.
package hostile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// Case is one hostile file.
type Case struct {
	// Name describes the attack.
	Name string
	// File is the name to upload it under.
	File string
	// Make returns the content.
	Make func() []byte
	// Want is a part of the expected error; empty means that the file is accepted and yields little. If it depends on
	// the limits, two parts are separated by a bar, the first for the default limits.
	Want string
}

// Cases returns all hostile files.
func Cases() []Case {
	var out []Case
	for _, part := range [][]Case{archives(), records(), documents(), office(), mails(), outlook(), pdfs()} {
		out = append(out, part...)
	}
	return out
}

// The setting names in errors.
const (
	unpacked = "import-unpacked-mib"
	entries  = "import-entries"
	work     = "import-work"
	memory   = "import-memory-mib"
)

const mib = 1 << 20

// part is a file of an archive: content, or a text that is too long for memory.
type part struct {
	name, content string
	long          text
}

func zipped(parts ...part) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, p := range parts {
		if p.long.times == 0 {
			w, err := z.Create(p.name)
			must(err)
			_, err = io.WriteString(w, p.content)
			must(err)
			continue
		}
		raw, sum, size := p.long.deflate()
		w, err := z.CreateRaw(&zip.FileHeader{
			Name: p.name, Method: zip.Deflate, CRC32: sum, CompressedSize64: uint64(len(raw)),
			UncompressedSize64: uint64(size),
		})
		must(err)
		_, err = w.Write(raw)
		must(err)
	}
	must(z.Close())
	return b.Bytes()
}

func must(err error) {
	if err != nil {
		panic(err) // writing to memory does not fail
	}
}

func archives() []Case {
	return []Case{
		{"a zip of three packed files of 512 MiB of newlines", "newlines.zip", newlines, unpacked},
		{"a zip of one huge text", "flat.zip", func() []byte {
			return zipped(part{name: "a.txt", long: text{unit: "0", times: 256 * mib}})
		}, "larger than 20 MiB"},
		{"a zip in a zip in a zip", "nested.zip", func() []byte {
			inner := zipped(part{name: "a.txt", long: text{unit: "0", times: 64 * mib}})
			for range 8 {
				inner = zipped(part{"inner.zip", string(inner), text{}}, part{"other.zip", string(inner), text{}})
			}
			return inner
		}, "no file of a supported format"},
		{"a zip whose files all are the same bytes", "overlapping.zip", func() []byte {
			return overlapping(3000, strings.Repeat("all work and no play ", mib/5))
		}, unpacked},
		{"a zip of 200,000 files", "many.zip", func() []byte { return overlapping(200_000, "x") }, entries},
		{"a zip whose names are 30,000 folders deep", "names.zip", func() []byte {
			var parts []part
			for i := range 100 {
				parts = append(parts, part{fmt.Sprint(i, strings.Repeat("/a", 30_000), ".txt"), "x", text{}})
			}
			return zipped(parts...)
		}, "has a name of more than 1,000 bytes"},
		{"a zip whose names lead out of it", "traversal.zip", func() []byte {
			return zipped(
				part{"../../../../etc/cron.d/x.txt", "x", text{}}, part{`..\..\boot.txt`, "x", text{}},
				part{"/etc/x.txt", "x", text{}},
			)
		}, ""},
		{"a gzip file of 2,000 members", "members.jsonl.gz", func() []byte {
			return bytes.Repeat(gzipped(text{unit: "\n", times: mib}), 2000)
		}, unpacked},
		{"a zip of 40 hostile PDFs", "pdfs.zip", func() []byte {
			var parts []part
			for i := range 40 {
				parts = append(parts, part{fmt.Sprint(i, ".pdf"), string(drawings()), text{}})
			}
			return zipped(parts...)
		}, work},
	}
}

// newlines returns a small archive of three compressed files of newlines.
func newlines() []byte {
	packed := string(gzipped(text{unit: "\n", times: 512 * mib}))
	return zipped(
		part{"a.jsonl.gz", packed, text{}}, part{"b.jsonl.gz", packed, text{}}, part{"c.jsonl.gz", packed, text{}},
	)
}

// overlapping returns an archive that lists the same compressed bytes n times under different names.
func overlapping(n int, content string) []byte {
	one := zipped(part{"000000.txt", content, text{}})
	z, err := zip.NewReader(bytes.NewReader(one), int64(len(one)))
	must(err)
	offset, err := z.File[0].DataOffset()
	must(err)
	body := one[:offset+int64(z.File[0].CompressedSize64)]
	var b bytes.Buffer
	b.Write(body)
	for i := range n {
		name := fmt.Sprintf("%06d.txt", i)
		head := make([]byte, 46)
		copy(head, "PK\x01\x02")
		binary.LittleEndian.PutUint16(head[4:], 20)
		binary.LittleEndian.PutUint16(head[6:], 20)
		binary.LittleEndian.PutUint16(head[10:], zip.Deflate)
		binary.LittleEndian.PutUint32(head[16:], crc32.ChecksumIEEE([]byte(content)))
		binary.LittleEndian.PutUint32(head[20:], uint32(z.File[0].CompressedSize64))
		binary.LittleEndian.PutUint32(head[24:], uint32(len(content)))
		binary.LittleEndian.PutUint16(head[28:], uint16(len(name)))
		b.Write(head)
		b.WriteString(name)
	}
	// The number of entries has 16 bits and wraps around.
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	binary.LittleEndian.PutUint16(end[8:], uint16(n))
	binary.LittleEndian.PutUint16(end[10:], uint16(n))
	binary.LittleEndian.PutUint32(end[12:], uint32(b.Len()-len(body)))
	binary.LittleEndian.PutUint32(end[16:], uint32(len(body)))
	b.Write(end)
	return b.Bytes()
}
