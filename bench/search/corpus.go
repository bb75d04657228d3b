package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
)

// paper is one document of a collection, as its file spells it.
type paper struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Authors []string `json:"authors"`
	Text    string   `json:"text"`
	Year    int      `json:"year"` // 0 is undated
	DOI     string   `json:"doi"`
}

const (
	// maxLine bounds a line of a file: a document with its whole text.
	maxLine = 64 << 20
	// dropped is the share of words that a copy of a document lacks.
	dropped = 0.15
	// yearShift bounds by how many years a copy is older: 0 to 3.
	yearShift = 4
)

// errStopped ends a reading early because its caller wants no more.
var errStopped = errors.New("stopped")

// documentsFile finds the documents of a collection, compressed or not.
func documentsFile(dir string) (path string, ok bool) {
	for _, name := range []string{"docs.jsonl", "docs.jsonl.gz"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, true
		}
	}
	return "", false
}

// papers streams the documents of a file, so that a corpus never lies in memory
// and an engine's memory is its own. An error is the last that it yields.
func papers(path string) iter.Seq2[paper, error] {
	return func(yield func(paper, error) bool) {
		err := eachLine(path, func(line []byte) error {
			var p paper
			if err := json.Unmarshal(line, &p); err != nil {
				return err
			}
			if p.ID == "" {
				return errors.New("a document without an id")
			}
			if !yield(p, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(paper{}, err)
		}
	}
}

// grown streams exactly size documents: the ones of the file, then copies of
// them with some of the words missing and other years, until there are
// enough. Each copy has a seed of its own, so every engine and every run gets
// the same documents.
func grown(path string, size int) iter.Seq2[paper, error] {
	return func(yield func(paper, error) bool) {
		left := size
		for copied := 0; left > 0; copied++ {
			before := left
			random := rand.New(rand.NewSource(int64(copied)))
			for p, err := range papers(path) {
				if err != nil {
					yield(paper{}, err)
					return
				}
				if copied > 0 {
					p = perturbed(p, copied, random)
				}
				if !yield(p, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
			if left == before {
				yield(paper{}, fmt.Errorf("%s: no documents", path))
				return
			}
		}
	}
}

// perturbed is a copy of a document that is alike but not equal: another id,
// words missing, and a year up to three years earlier.
func perturbed(p paper, copied int, random *rand.Rand) paper {
	p.ID = fmt.Sprintf("%s~%d", p.ID, copied)
	p.Title = thinned(p.Title, random)
	p.Text = thinned(p.Text, random)
	if shift := random.Intn(yearShift); p.Year > 0 {
		p.Year -= shift
	}
	return p
}

// thinned is the text without some of its words.
func thinned(text string, random *rand.Rand) string {
	words := strings.Fields(text)
	kept := words[:0]
	for _, w := range words {
		if random.Float64() >= dropped {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// eachLine calls f with every line of a file that is not empty, unpacking the
// file if its name ends in .gz. The line is only valid until f returns.
func eachLine(path string, f func(line []byte) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	var source io.Reader = bufio.NewReaderSize(file, 1<<20)
	if strings.HasSuffix(path, ".gz") {
		if source, err = gzip.NewReader(source); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	lines := bufio.NewScanner(source)
	lines.Buffer(make([]byte, 1<<20), maxLine)
	for number := 1; lines.Scan(); number++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := f(lines.Bytes()); errors.Is(err, errStopped) {
			return err
		} else if err != nil {
			return fmt.Errorf("%s, line %d: %w", path, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// folderSize is how many bytes the files in a folder hold.
func folderSize(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
