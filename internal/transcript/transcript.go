// Package transcript writes threads for readers outside of the web app: as Markdown, Word and PDF files, and as the
// blocks of a page. A transcript contains the messages with their quotes and verdicts, and a bibliography.
package transcript

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// Transcript is the content of a thread for a reader.
type Transcript struct {
	Title    string
	Messages []Message
	// Works are the bibliography entries of the cited documents, each one line of Markdown, in the order of their first
	// citation.
	Works []string
}

// Message is one message of a transcript.
type Message struct {
	// Question is set for messages of the user.
	Question bool
	At       time.Time
	// Notes are remarks about the message that its text does not contain.
	Notes  []string
	Quotes []Quote
	// Verdicts counts the sentences by their verdict; empty if none was judged.
	Verdicts string
	Problems []ProblemList
	text     string
	checks   []thread.Check
}

// Quote is a passage that a message cites.
type Quote struct {
	// N is the number of the mark in the text, and Work the number of the document in the bibliography.
	N, Work int
	// Page is 0 if the document has no pages.
	Page int
	Text string
}

// line returns the quote after its mark.
func (q Quote) line() string { return "[" + strconv.Itoa(q.N) + "] “" + q.Text + "”" }

// place returns the position of the quote: "work 2, p. 7".
func (q Quote) place() string {
	if q.Page > 0 {
		return fmt.Sprintf("work %d, p. %d", q.Work, q.Page)
	}
	return fmt.Sprintf("work %d", q.Work)
}

func (m Message) heading() string {
	who := "Agent"
	if m.Question {
		who = "You"
	}
	return who + ", " + m.At.UTC().Format("2006-01-02 15:04 UTC")
}

// Threads reads the messages of threads. The thread service implements it.
type Threads interface {
	Get(ctx context.Context, actor core.Actor, agentID, threadID string) (thread.Thread, error)
	// ExportedMessages returns the messages of a thread's current branch in chronological order, AllMessages those of
	// all branches.
	ExportedMessages(ctx context.Context, actor core.Actor, agentID, threadID string) ([]thread.Message, error)
	AllMessages(ctx context.Context, actor core.Actor, agentID, threadID string) ([]thread.Message, error)
}

// Documents reads the records of documents. The source service implements it.
type Documents interface {
	Document(ctx context.Context, actor core.Actor, agentID, documentID string) (source.Document, error)
}

// Reader reads threads as transcripts.
type Reader struct {
	threads   Threads
	documents Documents
}

// Deps are the dependencies of a Reader. All are required.
type Deps struct {
	Threads   Threads
	Documents Documents
}

// NewReader returns a Reader. It panics if a dependency is missing.
func NewReader(d Deps) *Reader {
	core.RequireDeps(d)
	return &Reader{threads: d.Threads, documents: d.Documents}
}

// Thread reads the current branch of a thread.
func (r *Reader) Thread(ctx context.Context, actor core.Actor, agentID, threadID string) (Transcript, error) {
	t, err := r.threads.Get(ctx, actor, agentID, threadID)
	if err != nil {
		return Transcript{}, err
	}
	messages, err := r.threads.ExportedMessages(ctx, actor, agentID, threadID)
	if err != nil {
		return Transcript{}, err
	}
	return r.transcript(ctx, actor, t, messages)
}

// Messages reads the messages of a thread with the given ids, on whichever branch they are. Unknown ids are ignored.
func (r *Reader) Messages(
	ctx context.Context, actor core.Actor, agentID, threadID string, ids []string,
) (Transcript, error) {
	t, err := r.threads.Get(ctx, actor, agentID, threadID)
	if err != nil {
		return Transcript{}, err
	}
	messages, err := r.threads.AllMessages(ctx, actor, agentID, threadID)
	if err != nil {
		return Transcript{}, err
	}
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	return r.transcript(ctx, actor, t,
		slices.DeleteFunc(messages, func(m thread.Message) bool { return !wanted[m.ID] }))
}

