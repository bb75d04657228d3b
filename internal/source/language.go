package source

import (
	"context"
	"slices"
	"strings"

	"carrel/internal/core"
)

// checkLanguage returns the validation error of a language code, or "".
func (s *Service) checkLanguage(code string) string {
	known := len(code) == 2 && strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") == ""
	switch {
	case s.languages == nil && !known:
		return "Must be an ISO 639-1 code: two letters in lower case."
	case s.languages != nil && !slices.Contains(s.languages, code):
		return "Must be one of " + strings.Join(s.languages, ", ") + "."
	}
	return ""
}

// SetLanguage sets the language of a source. Its documents are indexed again.
func (s *Service) SetLanguage(ctx context.Context, actor core.Actor, src Source, code string) (Source, error) {
	if err := s.agents.Allow(ctx, actor, core.OpChangeSource, src.AgentID); err != nil {
		return Source{}, err
	}
	if detail := s.checkLanguage(code); detail != "" {
		return Source{}, core.InvalidField("/language", detail)
	}
	return s.applyDefaultAndLanguage(ctx, src, New{Language: code})
}

// Limits of the text for language detection: enough of each document to get past its title, and enough documents that
// a few in another language do not decide.
const (
	sampleBytesPerDocument = 1000
	maxSampleBytes         = 50_000
)

// detectLanguage detects the language of a source from documents, stores it, and returns the language in effect.
func (s *Service) detectLanguage(ctx context.Context, src Source, docs []Document) (string, error) {
	if s.guessLanguage == nil {
		return "", nil
	}
	language := s.guessLanguage(sampleText(docs))
	if language == "" {
		return "", nil
	}
	return s.store.SetSourceLanguage(ctx, src.ID, language, true, s.clock.Now())
}

// sampleText joins the beginnings of documents.
func sampleText(docs []Document) string {
	var b strings.Builder
	for _, d := range docs {
		if b.Len() >= maxSampleBytes {
			break
		}
		for _, part := range []string{d.Title, d.Text} {
			b.WriteString(strings.ToValidUTF8(part[:min(len(part), sampleBytesPerDocument)], ""))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// openingBytes is the length of the beginning of a text from which its language is detected first. It is short because
// detection is a noticeable part of the time of an import.
const openingBytes = 250

// knownLanguage returns the code of the language that a file names, or "" if it is not a known one.
func (s *Service) knownLanguage(tag string) string {
	if tag == "" || s.parseLanguage == nil {
		return ""
	}
	return s.parseLanguage(tag)
}

// detectDocumentLanguage sets the language of a document without one, from its title and the beginning of its text. If
// that is uncertain, a later part of the text decides, because a text may begin with names and addresses.
func (s *Service) detectDocumentLanguage(d *Document) {
	if d.Language != "" || s.guessLanguage == nil {
		return
	}
	head := d.Text[:min(len(d.Text), HeadLength)]
	opening := head[:min(len(head), openingBytes)]
	d.Language = s.guessLanguage(strings.ToValidUTF8(d.Title+"\n"+opening, ""))
	if d.Language == "" && len(opening) < len(head) {
		rest := head[max(len(opening), len(head)-sampleBytesPerDocument):]
		d.Language = s.guessLanguage(strings.ToValidUTF8(rest, ""))
	}
}

// detectBatch is the number of documents whose languages are detected in one transaction.
const detectBatch = 200

// DetectLanguages detects the languages of a batch of documents that an earlier version stored without one, and reports
// whether all documents are done.
func (s *Service) DetectLanguages(ctx context.Context) (done bool, err error) {
	docs, err := s.store.UndetectedDocuments(ctx, detectBatch)
	if err != nil || len(docs) == 0 {
		return err == nil, err
	}
	for i := range docs {
		s.detectDocumentLanguage(&docs[i])
	}
	return false, s.store.SetDetectedLanguages(ctx, docs)
}
