package research

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"carrel/internal/agent"
	"carrel/internal/research/quote"
	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/search/query"
	"carrel/internal/task"
	"carrel/internal/thread"
)

const (
	// recentMessages is how many earlier messages of the conversation are read without a model.
	recentMessages = 8
	// historyMessages is how many are read with a model, or for an action. Messages that a summary replaces do not count.
	historyMessages = 80
	// citedAnswers is how many earlier answers keep their citations, for transformations and favourites.
	citedAnswers = 6
)

// prepared is the input of a turn.
type prepared struct {
	Instructions string `json:"instructions,omitempty"`
	// Name and Description describe the agent to the model.
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Settings are how the agent answers.
	Settings agent.Settings `json:"settings,omitzero"`
	// Model is the model to use: the agent's choice or the installation's default; empty without a model.
	Model   string        `json:"model,omitempty"`
	Limits  Limits        `json:"limits"`
	Sources []knownSource `json:"sources"`
	// Documents are the documents that the question is limited to, if it is.
	Documents []cited `json:"documents,omitempty"`
	// Talk are the earlier exchanges of the thread, oldest first, without those that Summary replaces.
	Talk    []exchange      `json:"talk,omitempty"`
	Summary *thread.Summary `json:"summary,omitempty"`
	// Choices are the objects among which the last reply asked the user to choose.
	Choices []thread.Action `json:"choices,omitempty"`
	// Alone is set if the question can be searched without the conversation.
	Alone    bool                `json:"alone,omitempty"`
	Memories []thread.UsedMemory `json:"memories,omitempty"`
	// OtherMemories are memories that are not relevant to the words of the message.
	OtherMemories []thread.UsedMemory `json:"otherMemories,omitempty"`
	// Nonce is part of the tags around untrusted text, whose authors cannot know it.
	Nonce string `json:"nonce"`
}

// knownSource is a source of the agent.
type knownSource struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Language  string `json:"language,omitempty"`
	Documents int    `json:"documents"`
}

// exchange is an earlier question of the thread and its answer.
type exchange struct {
	Question string   `json:"question"`
	Answer   string   `json:"answer,omitempty"`
	Titles   []string `json:"titles,omitempty"`
	// Searched is the completed question, if the conversation completed it.
	Searched string `json:"searched,omitempty"`
	// Cited are the documents of Titles, in the same order.
	Cited []cited `json:"cited,omitempty"`
	// LastMessage is the id of the exchange's last message.
	LastMessage string `json:"lastMessage,omitempty"`
	// Citations are the citations of the answer, unless the exchange is old.
	Citations []thread.Citation `json:"citations,omitempty"`
}

type cited struct {
	DocumentID string `json:"documentId"`
	SourceID   string `json:"sourceId"`
}

// prepare reads the agent, the conversation and the memories.
func (t *turn) prepare(ctx context.Context) error {
	var err error
	const label = "Reading the question"
	t.ready, err = step(ctx, t, "prepare", label, func(ctx context.Context, _ *task.Step) (prepared, error) {
		a, err := t.Agents.Agent(ctx, t.q.UserID, t.q.AgentID)
		if err != nil {
			return prepared{}, err
		}
		out := prepared{
			Instructions: a.Instructions, Name: a.Name, Description: a.Description, Settings: a.Settings,
			Limits: t.limits, Nonce: rand.Text()[:16],
		}
		if models := t.Model.Models(); len(models) > 0 {
			out.Model = cmp.Or(a.Model, models[0])
		}
		for _, s := range a.Sources {
			known := knownSource{ID: s.ID, Name: s.Name, Language: s.Language, Documents: s.Documents}
			if s.Default {
				out.Sources = append([]knownSource{known}, out.Sources...)
			} else {
				out.Sources = append(out.Sources, known)
			}
		}
		if err := t.limitTo(ctx, &out); err != nil {
			return prepared{}, err
		}
		n := recentMessages
		if out.Model != "" || len(t.requests) > 0 {
			n = historyMessages
		}
		messages, err := t.Conversation.Messages(ctx, t.q.ThreadID, 0, n+1)
		if err != nil {
			return prepared{}, err
		}
		out.history(t, messages)
		out.Alone = len(out.Talk) > 0 && t.standsAlone(ctx, out)
		if out.Model != "" {
			// Without a model, quotes are chosen by the words of the question, and memories are not used.
			out.Memories, out.OtherMemories = t.recall(ctx)
		}
		return out, nil
	})
	if err != nil {
		return err
	}
	t.limits = t.ready.Limits
	switch t.ready.Settings.AnswerLength {
	case agent.AnswerShort:
		t.limits.AnswerTokens /= 2
	case agent.AnswerLong:
		t.limits.AnswerTokens *= 2
	}
	t.extractors.use(t.ready.language(nil), func(x *quote.Extractor) { t.query = x.Ask(t.text, t.ready.before(), nil) })
	return nil
}

