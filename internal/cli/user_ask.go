package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"carrel/client"
)

type askCommand struct {
	connectFlags
	agentFlag
	Question []string `arg:"" optional:"" help:"The question. - reads it from standard input."`
	Thread   string   `placeholder:"ID" help:"Ask in this thread. last is the thread of the last question. Default: a new thread."`
	Research bool     `help:"Write a report, which takes longer."`
	Source   []string `placeholder:"SOURCE" help:"Search only this source, by id or name. Repeat it for several."`
	Document []string `placeholder:"ID" help:"Use only this document. Repeat it for several."`
	Resume   string   `placeholder:"ID" help:"Follow the latest turn of this thread instead of asking. last is the thread of the last question."`
}

// lastName stands for the thread of the last question.
const lastName = "last"

// Run sends the question and prints the answer while it is written.
func (c askCommand) Run(ctx context.Context, env *Env) error {
	if (c.Resume == "") == (len(c.Question) == 0) {
		return &commandError{
			message: "ask a question, or name a thread with --resume", code: exitUsage, hint: "Example: carrel ask \"Who …?\"",
		}
	}
	return c.with(env, func(s *session) error {
		agent, thread, err := c.begin(ctx, s)
		if err != nil {
			return err
		}
		if s.json {
			if err := s.printJSON(map[string]any{"event": "thread", "agentId": agent, "threadId": thread}); err != nil {
				return err
			}
		}
		return resumable(ctx, s.follow(ctx, agent, thread), thread)
	})
}

// resumable adds how to go on to the error of an interrupted command or connection. The turn is not affected by either.
func resumable(ctx context.Context, err error, thread string) error {
	switch {
	case ctx.Err() != nil:
		return &commandError{
			message: "interrupted; the agent goes on with the answer", code: exitInterrupted,
			hint: "Follow it: carrel ask --resume " + thread + "\nCancel it: carrel threads cancel " + thread,
		}
	case err != nil && exitCodeOf(err) == exitUnavailable, errors.Is(err, io.ErrUnexpectedEOF):
		return &commandError{
			message: "the connection to the server was lost: " + err.Error(), code: exitUnavailable,
			hint: "Follow the answer when the server is back: carrel ask --resume " + thread,
		}
	}
	return err
}

// begin sends the question, unless a turn is resumed, and returns the agent and the thread.
func (c askCommand) begin(ctx context.Context, s *session) (agent, thread string, err error) {
	if c.Resume != "" {
		return s.findThread(ctx, c.Agent, c.Resume)
	}
	question := strings.Join(c.Question, " ")
	if question == "-" {
		b, err := io.ReadAll(io.LimitReader(s.env.In, 1<<20))
		if err != nil {
			return "", "", err
		}
		question = string(b)
	}
	if c.Thread != "" {
		agent, thread, err = s.findThread(ctx, c.Agent, c.Thread)
	} else {
		agent, thread, err = s.newThread(ctx, c.Agent)
	}
	if err != nil {
		return "", "", err
	}
	// The thread is remembered before the question is sent, so that it can be resumed after a crash.
	if err := s.remember(ctx, agent, thread); err != nil {
		return "", "", err
	}
	message := client.MessageSend{Text: question, DocumentIDs: c.Document}
	for _, wanted := range c.Source {
		id, err := s.sourceID(ctx, agent, wanted)
		if err != nil {
			return "", "", err
		}
		message.SourceIDs = append(message.SourceIDs, id)
	}
	if c.Research {
		message.Research = &c.Research
	}
	_, err = s.SendMessage(client.WithPrefer(ctx, "respond-async"), agent, thread, message)
	return agent, thread, err
}

func (s *session) newThread(ctx context.Context, wanted string) (agent, thread string, err error) {
	if agent, err = s.agentID(ctx, wanted); err != nil {
		return "", "", err
	}
	reply, err := s.CreateThread(ctx, agent, client.ThreadCreate{})
	if err != nil {
		return "", "", err
	}
	return agent, reply.Thread.ID, nil
}

// remember stores the thread in the profile.
func (s *session) remember(ctx context.Context, agent, thread string) error {
	if s.name == "" {
		return nil
	}
	return s.store.updateProfile(ctx, s.name, func(p *profile) error {
		p.Last = &lastThread{Agent: agent, Thread: thread}
		return nil
	})
}

// findThread returns the agent of a thread: the named agent, or the one of the last question, or the first of the
// account that has the thread.
func (s *session) findThread(ctx context.Context, wanted, id string) (agent, thread string, err error) {
	last := s.profile.Last
	switch {
	case id == lastName && last == nil:
		return "", "", &commandError{
			message: "there is no last question", code: exitNotFound, hint: "List the threads: carrel threads",
		}
	case id == lastName || last != nil && id == last.Thread && wanted == "":
		return last.Agent, last.Thread, nil
	case wanted != "":
		agent, err = s.agentID(ctx, wanted)
		return agent, id, err
	}
	for a, err := range s.ListAgentsAll(ctx, client.ListAgentsParams{Limit: 200}) {
		if err != nil {
			return "", "", err
		}
		_, err := s.GetThread(ctx, a.ID, id)
		if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusNotFound {
			continue
		}
		return a.ID, id, err
	}
	return "", "", &commandError{
		message: "there is no thread " + id, code: exitNotFound, hint: "List the threads: carrel threads",
	}
}

