package thread

import (
	"context"

	"carrel/internal/task"
)

// Question is what a turn is to answer.
type Question struct {
	UserID   string
	AgentID  string
	ThreadID string
	// MessageID is that of the message that asks.
	MessageID string
	Text      string
	// Research asks for a long turn, which may look further and cost more.
	Research bool
}

// Answer is a reply and what it rests on. The JSON is how it is stored with its message, and how a step may keep it.
type Answer struct {
	Text string `json:"text,omitempty"`
	// Partial says that there would have been more; the text says why.
	Partial   bool       `json:"partial,omitempty"`
	Citations []Citation `json:"citations,omitempty"`
	// Checks has one entry for each sentence of the text that cites something.
	Checks []Check `json:"checks,omitempty"`
	// MemoriesUsed are those that the answerer was told.
	MemoriesUsed []UsedMemory `json:"memoriesUsed,omitempty"`
	// FollowUps are questions that the reader may want to ask next.
	FollowUps []string `json:"followUps,omitempty"`
	// Query is what was searched for, where that is not what the question says.
	Query string `json:"query,omitempty"`
	// Usage is nil where no model was asked.
	Usage *Usage `json:"usage,omitempty"`
}

// Citation is a part of a document that stands behind a mark [n] of the text, word for word. What names the document
// comes from its record.
type Citation struct {
	N          int      `json:"n"`
	CardID     string   `json:"cardId"`
	DocumentID string   `json:"documentId"`
	SourceID   string   `json:"sourceId"`
	Title      string   `json:"title"`
	Authors    []string `json:"authors,omitempty"`
	// Year is 0 when the document has none, and Page when it has no pages.
	Year  int    `json:"year,omitempty"`
	URL   string `json:"url,omitempty"`
	DOI   string `json:"doi,omitempty"`
	Quote string `json:"quote"`
	// Start and End are where the quote stands in the document's text, in code points.
	Start int `json:"start"`
	End   int `json:"end"`
	Page  int `json:"page,omitempty"`
}

// CheckState is what became of the check of a sentence.
type CheckState string

// The states of a check: what is cited says so, or it does not.
const (
	Supported   CheckState = "supported"
	Unsupported CheckState = "unsupported"
)

// Check tells of a sentence that cites something whether that supports it. Start and End are where the sentence stands
// in the reply's text, in code points.
type Check struct {
	Start  int        `json:"start"`
	End    int        `json:"end"`
	State  CheckState `json:"state"`
	Reason string     `json:"reason,omitempty"`
}

// UsedMemory is a memory that an answer was made with, as it was then.
type UsedMemory struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Usage is what a reply took of a model. Money is in micro-dollars.
type Usage struct {
	Model        string `json:"model"`
	InputTokens  int64  `json:"inputTokens"`
	OutputTokens int64  `json:"outputTokens"`
	CostMicros   int64  `json:"costMicros"`
	// Estimated says that the model did not tell, and these are guesses.
	Estimated bool `json:"estimated,omitempty"`
}

// Answerer writes the reply to a question. What has an effect or a price belongs into steps of the run, which are
// never repeated once they have ended. With an error it returns what there is.
type Answerer interface {
	Answer(ctx context.Context, r *task.Run, q Question) (Answer, error)
}
