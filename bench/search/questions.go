package main

import (
	"errors"
	"iter"
	"math/rand"
	"strings"
	"unicode"
)

const (
	// questionSeed makes runs reproducible.
	questionSeed = 42
	// maxQuestions is a hundred of each kind.
	maxQuestions = 300
	// wordyText is the minimum length of a text that sentences are drawn from.
	wordyText = 300
	// sentenceWords is the maximum length of a sentence.
	sentenceWords = 20
)

// openings turn a title into a question.
var openings = []string{
	"What is known about ", "How does research address ", "What evidence exists for ", "Which methods work best for ",
}

// drawQuestions draws the queries for latency: a title as a question, two or three words of a title, a sentence of an
// abstract, alternating, so that any prefix is balanced.
func drawQuestions(documents iter.Seq2[paper, error], n int) ([]string, error) {
	var wordy []paper
	for p, err := range documents {
		if err != nil {
			return nil, err
		}
		if len(p.Text) > wordyText {
			wordy = append(wordy, p)
		}
	}
	if len(wordy) == 0 {
		return nil, errors.New("no document has a text long enough to draw questions from")
	}
	random := rand.New(rand.NewSource(questionSeed))
	pick := func() paper { return wordy[random.Intn(len(wordy))] }
	var out []string
	for i := 0; len(out) < n; i++ {
		out = append(out,
			openings[i%len(openings)]+strings.ToLower(pick().Title)+"?",
			fewWords(pick().Title, random),
			oneSentence(pick().Text, random))
	}
	return out[:n], nil
}

// fewWords returns two or three adjacent words of a title.
func fewWords(title string, random *rand.Rand) string {
	n := min(2+random.Intn(2), len(contentWords(title, false)))
	words := strings.Fields(title)
	if len(words) > n {
		at := random.Intn(len(words) - n)
		words = words[at : at+n]
	}
	return strings.Join(words, " ")
}

// oneSentence returns a sentence of a text, or its beginning if it is long.
func oneSentence(text string, random *rand.Rand) string {
	sentences := strings.Split(text, ". ")
	words := strings.Fields(sentences[random.Intn(len(sentences))])
	return strings.Join(words[:min(len(words), sentenceWords)], " ")
}

// stopWords are removed from the queries of the peers. Bleve's English analyser removes fewer and FTS5 none; without
// them both rank better and are faster.
var stopWords = wordSet("a an and are as at be but by for if in into is it no not of on or such that the their then " +
	"there these they this to was will with what which how who does do did has have had from can we our its were been i me " +
	"about between than also where when why would could should may any some")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// contentWords returns the lower-case words of a text without stop words; without duplicates if distinct is set.
func contentWords(text string, distinct bool) []string {
	separates := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	seen := map[string]bool{}
	var out []string
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), separates) {
		if stopWords[w] || distinct && seen[w] {
			continue
		}
		seen[w] = true
		out = append(out, w)
	}
	return out
}
