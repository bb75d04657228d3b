package thread

import (
	"context"

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
}

// Answer is a reply with its evidence. Its JSON form is stored with the message and in the steps of a run.
type Answer struct {
	Text string `json:"text,omitempty"`
	// Partial is set if the reply is incomplete; the text says why.
	Partial   bool       `json:"partial,omitempty"`
	Citations []Citation `json:"citations,omitempty"`
	// Checks contains an entry for each sentence with a citation.
	Checks []Check `json:"checks,omitempty"`
	// MemoriesUsed are the memories passed to the answerer.
	MemoriesUsed []UsedMemory `json:"memoriesUsed,omitempty"`
	// FollowUps are suggested next questions.
	FollowUps []string `json:"followUps,omitempty"`
	// Query is the search query, if it differs from the question.
	Query string `json:"query,omitempty"`
	// Usage is nil if no model was called.
	Usage *Usage `json:"usage,omitempty"`
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
	Quote string `json:"quote"`
	// Start and End are the position of the quote in the document's text, in code points.
	Start int `json:"start"`
	End   int `json:"end"`
	Page  int `json:"page,omitempty"`
}

// CheckState is the result of checking a sentence.
type CheckState string

// The states of a check: the cited quotes support the sentence, or they do not.
const (
	Supported   CheckState = "supported"
	Unsupported CheckState = "unsupported"
)

// Check is the check of a sentence with citations. Start and End are its position in the reply's text, in code points.
type Check struct {
	Start  int        `json:"start"`
	End    int        `json:"end"`
	State  CheckState `json:"state"`
	Reason string     `json:"reason,omitempty"`
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
	// Estimated is set if the model did not report its usage.
	Estimated bool `json:"estimated,omitempty"`
}

// Answerer writes the reply to a question. Calls with side effects or costs must be steps of the run, which are never
// repeated once they have ended. Together with an error it returns a partial answer.
type Answerer interface {
	Answer(ctx context.Context, r *task.Run, q Question) (Answer, error)
}