// follow prints the events of the latest turn until it has ended, and then its sources.
func (s *session) follow(ctx context.Context, agent, thread string) error {
	p := &turnPrinter{session: s}
	p.reset()
	var last client.Event
	for event, err := range s.StreamTurn(ctx, agent, thread, "") {
		if err != nil {
			p.finish()
			return err
		}
		last = event
		if err := p.event(event); err != nil {
			return err
		}
	}
	p.finish()
	message, err := s.replyOf(ctx, agent, thread, last.MessageID)
	if err != nil {
		return err
	}
	if s.json {
		err = s.printJSON(map[string]any{"event": "message", "message": message})
	} else {
		err = p.message(message, thread)
	}
	if err != nil {
		return err
	}
	return turnFailure(last, thread)
}

// turnFailure returns the error of a turn that did not complete.
func turnFailure(done client.Event, thread string) error {
	failure := &commandError{code: exitFailed, hint: "Ask again: carrel ask --thread " + thread + " \"…\""}
	switch {
	case done.Status == "complete":
		return nil
	case done.Status == "failed" && done.Error != nil:
		failure.message = "the turn failed: " + clean(done.Error.Detail)
	default:
		failure.message = "the turn was " + clean(done.Status)
	}
	return failure
}

// replyOf returns the message with an id from the newest messages of a thread.
func (s *session) replyOf(ctx context.Context, agent, thread, id string) (*client.Message, error) {
	reply, err := s.ListMessages(ctx, agent, thread, client.ListMessagesParams{})
	if err != nil {
		return nil, err
	}
	for i, m := range reply.Messages {
		if m.ID == id {
			return &reply.Messages[i], nil
		}
	}
	return &client.Message{ID: id}, nil
}

// turnPrinter prints a turn: steps to standard error, and the answer to standard output.
type turnPrinter struct {
	*session
	state client.TurnState
	// wrap wraps the answer on a terminal.
	wrap    *wrapWriter
	printed bool
	steps   map[int]string
}

// reset starts the output of an answer.
func (p *turnPrinter) reset() {
	width := p.screen.width
	if !p.screen.terminal {
		width = 1 << 30 // a program gets the lines of the answer
	}
	p.wrap = &wrapWriter{out: p.env.Out, width: width}
	p.steps = map[int]string{}
}

func (p *turnPrinter) event(e client.Event) error {
	if p.json {
		return p.printJSON(e)
	}
	discarded := p.state.Apply(e)
	switch {
	case e.Kind == client.EventQueued && e.Position > 0:
		p.note(fmt.Sprintf("Waiting; %d turns are ahead.", e.Position))
	case e.Kind == client.EventStep && p.steps[e.Step.N] != e.Step.Label:
		p.steps[e.Step.N] = e.Step.Label
		p.note("· " + clean(e.Step.Label))
	case e.Kind == client.EventDelta:
		p.printed = true
		p.wrap.write(clean(e.Text))
	case discarded:
		p.finish()
		p.note("The turn was restarted on the server; the answer begins again.")
		p.reset()
		p.wrap.write(clean(p.state.Text()))
	}
	return p.wrap.err
}

// note prints a line to standard error.
func (p *turnPrinter) note(text string) {
	if s := newScreen(p.env, p.env.Err); s.terminal {
		text = s.dim(oneLine(text, s.width))
	}
	_, _ = fmt.Fprintln(p.env.Err, text)
}

// finish ends the line of the answer.
func (p *turnPrinter) finish() {
	p.wrap.flush()
	if p.wrap.column > 0 {
		p.wrap.print("\n")
		p.wrap.column = 0
	}
}

// message prints the answer if it was not streamed, its sources, and how to continue.
func (p *turnPrinter) message(m *client.Message, thread string) error {
	var b strings.Builder
	if text := strings.TrimSpace(clean(m.Text)); text != strings.TrimSpace(clean(p.state.Text())) && text != "" {
		if p.printed {
			b.WriteString("\n")
		}
		b.WriteString(p.answer(text))
	}
	b.WriteString(p.citations(m.Citations))
	if m.Partial {
		b.WriteString("\n" + p.screen.dim("The answer is incomplete.") + "\n")
	}
	if _, err := io.WriteString(p.env.Out, b.String()); err != nil {
		return err
	}
	p.note("")
	p.note("Continue: carrel ask --thread " + thread + " \"…\"")
	return nil
}

// answer wraps the text of an answer on a terminal.
func (s *session) answer(text string) string {
	if s.screen.terminal {
		return s.screen.wrap(text, "")
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// citations returns the list of sources of an answer, with the quotes.
func (s *session) citations(citations []client.Citation) string {
	if len(citations) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n" + s.screen.bold("Sources") + "\n")
	for _, c := range citations {
		page := ""
		if c.Page != 0 {
			page = fmt.Sprintf(", p. %d", c.Page)
		}
		fmt.Fprintf(&b, "[%d] %s%s%s\n", c.N, s.screen.link(c.URL, clean(c.Title)), bibliographic(c.Authors, c.Year), page)
		b.WriteString(s.screen.wrap("“"+strings.Join(strings.Fields(c.Quote), " ")+"”", "    "))
	}
	return b.String()
}