// lastQuestion returns the last exchange whose message was a question to the sources. Greetings, thanks and actions in
// between do not change the subject.
func (p prepared) lastQuestion() (exchange, bool) {
	for _, e := range slices.Backward(p.Talk) {
		if _, rest := requestsIn(e.Question); rest != "" && quote.IntentOf(rest) == quote.AskSources {
			return e, true
		}
	}
	return exchange{}, false
}

// before returns the last question and its answer, which complete a question without a subject.
func (p prepared) before() quote.Talk {
	last, found := p.lastQuestion()
	if !found || p.Alone {
		return quote.Talk{}
	}
	talk := quote.Talk{Question: cmp.Or(last.Searched, last.Question), Titles: last.Titles}
	for _, c := range last.Cited {
		talk.Documents = append(talk.Documents, c.DocumentID)
	}
	for _, e := range p.Talk {
		for _, c := range e.Citations {
			talk.Quoted = append(talk.Quoted, quoteOfCitation(c))
		}
	}
	return talk
}

// language returns the language to analyse the question in: the language of most found passages, or of most documents.
func (p prepared) language(places []place) string {
	votes := map[string]int{}
	for _, s := range p.Sources {
		votes[s.Language] += s.Documents
	}
	if len(places) > 0 {
		clear(votes)
		for _, at := range places {
			votes[p.source(at.SourceID).Language]++
		}
	}
	best := ""
	for _, s := range p.Sources { // in order, so that ties are resolved the same way
		if s.Language != "" && (best == "" || votes[s.Language] > votes[best]) {
			best = s.Language
		}
	}
	return best
}

// standsAlone reports whether a question has a subject of its own: no pronoun that refers back, and a word that is rare
// or unknown. A short question is not always a follow-up ("What is the memex?"), and words of another question would
// mislead the search.
func (t *turn) standsAlone(ctx context.Context, p prepared) bool {
	pointing, listing := false, false
	var own []string
	t.extractors.use(p.language(nil), func(x *quote.Extractor) {
		// A question with this many words is completed only if it has a pronoun that refers back.
		pointing = len(x.Ask(t.text+" lorem ipsum dolor", quote.Talk{Question: "amet"}, nil).Added) > 0
		listing = x.Ask(t.text, quote.Talk{}, nil).Form() == quote.List
		// Without passages, every word of the question is unmatched.
		own = x.Answer(x.Ask(t.text, quote.Talk{}, nil), nil, nil).Unmatched
	})
	if listing && !pointing {
		return true // "Which papers are from the 1970s?" needs no subject
	}
	if pointing || len(own) == 0 {
		return false
	}
	s, err := t.termStatistics(ctx, p, strings.Join(own, " "), nil)
	if err != nil {
		t.Log.WarnContext(ctx, "count the words of a question", "turn", t.run.Task().ID, "error", err)
		return false
	}
	for _, holders := range s.Holders {
		if holders == 0 || holders*10 <= s.Passages && (holders <= 5 || holders*100 <= s.Passages) {
			return true
		}
	}
	return false
}

// termStatistics counts the passages that hold each word of a text, over all sources of the agent.
func (t *turn) termStatistics(ctx context.Context, p prepared, text string, places []place) (search.Statistics, error) {
	var terms []string
	ids := p.sourceIDs()
	parsed := query.Parse(analysis.New(p.language(places)), text)
	for _, term := range parsed.Terms {
		terms = append(terms, term.Text)
	}
	if len(ids) == 0 || len(terms) == 0 || parsed.Stops {
		return search.Statistics{}, nil
	}
	return t.Search.Statistics(ctx, ids, terms)
}

// source returns a source by its id.
func (p prepared) source(id string) knownSource {
	for _, s := range p.Sources {
		if s.ID == id {
			return s
		}
	}
	return knownSource{ID: id}
}

// clip truncates a text to n code points.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	count := 0
	for i := range text {
		if count == n {
			return strings.TrimSpace(text[:i]) + "…"
		}
		count++
	}
	return text
}
