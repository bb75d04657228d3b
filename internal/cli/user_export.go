package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
)

type exportCommand struct {
	connectFlags
	agentFlag
	Thread string `placeholder:"ID" help:"Export this thread instead of the account. last is the thread of the last question."`
	Format string `enum:"markdown,docx,pdf" default:"markdown" help:"The format of a thread: ${enum}."`
	Output string `short:"o" placeholder:"FILE" type:"path" help:"The file to write. Default: carrel-export.zip, or standard output for a thread."`
}

// exportInterval is the time between two requests for the progress of an export.
const exportInterval = 500 * time.Millisecond

// Run exports a thread, or everything that the account contains.
func (c exportCommand) Run(ctx context.Context, env *Env) error {
	if c.Thread != "" {
		return threadsExport{threadArgument{c.connectFlags, c.agentFlag, c.Thread}, c.Format, c.Output}.Run(ctx, env)
	}
	return c.with(env, func(s *session) error {
		if err := s.awaitExport(ctx); err != nil {
			return err
		}
		body, err := s.DownloadExport(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		return s.save(body, cmp.Or(c.Output, "carrel-export.zip"))
	})
}

// awaitExport starts an export and waits until it is complete.
func (s *session) awaitExport(ctx context.Context) error {
	reply, err := s.CreateExport(ctx)
	if err != nil {
		return err
	}
	bar := progressBar(s.env, 0, "Exporting")
	defer bar.finish()
	made := &reply.Export
	for made.Status == "working" {
		bar.of(uint64(max(0, made.Done)), uint64(max(0, made.Total)))
		if err := wait(ctx, exportInterval); err != nil {
			return err
		}
		latest, err := s.GetExport(ctx)
		if err != nil {
			return err
		}
		if made = latest.Export; made == nil {
			return &commandError{message: "the export was deleted", code: exitFailed}
		}
	}
	if made.Error != nil {
		return &commandError{message: "the export failed: " + clean(made.Error.Detail), code: exitFailed}
	}
	return nil
}

type openCommand struct {
	connectFlags
	agentFlag
	Target    string `arg:"" optional:"" help:"The id of an agent, a thread or a document, last for the thread of the last question, or settings. Default: a new chat."`
	NoBrowser bool   `name:"no-browser" help:"Print the address without opening a browser."`
}

// Prefixes of ids.
const (
	threadPrefix   = "thr_"
	documentPrefix = "doc_"
)

// Run opens the page of the web app.
func (c openCommand) Run(ctx context.Context, env *Env) error {
	return c.with(env, func(s *session) error {
		path, err := c.page(ctx, s)
		if err != nil {
			return err
		}
		address := s.Base() + path
		if c.NoBrowser || s.json {
			return s.done(map[string]any{"url": address}, "%s", address)
		}
		if err := openBrowser(ctx, env, address); err != nil {
			return &commandError{message: "no browser can be started", code: exitFailed, hint: "Open " + address}
		}
		_, err = fmt.Fprintln(env.Out, address)
		return err
	})
}

// page returns the path of the target in the web app.
func (c openCommand) page(ctx context.Context, s *session) (string, error) {
	switch {
	case c.Target == "settings":
		return "/settings", nil
	case c.Target == lastName || strings.HasPrefix(c.Target, threadPrefix):
		agent, thread, err := s.findThread(ctx, c.Agent, c.Target)
		return "/chat/" + url.PathEscape(thread) + "?agent=" + url.QueryEscape(agent), err
	case strings.HasPrefix(c.Target, documentPrefix):
		agent, err := s.agentID(ctx, c.Agent)
		if err != nil {
			return "", err
		}
		reply, err := s.GetDocument(ctx, agent, c.Target)
		if err != nil {
			return "", err
		}
		return "/sources/" + url.PathEscape(reply.Document.SourceID) + "?" +
			url.Values{"agent": {agent}, "doc": {c.Target}}.Encode(), nil
	}
	agent, err := s.agentID(ctx, cmp.Or(c.Target, c.Agent))
	return "/chat?agent=" + url.QueryEscape(agent), err
}
