// Package opensearch is the search engine on an OpenSearch cluster, for installations of several nodes whose documents
// are too many for an index on every node.
//
// Texts are analysed here and sent as terms, so that languages, stemming and phrases behave as in search/local. The
// cluster finds the best documents by the statistics of all its documents; the best of them are then ranked again by
// the statistics of the searched sources, the proximity of words and the embeddings, as in search/local.
//
// An alias names the index that serves searches, and another the index of a rebuild. The state document of an index
// holds the spans of the change log that the index holds. Documents are written with their change numbers as external
// versions, so that repeated and reordered writes are harmless.
package opensearch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"carrel/internal/search"
)

// Options configure an Engine.
type Options struct {
	// URLs are the addresses of the cluster's nodes, in the form https://host:port.
	URLs []string
	// User and Password authenticate requests; an empty user sends none.
	User, Password string
	// CA are the certificates that sign those of the cluster, in PEM; the system's if it is empty.
	CA []byte
	// Identity names the database, so that several installations can share a cluster; see search.Identity.
	Identity string
	// Shards and Replicas configure new indices.
	Shards, Replicas int
	// Encoder computes embeddings, or is nil. Model is the model of the documents' embeddings without an encoder.
	Encoder *search.Encoder
	Model   string
	Log     *slog.Logger
}

// Engine is a search.Engine on a cluster.
type Engine struct {
	client   *client
	options  Options
	model    string
	indexers indexers
	log      *slog.Logger

	apply   sync.Mutex           // serialises changes of indices, and guards retired
	retired map[string]time.Time // indices without an alias, and since when they are known to have none

	mu       sync.Mutex // guards the fields below; never held during requests
	serving  *index     // index that serves searches; nil until Connect
	building *index     // index of a rebuild, or nil
	counts   counts
	closed   bool
}

var _ search.Engine = (*Engine)(nil)

// New returns an engine. It does not contact the cluster; see Connect.
func New(o Options) (*Engine, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Shards = max(o.Shards, 1)
	e := &Engine{
		client: c, options: o, model: o.Model, indexers: indexers{encoder: o.Encoder}, log: o.Log,
		retired: make(map[string]time.Time),
	}
	if o.Encoder != nil {
		e.model = o.Encoder.Model
	}
	return e, nil
}

// alias names the index that serves searches. Versions of the schema have different names, so that old and new nodes
// can run at the same time.
func (e *Engine) alias() string {
	return "carrel-" + strings.ToLower(e.options.Identity) + "-v" + schema
}

func (e *Engine) nextAlias() string { return e.alias() + "-next" }

// Connect reads which indices there are and what they hold, and creates the first one. One node at a time may call it.
func (e *Engine) Connect(ctx context.Context) error {
	e.apply.Lock()
	defer e.apply.Unlock()
	return e.connect(ctx)
}

// Refresh reads which indices there are and what they hold, to learn of the changes of other nodes.
func (e *Engine) Refresh(ctx context.Context) error {
	e.apply.Lock()
	defer e.apply.Unlock()
	_, _, err := e.list(ctx)
	return err
}

// connect is Connect for a caller that holds the lock.
func (e *Engine) connect(ctx context.Context) error {
	serving, building, err := e.list(ctx)
	if err != nil || serving != nil || building != nil {
		return err
	}
	created, err := e.create(ctx, e.alias(), state{})
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.serving = created
	return nil
}

