package research

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"carrel/internal/agent"
	"carrel/internal/research/quote"
)

const (
	// exampleDocuments is how many documents are read for example questions.
	exampleDocuments = 24
	// maxSuggestions is how many example questions are found for an agent, and maxCached for how many agents they are
	// cached.
	maxSuggestions, maxCached = 6, 1000
)

// suggestions caches the example questions of agents until their documents change.
type suggestions struct {
	mu   sync.Mutex
	each map[string]suggestion
}

type suggestion struct {
	state     string // of the agent's sources
	questions []string
}

func (s *suggestions) get(agentID, state string) ([]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.each[agentID]
	return found.questions, ok && found.state == state
}

func (s *suggestions) put(agentID, state string, questions []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.each == nil || len(s.each) >= maxCached {
		s.each = make(map[string]suggestion)
	}
	s.each[agentID] = suggestion{state, questions}
}

// Examples returns up to n questions that users can start with: the agent's own, or else questions that its documents
// answer.
func (a *Agent) Examples(ctx context.Context, userID, agentID string, n int) ([]string, error) {
	about, err := a.Agents.Agent(ctx, userID, agentID)
	if err != nil {
		return nil, err
	}
	questions := about.Examples
	if len(questions) == 0 {
		if questions, err = a.Suggest(ctx, userID, about); err != nil {
			return nil, err
		}
	}
	return questions[:min(n, len(questions))], nil
}

// Suggest returns questions that the documents of an agent answer, in the language of most of them.
func (a *Agent) Suggest(ctx context.Context, userID string, about agent.Agent) ([]string, error) {
	var sources prepared
	state := about.Language
	for _, s := range about.Sources {
		sources.Sources = append(sources.Sources, knownSource{ID: s.ID, Language: s.Language, Documents: s.Documents})
		state += fmt.Sprintf(" %s %s %d", s.ID, s.Language, s.Documents)
	}
	if found, ok := a.suggestions.get(about.ID, state); ok {
		return found, nil
	}
	documents, err := a.Documents.Heads(ctx, userID, about.ID, nil, 0, 0, exampleDocuments)
	if err != nil {
		return nil, err
	}
	var questions []string
	language := sources.language(nil)
	passages := slices.DeleteFunc(firstPassages(documents), func(p quote.Passage) bool {
		return sources.source(p.SourceID).Language != language
	})
	a.extractors.use(language, func(x *quote.Extractor) {
		questions = x.Examples(passages, maxSuggestions)
	})
	a.suggestions.put(about.ID, state, questions)
	return questions, nil
}
