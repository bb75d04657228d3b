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

// paper is a document of a collection file.
type paper struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Authors []string `json:"authors"`
	Text    string   `json:"text"`
	Year    int      `json:"year"` // 0 means undated
	DOI     string   `json:"doi"`
	// Language is English if empty.
	Language string `json:"language"`
}

const (
	// maxLine is the maximum length of a line, a document with its whole text.
	maxLine = 64 << 20
	// dropped is the share of words removed from a copy.
	dropped = 0.15
	// yearShift limits how much older a copy is: 0 to 3 years.
	yearShift = 4
)

// errStopped ends reading when the caller needs no more.
var errStopped = errors.New("stopped")

// documentsFile returns the documents file of a collection, compressed or not.
func documentsFile(dir string) (path string, ok bool) {
	for _, name := range []string{"docs.jsonl", "docs.jsonl.gz"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, true
		}
	}
	return "", false
}

// papers streams the documents of a file, so that the corpus is not in memory and does not count as the engine's. An
// error is the last value.
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

// grown streams exactly size documents: the documents of the file, then modified copies. Each copy has its own seed, so every
// engine and every run gets the same documents.
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

// perturbed returns a similar copy of a document: another id, missing words, and a year up to three years earlier.
func perturbed(p paper, copied int, random *rand.Rand) paper {
	p.ID = fmt.Sprintf("%s~%d", p.ID, copied)
	p.Title = thinned(p.Title, random)
	p.Text = thinned(p.Text, random)
	if shift := random.Intn(yearShift); p.Year > 0 {
		p.Year -= shift
	}
	return p
}

// thinned removes some of the words of a text.
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

// eachLine calls f with every non-empty line of a file, which is decompressed if its name ends with .gz. The line is
// valid until f returns.
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

// folderSize returns the total size of the files in a folder.
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
