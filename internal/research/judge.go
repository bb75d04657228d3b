package research

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"carrel/internal/lazyregexp"
	"carrel/internal/model"
	"carrel/internal/research/check"
	"carrel/internal/research/quote"
	"carrel/internal/search/analysis"
	"carrel/internal/thread"
)

// Codes of the model's reasons. The rules have their own codes.
const (
	reasonContradicted = "model_contradicts"
	reasonNotSaid      = "model_does_not_say"
)

// judgeSentences returns the state of every sentence of a cleaned answer by rules. list are the quotes that the answer
// may cite, with their paragraphs.
func (t *turn) judgeSentences(checks quote.Checks, list []numbered) []thread.Check {
	var out []thread.Check
	length := utf8.RuneCountInString(strings.TrimRight(checks.Text, " \n\t"))
	language := analysis.Guess(checks.Text)
	for i, s := range checks.Sentences {
		end := min(s.End, length)
		if s.Start >= end {
			continue
		}
		text := slice(checks.Text, s.Start, end)
		var c thread.Check
		if strings.HasPrefix(strings.TrimSpace(text), "|") {
			next := ""
			if i+1 < len(checks.Sentences) {
				next = slice(checks.Text, checks.Sentences[i+1].Start, checks.Sentences[i+1].End)
			}
			if separatorRow.MatchString(text) {
				continue
			}
			c = judgeRow(text, next, list)
		} else {
			c = t.judgeSentence(s, text, language, list)
		}
		c.Start, c.End = s.Start, end
		out = append(out, c)
	}
	return out
}

// judgeSentence judges a sentence by the quotes it cites. A citation that does not exist, and a quotation that is not
// in the quotes, are found by package quote, everything else by package check.
func (t *turn) judgeSentence(s quote.Checked, text, language string, list []numbered) thread.Check {
	c := thread.Check{Citations: s.Keys}
	switch {
	case s.State == quote.Uncited:
		c.State = t.stateOfUncited(text, language)
		return c
	case s.State == quote.Unsupported && s.Reason != quote.NumberAbsent:
		c.State, c.By, c.Reason, c.Detail = thread.Unsupported, thread.ByRules, string(s.Reason), reasonOf(s)
		return c
	}
	var evidence []check.Evidence
	for _, q := range list {
		if slices.Contains(s.Keys, q.n) {
			evidence = append(evidence, check.Evidence{Quote: q.Text, Context: q.paragraph, Title: q.Title, Year: q.Year})
		}
	}
	f := check.Judge(text, language, evidence, nil)
	if c.State = thread.CheckState(f.State); c.State != thread.Talk && c.State != thread.Cited {
		c.By = thread.ByRules
	}
	if c.Refuted() {
		c.Reason, c.Detail = string(f.Reason), f.Detail
	}
	return c
}

var (
	separatorRow = lazyregexp.New(`^\s*\|?[\s|:\-]+\|?\s*$`)
	tableMarks   = strings.NewReplacer("|", " ; ")
)

// judgeRow judges a row of a table by its numbers and quotations, because its cells are no sentence. A header states
// nothing; the line under it is next.
func judgeRow(text, next string, list []numbered) thread.Check {
	if separatorRow.MatchString(next) {
		return thread.Check{State: thread.Talk}
	}
	c := thread.Check{State: thread.Uncited}
	for _, part := range quote.Check(strings.Trim(tableMarks.Replace(text), " ;"), quotesByNumber(list)).Sentences {
		for _, key := range part.Keys {
			if !slices.Contains(c.Citations, key) {
				c.Citations = append(c.Citations, key)
			}
		}
		switch {
		case part.State == quote.Unsupported && !c.Refuted():
			c.State, c.By, c.Reason, c.Detail = thread.Unsupported, thread.ByRules, string(part.Reason), reasonOf(part)
		case part.State == quote.Supported && c.State == thread.Uncited:
			c.State = thread.Cited
		}
	}
	return c
}

