package memory

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"carrel/internal/core"
)

const (
	// maxRecalled and maxTokens limit the memories passed to a turn, because a model reads all of them on every turn.
	maxRecalled = 5
	maxTokens   = 400
	// maxConsidered is the number of memories ranked, newest first.
	maxConsidered = 1000
)

// The parameters of BM25, with the values of the search index.
const (
	saturation = 1.2
	lengthNorm = 0.75
)

const (
	// pinnedWeight is the factor of pinned memories. pinnedFloor is added to their similarity, because a memory such as
	// "I prefer short answers" matters to every question but shares no words with it.
	pinnedWeight = 2.0
	pinnedFloor  = 0.1
	// halfLife is the age at which a memory has lost half of what age can take. The oldest ones keep half of their
	// score.
	halfLife = 90 * 24 * time.Hour
)

// Recall returns the few memories of a user and an agent that are most relevant to a text, best first. Relevance is
// BM25 similarity, weighted by recency and pinning. It checks no access, because the turn that calls it was allowed.
func (s *Service) Recall(ctx context.Context, userID, agentID, text string) ([]Memory, error) {
	memories, err := s.store.Memories(ctx, userID, agentID, StatusActive, "", maxConsidered)
	if err != nil {
		return nil, err
	}
	type scored struct {
		memory Memory
		score  float64
	}
	now := s.clock.Now()
	var found []scored
	for i, similarity := range s.similarity(text, memories) {
		m := memories[i]
		score := similarity * recency(now.Sub(m.UpdatedAt))
		if m.Pinned {
			score = (similarity + pinnedFloor) * recency(now.Sub(m.UpdatedAt)) * pinnedWeight
		}
		if score > 0 {
			found = append(found, scored{m, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var recalled []Memory
	budget := maxTokens
	for _, f := range found {
		// A memory that exceeds the budget is skipped in favour of shorter ones.
		if n := tokens(f.memory.Text); n <= budget && len(recalled) < maxRecalled {
			recalled, budget = append(recalled, f.memory), budget-n
		}
	}
	return recalled, nil
}

// Known returns the active memories of a user and an agent, newest first. It checks no access, because the turn that
// calls it was allowed.
func (s *Service) Known(ctx context.Context, userID, agentID string) ([]Memory, error) {
	return s.store.Memories(ctx, userID, agentID, StatusActive, "", maxConsidered)
}

// similarity returns the BM25 score of each memory for a text.
func (s *Service) similarity(text string, memories []Memory) []float64 {
	queryTerms := slices.Compact(slices.Sorted(slices.Values(s.terms(text))))
	counts := make([][]int, len(memories)) // per query term
	lengths := make([]int, len(memories))
	frequency := make([]int, len(queryTerms))
	total := 0
	for i, m := range memories {
		counts[i] = make([]int, len(queryTerms))
		for _, term := range s.terms(m.Text) {
			lengths[i]++
			if at, ok := slices.BinarySearch(queryTerms, term); ok {
				if counts[i][at]++; counts[i][at] == 1 {
					frequency[at]++
				}
			}
		}
		total += lengths[i]
	}
	out := make([]float64, len(memories))
	for i := range memories {
		norm := saturation * (1 - lengthNorm +
			lengthNorm*float64(lengths[i])*float64(len(memories))/float64(max(total, 1)))
		for at, n := range counts[i] {
			if n > 0 {
				f := float64(n)
				out[i] += rarity(len(memories), frequency[at]) * f * (saturation + 1) / (f + norm)
			}
		}
	}
	return out
}

// rarity is the inverse document frequency of a term that occurs in this many memories.
func rarity(memories, frequency int) float64 {
	return math.Log1p((float64(memories-frequency) + 0.5) / (float64(frequency) + 0.5))
}

// recency decreases from 1 towards one half.
func recency(age time.Duration) float64 {
	return 0.5 + 0.5*math.Exp2(-max(0, age.Hours())/halfLife.Hours())
}

// tokens estimates the token count of a text: four ASCII characters, or one other character, per token.
func tokens(text string) int {
	plain, others := 0, 0
	for _, r := range text {
		if r <= unicode.MaxASCII {
			plain++
		} else {
			others++
		}
	}
	return (plain+3)/4 + others
}

// words is the default of Deps.Terms: folded words of at least three bytes.
func words(text string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(core.Fold(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}), func(word string) bool { return len(word) < 3 })
}
