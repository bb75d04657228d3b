package research

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"carrel/internal/research/quote"
	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/search/query"
	"carrel/internal/task"
	"carrel/internal/thread"
)

const (
	// recentMessages is how many earlier messages of the conversation are considered.
	recentMessages = 8
	// shownAnswer is how many code points of an earlier answer a model is shown.
	shownAnswer = 600
)

// prepared is the input of a turn.
type prepared struct {
	Instructions string `json:"instructions,omitempty"`
	// Model is the model to use: the agent's choice or the installation's default; empty without a model.
	Model   string        `json:"model,omitempty"`
	Limits  Limits        `json:"limits"`
	Sources []knownSource `json:"sources"`
	Talk    []exchange    `json:"talk,omitempty"`
	// Alone is set if the question can be searched without the conversation.
	Alone    bool                `json:"alone,omitempty"`
	Memories []thread.UsedMemory `json:"memories,omitempty"`
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
		out := prepared{Instructions: a.Instructions, Limits: t.limits, Nonce: rand.Text()[:16]}
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
		messages, err := t.Conversation.Messages(ctx, t.q.ThreadID, 0, recentMessages+1)
		if err != nil {
			return prepared{}, err
		}
		out.Talk = t.exchanges(messages)
		out.Alone = len(out.Talk) > 0 && t.standsAlone(ctx, out)
		if out.Model != "" {
			// Without a model, quotes are chosen by the words of the question, and memories are not used.
			out.Memories = t.recall(ctx)
		}
		return out, nil
	})
	if err != nil {
		return err
	}
	t.limits = t.ready.Limits
	t.extractors.use(t.ready.language(nil), func(x *quote.Extractor) { t.query = x.Ask(t.text, t.ready.before(), nil) })
	return nil
}

// exchanges pairs the messages before the question, which are sorted newest first, and returns them in chronological
// order.
func (t *turn) exchanges(messages []thread.Message) []exchange {
	var out []exchange
	var answer *thread.Message
	for i := range messages {
		m := &messages[i]
		switch {
		case m.ID == t.q.MessageID || m.TurnID == t.run.Task().ID:
		case m.Role == thread.RoleAssistant:
			answer = m
		default:
			e := exchange{Question: m.Text}
			if answer != nil && answer.TurnID == m.TurnID {
				e.Answer = clip(answer.Text, shownAnswer)
				e.Searched = answer.Answer.Query
				for _, c := range answer.Answer.Citations {
					if one := (cited{c.DocumentID, c.SourceID}); !slices.Contains(e.Cited, one) {
						e.Titles, e.Cited = append(e.Titles, c.Title), append(e.Cited, one)
					}
				}
			}
			answer = nil
			out = append([]exchange{e}, out...)
		}
	}
	return out
}

// recall returns the memories relevant to the question. If they cannot be read, the turn continues without them.
func (t *turn) recall(ctx context.Context) []thread.UsedMemory {
	memories, err := t.Memories.Recall(ctx, t.q.UserID, t.q.AgentID, t.q.Text)
	if err != nil {
		t.Log.WarnContext(ctx, "recall memories", "error", err)
		return nil
	}
	var out []thread.UsedMemory
	for _, m := range memories {
		out = append(out, thread.UsedMemory{ID: m.ID, Text: m.Text})
	}
	return out
}

// before returns the last exchange, which completes a question without a subject.
func (p prepared) before() quote.Talk {
	if len(p.Talk) == 0 || p.Alone {
		return quote.Talk{}
	}
	last := p.Talk[len(p.Talk)-1]
	talk := quote.Talk{Question: cmp.Or(last.Searched, last.Question), Titles: last.Titles}
	for _, c := range last.Cited {
		talk.Documents = append(talk.Documents, c.DocumentID)
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
	pointing := false
	var own []string
	t.extractors.use(p.language(nil), func(x *quote.Extractor) {
		// A question with this many words is completed only if it has a pronoun that refers back.
		pointing = len(x.Ask(t.text+" lorem ipsum dolor", quote.Talk{Question: "amet"}, nil).Added) > 0
		// Without passages, every word of the question is unmatched.
		own = x.Answer(x.Ask(t.text, quote.Talk{}, nil), nil, nil).Unmatched
	})
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
	var ids, terms []string
	for _, s := range p.Sources {
		ids = append(ids, s.ID)
	}
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
