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

// A client can publish its metadata in a document at an https URL that is its client id, instead of registering
// (draft-ietf-oauth-client-id-metadata-document). The server fetches the document only for a signed-in user, so that
// anonymous visitors can't make it send requests to other servers.

const (
	maxDocument     = 16 << 10
	documentTimeout = 5 * time.Second
	// documentLife is how long a fetched document is used; documentStale is how long it is used while its server fails.
	documentLife  = 15 * time.Minute
	documentStale = 24 * time.Hour
	// maxFetches bounds concurrent fetches.
	maxFetches = 8
)

// documentError is a client document that can't be used. Its sentence is shown to the user.
type documentError struct{ wrong string }

func (e *documentError) Error() string { return "client document: " + e.wrong }

// errSignInFirst means that the document is fetched only after the user has signed in.
var errSignInFirst = errors.New("client documents are fetched for signed-in users only")

// isDocumentID reports whether a client id is the URL of a document.
func isDocumentID(id string) bool { return strings.HasPrefix(id, "https://") }

// checkDocumentID returns the problem with a document URL, or "". URLs that have another spelling for the same document
// are refused, because two client ids must never mean one client.
func checkDocumentID(id string) string {
	const form = "Its URL must be https with a path, without a fragment, a user name, dot segments or the default port."
	u, err := url.Parse(id)
	if err != nil || len(id) > maxURI || !isASCIIURI(id) || u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.Host != strings.ToLower(u.Host) {
		return form
	}
	if u.Path == "" || u.Path == "/" || strings.ContainsAny(id, "#") || u.Port() == "443" ||
		strings.HasSuffix(u.Host, ":") {
		return form
	}
	for part := range strings.SplitSeq(u.Path, "/") { // u.Path is decoded, so %2e counts as a dot
		if part == "." || part == ".." {
			return form
		}
	}
	return ""
}

// parseDocument reads the document that was fetched from the client id.
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
		return m, &documentError{"Its client_id is not the URL that it was fetched from."}
	}
	if m.AuthMethod != AuthNone || own.Secret != nil {
		return m, &documentError{"A public document can't hold a secret: token_endpoint_auth_method must be none."}
	}
	return m, nil
}

// findOrFetchClient returns the client of an authorization request: a registered one from the store, or one with a
// document, which is fetched again after documentLife.
func (s *Service) findOrFetchClient(ctx context.Context, id string, signedIn bool) (Client, error) {
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
	c, err := s.fetchClient(ctx, id)
	var unreachable *fetchError
	switch {
	case known && age < documentStale && errors.As(err, &unreachable):
		return stored, nil
	case errors.As(err, &unreachable):
		s.log.LogAttrs(ctx, slog.LevelInfo, "client document not fetched",
			slog.String("error", unreachable.cause.Error()))
		return Client{}, &documentError{"It could not be fetched from its URL."}
	case err != nil:
		return Client{}, err
	}
	return c, s.store.PutClient(ctx, c, maxUnusedClients)
}

// fetchError is a failed fetch. Its cause is logged but not shown, because it could reveal the internal network.
type fetchError struct{ cause error }

func (e *fetchError) Error() string { return e.cause.Error() }

// fetchClient fetches a client document and returns the client that it describes.
func (s *Service) fetchClient(ctx context.Context, id string) (Client, error) {
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
		return nil, &documentError{"Its URL can't be used."}
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "Carrel-OAuth")
	res, err := client.Do(r)
	if err != nil {
		return nil, &fetchError{err}
	}
	defer func() { _ = res.Body.Close() }() // a read body has nothing to flush
	if res.StatusCode != http.StatusOK {
		return nil, &fetchError{errors.New("unexpected status " + res.Status)}
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

// isJSON reports whether a media type is JSON or has the suffix +json (RFC 6839, 3.1).
func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	return kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
}

// publisherOf returns the host of a client's document, the only verified fact about a client; "" for a registered
// client.
func publisherOf(c Client) string {
	if c.Kind != ClientDocument {
		return ""
	}
	return hostOf(c.ID)
}
