package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// library is a user's source, to which documents and files with a unique word each are added.
type library struct {
	s      *stage
	p      *person
	dice   dice
	source string
	// words are the words of acknowledged documents, uploads those of acknowledged files.
	words, uploads []string
}

// beginLibraries adds and searches documents until the load ends. The returned function waits for that, and then checks
// that every acknowledged document is stored, and that a sample of them is found.
func (s *stage) beginLibraries() (verify func(driver, database string)) {
	s.t.Helper()
	var writing sync.WaitGroup
	libraries := make([]*library, len(s.people))
	for i, p := range s.people {
		l := &library{s: s, p: p, dice: s.seed(fmt.Sprintf("library %d", i))}
		var told struct {
			Agent struct{ DefaultSourceID string }
		}
		r := s.repeat(l.dice, p, http.MethodGet, "", "")
		if err := json.Unmarshal(r.body, &told); err != nil || told.Agent.DefaultSourceID == "" {
			s.t.Fatalf("the agent: %v", r)
		}
		l.source, libraries[i] = told.Agent.DefaultSourceID, l
		writing.Go(func() { l.run(i) })
	}
	s.t.Cleanup(func() {
		s.over.Store(true)
		writing.Wait()
	})
	return func(driver, database string) {
		writing.Wait()
		stored := read(s.t, driver, database).documents
		for _, l := range libraries {
			l.verify(stored)
		}
	}
}

func (l *library) run(who int) {
	for i := 0; !l.s.over.Load() && l.s.t.Context().Err() == nil; i++ {
		word := fmt.Sprintf("quixotry%dx%d", who, i)
		r := l.s.ask(l.dice, l.p, http.MethodPost, "/sources/"+l.source+"/documents", fmt.Sprintf(
			`{"documents": [{"externalId": %q, "title": "Document", "text": "This document has the word %s."}]}`, word, word))
		switch {
		case r.status == http.StatusOK:
			l.words = append(l.words, word)
			l.s.acks.addDocument(word)
		case !r.unknown():
			l.s.t.Errorf("a document was answered with %v", r)
		}
		if l.dice.chance(10) {
			l.upload(fmt.Sprintf("pangolin%dx%d", who, i))
		}
		if n := len(l.words); n > 0 && l.dice.chance(30) {
			if _, r := l.finds(l.words[l.dice.IntN(n)]); r.status != http.StatusOK && !r.unknown() {
				l.s.t.Errorf("a search was answered with %v", r)
			}
		}
		pause(l.s.t, l.dice.between(20*time.Millisecond, 100*time.Millisecond))
	}
}

// markdownForm returns a form with a Markdown file that contains a word, and its content type.
func markdownForm(t *testing.T, word string) (body, contentType string) {
	t.Helper()
	var b strings.Builder
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("file", word+".md")
	if err == nil {
		_, err = fmt.Fprintf(part, "# File\n\nThis file has the word %s.\n", word)
	}
	if err := errors.Join(err, form.Close()); err != nil {
		t.Error(err)
	}
	return b.String(), form.FormDataContentType()
}

// upload sends a file, which is imported later.
func (l *library) upload(word string) {
	body, contentType := markdownForm(l.s.t, word)
	r := l.s.ask(l.dice, l.p, http.MethodPost, "/sources/"+l.source+"/files", body, "Content-Type", contentType)
	switch {
	case r.status == http.StatusOK:
		l.uploads = append(l.uploads, word)
	case !r.unknown():
		l.s.t.Errorf("a file was answered with %v", r)
	}
}

// finds reports whether a search finds the document of a word.
func (l *library) finds(word string) (bool, reply) {
	r := l.s.ask(l.dice, l.p, http.MethodPost, "/search", fmt.Sprintf(`{"query": %q}`, word))
	return r.status == http.StatusOK && strings.Contains(string(r.body), word), r
}

func (l *library) verify(stored map[string]bool) {
	l.s.t.Helper()
	const sample = 50
	for i, word := range l.words {
		if !stored[word] {
			l.s.t.Errorf("the document %s was acknowledged and is missing", word)
		}
		if i%max(1, len(l.words)/sample) == 0 {
			l.awaitFound(word)
		}
	}
	for i, word := range l.uploads {
		if i%max(1, len(l.uploads)/sample) == 0 {
			l.awaitFound(word)
		}
	}
	l.s.t.Logf("%d documents and %d files acknowledged", len(l.words), len(l.uploads))
}

func (l *library) awaitFound(word string) {
	l.s.t.Helper()
	await(l.s.t, "the document "+word+" is found", testkit.Patience, func() bool {
		found, _ := l.finds(word)
		return found
	})
}
