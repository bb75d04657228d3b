package importer

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/mail"
	"strings"
	"time"

	"golang.org/x/net/html/charset"

	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/source"
)

// maxFeed is the maximum size of a feed, maxEntries how many of its entries are read.
const (
	maxFeed    = 20 << 20
	maxEntries = 10_000
	// maxEntry is the maximum size of one entry, because encoding/xml keeps all of its attributes and elements in
	// memory.
	maxEntry = 6 << 20
)

// feedQueue holds the one file of a feed source. Documents whose entries left the feed are kept, because a feed lists
// only the latest entries.
type feedQueue struct {
	service *Service
	src     source.Source
	url     string
	done    bool
}

func (w *feedQueue) size() (int, int64) {
	if w.done {
		return 0, 0
	}
	return 1, 0
}

func (w *feedQueue) close() {}

func (w *feedQueue) skip(done map[string]bool) { w.done = w.done || done[w.url] }

func (w *feedQueue) next(ctx context.Context, t *reporter) (fileResult, error) {
	if w.done {
		return fileResult{End: true}, nil
	}
	o, err := w.read(ctx, t)
	w.done = err == nil
	return o, err
}

func (w *feedQueue) read(ctx context.Context, t *reporter) (fileResult, error) {
	s := w.service
	o := fileResult{Name: w.url}
	old, err := s.store.FileByName(ctx, w.src.ID, w.url)
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		return o, err
	}
	res, err := s.get(ctx, w.url, old.Version, nil)
	if err != nil {
		if ctx.Err() != nil {
			return o, context.Cause(ctx)
		}
		o.Error = "Can't be fetched: " + fetchErrorText(err) + "."
		return o, s.recordFailure(ctx, w.src, old, o, "")
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode == http.StatusNotModified && old.ID != "" {
		o.Unchanged = true
		return o, nil
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxFeed+1))
	var entries []source.Document
	if err == nil && res.StatusCode == http.StatusOK && len(data) <= maxFeed {
		entries, err = parseFeed(ctx, data)
	}
	if err != nil || res.StatusCode != http.StatusOK || len(data) > maxFeed {
		o.Error = "Not a readable RSS, Atom or JSON feed."
		return o, s.recordFailure(ctx, w.src, old, o, "")
	}
	o.Size = int64(len(data))
	return w.store(ctx, old, entries, versionOf(res.Header), o, t)
}

func (w *feedQueue) store(
	ctx context.Context, old File, entries []source.Document, version string, o fileResult, t *reporter,
) (fileResult, error) {
	s := w.service
	now := s.clock.Now()
	f := File{
		ID: core.NewID(prefixFile), SourceID: w.src.ID, Name: w.url, Size: o.Size, Hash: []byte{}, CreatedAt: now,
		UpdatedAt: now,
	}
	id, err := s.store.PutFile(ctx, f)
	if err != nil {
		return o, err
	}
	var docs iter.Seq2[source.Document, error] = func(yield func(source.Document, error) bool) {
		for _, d := range entries {
			d.File = id
			if !yield(d, nil) {
				return
			}
		}
	}
	imported, err := s.sources.AddDocuments(
		ctx, w.src, docs, func(so source.Imported) { t.fileProgress(ctx, w.url, 0, so) },
	)
	if err != nil {
		return o, err
	}
	o.setImported(imported)
	f.ID, f.Version, f.Documents, f.Outcome = id, version, imported.Total(), o.outcome(old)
	_, err = s.store.PutFile(ctx, f)
	return o, err
}

// feedEntry is an RSS item or an Atom entry. The fields cover the elements of both by local name.
type feedEntry struct {
	Title       string     `xml:"title"`
	Links       []feedLink `xml:"link"`
	GUID        string     `xml:"guid"`
	ID          string     `xml:"id"`
	Description string     `xml:"description"`
	Summary     string     `xml:"summary"`
	Content     feedText   `xml:"content"`
	Encoded     string     `xml:"encoded"`
	PubDate     string     `xml:"pubDate"`
	Published   string     `xml:"published"`
	Updated     string     `xml:"updated"`
	Date        string     `xml:"date"`
	Creator     []string   `xml:"creator"`
	Authors     []struct {
		Name string `xml:"name"`
		Text string `xml:",chardata"`
	} `xml:"author"`
	DOI string `xml:"doi"`
}

// feedText is text with markup, either escaped or as child elements.
type feedText struct {
	Text  string `xml:",chardata"`
	Inner string `xml:",innerxml"`
	Type  string `xml:"type,attr"`
}

