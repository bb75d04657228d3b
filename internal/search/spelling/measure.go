package spelling

import "slices"

// Slips returns the largest edit distance for a word of this many letters. Short words have too many neighbours.
func Slips(letters int) int {
	switch {
	case letters < 4:
		return 0
	case letters < 8:
		return 1
	default:
		return 2
	}
}

// Measure computes the restricted Damerau-Levenshtein distance of a word to others: insertions, deletions,
// substitutions and swaps of neighbours.
type Measure struct {
	word  []rune
	other []rune
	rows  [3][]int
}

// NewMeasure returns the measure of a word. It is not safe for concurrent use.
func NewMeasure(word string) *Measure { return &Measure{word: []rune(word)} }

// Initial returns the first letter of the word, "" if it has none.
func (m *Measure) Initial() string { return string(m.word[:min(1, len(m.word))]) }

// To returns the distance to another word, or reach+1 if it is greater than reach.
func (m *Measure) To(text string, reach int) int {
	m.other = m.other[:0]
	for _, r := range text {
		m.other = append(m.other, r)
	}
	n := len(m.other)
	if n-len(m.word) > reach || len(m.word)-n > reach {
		return reach + 1
	}
	for i := range m.rows {
		m.rows[i] = slices.Grow(m.rows[i][:0], n+1)[:n+1]
	}
	before, last, row := m.rows[0], m.rows[1], m.rows[2]
	for j := range last {
		last[j] = j
	}
	for i, x := range m.word {
		row[0] = i + 1
		least := row[0]
		for j, y := range m.other {
			d := last[j]
			if x != y {
				d = 1 + min(last[j], last[j+1], row[j])
			}
			if i > 0 && j > 0 && x == m.other[j-1] && m.word[i-1] == y {
				d = min(d, before[j-1]+1)
			}
			row[j+1] = d
			least = min(least, d)
		}
		if least > reach {
			return reach + 1
		}
		before, last, row = last, row, before
	}
	return last[n]
}
