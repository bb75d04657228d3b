package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"carrel/client"
)

type threadCommands struct {
	List   threadsList   `cmd:"" default:"withargs" help:"List the threads with an agent, newest first."`
	Show   threadsShow   `cmd:"" help:"Print the messages of a thread."`
	Export threadsExport `cmd:"" help:"Write a thread with its quotes and a bibliography as Markdown, Word or PDF file."`
	Cancel threadsCancel `cmd:"" help:"Cancel the running turn of a thread."`
	Delete threadsDelete `cmd:"" help:"Delete a thread."`
}

// limitFlag limits the number of entries of a list.
type limitFlag struct {
	Limit int `default:"50" help:"The number of entries; 0 lists all."`
}

type threadsList struct {
	connectFlags
	agentFlag
	limitFlag
}

// Run lists threads.
func (c threadsList) Run(ctx context.Context, env *Env) error {
	return c.withAgent(ctx, env, c.Agent, func(s *session, agent string) error {
		threads, err := collect(c.Limit, s.ListThreadsAll(ctx, agent, client.ListThreadsParams{}))
		if err != nil {
			return err
		}
		return list(s, "threads", threads, "There is no thread. Ask something: carrel ask \"…\"",
			[]string{"ID", "UPDATED", "STATUS", "TITLE"}, func(t client.Thread) []string {
				return []string{t.ID, day(t.UpdatedAt), t.Status, t.Title}
			})
	})
}

// day formats a time for people, in their time zone.
func day(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// threadArgument names a thread.
type threadArgument struct {
	connectFlags
	agentFlag
	ID string `arg:"" name:"id" help:"The id of the thread, or last."`
}

// with calls f with the agent and the thread.
func (c threadArgument) with(ctx context.Context, env *Env, f func(s *session, agent, thread string) error) error {
	return c.connectFlags.with(env, func(s *session) error {
		agent, thread, err := s.findThread(ctx, c.Agent, c.ID)
		if err != nil {
			return err
		}
		return f(s, agent, thread)
	})
}

type threadsShow struct{ threadArgument }

// Run prints the messages.
func (c threadsShow) Run(ctx context.Context, env *Env) error {
	return c.with(ctx, env, func(s *session, agent, thread string) error {
		messages, err := s.Thread(ctx, agent, thread)
		if err != nil {
			return err
		}
		if s.json {
			return s.printJSON(map[string]any{"messages": messages})
		}
		var b strings.Builder
		for i, m := range messages {
			if i > 0 {
				b.WriteString("\n")
			}
			who := "You"
			if m.Role == "assistant" {
				who = "Agent"
			}
			fmt.Fprintf(&b, "%s %s\n%s", s.screen.bold(who), s.screen.dim(day(m.CreatedAt)), s.answer(clean(m.Text)))
			if m.Error != nil {
				fmt.Fprintf(&b, "The turn failed: %s\n", clean(m.Error.Detail))
			}
			b.WriteString(s.citations(m.Citations))
		}
		_, err = io.WriteString(s.env.Out, b.String())
		return err
	})
}

type threadsExport struct {
	threadArgument
	Format string `enum:"markdown,docx,pdf" default:"markdown" help:"The format: ${enum}."`
	Output string `short:"o" placeholder:"FILE" type:"path" help:"The file to write. Default: standard output."`
}

// Run writes the thread as a file.
func (c threadsExport) Run(ctx context.Context, env *Env) error {
	return c.with(ctx, env, func(s *session, agent, thread string) error {
		body, err := s.ExportThread(ctx, agent, thread, client.ExportThreadParams{Format: c.Format})
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		return s.save(body, c.Output)
	})
}

// save copies a download to a file, or to standard output without a name.
func (s *session) save(body io.Reader, path string) error {
	if path == "" {
		_, err := io.Copy(s.env.Out, body)
		return err
	}
	size, err := writeWhole(path, false, func(w io.Writer) error {
		_, err := io.Copy(w, body)
		return err
	})
	if err != nil {
		return existingFile(err)
	}
	return s.done(map[string]any{"file": path, "bytes": size}, "Wrote %s (%d bytes).", path, size)
}

// existingFile adds the next step to the error of a file that exists.
func existingFile(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return &commandError{message: err.Error(), code: exitFailed, hint: "Choose another name with --output."}
	}
	return err
}

type threadsCancel struct{ threadArgument }

// Run cancels the turn.
func (c threadsCancel) Run(ctx context.Context, env *Env) error {
	return c.with(ctx, env, func(s *session, agent, thread string) error {
		reply, err := s.CancelTurn(ctx, agent, thread)
		if err != nil {
			return err
		}
		if !reply.Cancelled {
			return s.done(reply, "No turn is running in %s.", thread)
		}
		return s.done(reply, "Cancelled the turn in %s.", thread)
	})
}

type threadsDelete struct{ threadArgument }

// Run deletes the thread.
func (c threadsDelete) Run(ctx context.Context, env *Env) error {
	return c.with(ctx, env, func(s *session, agent, thread string) error {
		reply, err := s.DeleteThread(ctx, agent, thread)
		if err != nil {
			return err
		}
		return s.done(reply, "Deleted %s.", thread)
	})
}
