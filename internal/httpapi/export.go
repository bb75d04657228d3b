package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/httpapi/oas"
	"carrel/internal/transcript"
)

// File is the reply of an operation whose result is not JSON.
type File struct {
	ContentType string
	// Name is the file name that browsers suggest.
	Name    string
	Content []byte
}

// serveFile authorizes a request and sends the file that export returns.
func (a *API) serveFile(
	w http.ResponseWriter, r *http.Request, op core.Operation, export func(context.Context) (*File, error),
) {
	who, err := a.authorize(r, op)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	file, err := export(core.WithActor(r.Context(), who))
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	rep := newReply(w.Header())
	defer rep.free()
	rep.header.Set("Content-Type", file.ContentType)
	rep.header.Set("Content-Disposition", `attachment; filename="`+file.Name+`"`)
	rep.body.Write(file.Content)
	a.send(w, r, rep, nil)
}

// queryParameter returns a parameter of the query as the generated code does.
func queryParameter(r *http.Request, name string) oas.OptString {
	query := r.URL.Query()
	return oas.OptString{Value: query.Get(name), Set: query.Has(name)}
}

type exportThreadParams struct {
	AgentId, ThreadId string
	Format, MessageId oas.OptString
}

// serveThreadExport answers GET …/threads/{threadId}/export.
func (a *API) serveThreadExport(w http.ResponseWriter, r *http.Request) {
	a.serveFile(w, r, core.OpExportThread, func(ctx context.Context) (*File, error) {
		return a.exportThread(ctx, exportThreadParams{
			AgentId: r.PathValue("agentId"), ThreadId: r.PathValue("threadId"), Format: queryParameter(r, "format"),
			MessageId: queryParameter(r, "messageId"),
		})
	})
}

func (a *API) exportThread(ctx context.Context, p exportThreadParams) (*File, error) {
	format, err := transcript.ParseFormat(p.Format.Value)
	if err != nil {
		return nil, err
	}
	read := a.Transcripts.Thread
	if p.MessageId.Set {
		if !core.IsID(core.PrefixMessage, p.MessageId.Value) {
			return nil, core.InvalidField("messageId", "Must be the id of a reply.")
		}
		read = func(ctx context.Context, who core.Actor, agentID, threadID string) (transcript.Transcript, error) {
			return a.Transcripts.Answer(ctx, who, agentID, threadID, p.MessageId.Value)
		}
	}
	t, err := read(ctx, actor(ctx), p.AgentId, p.ThreadId)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	if err := t.Write(&content, format); err != nil {
		return nil, err
	}
	return &File{ContentType: format.ContentType(), Name: "thread." + format.Extension(), Content: content.Bytes()}, nil
}

type exportFavouritesParams struct {
	AgentId                    string
	Format, Q, Tag, Collection oas.OptString
}

// serveFavouritesExport answers GET …/favourites/export.
func (a *API) serveFavouritesExport(w http.ResponseWriter, r *http.Request) {
	a.serveFile(w, r, core.OpExportFavourites, func(ctx context.Context) (*File, error) {
		return a.exportFavourites(ctx, exportFavouritesParams{
			AgentId: r.PathValue("agentId"), Format: queryParameter(r, "format"), Q: queryParameter(r, "q"),
			Tag: queryParameter(r, "tag"), Collection: queryParameter(r, "collection"),
		})
	})
}

func (a *API) exportFavourites(ctx context.Context, p exportFavouritesParams) (*File, error) {
	return favouritesFile(p.Format, func(format favourite.Format, w io.Writer) error {
		filter := favourite.Filter{Query: p.Q.Value, Tag: p.Tag.Value, Collection: p.Collection.Value}
		return a.Favourites.Export(ctx, actor(ctx), p.AgentId, filter, format, w)
	})
}

type exportAllFavouritesParams struct{ Format, Q, Tag, Collection oas.OptString }

// serveAllFavouritesExport answers GET /api/favourites/export.
func (a *API) serveAllFavouritesExport(w http.ResponseWriter, r *http.Request) {
	a.serveFile(w, r, core.OpExportAllFavourites, func(ctx context.Context) (*File, error) {
		return a.exportAllFavourites(ctx, exportAllFavouritesParams{
			Format: queryParameter(r, "format"), Q: queryParameter(r, "q"), Tag: queryParameter(r, "tag"),
			Collection: queryParameter(r, "collection"),
		})
	})
}

func (a *API) exportAllFavourites(ctx context.Context, p exportAllFavouritesParams) (*File, error) {
	return favouritesFile(p.Format, func(format favourite.Format, w io.Writer) error {
		filter := favourite.Filter{Query: p.Q.Value, Tag: p.Tag.Value, Collection: p.Collection.Value}
		return a.Favourites.ExportAll(ctx, actor(ctx), filter, format, w)
	})
}

func favouritesFile(name oas.OptString, export func(favourite.Format, io.Writer) error) (*File, error) {
	if !name.Set {
		return nil, core.InvalidField("format", "Is required: bibtex, ris, csl-json, csv or markdown.")
	}
	format, err := favourite.ParseFormat(name.Value)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	if err := export(format, &content); err != nil {
		return nil, err
	}
	return &File{ContentType: format.ContentType(), Name: format.Filename(), Content: content.Bytes()}, nil
}
