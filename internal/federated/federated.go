// Package federated searches what others have: public catalogues of papers, encyclopaedias, search engines of the web, and
// other MCP servers. A search happens while somebody waits for an answer, so each one has a deadline, asks no more often
// than its host allows, and says in a sentence why it failed.
package federated

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"carrel/internal/core"
	"carrel/internal/source"
)

// Query is what to look for. A year of 0 is no bound.
type Query struct {
	Text             string
	Limit            int
	FromYear, ToYear int
}

// bounded reports whether the query is about some years only.
func (q Query) bounded() bool { return q.FromYear != 0 || q.ToYear != 0 }

// Settings are what the owner of a source says of it.
type Settings struct {
	// Address is that of a server of one's own: needed for searxng and mcp, and not taken by the others.
	Address string
	// Language is that of the encyclopaedia or of what is searched for, an ISO 639 code; empty is English, or any.
	Language string
	// Tool is the tool of an MCP server that searches; empty is the one that looks like it.
	Tool string
	// Key is the secret for the API. It is sent to its host and appears nowhere else.
	Key string
}

// Options are those of the whole installation.
type Options struct {
	// Client makes the requests. It must not reach what users can't; see package outbound.
	Client *http.Client
	// Contact is an e-mail address that public APIs may write to before they lock us out. It may be empty.
	Contact string
	// Version is that of the program.
	Version string
	// Private lets addresses of one's own be on private networks.
	Private bool
	// Hosts are other addresses for kinds, for tests.
	Hosts map[string]string
}

// Catalogue knows all kinds of live sources. It lets the sources of one kind share the pace that the host asks for.
type Searcher struct {
	options Options
	mu      sync.Mutex
	limits  map[string]*rateLimit
}

// New returns a catalogue.
func New(o Options) *Searcher {
	return &Searcher{options: o, limits: map[string]*rateLimit{}}
}

// need is whether a setting must, may or can't be given.
type requirement int

const (
	forbidden requirement = iota
	optional
	required
)

// kind is what is known of a kind of source.
type kind struct {
	// host is the address that requests start with.
	host string
	// pause is between two requests, and keyed is the one with a key of one's own, where that is another.
	interval, keyedInterval time.Duration
	// page is the most results of one request.
	pageSize     int
	key, address requirement
	// language and tool say that it takes these settings, and paid that each search costs its owner money.
	language, tool, paid bool
	// search asks for n results from the offset on, which is a multiple of n. It returns all that came, so that a short
	// page is seen as the last.
	search func(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error)
}

// kinds are all kinds of live sources by name.
var kinds = map[string]kind{
	"openalex":        {host: "https://api.openalex.org", interval: 100 * time.Millisecond, pageSize: 100, key: optional, search: openAlex},
	"crossref":        {host: "https://api.crossref.org", interval: 100 * time.Millisecond, pageSize: 100, search: crossref},
	"arxiv":           {host: "https://export.arxiv.org", interval: 3 * time.Second, pageSize: 100, search: arXiv},
	"semanticscholar": {host: "https://api.semanticscholar.org", interval: time.Second, pageSize: 100, key: optional, search: semanticScholar},
	"pubmed":          {host: "https://eutils.ncbi.nlm.nih.gov", interval: 350 * time.Millisecond, keyedInterval: 100 * time.Millisecond, pageSize: 100, key: optional, search: pubMed},
	"europepmc":       {host: "https://www.ebi.ac.uk", interval: 100 * time.Millisecond, pageSize: 100, search: europePMC},
	"core":            {host: "https://api.core.ac.uk", interval: 6 * time.Second, keyedInterval: time.Second, pageSize: 100, key: required, search: coreWorks},
	"wikipedia":       {host: "https://{language}.wikipedia.org", interval: 100 * time.Millisecond, pageSize: 20, language: true, search: wikipedia},
	"searxng":         {interval: 100 * time.Millisecond, pageSize: 10, address: required, language: true, search: searXNG},
	"brave":           {host: "https://api.search.brave.com", interval: time.Second, pageSize: 20, key: required, paid: true, search: brave},
	"tavily":          {host: "https://api.tavily.com", interval: 100 * time.Millisecond, pageSize: 20, key: required, paid: true, search: tavily},
	"exa":             {host: "https://api.exa.ai", interval: 200 * time.Millisecond, pageSize: 100, key: required, paid: true, search: exa},
	"mcp":             {interval: 50 * time.Millisecond, pageSize: 100, key: optional, address: required, tool: true, search: mcpServer},
}

