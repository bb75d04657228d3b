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
	// maxRecalled and maxTokens bound what a turn is told: a model reads every word of it, on every turn.
	maxRecalled = 5
	maxTokens   = 400
	// maxLooked is how many memories are looked at, the newest ones.
	maxLooked = 1000
)

// The parameters of BM25, as the search index has them.
const (
	saturation = 1.2
	lengthNorm = 0.75
)

const (
	// pinnedWeight is what a pin is worth, and pinnedFloor what a pinned memory is worth that shares no word with the
	// text: "I prefer short answers" matters to every question, and is like none.
	pinnedWeight = 2.0
	pinnedFloor  = 0.1
	// halfLife is when half of what a memory loses with age is lost. The oldest ones keep half of their worth.
	halfLife = 90 * 24 * time.Hour
)

// Recall returns the few memories of a user and an agent that matter for a text, best first: those that share its words
// (by BM25), the more so the newer they are and if they are pinned. It asks nobody's leave: the turn that it is for was
// allowed.
func (s *Service) Recall(ctx context.Context, userID, agentID, text string) ([]Memory, error) {
	memories, err := s.store.Memories(ctx, userID, agentID, StatusActive, "", maxLooked)
	if err != nil {
		return nil, err
	}
	type scored struct {
		memory Memory
		score  float64
	}
	now := s.clock.Now()
	var found []scored
	for i, likeness := range s.likeness(text, memories) {
		m := memories[i]
		score := likeness * recency(now.Sub(m.UpdatedAt))
		if m.Pinned {
			score = (likeness + pinnedFloor) * recency(now.Sub(m.UpdatedAt)) * pinnedWeight
		}
		if score > 0 {
			found = append(found, scored{m, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var recalled []Memory
	room := maxTokens
	for _, f := range found {
		// One that is too long gives way to shorter ones after it.
		if n := tokens(f.memory.Text); n <= room && len(recalled) < maxRecalled {
			recalled, room = append(recalled, f.memory), room-n
		}
	}
	return recalled, nil
}

// likeness returns for each memory how much it has of what is rare in the text.
func (s *Service) likeness(text string, memories []Memory) []float64 {
	asked := slices.Compact(slices.Sorted(slices.Values(s.terms(text))))
	counts := make([][]int, len(memories)) // of each asked term
	lengths := make([]int, len(memories))
	holders := make([]int, len(asked))
	total := 0
	for i, m := range memories {
		counts[i] = make([]int, len(asked))
		for _, term := range s.terms(m.Text) {
			lengths[i]++
			if at, ok := slices.BinarySearch(asked, term); ok {
				if counts[i][at]++; counts[i][at] == 1 {
					holders[at]++
				}
			}
		}
		total += lengths[i]
	}
	out := make([]float64, len(memories))
	for i := range memories {
		norm := saturation * (1 - lengthNorm + lengthNorm*float64(lengths[i])*float64(len(memories))/float64(max(total, 1)))
		for at, n := range counts[i] {
			if n > 0 {
				f := float64(n)
				out[i] += rarity(len(memories), holders[at]) * f * (saturation + 1) / (f + norm)
			}
		}
	}
	return out
}

// rarity is the weight of a term that this many of the memories hold.
func rarity(memories, holders int) float64 {
	return math.Log1p((float64(memories-holders) + 0.5) / (float64(holders) + 0.5))
}

// recency falls from 1 towards one half.
func recency(age time.Duration) float64 {
	return 0.5 + 0.5*math.Exp2(-max(0, age.Hours())/halfLife.Hours())
}

// tokens estimates what a text takes of a model: about four letters of ASCII make a token, any other letter one.
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

// words takes a text apart where nothing better is known: its words of three letters and more, folded.
func words(text string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(core.Fold(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}), func(word string) bool { return len(word) < 3 })
}