// Answer reads a reply with its question.
func (r *Reader) Answer(
	ctx context.Context, actor core.Actor, agentID, threadID, messageID string,
) (Transcript, error) {
	t, err := r.threads.Get(ctx, actor, agentID, threadID)
	if err != nil {
		return Transcript{}, err
	}
	messages, err := r.threads.AllMessages(ctx, actor, agentID, threadID)
	if err != nil {
		return Transcript{}, err
	}
	i := slices.IndexFunc(messages, func(m thread.Message) bool {
		return m.ID == messageID && m.Role == thread.RoleAssistant
	})
	if i < 0 {
		return Transcript{}, core.NotFound("message")
	}
	turn := messages[i].TurnID
	return r.transcript(ctx, actor, t,
		slices.DeleteFunc(messages, func(m thread.Message) bool { return m.TurnID != turn }))
}

func (r *Reader) transcript(
	ctx context.Context, actor core.Actor, t thread.Thread, messages []thread.Message,
) (Transcript, error) {
	out := Transcript{Title: cmp.Or(core.OneLine(t.Title), "Untitled")}
	number := map[string]int{} // of a document in the bibliography, from 1
	for _, m := range messages {
		for _, c := range m.Answer.Citations {
			if number[c.DocumentID] != 0 {
				continue
			}
			entry, err := r.entry(ctx, actor, t.AgentID, c)
			if err != nil {
				return Transcript{}, err
			}
			out.Works = append(out.Works, entry)
			number[c.DocumentID] = len(out.Works)
		}
		out.Messages = append(out.Messages, newMessage(m, number))
	}
	return out, nil
}

// entry formats a cited document, from its record or, if the document was deleted, from the citation.
func (r *Reader) entry(ctx context.Context, actor core.Actor, agentID string, c thread.Citation) (string, error) {
	d, err := r.documents.Document(ctx, actor, agentID, c.DocumentID)
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		return "", err
	}
	card, err := c.Card(d)
	if err != nil {
		return "", err
	}
	return favourite.MarkdownEntry(favourite.Card{ID: c.CardID, JSON: card}), nil
}

func newMessage(m thread.Message, works map[string]int) Message {
	out := Message{
		Question: m.Role == thread.RoleUser, At: m.CreatedAt, Notes: notesOn(m), Verdicts: verdictLine(m.Answer.Checks),
		Problems: problemsOf(m), text: m.Text, checks: m.Answer.Checks,
	}
	for _, c := range m.Answer.Citations {
		out.Quotes = append(out.Quotes, Quote{
			N: c.N, Work: works[c.DocumentID], Page: c.Page, Text: core.OneLine(c.Quote),
		})
	}
	return out
}

// notesOn returns remarks about a message that its text does not contain.
func notesOn(m thread.Message) []string {
	var notes []string
	if m.Answer.Query != "" {
		notes = append(notes, "Searched for: "+m.Answer.Query)
	}
	if m.Answer.Partial {
		notes = append(notes, "This reply is partial.")
	}
	switch {
	case m.Status == string(task.StateComplete):
	case m.Error != nil:
		notes = append(notes, m.Error.Detail)
	default:
		notes = append(notes, "This reply is "+m.Status+".")
	}
	return notes
}

// Format is a file format of transcripts.
type Format string

// The formats.
const (
	Markdown Format = "markdown"
	DOCX     Format = "docx"
	PDF      Format = "pdf"
)

// formatInfo describes a format.
type formatInfo struct {
	contentType, extension string
	write                  func(w io.Writer, t Transcript) error
}

// info returns the description of a format. It is a function, so that the table can't be modified.
func (f Format) info() (info formatInfo, ok bool) {
	switch f {
	case Markdown:
		return formatInfo{"text/markdown; charset=utf-8", "md", writeMarkdown}, true
	case DOCX:
		return formatInfo{wordType + ".document", "docx", writeDOCX}, true
	case PDF:
		return formatInfo{"application/pdf", "pdf", writePDF}, true
	}
	return formatInfo{}, false
}

// ParseFormat parses the format of a request.
func ParseFormat(s string) (Format, error) {
	f := Format(s)
	if _, ok := f.info(); !ok {
		return "", core.InvalidField("format", "Is required, and must be markdown, docx or pdf.")
	}
	return f, nil
}

// ContentType returns the media type of the format.
func (f Format) ContentType() string {
	info, _ := f.info()
	return info.contentType
}

// Extension returns the ending of file names, without a dot.
func (f Format) Extension() string {
	info, _ := f.info()
	return info.extension
}

// Write writes the transcript as a file.
func (t Transcript) Write(w io.Writer, f Format) error {
	info, ok := f.info()
	if !ok {
		return fmt.Errorf("transcript: unknown format %q", string(f))
	}
	return info.write(w, t)
}
