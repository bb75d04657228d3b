package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Tokens are the result of an OAuth sign-in.
type Tokens struct {
	Access, Refresh string
	// Expiry is the end of the access token.
	Expiry time.Time
	Scope  string
}

// AuthServer is the authorization server of an installation (RFC 8414).
type AuthServer struct {
	Issuer       string `json:"issuer"`
	Authorize    string `json:"authorization_endpoint"`
	TokenURL     string `json:"token_endpoint"`
	Registration string `json:"registration_endpoint"`
	Revocation   string `json:"revocation_endpoint"`
	Userinfo     string `json:"userinfo_endpoint"`

	http *http.Client
}

// ErrSignInEnded means that a refresh token is no longer accepted: the grant was revoked or has expired.
var ErrSignInEnded = errors.New("the sign-in has ended")

// oauthTimeout limits each request to the authorization server.
const oauthTimeout = 30 * time.Second

// Discover reads the metadata of the authorization server at a base URL.
func Discover(ctx context.Context, client *http.Client, base string) (*AuthServer, error) {
	base = strings.TrimSuffix(base, "/")
	s := &AuthServer{http: client}
	err := s.exchange(ctx, http.MethodGet, base+"/.well-known/oauth-authorization-server", "", nil, s)
	if err != nil {
		return nil, err
	}
	if strings.TrimSuffix(s.Issuer, "/") != base {
		return nil, fmt.Errorf("the server at %s has the address %s; use that one", base, s.Issuer)
	}
	return s, nil
}

// exchange sends a request and decodes the JSON reply into out unless it is nil.
func (s *AuthServer) exchange(ctx context.Context, method, address, contentType string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, oauthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := s.http.Do(req)
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusBadRequest {
		return readError(res)
	}
	defer func() { _ = res.Body.Close() }()
	if out == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(res.Body, maxProblem)).Decode(out)
}

// SignIn is the authorization code flow with PKCE for a program on the user's machine (RFC 8252).
type SignIn struct {
	// ClientName is the name on the consent page.
	ClientName string
	Scopes     []string
	// Open shows the address of the sign-in page to the user, usually by opening a browser.
	Open func(address string) error
	// Page is the HTML that the browser shows at the end.
	Page string
}

// SignIn registers a client, listens on a loopback port, opens the sign-in page, and returns the client id and the
// tokens after the user's consent.
func (s *AuthServer) SignIn(ctx context.Context, flow SignIn) (clientID string, tokens *Tokens, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = listener.Close() }()
	redirect := "http://" + listener.Addr().String() + "/callback"
	if clientID, err = s.register(ctx, flow.ClientName, redirect); err != nil {
		return "", nil, fmt.Errorf("register with the server: %w", err)
	}
	verifier, state := rand.Text()+rand.Text(), rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	query := url.Values{
		"client_id": {clientID}, "redirect_uri": {redirect}, "response_type": {"code"}, "state": {state},
		"scope": {strings.Join(flow.Scopes, " ")}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "resource": {s.Issuer},
	}
	code, err := s.awaitCode(ctx, listener, state, flow, s.Authorize+"?"+query.Encode())
	if err != nil {
		return "", nil, err
	}
	tokens, err = s.token(ctx, url.Values{
		"grant_type": {"authorization_code"}, "client_id": {clientID}, "redirect_uri": {redirect},
		"code_verifier": {verifier}, "code": {code},
	})
	return clientID, tokens, err
}

func (s *AuthServer) register(ctx context.Context, name, redirect string) (string, error) {
	body, err := json.Marshal(map[string]any{
		"client_name": name, "redirect_uris": []string{redirect}, "token_endpoint_auth_method": "none",
	})
	if err != nil {
		return "", err
	}
	var reply struct {
		ID string `json:"client_id"`
	}
	err = s.exchange(ctx, http.MethodPost, s.Registration, "application/json", body, &reply)
	return reply.ID, err
}

// awaitCode opens the sign-in page and waits for the redirect of the browser.
func (s *AuthServer) awaitCode(
	ctx context.Context, listener net.Listener, state string, flow SignIn, address string,
) (string, error) {
	type result struct {
		code string
		err  error
	}
	results := make(chan result, 1)
	server := &http.Server{
		ReadHeaderTimeout: oauthTimeout,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/callback" || r.FormValue("state") != state || r.FormValue("iss") != s.Issuer {
				http.Error(w, "This request does not belong to the sign-in.", http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, flow.Page)
			res := result{code: r.FormValue("code")}
			if res.code == "" {
				res.err = fmt.Errorf("the sign-in was refused: %s", r.FormValue("error"))
			}
			select {
			case results <- res:
			default: // a reload of the page
			}
		}),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		// The page is delivered before the listener closes.
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(closing) != nil {
			_ = server.Close()
		}
		<-served
	}()
	if err := flow.Open(address); err != nil {
		return "", err
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case res := <-results:
		return res.code, res.err
	}
}

// Refresh exchanges a refresh token for new tokens. The old refresh token must not be used again.
func (s *AuthServer) Refresh(ctx context.Context, clientID, refresh string) (*Tokens, error) {
	tokens, err := s.token(ctx, url.Values{
		"grant_type": {"refresh_token"}, "client_id": {clientID}, "refresh_token": {refresh},
	})
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusBadRequest {
		return nil, fmt.Errorf("%w: %w", ErrSignInEnded, err)
	}
	return tokens, err
}

func (s *AuthServer) token(ctx context.Context, form url.Values) (*Tokens, error) {
	var reply tokenReply
	if err := s.post(ctx, s.TokenURL, form, &reply); err != nil {
		return nil, err
	}
	return &Tokens{
		Access: reply.AccessToken, Refresh: reply.RefreshToken, Scope: reply.Scope,
		Expiry: time.Now().Add(time.Duration(reply.ExpiresIn) * time.Second),
	}, nil
}

// tokenReply is a reply of the token endpoint (RFC 6749, section 5.1).
type tokenReply struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	ExpiresIn    int64  `json:"expires_in"`
	Scope        string `json:"scope"`
}

func (s *AuthServer) post(ctx context.Context, address string, form url.Values, out any) error {
	return s.exchange(ctx, http.MethodPost, address, "application/x-www-form-urlencoded", []byte(form.Encode()), out)
}

// Revoke revokes a token (RFC 7009). Revoking a refresh token ends the whole grant.
func (s *AuthServer) Revoke(ctx context.Context, clientID, token string) error {
	return s.post(ctx, s.Revocation, url.Values{"client_id": {clientID}, "token": {token}}, nil)
}

// Userinfo is the account of an OAuth access token.
type Userinfo struct {
	Subject string `json:"sub"`
	Name    string `json:"name,omitempty"`
	Email   string `json:"email,omitempty"`
}

// Userinfo returns the account of the credential, which must be an OAuth access token.
func (c *Client) Userinfo(ctx context.Context) (*Userinfo, error) {
	return call[Userinfo](ctx, c, request{method: http.MethodGet, path: "/api/auth/mcp/userinfo"})
}
