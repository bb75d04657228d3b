package thread

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

// Question is the input of an Answerer.
type Question struct {
	UserID   string
	AgentID  string
	ThreadID string
	// MessageID is the id of the user's message.
	MessageID string
	Text      string
	// Research requests a long turn, which may search further and cost more.
	Research bool
	// Scope limits the sources and documents that the turn searches.
	Scope Scope
	// Sender limits the actions that the turn may carry out for the user.
	Sender Sender
}

// Sender is the credential that sent a message, with the operations that it was allowed when it did.
type Sender struct {
	Credential   core.CredentialKind `json:"credential,omitempty"`
	CredentialID string              `json:"credentialId,omitempty"`
	Operations   []core.Operation    `json:"operations,omitempty"`
}

// May reports whether the sender may have an operation carried out.
func (s Sender) May(op core.Operation) bool { return slices.Contains(s.Operations, op) }

// Answer is a reply with its evidence. Its JSON form is stored with the message and in the steps of a run.
type Answer struct {
	Text string `json:"text,omitempty"`
	// Partial is set if the reply is incomplete; the text says why.
	Partial   bool       `json:"partial,omitempty"`
	Citations []Citation `json:"citations,omitempty"`
	// Checks contains an entry for each sentence.
	Checks []Check `json:"checks,omitempty"`
	// Actions are the changes that the user asked for in words, and what became of them.
	Actions []Action `json:"actions,omitempty"`
	// MemoriesUsed are the memories passed to the answerer.
	MemoriesUsed []UsedMemory `json:"memoriesUsed,omitempty"`
	// FollowUps are suggested next questions.
	FollowUps []string `json:"followUps,omitempty"`
	// Query is the search query, if it differs from the question.
	Query string `json:"query,omitempty"`
	// Usage is nil if no model was called.
	Usage *Usage `json:"usage,omitempty"`
	// Steps are the steps of the turn in their order.
	Steps []Step `json:"steps,omitempty"`
	// Summary is the summary of the older conversation that the turn wrote, for the turns after it. It is not part of
	// the reply.
	Summary *Summary `json:"summary,omitempty"`
}

// Step is a step of a turn that has ended.
type Step struct {
	N         int            `json:"n"`
	Kind      string         `json:"kind"`
	Label     string         `json:"label"`
	State     task.StepState `json:"state"`
	StartedAt time.Time      `json:"startedAt"`
	EndedAt   *time.Time     `json:"endedAt,omitempty"`
}

// stepsOf returns the records of steps for an answer.
func stepsOf(records []task.StepRecord) []Step {
	var out []Step
	for _, r := range records {
		out = append(out, Step{
			N: r.N, Kind: r.Kind, Label: r.Label, State: r.State, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
		})
	}
	return out
}

// Summary replaces the messages of a thread up to and including the one with the id Through. The first question and the
// titles of the cited documents are kept verbatim.
type Summary struct {
	Through string   `json:"through"`
	Text    string   `json:"text"`
	First   string   `json:"first,omitempty"`
	Titles  []string `json:"titles,omitempty"`
}

// Citation is a verbatim quote behind a mark [n] of the text. The bibliographic fields come from the document's record.
type Citation struct {
	N          int      `json:"n"`
	CardID     string   `json:"cardId"`
	DocumentID string   `json:"documentId"`
	SourceID   string   `json:"sourceId"`
	Title      string   `json:"title"`
	Authors    []string `json:"authors,omitempty"`
	// Year is 0 if unknown. Page is 0 if the document has no pages.
	Year  int    `json:"year,omitempty"`
	URL   string `json:"url,omitempty"`
	DOI   string `json:"doi,omitempty"`
	Type  string `json:"type,omitempty"`
	Quote string `json:"quote"`
	// Start and End are the position of the quote in the document's text, in code points.
	Start int `json:"start"`
	End   int `json:"end"`
	Page  int `json:"page,omitempty"`
}

// CheckState is the result of checking a sentence of a reply.
type CheckState string

