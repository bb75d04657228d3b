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
