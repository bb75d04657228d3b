package federated

import (
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"carrel/internal/core"
	"carrel/internal/source"
)

// LookupDOI returns the record of a DOI and the name of the catalogue: Crossref, or OpenAlex if Crossref does not know
// the DOI. Without a record it is not_found.
func (c *Searcher) LookupDOI(ctx context.Context, doi string) (source.Document, string, error) {
	doi = normalizeDOI(doi)
	if doi == "" {
		return source.Document{}, "", core.NotFound("work")
	}
	d, err := c.crossrefWork(ctx, doi)
	if !core.IsKind(err, core.KindNotFound) {
		return d, "crossref", err
	}
	d, err = c.openAlexWork(ctx, doi)
	return d, "openalex", err
}

func (c *Searcher) crossrefWork(ctx context.Context, doi string) (source.Document, error) {
	caller := c.caller("crossref", kinds["crossref"], Settings{})
	v := url.Values{}
	if c.options.Contact != "" {
		v.Set("mailto", c.options.Contact)
	}
	var reply struct {
		Message crossrefWork `json:"message"`
	}
	err := caller.getJSON(ctx, request{path: "/works/" + url.PathEscape(doi), query: v}, &reply)
	return checkedWork(reply.Message.document(), doi, err)
}

func (c *Searcher) openAlexWork(ctx context.Context, doi string) (source.Document, error) {
	caller := c.caller("openalex", kinds["openalex"], Settings{})
	v := url.Values{}
	if c.options.Contact != "" {
		v.Set("mailto", c.options.Contact)
	}
	var reply openAlexWork
	err := caller.getJSON(ctx, request{path: "/works/doi:" + escapeDOI(doi), query: v}, &reply)
	return checkedWork(reply.document(), doi, err)
}

// escapeDOI escapes a DOI for OpenAlex, which expects its slashes.
func escapeDOI(doi string) string {
	parts := strings.Split(doi, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// LookupArXiv returns the record of an arXiv identifier and the name of the catalogue. Without a record it is
// not_found.
func (c *Searcher) LookupArXiv(ctx context.Context, id string) (source.Document, string, error) {
	caller := c.caller("arxiv", kinds["arxiv"], Settings{})
	var feed struct {
		XMLName xml.Name     `xml:"http://www.w3.org/2005/Atom feed"`
		Entries []arXivEntry `xml:"http://www.w3.org/2005/Atom entry"`
	}
	v := url.Values{"id_list": {id}, "max_results": {"1"}}
	if err := caller.getXML(ctx, request{path: "/api/query", query: v}, &feed); err != nil {
		return source.Document{}, "arxiv", notFoundStatus(err)
	}
	for _, e := range feed.Entries {
		if d := sanitize(e.document()); strings.EqualFold(d.ExternalID, id) && d.Title != "" {
			return d, "arxiv", nil
		}
	}
	return source.Document{}, "arxiv", core.NotFound("work")
}

// checkedWork returns a record if it has a title and is the record of this DOI.
func checkedWork(d source.Document, doi string, err error) (source.Document, error) {
	if err != nil {
		return source.Document{}, notFoundStatus(err)
	}
	if d = sanitize(d); d.Title == "" || d.DOI != doi {
		return source.Document{}, core.NotFound("work")
	}
	return d, nil
}

// notFoundStatus turns the statuses of an unknown or malformed identifier into not_found.
func notFoundStatus(err error) error {
	var s statusError
	if errors.As(err, &s) && (s.status == http.StatusNotFound || s.status == http.StatusBadRequest) {
		return core.NotFound("work")
	}
	return err
}
