// Package completion fills the metadata of imported documents with the records of public catalogues: the record of a
// DOI at Crossref or OpenAlex, and of an arXiv identifier at arXiv.
//
// A document may print the DOI of another work, so a record is used only if its title stands at the beginning of the
// text or is the title of the document. A catalogue that fails does not delay an import for long: after several
// failures in a row no requests are sent for a while, and documents are imported as they are.
package completion

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"carrel/internal/core"
	"carrel/internal/lazyregexp"
	"carrel/internal/source"
)

// Catalogue looks up records; see package federated. An unknown identifier is not_found.
type Catalogue interface {
	LookupDOI(ctx context.Context, doi string) (d source.Document, from string, err error)
	LookupArXiv(ctx context.Context, id string) (d source.Document, from string, err error)
}

// Service completes documents. It is safe for concurrent use.
type Service struct {
	catalogue Catalogue
	clock     core.Clock
	log       *slog.Logger

	mu sync.Mutex
	// known are the replies of the catalogues by identifier.
	known map[string]record
	// failures counts the failed requests in a row. No requests are sent before resumeAt.
	failures int
	resumeAt time.Time
}

// Deps are the dependencies of a Service. All are required.
type Deps struct {
	Catalogue Catalogue
	Clock     core.Clock
	Log       *slog.Logger
}

// record is a cached reply; an empty title means that the identifier is unknown.
type record struct {
	document source.Document
	from     string
	at       time.Time
}

const (
	// cacheLife is how long a reply is used, cacheSize how many are kept.
	cacheLife = 24 * time.Hour
	cacheSize = 5000
	// lookupTime limits one lookup, including its retries.
	lookupTime = 15 * time.Second
	// maxFailures is the number of failures after which no requests are sent for pauseTime.
	maxFailures = 3
	pauseTime   = 5 * time.Minute
	// headLength is the part of the text, in bytes, that names the work.
	headLength = 6000
)

// New returns a Service.
func New(d Deps) *Service {
	core.RequireDeps(d)
	return &Service{catalogue: d.Catalogue, clock: d.Clock, log: d.Log, known: map[string]record{}}
}

// Complete fills the empty fields of a document from the record of its DOI or arXiv identifier. If the fields of the
// document are guessed, as those of PDF files are, the record replaces them. It notes the fields in Completed.
func (s *Service) Complete(ctx context.Context, d *source.Document, guessed bool) {
	head := d.Text[:min(len(d.Text), headLength)]
	found, ok := s.lookup(ctx, d.DOI, arXivID(d.DOI, d.URL, head))
	if !ok || !matches(found.document.Title, d.Title, head) {
		return
	}
	r := found.document
	fields := &completed{all: guessed}
	fields.text("title", &d.Title, r.Title)
	fields.list("authors", &d.Authors, r.Authors)
	fields.number("year", &d.Year, r.Year)
	fields.text("venue", &d.Venue, r.Venue)
	fields.text("doi", &d.DOI, r.DOI)
	if d.URL == "" {
		fields.text("url", &d.URL, r.URL)
	}
	if len(fields.names) > 0 {
		d.Completed = source.Completion{From: found.from, Fields: fields.names}
	}
}

// completed sets fields and collects their names.
type completed struct {
	all   bool
	names []string
}

func (c *completed) set(name string, empty, differs bool) bool {
	if !differs || !empty && !c.all {
		return false
	}
	c.names = append(c.names, name)
	return true
}

func (c *completed) text(name string, to *string, value string) {
	if value != "" && c.set(name, *to == "", *to != value) {
		*to = value
	}
}

func (c *completed) list(name string, to *[]string, value []string) {
	if len(value) > 0 && c.set(name, len(*to) == 0, !slices.Equal(*to, value)) {
		*to = value
	}
}

func (c *completed) number(name string, to *int, value int) {
	if value > 0 && c.set(name, *to == 0, *to != value) {
		*to = value
	}
}

// arXivPattern matches the identifiers of arXiv since 2007, as arXiv prints them on the first page, and in its
// addresses and DOIs.
var arXivPattern = lazyregexp.New(`(?i)(?:arxiv:|arxiv\.org/(?:abs|pdf)/|10\.48550/arxiv\.)(\d{4}\.\d{4,5})`)

// arXivID returns the first arXiv identifier in the texts, or "".
func arXivID(texts ...string) string {
	for _, text := range texts {
		if m := arXivPattern.FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	return ""
}

// lookup returns the record of an arXiv identifier or DOI. arXiv comes first for its own DOIs, which Crossref lacks.
func (s *Service) lookup(ctx context.Context, doi, arXiv string) (record, bool) {
	own := strings.HasPrefix(strings.ToLower(doi), "10.48550/arxiv.")
	switch {
	case doi != "" && !own:
		return s.cached(ctx, "doi:"+strings.ToLower(doi), func(ctx context.Context) (source.Document, string, error) {
			return s.catalogue.LookupDOI(ctx, doi)
		})
	case arXiv != "":
		return s.cached(ctx, "arxiv:"+arXiv, func(ctx context.Context) (source.Document, string, error) {
			return s.catalogue.LookupArXiv(ctx, arXiv)
		})
	}
	return record{}, false
}

// cached returns the cached record of an identifier, or looks it up.
func (s *Service) cached(
	ctx context.Context, id string, look func(context.Context) (source.Document, string, error),
) (record, bool) {
	now := s.clock.Now()
	s.mu.Lock()
	r, known := s.known[id]
	paused := now.Before(s.resumeAt)
	s.mu.Unlock()
	switch {
	case known && now.Sub(r.at) < cacheLife:
		return r, r.document.Title != ""
	case paused:
		return record{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	d, from, err := look(ctx)
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		s.failed(ctx, from, err)
		return record{}, false
	}
	d.Text = "" // the abstract is not used
	r = record{document: d, from: from, at: now}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = 0
	if len(s.known) >= cacheSize {
		clear(s.known)
	}
	s.known[id] = r
	return r, d.Title != ""
}

// failed counts a failed request and pauses after several in a row.
func (s *Service) failed(ctx context.Context, from string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures++; s.failures < maxFailures {
		return
	}
	s.failures, s.resumeAt = 0, s.clock.Now().Add(pauseTime)
	s.log.WarnContext(ctx, "completing metadata failed; pausing", "catalogue", from, "pause", pauseTime, "error", err)
}

// matches reports whether a record's title is the title of the document or stands at the beginning of its text.
func matches(title, own, head string) bool {
	wanted := letters(title)
	return len(wanted) >= minTitle && (strings.Contains(letters(head), wanted) || letters(own) == wanted)
}

// minTitle is the number of bytes of a title below which its occurrence in a text proves nothing.
const minTitle = 8

// letters returns the letters and digits of a text in lower case, because line breaks, hyphens and quotes differ.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