// The states of a sentence.
const (
	// Quoted sentences are verbatim from the cited document.
	Quoted CheckState = "quoted"
	// Supported sentences were judged to follow from the quotes they cite.
	Supported CheckState = "supported"
	// Cited sentences have a citation that exists and passed the rules, but nothing judged that they follow from it.
	Cited CheckState = "cited"
	// Contradicted sentences say something else than the quotes they cite.
	Contradicted CheckState = "contradicted"
	// Unsupported sentences cite quotes that do not say what they say.
	Unsupported CheckState = "unsupported"
	// Uncited sentences state a fact without a citation.
	Uncited CheckState = "uncited"
	// Talk sentences make no claim: greetings, questions, instructions.
	Talk CheckState = "talk"
	// FromMemory sentences repeat a memory about the user.
	FromMemory CheckState = "memory"
)

// Judge is the author of a verdict.
type Judge string

// The judges. An empty Judge means that the state follows from the form of the sentence alone.
const (
	ByRules Judge = "rules"
	ByModel Judge = "model"
)

// Check is the check of a sentence. Start and End are its position in the reply's text, in code points.
type Check struct {
	Start int        `json:"start"`
	End   int        `json:"end"`
	State CheckState `json:"state"`
	By    Judge      `json:"by,omitempty"`
	// Reason is a stable code and Detail its explanation for the user. Messages of earlier versions have a Detail only.
	Reason string `json:"code,omitempty"`
	Detail string `json:"reason,omitempty"`
	// Citations are the numbers of the citations that the sentence was compared with.
	Citations []int `json:"citations,omitempty"`
}

// Backed reports whether the sentence has a citation that no check refuted.
func (c Check) Backed() bool { return c.State == Quoted || c.State == Supported || c.State == Cited }

// Refuted reports whether the citations do not say what the sentence says.
func (c Check) Refuted() bool { return c.State == Contradicted || c.State == Unsupported }

// Verdicts counts the sentences of the reply by their state.
func (a Answer) Verdicts() map[string]int {
	out := make(map[string]int)
	for _, c := range a.Checks {
		out[string(c.State)]++
	}
	return out
}

// ActionKind is a change that a user can ask for in words.
type ActionKind string

// The kinds of actions.
const (
	ActionRemember ActionKind = "remember"
	ActionForget   ActionKind = "forget"
	ActionSave     ActionKind = "save_favourite"
	ActionUnsave   ActionKind = "remove_favourite"
)

// ActionState is the outcome of an action.
type ActionState string

// The outcomes. A proposed memory waits for the user's confirmation. A choice is one of several objects that the words
// of the user fit; the reply asks which one is meant. Unchanged means that there was nothing to do, refused that the
// sender may not do this, and failed that it did not work.
const (
	ActionDone      ActionState = "done"
	ActionProposed  ActionState = "proposed"
	ActionChoice    ActionState = "choice"
	ActionUnchanged ActionState = "unchanged"
	ActionNotFound  ActionState = "not_found"
	ActionRefused   ActionState = "refused"
	ActionFailed    ActionState = "failed"
)

// Action is a change that the user asked for in a message.
type Action struct {
	Kind  ActionKind  `json:"kind"`
	State ActionState `json:"state"`
	// ID is the id of the memory or the card. Text is the text of the memory, and Title the title of the document.
	ID    string `json:"id,omitempty"`
	Text  string `json:"text,omitempty"`
	Title string `json:"title,omitempty"`
	// Undo is the operation of the API that undoes the action; empty if there is nothing to undo. Card is the card that
	// the undo of a removed favourite saves.
	Undo string          `json:"undo,omitempty"`
	Card json.RawMessage `json:"card,omitempty"`
}

// UsedMemory is a copy of a memory at the time of the answer.
type UsedMemory struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Usage is the model usage of a reply. Money is in micro-dollars.
type Usage struct {
	Model        string `json:"model"`
	InputTokens  int64  `json:"inputTokens"`
	OutputTokens int64  `json:"outputTokens"`
	CostMicros   int64  `json:"costMicros"`
	// Estimated is set if the model did not report its usage, or if its price is unknown.
	Estimated bool `json:"estimated,omitempty"`
}

// Answerer writes the reply to a question. Calls with side effects or costs must be steps of the run, which are never
// repeated once they have ended. Together with an error it returns a partial answer.
type Answerer interface {
	Answer(ctx context.Context, r *task.Run, q Question) (Answer, error)
}