type feedLink struct {
	Href string `xml:"href,attr"`
	Rel  string `xml:"rel,attr"`
	Text string `xml:",chardata"`
}

// parseFeed reads RSS 0.9 to 2.0, Atom and JSON Feed. Entities declared in the document are an error, so that they
// can't expand.
func parseFeed(ctx context.Context, data []byte) ([]source.Document, error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return parseJSONFeed(ctx, data)
	}
	bounded := &boundedReader{r: bytes.NewReader(data)}
	d := xml.NewDecoder(bounded)
	d.CharsetReader = charset.NewReaderLabel
	d.Entity = xml.HTMLEntity
	d.Strict = false
	var out []source.Document
	title, isFeed := "", false
	for entries := 0; entries < maxEntries; {
		bounded.left = maxEntry
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		e, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		switch e.Name.Local {
		case "rss", "feed", "RDF":
			isFeed = true
		case "title":
			if title == "" {
				_ = d.DecodeElement(&title, &e) // a title is optional
			}
		case "item", "entry":
			entries++ // unusable entries count as well: each costs memory and time
			var entry feedEntry
			if err := d.DecodeElement(&entry, &e); err != nil {
				return nil, err
			}
			if doc, usable := entry.document(ctx, strings.TrimSpace(title)); usable {
				out = append(out, doc)
			}
		}
	}
	if !isFeed {
		return nil, errors.New("not a feed")
	}
	return out, nil
}

// boundedReader limits the bytes of one element.
type boundedReader struct {
	r    io.Reader
	left int
}

var errLargeEntry = errors.New("an entry is too large")

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLargeEntry
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}

func (e feedEntry) document(ctx context.Context, feed string) (source.Document, bool) {
	d := source.Document{
		Title: cleanLine(format.PageText(ctx, e.Title)), URL: e.link(), Venue: cleanLine(feed), Type: "post",
		DOI:  strings.TrimSpace(e.DOI),
		Text: format.PageText(ctx, longestOf(e.Encoded, e.Content.Inner, e.Content.Text, e.Description, e.Summary)),
	}
	// Some feeds escape their HTML twice.
	if strings.Contains(d.Text, "&lt;") || strings.HasPrefix(strings.TrimSpace(d.Text), "<") {
		d.Text = format.PageText(ctx, d.Text)
	}
	d.ExternalID = cleanLine(longestOf(firstOf(e.GUID, e.ID), ""))
	if d.ExternalID == "" {
		d.ExternalID = firstOf(d.URL, d.Title)
	}
	for _, name := range e.Creator {
		d.Authors = append(d.Authors, cleanLine(name))
	}
	for _, a := range e.Authors {
		if name := cleanLine(firstOf(strings.TrimSpace(a.Name), strings.TrimSpace(a.Text))); name != "" &&
			len(e.Creator) == 0 {
			d.Authors = append(d.Authors, name)
		}
	}
	if at, ok := feedDate(firstOf(e.PubDate, e.Published, e.Date, e.Updated)); ok {
		d.Year, d.PublishedAt = at.Year(), at.Format(time.RFC3339)
	}
	return d, d.ExternalID != "" && len(d.ExternalID) <= 512 && (d.Title != "" || d.Text != "")
}

// link returns the address of the entry itself, not of its comments or enclosures.
func (e feedEntry) link() string {
	for _, l := range e.Links {
		address := strings.TrimSpace(firstOf(l.Href, l.Text))
		if (l.Rel == "" || l.Rel == "alternate") &&
			(strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://")) {
			return address
		}
	}
	return ""
}

func feedDate(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	for _, layout := range []string{time.RFC3339, time.DateOnly, time.RFC1123Z, time.RFC1123, "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, s); err == nil {
			return at.UTC(), isYear(at.UTC().Year())
		}
	}
	at, err := mail.ParseDate(s)
	return at.UTC(), err == nil && isYear(at.UTC().Year())
}

func isYear(year int) bool { return year >= 1 && year <= 9999 }

func firstOf(candidates ...string) string {
	for _, s := range candidates {
		if strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

func longestOf(candidates ...string) string {
	best := ""
	for _, s := range candidates {
		if len(s) > len(best) {
			best = s
		}
	}
	return best
}

// cleanLine folds white space, removes NUL and invalid UTF-8, and limits the length.
func cleanLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")), " ")
	return strings.ToValidUTF8(s[:min(len(s), 2000)], "")
}
