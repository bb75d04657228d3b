package httpapi

import (
	"errors"
	"io"
	"net/http"
	"os"

	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/httpapi/oas"
)

// importFavouriteFile answers POST …/favourite-files.
func (a *API) importFavouriteFile(w http.ResponseWriter, r *http.Request) {
	who, err := a.authorize(r, core.OpImportFavouriteFile)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	imported, err := a.takeFavourites(w, r, who)
	if err != nil {
		a.problems.Write(w, r, closeConnection(w, err))
		return
	}
	rep := newReply(w.Header())
	defer rep.free()
	encoded, err := imported.MarshalJSON()
	if err != nil {
		a.problems.Write(w, r, core.Internal(err))
		return
	}
	rep.header.Set("Content-Type", "application/json; charset=utf-8")
	rep.body.Write(encoded)
	a.send(w, r, rep, nil)
}

// takeFavourites imports the file in the body of a request.
func (a *API) takeFavourites(
	w http.ResponseWriter, r *http.Request, who core.Actor,
) (*oas.FavouriteImportReply, error) {
	var format favourite.Format
	switch mediaType(r.Header.Get("Content-Type")) {
	case "application/x-bibtex":
		format = favourite.FormatBibTeX
	case "application/x-research-info-systems":
		format = favourite.FormatRIS
	default:
		return nil, &core.Error{
			Kind: core.KindUnsupported, Code: "unsupported_media_type",
			Detail: "Send a BibTeX file as application/x-bibtex, or a RIS file as application/x-research-info-systems.",
		}
	}
	file, err := spool(w, r, favourite.MaxImport)
	if err != nil {
		return nil, err
	}
	defer file.close()
	return favouriteImportReply(a.Favourites.Import(
		r.Context(), who, r.PathValue("agentId"), format, file, file.size,
	))
}

// spooledBody is the body of a request in a temporary file.
type spooledBody struct {
	*os.File
	size int64
}

// spool stores a body in a temporary file, so that clients with slow connections hold no memory.
func spool(w http.ResponseWriter, r *http.Request, limit int64) (_ *spooledBody, err error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	file, err := os.CreateTemp("", "carrel-favourites-*")
	if err != nil {
		return nil, core.AsError(err)
	}
	body := &spooledBody{File: file}
	defer func() {
		if err != nil {
			body.close()
		}
	}()
	received := &bodyReader{from: http.MaxBytesReader(w, r.Body, limit)}
	body.size, err = io.Copy(file, slowBody{received, http.NewResponseController(w)})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(limit)
	case received.failed:
		return nil, malformed("The body is incomplete.")
	case err != nil: // for example a full disk
		return nil, core.AsError(err)
	}
	if _, err = file.Seek(0, io.SeekStart); err != nil {
		return nil, core.Internal(err)
	}
	return body, nil
}

// close removes the file.
func (b *spooledBody) close() {
	_ = b.Close() // only read
	_ = os.Remove(b.Name())
}

// bodyReader records whether reading a body failed.
type bodyReader struct {
	from   io.Reader
	failed bool
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.failed = err != nil && !errors.Is(err, io.EOF)
	return n, err
}
