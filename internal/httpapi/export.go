package httpapi

import (
	"context"
	"net/http"

	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/thread"
)

// export answers a request for a file, or says why there is none.
func (a *API) export(w http.ResponseWriter, r *http.Request, op core.Operation, write func(context.Context, *reply, core.Actor) error) {
	who, err := a.authorize(r, op)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	rep := newReply(w.Header())
	defer rep.free()
	if err := write(r.Context(), rep, who); err != nil {
		a.problems.Write(w, r, err)
		return
	}
	a.send(w, r, rep)
}

// exportThread answers GET …/threads/{threadId}/export. It is a plain handler because the reply is no JSON.
func (a *API) exportThread(w http.ResponseWriter, r *http.Request) {
	a.export(w, r, core.OpExportThread, func(ctx context.Context, rep *reply, who core.Actor) error {
		return a.writeThread(ctx, rep, r, who, r.PathValue("agentId"), r.PathValue("threadId"))
	})
}

func (a *API) writeThread(ctx context.Context, rep *reply, r *http.Request, who core.Actor, agentID, threadID string) error {
	if r.URL.Query().Get("format") != "markdown" {
		return core.InvalidField("format", "Is required, and must be markdown.")
	}
	rep.header.Set("Content-Type", favourite.FormatMarkdown.ContentType())
	rep.header.Set("Content-Disposition", `attachment; filename="thread.md"`)
	entry := func(ctx context.Context, c thread.Citation) (string, error) { return a.entry(ctx, who, agentID, c) }
	return a.Threads.Export(ctx, who, agentID, threadID, entry, rep)
}

// entry writes what a bibliography says of a cited document: by its record or, where it is gone, by what the citation
// kept of it.
func (a *API) entry(ctx context.Context, who core.Actor, agentID string, c thread.Citation) (string, error) {
	d, err := a.Sources.Document(ctx, who, agentID, c.DocumentID)
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		return "", err
	}
	card, err := c.Card(d)
	if err != nil {
		return "", err
	}
	return favourite.MarkdownEntry(favourite.Card{ID: c.CardID, JSON: card}), nil
}