// secondPerson matches sentences that address the user or speak of the assistant.
var secondPerson = lazyregexp.New(`(?:^| )(?:you|your|yours|i|i'm|i’m|i'll|i’ll|me|my|we|us|let's|let’s|` +
	`du|dich|dir|dein(?:e[rsnm]?)?|ihr|ihnen|ihre[rsnm]?|ich|mich|mir|mein(?:e[rsnm]?)?|wir|uns)(?: |,|$)`)

// memoryShare is the share of a sentence's words that a memory must contain for the sentence to be from the memory.
const memoryShare = 0.6

// stateOfUncited returns the state of a sentence without a citation.
func (t *turn) stateOfUncited(text, language string) thread.CheckState {
	folded := foldSentence(text)
	words := analysis.Stems(folded)
	for _, m := range t.ready.Memories {
		has := analysis.Stems(m.Text)
		n := 0
		for _, w := range words {
			if slices.Contains(has, w) {
				n++
			}
		}
		if n > 0 && float64(n) >= memoryShare*float64(len(words)) {
			return thread.FromMemory
		}
	}
	trimmed := strings.TrimRight(strings.TrimSpace(text), "*_ ")
	switch {
	case strings.HasSuffix(trimmed, "?"), strings.HasSuffix(trimmed, ":"), strings.HasPrefix(trimmed, "#"),
		len(words) < 2, isSmallTalk(quote.IntentOf(text)), secondPerson.MatchString(folded), !check.Claims(text, language):
		return thread.Talk
	}
	return thread.Uncited
}

// reasonOf explains to the user why a sentence is not supported.
func reasonOf(s quote.Checked) string {
	switch s.Reason {
	case quote.NumberAbsent:
		return "The quotes it cites do not contain " + list(s.Absent, "or") + "."
	case quote.WordsAbsent:
		return "It quotes words that are not in the quotes it cites."
	case quote.NoSuchSource:
		return "It cites a source that does not exist."
	}
	return "It is not backed by a quote."
}

// verify checks an answer by rules, and has the model judge the sentences that the rules left open.
func (t *turn) verify(ctx context.Context, g *gathered, text string, quotes []numbered) (checked, error) {
	c, err := t.check(ctx, g, text, quotes)
	if err != nil {
		return c, err
	}
	return c, t.judge(ctx, &c, quotes)
}

// judgeTokens limits the reply of the judge to an answer, and sentenceTokens what a sentence adds beyond it.
const (
	judgeTokens    = 1500
	sentenceTokens = 100
)

var judgeSchema = &model.Schema{Name: "judgement", JSON: json.RawMessage(`{"type":"object","properties":{` +
	`"sentences":{"type":"array","items":{"type":"object","properties":{` +
	`"n":{"type":"integer"},"verdict":{"type":"string","enum":["says","contradicts","does_not_say"]},` +
	`"words":{"type":"string"}},"required":["n","verdict","words"],"additionalProperties":false}}},` +
	`"required":["sentences"],"additionalProperties":false}`)}

// judge has the model judge the cited sentences, in one call. It is left out if the turn is short of time or tokens;
// the sentences then stay cited. The findings of the rules are not shown to the model and cannot be overruled.
func (t *turn) judge(ctx context.Context, c *checked, quotes []numbered) error {
	var open []openSentence
	for i := range c.Checks {
		if check := &c.Checks[i]; check.State == thread.Cited {
			open = append(open, openSentence{
				Check: check, text: slice(c.Text, check.Start, check.End), keys: check.Citations,
			})
		}
	}
	if len(open) == 0 || t.exhausted() || !t.q.Research && (t.options.NoJudge || t.late) {
		return nil
	}
	r := t.ready.judgeRequest(open, quotes)
	r.MaxTokens = judgeTokens
	answer, err := t.ask(ctx, "judge", "Judging the sentences", r, nil)
	if err != nil || answer.Failure != nil {
		return err
	}
	applyVerdicts(answer.Text, open, quotes, "The model judged that the quotes it cites do not say this.")
	return nil
}

// openSentence is a sentence that the rules left cited, with the numbers of the quotes that it is compared with.
type openSentence struct {
	*thread.Check
	text string
	keys []int
	// decided is called with the number of the quote that decided, if it is set.
	decided func(key int)
}

