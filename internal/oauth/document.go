package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/outbound"
)

// A client may be described by a document at the https address that is its id (draft-ietf-oauth-client-id-metadata-document),
// so that it needs no registration. The document is read when a user who is signed in is sent here: nobody else can make
// us ask foreign servers.

// The bounds of a document.
const (
	maxDocument     = 16 << 10
	documentTimeout = 5 * time.Second
	// documentLife is how long a document is taken as read, and documentStale how long it serves while its address does
	// not answer.
	documentLife  = 15 * time.Minute
	documentStale = 24 * time.Hour
	// maxFetches is how many are read at once.
	maxFetches = 8
)

// documentError says in a sentence what is wrong with a document.
type documentError struct{ wrong string }

func (e *documentError) Error() string { return "client document: " + e.wrong }

// errSignInFirst means that a document will be read once the user has signed in.
var errSignInFirst = errors.New("the client's document is read for users alone")

// isDocumentID reports whether an id is the address of a document.
func isDocumentID(id string) bool { return strings.HasPrefix(id, "https://") }

// checkDocumentID returns what is wrong with the address of a document, or nothing. Two ids must never mean one document,
// so that all that could be written in another way is refused.
func checkDocumentID(id string) string {
	const form = "Its address must be https with a path, without a fragment, a user name, dots as parts of the path or a default port."
	u, err := url.Parse(id)
	if err != nil || len(id) > maxURI || !plainURI(id) || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Host != strings.ToLower(u.Host) {
		return form
	}
	if u.Path == "" || u.Path == "/" || strings.ContainsAny(id, "#") || u.Port() == "443" || strings.HasSuffix(u.Host, ":") {
		return form
	}
	for part := range strings.SplitSeq(u.Path, "/") { // decoded: %2e is a dot, too
		if part == "." || part == ".." {
			return form
		}
	}
	return ""
}

// parseDocument reads what a document says of the client whose id is its address.
func parseDocument(id string, body []byte) (clientMetadata, error) {
	var own struct {
		ID     string          `json:"client_id"`
		Secret json.RawMessage `json:"client_secret"`
	}
	m, err := parseMetadata(body, AuthNone)
	if err != nil {
		var e *protocolError
		if errors.As(err, &e) {
			return m, &documentError{e.description}
		}
		return m, err
	}
	if err := json.Unmarshal(body, &own); err != nil || own.ID != id {
		return m, &documentError{"Its client_id is not the address that it was read from."}
	}
	if m.AuthMethod != AuthNone || own.Secret != nil {
		return m, &documentError{"It asks for a secret, but what stands in a public document is none: token_endpoint_auth_method must be none."}
	}
	return m, nil
}

// presentClient finds the client of an authorization request: one that registered, or one with a document, which is read
// if that was long ago.
func (s *Service) presentClient(ctx context.Context, id string, signedIn bool) (Client, error) {
	if s.documents == nil || !isDocumentID(id) {
		return s.client(ctx, id)
	}
	if wrong := checkDocumentID(id); wrong != "" {
		return Client{}, &documentError{wrong}
	}
	stored, err := s.store.Client(ctx, id)
	known := err == nil
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		return Client{}, err
	}
	age := time.Duration(0)
	if known && stored.FetchedAt != nil {
		age = s.clock.Now().Sub(*stored.FetchedAt)
	}
	switch {
	case known && (age < documentLife || !signedIn):
		return stored, nil
	case !signedIn:
		return Client{}, errSignInFirst
	}
	c, err := s.readDocument(ctx, id)
	var unreachable *fetchError
	switch {
	case known && age < documentStale && errors.As(err, &unreachable):
		return stored, nil
	case errors.As(err, &unreachable):
		s.log.LogAttrs(ctx, slog.LevelInfo, "a client's document can't be read", slog.String("error", unreachable.cause.Error()))
		return Client{}, &documentError{"It could not be fetched from its address."}
	case err != nil:
		return Client{}, err
	}
	return c, s.store.PutClient(ctx, c, maxUnused)
}

// fetchError is a document that could not be had. Why is not told: it would say what our network looks like.
type fetchError struct{ cause error }

func (e *fetchError) Error() string { return e.cause.Error() }

// readDocument fetches the document of a client and makes the client of it.
func (s *Service) readDocument(ctx context.Context, id string) (Client, error) {
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	select {
	case s.fetching <- struct{}{}:
		defer func() { <-s.fetching }()
	case <-ctx.Done():
		return Client{}, &fetchError{ctx.Err()}
	}
	body, err := fetchDocument(ctx, s.documents, id)
	if err != nil {
		return Client{}, err
	}
	m, err := parseDocument(id, body)
	if err != nil {
		return Client{}, err
	}
	now := s.clock.Now()
	return Client{
		ID: id, Kind: ClientDocument, Name: m.Name, URI: m.URI, RedirectURIs: m.RedirectURIs, AuthMethod: AuthNone,
		CreatedAt: now, FetchedAt: &now,
	}, nil
}

func fetchDocument(ctx context.Context, client *http.Client, id string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, id, http.NoBody)
	if err != nil {
		return nil, &documentError{"Its address can't be used."}
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "Carrel-OAuth")
	res, err := client.Do(r)
	if err != nil {
		return nil, &fetchError{err}
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	if res.StatusCode != http.StatusOK {
		return nil, &fetchError{errors.New("it was answered with " + res.Status)}
	}
	if !isJSON(res.Header.Get("Content-Type")) {
		return nil, &documentError{"It must be sent as application/json."}
	}
	body, err := outbound.ReadAll(res.Body, maxDocument)
	switch {
	case errors.Is(err, outbound.ErrTooLarge):
		return nil, &documentError{"It is larger than 16 KiB."}
	case err != nil:
		return nil, &fetchError{err}
	}
	return body, nil
}

// isJSON reports whether a media type is that of JSON, or of something that is written in it (RFC 6839, 3.1).
func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	return kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
}

// publisherOf is the host that a client's document was read from, which is the one thing about a client that is proved.
func publisherOf(c Client) string {
	if c.Kind != ClientDocument {
		return ""
	}
	return hostOf(c.ID)
}
