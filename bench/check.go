package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// checkSettings are the flags of `bench check`.
type checkSettings struct {
	runFlags
	corpusFlags
	texts, length int
}

// longestText is the limit of a text, in code points.
const longestText = 20_000

func parseCheck(args []string) (*checkSettings, error) {
	s := &checkSettings{}
	f := s.newFlags("bench check", "")
	s.register(f, 100_000, "to check against")
	f.IntVar(&s.texts, "texts", 20, "number of texts")
	f.IntVar(&s.length, "length", longestText, "code points of a text")
	if err := parseFlags(f, args); err != nil {
		return s, err
	}
	switch {
	case s.texts < 1 || s.texts > 1000:
		return s, errors.New("--texts must be 1 to 1000")
	case s.length < 500 || s.length > longestText:
		return s, fmt.Errorf("--length must be 500 to %d", longestText)
	}
	return s, s.corpusFlags.check()
}

// measureCheck imports the documents and checks texts about them without a model.
func measureCheck(ctx context.Context, s *checkSettings, dir string) (page, error) {
	rep := &checkReport{settings: *s, when: time.Now()}
	c := &carrel{binary: s.carrel, dir: dir}
	file := filepath.Join(dir, "documents.jsonl")
	wordy, kept, err := writeDocuments(s.corpusFlags, file)
	if err != nil {
		return page{}, err
	}
	rep.documents = kept
	texts := drawTexts(wordy, s.texts+1, s.length)
	fmt.Fprintf(s.progress, "importing %d documents…\n", kept)
	if err := c.importDocuments(ctx, file); err != nil {
		return page{}, err
	}
	if err := rep.measure(ctx, c, texts); err != nil {
		return page{}, err
	}
	return rep.page(), nil
}

// measure checks all texts, one at a time, and searches for the same sentences one by one. The first text warms up: it
// reads the index from disk.
func (r *checkReport) measure(ctx context.Context, c *carrel, texts []draft) error {
	in, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer in.stop()
	var counter, searched atomic.Uint64
	run := func(q request, n *atomic.Uint64, count int) (summary, error) {
		return in.counted(ctx, load{
			addr: in.addr, connections: 1, duration: runTimeout, maxRequests: uint64(count), request: q, counter: n,
		})
	}
	checks := checkTexts(in.addr, c.path("check"), c.key, texts, r.count)
	if _, err := run(checks, &counter, 1); err != nil {
		return err
	}
	r.counts = [sentenceKinds]map[string]int{}
	fmt.Fprintln(r.settings.progress, "measuring: checks…")
	if r.checks, err = run(checks, &counter, len(texts)-1); err != nil {
		return err
	}
	var sentences []string
	for _, t := range texts[1:] {
		sentences = append(sentences, t.sentences...)
	}
	r.sentences = len(sentences)
	fmt.Fprintln(r.settings.progress, "measuring: searches…")
	if r.searches, err = run(searchFor(in.addr, c.path("search"), c.key, sentences), &searched,
		len(sentences)); err != nil {
		return err
	}
	r.resident, err = in.residentBytes()
	return err
}

// count adds the states of a reply to the kinds of the text's sentences.
func (r *checkReport) count(body []byte, text draft) error {
	var reply struct {
		Sentences []struct {
			Start int    `json:"start"`
			State string `json:"state"`
		} `json:"sentences"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return err
	}
	if len(reply.Sentences) < len(text.sentences)/2 {
		return fmt.Errorf("%d of %d sentences were checked", len(reply.Sentences), len(text.sentences))
	}
	kinds, at := make(map[int]int), 0
	for i, sentence := range text.sentences {
		kinds[at] = i % sentenceKinds
		at += utf8.RuneCountInString(sentence) + 1
	}
	for _, sentence := range reply.Sentences {
		kind, known := kinds[sentence.Start]
		if !known {
			continue // the server splits some sentences further
		}
		if r.counts[kind] == nil {
			r.counts[kind] = make(map[string]int)
		}
		r.counts[kind][sentence.State]++
	}
	return nil
}

// checkTexts posts the n-th text over one connection.
func checkTexts(addr, path, key string, texts []draft, check func(body []byte, text draft) error) request {
	var sent draft // the last text, to which the next reply belongs
	return request{
		append: func(dst []byte, n uint64) []byte {
			sent = texts[(n-1)%uint64(len(texts))]
			body, _ := json.Marshal(map[string]string{"text": strings.Join(sent.sentences, " ")}) // strings always marshal
			return append(append(dst, buildPostHead(addr, path, key, len(body))...), body...)
		},
		check: func(body []byte) error { return check(body, sent) },
	}
}

// draft is a text to check. Its sentences are of the kinds of drawTexts, in turn.
type draft struct{ sentences []string }

// sentenceKinds is the number of kinds of sentences.
const sentenceKinds = 3

// drawTexts returns n texts of sentences from the documents: a third as they are, a third without every fourth word,
// and a third with the end of another sentence.
func drawTexts(wordy []record, n, length int) []draft {
	random := rand.New(rand.NewSource(corpusSeed))
	sentence := func() []string {
		for {
			all := strings.Split(wordy[random.Intn(len(wordy))].Text, ". ")
			if words := strings.Fields(strings.Trim(all[random.Intn(len(all))], ". ")); len(words) >= 6 && len(words) <= 40 {
				return words
			}
		}
	}
	out := make([]draft, n)
	for i := range out {
		for size, k := 0, 0; ; k++ {
			words := sentence()
			switch k % sentenceKinds {
			case 1:
				for at := 3; at < len(words); at += 3 {
					words = append(words[:at], words[at+1:]...)
				}
			case 2:
				other := sentence()
				words = append(words[:len(words)/2], other[len(other)/2:]...)
			}
			text := strings.Join(words, " ") + "."
			if size += utf8.RuneCountInString(text) + 1; size > length {
				break
			}
			out[i].sentences = append(out[i].sentences, text)
		}
	}
	return out
}