// Search asks a source. Its error is a *source.Failure unless the settings are wrong.
func (c *Searcher) searchKind(ctx context.Context, kind string, s Settings, q Query) (source.FederatedReply, error) {
	if err := c.Check(kind, s); err != nil {
		return source.FederatedReply{}, err
	}
	k := kinds[kind]
	caller := c.caller(kind, k, s)
	var all []source.Document
	n := min(k.pageSize, q.Limit)
	for offset := 0; len(all) < q.Limit; offset += n {
		page, err := k.search(ctx, caller, q, offset, n)
		if err != nil {
			if len(all) > 0 {
				break // what there is is better than nothing
			}
			return source.FederatedReply{}, caller.failure(ctx, err)
		}
		all = append(all, page...)
		if len(page) < n {
			break
		}
	}
	return filterResults(q, all), nil
}

// within checks the years once more, as not every API means the same by a year, and leaves out what came twice or has
// no title.
func filterResults(q Query, all []source.Document) source.FederatedReply {
	var out source.FederatedReply
	seen := map[string]bool{}
	for _, d := range all {
		d = sanitize(d)
		if d.Title == "" || d.ExternalID == "" || seen[d.ExternalID] {
			continue
		}
		seen[d.ExternalID] = true
		switch {
		case q.bounded() && d.Year == 0:
			out.UndatedExcluded++
			continue
		case q.FromYear != 0 && d.Year < q.FromYear, q.ToYear != 0 && d.Year > q.ToYear:
			continue
		}
		if len(out.Documents) < q.Limit {
			out.Documents = append(out.Documents, d)
		}
	}
	return out
}

// The most of a field that is kept, in code points.
const (
	maxExternalID = 500
	maxField      = 1000
	maxText       = 200_000
)

// tidy makes what a stranger sent fit to be stored and shown: links that lead to the web, texts that databases take.
func sanitize(d source.Document) source.Document {
	d.ExternalID, d.Title, d.Venue = truncate(core.OneLine(d.ExternalID), maxExternalID), truncate(core.OneLine(d.Title), maxField), truncate(d.Venue, maxField)
	d.URL, d.OpenAccessURL = webAddress(d.URL), webAddress(d.OpenAccessURL)
	d.Text = truncate(strings.ReplaceAll(strings.ToValidUTF8(d.Text, "\ufffd"), "\x00", ""), maxText)
	d.Type = strings.ToLower(truncate(core.OneLine(d.Type), maxField))
	if d.Year > lastYear {
		d.Year = 0
	}
	return d
}

// caller returns what makes the requests to one source.
func (c *Searcher) caller(name string, k kind, s Settings) *apiClient {
	host := k.host
	switch {
	case c.options.Hosts[name] != "":
		host = c.options.Hosts[name]
	case k.address == required:
		host = strings.TrimSuffix(s.Address, "/")
	}
	language := s.Language
	if language == "" {
		language = "en"
	}
	pause := k.interval
	if s.Key != "" && k.keyedInterval != 0 {
		pause = k.keyedInterval
	}
	return &apiClient{
		kind: name, host: strings.Replace(host, "{language}", language, 1), language: language, settings: s, options: c.options,
		limit: c.rateLimit(host+" "+s.Key, pause),
	}
}

// pace returns the pace of a host and key.
func (c *Searcher) rateLimit(of string, pause time.Duration) *rateLimit {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.limits[of]
	if !ok {
		p = &rateLimit{interval: pause}
		c.limits[of] = p
	}
	return p
}
