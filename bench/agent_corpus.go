package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
)

// record is a document as Carrel imports it.
type record struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Authors []string `json:"authors,omitempty"`
	Text    string   `json:"text"`
	Year    int      `json:"year,omitempty"`
	URL     string   `json:"url,omitempty"`
	DOI     string   `json:"doi,omitempty"`
	Venue   string   `json:"venue,omitempty"`
}

const (
	// corpusSeed makes runs reproducible.
	corpusSeed = 42
	// wordyText is the minimum length of a document that questions are drawn from.
	wordyText = 300
)

// openings turn a title into a question.
var openings = []string{
	"What is known about ", "How does research address ", "What evidence exists for ", "Which methods work best for ",
}

// writeCorpus writes the documents to a file, and returns that many questions about
// them and the number of documents.
func writeCorpus(s corpusFlags, count int, file string) (questions []string, kept int, err error) {
	wordy, kept, err := writeDocuments(s, file)
	if err != nil {
		return nil, 0, err
	}
	return drawQuestions(wordy, count), kept, nil
}

// writeDocuments writes the documents to a file, and returns those with a longer text and the number of all. If the
// collection has fewer documents, copies of them with other ids and fewer words follow. Only originals are returned.
func writeDocuments(s corpusFlags, file string) (wordy []record, kept int, err error) {
	out, err := os.Create(file)
	if err != nil {
		return nil, 0, err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	enc := json.NewEncoder(w)
	for copies := 0; kept < s.documents && err == nil; copies++ {
		before := kept
		err = s.each(func(r record) error {
			if copies > 0 {
				r = thinned(r, copies)
			} else if len(r.Text) > wordyText {
				wordy = append(wordy, r)
			}
			kept++
			return enc.Encode(r)
		}, s.documents-kept)
		if kept == before {
			break // an empty collection
		}
	}
	err = errors.Join(err, w.Flush(), out.Close())
	if err == nil && len(wordy) == 0 {
		err = errors.New("no document has a text long enough to be asked about")
	}
	return wordy, kept, err
}

// each calls fn with up to n documents.
func (s corpusFlags) each(fn func(record) error, n int) (err error) {
	records, done := madeUp(n), func() error { return nil }
	if s.data != "" {
		if records, done, err = collection(filepath.Join(s.data, s.corpus)); err != nil {
			return err
		}
	}
	for r, readErr := range records {
		if n--; n < 0 {
			break
		}
		if err = readErr; err == nil {
			err = fn(r)
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, done())
}

// droppedWords is the part of the words that a copy lacks: one in seven.
const droppedWords = 7

// thinned returns the copy of a document with this number. Copies lack different words.
func thinned(r record, number int) record {
	r.ID = fmt.Sprintf("%s-%d", r.ID, number)
	words := strings.Fields(r.Text)
	kept := words[:0]
	for i, word := range words {
		if (i+number)%droppedWords != 0 {
			kept = append(kept, word)
		}
	}
	r.Text = strings.Join(kept, " ")
	return r
}

// collection reads a collection's documents.
func collection(folder string) (records iter.Seq2[record, error], done func() error, err error) {
	path := filepath.Join(folder, "docs.jsonl")
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		path += ".gz"
		file, err = os.Open(path)
	}
	if err != nil {
		return nil, nil, err
	}
	var in io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(file); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
		}
	}
	return func(yield func(record, error) bool) {
		d := json.NewDecoder(bufio.NewReaderSize(in, 1<<20))
		for {
			var r record
			err := d.Decode(&r)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}, file.Close, nil
}

// madeUp generates documents with Zipf-distributed words, so that posting lists have realistic lengths.
func madeUp(n int) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		random := rand.New(rand.NewSource(corpusSeed))
		words := rand.NewZipf(random, 1.1, 4, 60_000)
		sentence := func(n int) string {
			picked := make([]string, n)
			for i := range picked {
				picked[i] = word(words.Uint64())
			}
			picked[0] = strings.ToUpper(picked[0][:1]) + picked[0][1:]
			return strings.Join(picked, " ")
		}
		for i := range n {
			r := record{ID: fmt.Sprint(i), Title: sentence(6 + random.Intn(5)), Year: 1980 + i%45}
			for range 4 + random.Intn(6) {
				r.Text += sentence(10+random.Intn(20)) + ". "
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// word returns the n-th generated word.
func word(n uint64) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var b strings.Builder
	for n++; n > 0; n /= uint64(len(consonants) * len(vowels)) {
		b.WriteByte(consonants[n%uint64(len(consonants))])
		b.WriteByte(vowels[n/uint64(len(consonants))%uint64(len(vowels))])
	}
	return b.String() + "n"
}

// drawQuestions alternates between a title as a question, two or three words of a title, and a sentence of a text.
func drawQuestions(wordy []record, n int) []string {
	random := rand.New(rand.NewSource(corpusSeed))
	pick := func() record { return wordy[random.Intn(len(wordy))] }
	var out []string
	for i := 0; len(out) < n; i++ {
		words := strings.Fields(pick().Title)
		if few := 2 + random.Intn(2); len(words) > few {
			at := random.Intn(len(words) - few)
			words = words[at : at+few]
		}
		sentences := strings.Split(pick().Text, ". ")
		sentence := strings.Fields(sentences[random.Intn(len(sentences))])
		if len(words) == 0 || len(sentence) == 0 {
			continue
		}
		out = append(out,
			openings[i%len(openings)]+strings.ToLower(pick().Title)+"?",
			"What is "+strings.Join(words, " ")+"?",
			strings.Join(sentence[:min(len(sentence), 20)], " "),
		)
	}
	return out[:n]
}