// judgeRequest asks the model to judge sentences, by the quotes that they are compared with.
func (p prepared) judgeRequest(open []openSentence, quotes []numbered) model.Request {
	var b strings.Builder
	cited := map[int]bool{}
	for n, s := range open {
		var marks []string
		for _, key := range s.keys {
			cited[key] = true
			marks = append(marks, strconv.Itoa(key))
		}
		text := strings.TrimSpace(markNumber.ReplaceAllString(s.text, ""))
		b.WriteString(p.fence(fmt.Sprintf(`kind="sentence" number="%d"`, n+1),
			"cites: "+strings.Join(marks, ", ")+"\n\n"+text))
	}
	shown := slices.DeleteFunc(slices.Clone(quotes), func(q numbered) bool { return !cited[q.n] })
	return model.Request{
		System: p.rules(judgePrompt), Schema: judgeSchema, MaxTokens: max(judgeTokens, sentenceTokens*len(open)),
		Temperature: new(float64),
		Messages: []model.Message{
			{Role: model.RoleUser, Text: p.quotesText(shown) + b.String() + "Judge every sentence."},
		},
	}
}

// applyVerdicts sets the states of sentences by the reply of the judge, and returns how many verdicts were usable.
// notSaid explains that the quotes do not say a sentence.
func applyVerdicts(reply string, open []openSentence, quotes []numbered, notSaid string) (usable int) {
	for _, v := range readVerdicts(reply) {
		if n := int(v.N); n >= 1 && n <= len(open) && v.apply(open[n-1], quotes, notSaid) {
			usable++
		}
	}
	return usable
}

// verdict is the model's judgement of a sentence.
type verdict struct {
	N       lenientInt `json:"n"`
	Verdict string     `json:"verdict"`
	Words   string     `json:"words"`
}

// readVerdicts parses a judgement leniently.
func readVerdicts(text string) []verdict {
	var out []verdict
	for _, raw := range jsonObjects(text) {
		var all struct {
			Sentences []verdict `json:"sentences"`
		}
		var one verdict
		switch {
		case json.Unmarshal(raw, &all) == nil && len(all.Sentences) > 0:
			out = append(out, all.Sentences...)
		case json.Unmarshal(raw, &one) == nil && one.Verdict != "":
			out = append(out, one)
		}
	}
	return out
}

// leastWords is how many words of a quote a verdict must rely on.
const leastWords = 2

// apply sets the state of a sentence that the rules left open, and reports whether it did. A verdict that relies on
// words is discarded unless a quote that the sentence is compared with contains them. The first verdict on a sentence
// counts.
func (v verdict) apply(s openSentence, quotes []numbered, notSaid string) bool {
	c := s.Check
	if c.State != thread.Cited || c.By == thread.ByModel {
		return false
	}
	key := v.quoteWith(s.keys, quotes)
	switch strings.ToLower(strings.ReplaceAll(strings.TrimSpace(v.Verdict), " ", "_")) {
	case "says":
		if key == 0 {
			return false
		}
		c.State, c.By = thread.Supported, thread.ByModel
	case "contradicts":
		if key == 0 {
			return false
		}
		c.State, c.By, c.Reason = thread.Contradicted, thread.ByModel, reasonContradicted
		c.Detail = "The model judged that the source says otherwise: “" + oneLine(clip(v.Words, longestMemory)) + "”"
	case "does_not_say":
		c.State, c.By, c.Reason, c.Detail = thread.Unsupported, thread.ByModel, reasonNotSaid, notSaid
		return true
	default:
		return false
	}
	if s.decided != nil {
		s.decided(key)
	}
	return true
}

// quoteWith returns the number of the quote that contains the words of a verdict, among those with these numbers, or 0.
func (v verdict) quoteWith(keys []int, quotes []numbered) int {
	if len(strings.Fields(v.Words)) < leastWords {
		return 0
	}
	for _, q := range quotes {
		if _, _, ok := quote.Find(q.Text, strings.Trim(v.Words, " .…\"“”")); ok && slices.Contains(keys, q.n) {
			return q.n
		}
	}
	return 0
}
