// Package federated searches sources at query time: public catalogues of papers, encyclopaedias, web search engines
// and other MCP servers. A user waits for the reply, so every search has a deadline, respects the rate limit of its
// host, and returns a failure as one sentence for the user.
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

// Query is a search. A year of 0 means no bound.
type Query struct {
	Text             string
	Limit            int
	FromYear, ToYear int
}

// bounded reports whether the query has a bound on years.
func (q Query) bounded() bool { return q.FromYear != 0 || q.ToYear != 0 }

// Settings are the part of a source's settings that this package uses.
type Settings struct {
	// Address is the URL of the user's own server. It is required for searxng and mcp and rejected for other kinds.
	Address string
	// Language is an ISO 639 code: the edition of Wikipedia (default en), or the language of web results (default
	// any).
	Language string
	// Tool is the search tool of an MCP server; empty means that one is chosen by name.
	Tool string
	// Key is the API key. It is sent to the host of the kind only, and never logged.
	Key string
}

// Options are the settings of the installation.
type Options struct {
	// Client sends the requests. It must refuse private addresses; see package outbound.
	Client *http.Client
	// Contact is an e-mail address for the operators of public APIs, sent with every request. It may be empty.
	Contact string
	// Version is the version of the program, for the User-Agent header.
	Version string
	// Private allows addresses on private networks.
	Private bool
	// Hosts replaces the host of a kind in tests.
	Hosts map[string]string
}

// Searcher searches federated sources. Sources with the same host and key share a rate limit.
type Searcher struct {
	options Options
	mu      sync.Mutex
	limits  map[string]*rateLimit
}

// New returns a Searcher.
func New(o Options) *Searcher {
	return &Searcher{options: o, limits: map[string]*rateLimit{}}
}

// requirement tells whether a setting is forbidden, optional or required.
type requirement int

const (
	forbidden requirement = iota
	optional
	required
)

// kind describes one kind of federated source.
type kind struct {
	// host is the origin of the API.
	host string
	// interval is the minimum time between two requests, keyedInterval the one with an API key if it differs.
	interval, keyedInterval time.Duration
	// pageSize is the maximum number of results of one request.
	pageSize     int
	key, address requirement
	// language and tool are set for kinds that have these settings, paid for kinds whose searches cost their owner
	// money.
	language, tool, paid bool
	// search requests n results from an offset, which is a multiple of n. It returns all results of the page, so that
	// a short page marks the end.
	search func(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error)
}

// kinds are the kinds of federated sources by name.
var kinds = map[string]kind{
	"openalex": {
		host: "https://api.openalex.org", interval: 100 * time.Millisecond, pageSize: 100, key: optional,
		search: openAlex,
	},
	"crossref": {
		host: "https://api.crossref.org", interval: 100 * time.Millisecond, pageSize: 100, search: crossref,
	},
	"arxiv": {
		host: "https://export.arxiv.org", interval: 3 * time.Second, pageSize: 100, search: arXiv,
	},
	"semanticscholar": {
		host: "https://api.semanticscholar.org", interval: time.Second, pageSize: 100, key: optional,
		search: semanticScholar,
	},
	"pubmed": {
		host: "https://eutils.ncbi.nlm.nih.gov", interval: 350 * time.Millisecond,
		keyedInterval: 100 * time.Millisecond, pageSize: 100, key: optional, search: pubMed,
	},
	"europepmc": {
		host: "https://www.ebi.ac.uk", interval: 100 * time.Millisecond, pageSize: 100, search: europePMC,
	},
	"core": {
		host: "https://api.core.ac.uk", interval: 6 * time.Second, keyedInterval: time.Second, pageSize: 100,
		key: required, search: coreWorks,
	},
	"wikipedia": {
		host: "https://{language}.wikipedia.org", interval: 100 * time.Millisecond, pageSize: 20, language: true,
		search: wikipedia,
	},
	"searxng": {
		interval: 100 * time.Millisecond, pageSize: 10, address: required, language: true, search: searXNG,
	},
	"brave": {
		host: "https://api.search.brave.com", interval: time.Second, pageSize: 20, key: required, paid: true,
		search: brave,
	},
	"tavily": {
		host: "https://api.tavily.com", interval: 100 * time.Millisecond, pageSize: 20, key: required, paid: true,
		search: tavily,
	},
	"exa": {
		host: "https://api.exa.ai", interval: 200 * time.Millisecond, pageSize: 100, key: required, paid: true,
		search: exa,
	},
	"mcp": {
		interval: 50 * time.Millisecond, pageSize: 100, key: optional, address: required, tool: true, search: mcpServer,
	},
}

// searchKind searches a source of a kind. Its error is a *source.Failure unless the settings are invalid.
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
				break // a partial result is better than a failure
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

// filterResults applies the bounds on years again, because APIs define the year of a work differently, and drops
// duplicates and documents without a title.
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

// Limits of stored fields, in code points.
const (
	maxExternalID = 500
	maxField      = 1000
	maxText       = 200_000
)

// sanitize makes fields of a foreign reply safe to store and display: web links only, valid UTF-8 without NUL,
// limited length.
func sanitize(d source.Document) source.Document {
	d.ExternalID, d.Title, d.Venue = truncate(
		core.OneLine(d.ExternalID), maxExternalID,
	), truncate(core.OneLine(d.Title), maxField), truncate(d.Venue, maxField)
	d.URL, d.OpenAccessURL = webAddress(d.URL), webAddress(d.OpenAccessURL)
	d.Text = truncate(strings.ReplaceAll(strings.ToValidUTF8(d.Text, "\ufffd"), "\x00", ""), maxText)
	d.Type = strings.ToLower(truncate(core.OneLine(d.Type), maxField))
	if d.Year > lastYear {
		d.Year = 0
	}
	return d
}

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
		kind: name, host: strings.Replace(host, "{language}", language, 1), language: language, settings: s,
		options: c.options,
		limit:   c.rateLimit(host+" "+s.Key, pause),
	}
}

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