// list reads the indices with an alias, and records them. The caller holds the lock.
func (e *Engine) list(ctx context.Context) (serving, building *index, err error) {
	if e.isClosed() {
		return nil, nil, search.ErrClosed
	}
	var found map[string]struct {
		Aliases  map[string]any `json:"aliases"`
		Mappings struct {
			Meta struct {
				Model string `json:"model"`
			} `json:"_meta"`
		} `json:"mappings"`
	}
	if err := e.client.do(ctx, http.MethodGet, "/"+e.alias()+"-*", nil, &found); err != nil {
		return nil, nil, fmt.Errorf("list the search indices: %w", err)
	}
	for name, content := range found {
		if len(content.Aliases) == 0 {
			if _, known := e.retired[name]; !known {
				e.retired[name] = time.Now()
			}
			continue
		}
		s, at, err := e.client.readState(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		in := &index{name: name, model: content.Mappings.Meta.Model, state: s, at: at}
		if _, ok := content.Aliases[e.alias()]; ok {
			serving = in
		} else if _, ok := content.Aliases[e.nextAlias()]; ok {
			building = in
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.serving, e.building = serving, building
	return serving, building, nil
}

// create creates an index with an alias. The alias must name one index only, so one node alone may create the first.
func (e *Engine) create(ctx context.Context, alias string, s state) (*index, error) {
	in := &index{name: e.alias() + "-" + strings.ToLower(rand.Text()[:12]), model: e.model, state: s}
	if err := e.client.do(ctx, http.MethodPut, "/"+in.name, indexBody(e.options, alias, e.model), nil); err != nil {
		return nil, fmt.Errorf("create a search index: %w", err)
	}
	var err error
	in.at, err = e.client.writeState(ctx, in.name, s, revision{Number: -1})
	return in, err
}

// isClosed reports whether the engine was closed.
func (e *Engine) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// current returns the index that changes are applied to. The result is nil before Connect.
func (e *Engine) current() *index {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.building != nil {
		return e.building
	}
	return e.serving
}

// Missing returns the first span up to head that the index does not hold. Before the cluster was reached the whole log
// is missing.
func (e *Engine) Missing(head uint64) (search.Span, bool) {
	if gaps := e.gaps(head); len(gaps) > 0 {
		return gaps[0], true
	}
	return search.Span{}, false
}

// gaps returns all spans up to head that the index does not hold.
func (e *Engine) gaps(head uint64) []search.Span {
	var s state
	if in := e.current(); in != nil {
		s = in.state
	}
	return s.gaps(head)
}

// Close releases the connections.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.client.close()
	return nil
}

// counts are the numbers of documents and passages at a revision of an index.
type counts struct {
	of        string
	at        revision
	documents int
	passages  int
	segments  int
	bytes     int64
	sources   map[string]int
	retryAt   time.Time // after a failure
}

// countTimeout limits the requests of Status, and countRetry is the pause after one that failed.
const (
	countTimeout = 5 * time.Second
	countRetry   = 5 * time.Second
)

// Status describes what searches can find, as far as this node has heard. The numbers are counted by the cluster; while
// it does not answer they are those of the last time.
func (e *Engine) Status() search.Status {
	e.mu.Lock()
	serving, building, known, closed := e.serving, e.building, e.counts, e.closed
	e.mu.Unlock()
	if closed || serving == nil {
		return search.Status{Rebuilding: building != nil}
	}
	if (known.of != serving.name || known.at != serving.at) && time.Now().After(known.retryAt) {
		ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
		defer cancel()
		counted, err := e.count(ctx, serving)
		if err != nil {
			e.log.Debug("count the documents of the search index", "error", err)
			e.mu.Lock()
			e.counts.retryAt = time.Now().Add(countRetry)
			e.mu.Unlock()
		} else {
			known = counted
			e.mu.Lock()
			e.counts = counted
			e.mu.Unlock()
		}
	}
	written := serving
	if building != nil {
		written = building
	}
	return search.Status{
		Documents: known.documents, Passages: known.passages, Segments: known.segments, Bytes: known.bytes,
		Sources: known.sources, Covered: written.state.Covered, Rebuilding: building != nil,
	}
}

// maxSources is how many sources are counted. Clusters refuse to return more than 65,535 numbers.
const maxSources = 50_000

// count counts the documents of an index.
func (e *Engine) count(ctx context.Context, in *index) (counts, error) {
	var reply struct {
		Aggregations struct {
			Sources  buckets     `json:"sources"`
			Passages bucketCount `json:"passages"`
		} `json:"aggregations"`
	}
	err := e.client.do(ctx, http.MethodPost, "/"+in.name+"/_search?allow_partial_search_results=false", object{
		"size": 0, "track_total_hits": false, "query": object{"exists": object{"field": "src"}},
		"aggs": object{
			"sources":  object{"terms": object{"field": "src", "size": maxSources}},
			"passages": object{"nested": object{"path": "p"}},
		},
	}, &reply)
	if err != nil {
		return counts{}, err
	}
	var files struct {
		All struct {
			Primaries struct {
				Store struct {
					Size int64 `json:"size_in_bytes"`
				} `json:"store"`
				Segments struct {
					Count int `json:"count"`
				} `json:"segments"`
			} `json:"primaries"`
		} `json:"_all"`
	}
	if err := e.client.do(ctx, http.MethodGet, "/"+in.name+"/_stats/store,segments", nil, &files); err != nil {
		return counts{}, err
	}
	out := counts{
		of: in.name, at: in.at, passages: reply.Aggregations.Passages.Count,
		segments: files.All.Primaries.Segments.Count, bytes: files.All.Primaries.Store.Size,
		sources: make(map[string]int),
	}
	for _, b := range reply.Aggregations.Sources.Buckets {
		out.sources[b.name()] = b.Count
		out.documents += b.Count
	}
	return out, nil
}

// errNotConnected is returned before the state of the index is known.
var errNotConnected = fmt.Errorf("%w: the state of the search index is not known yet", search.ErrUnavailable)

// isConflict reports whether a write lost against one of another node.
func isConflict(err error) bool { return hasStatus(err, http.StatusConflict) }

var errEmptySpan = errors.New("apply changes to the search index: the span is empty")

// rebuilding reports whether an index is being built that will replace the present one.
func (e *Engine) rebuilding() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.building != nil
}
