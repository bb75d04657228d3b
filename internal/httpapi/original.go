package httpapi

import (
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
	"carrel/internal/source"
)

// originalCSP denies everything to an original that a browser shows: it comes from a user and must not act as a page of
// this origin. The PDF viewers of browsers do not need the origin.
const originalCSP = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"

// originalTypes are the media types of files that are safe to show in a browser. All others are downloaded. HTML is
// shown as text.
var originalTypes = map[string]string{
	".pdf": "application/pdf", ".txt": textType, ".text": textType, ".md": textType, ".markdown": textType,
	".html": textType, ".htm": textType, ".xhtml": textType, ".tex": textType, ".eml": textType,
}

const (
	textType   = "text/plain; charset=utf-8"
	binaryType = "application/octet-stream"
)

// originalType returns the media type of an original by its name, and whether browsers may show it.
func originalType(name string) (mediaType string, inline bool) {
	mediaType, inline = originalTypes[strings.ToLower(path.Ext(name))]
	if !inline {
		return binaryType, false
	}
	return mediaType, true
}

// originalOf describes the original of a document, if it has one.
func originalOf(d source.Document) oas.OptOriginal {
	if d.Original.Hash == "" {
		return oas.OptOriginal{}
	}
	kind, inline := originalType(d.Original.Name)
	return oas.NewOptOriginal(oas.Original{
		Name: d.Original.Name, Size: d.Original.Size, Type: mediaType(kind), Inline: inline,
	})
}

// downloadOriginal answers GET …/documents/{documentId}/original.
func (a *API) downloadOriginal(w http.ResponseWriter, r *http.Request) {
	who, err := a.authorize(r, core.OpDownloadOriginal)
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	d, content, err := a.Sources.Original(r.Context(), who, r.PathValue("agentId"), r.PathValue("documentId"))
	if err != nil {
		a.problems.Write(w, r, err)
		return
	}
	defer func() { _ = content.Close() }() // opened for reading only
	h := w.Header()
	kind, inline := originalType(d.Original.Name)
	disposition := "attachment"
	if inline {
		disposition = "inline"
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": d.Original.Name}))
	h.Set("Content-Security-Policy", originalCSP)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache")
	h.Add("Vary", "Authorization, Cookie")
	h.Set("ETag", `"`+d.Original.Hash[:32]+`"`)
	if !isSingleRange(r.Header.Get("Range"), d.Original.Size) {
		r.Header.Del("Range") // a server may ignore Range (RFC 9110, 14.2)
	}
	http.ServeContent(w, r, "", time.Time{}, content)
}
