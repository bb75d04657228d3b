package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

// refresher refreshes the token of one grant repeatedly, over one connection.
type refresher struct {
	http     *http.Client
	endpoint string
	clientID string
	token    string
}

func newRefresher(endpoint, clientID, token string) *refresher {
	return &refresher{
		http:     &http.Client{Transport: &http.Transport{}},
		endpoint: endpoint,
		clientID: clientID,
		token:    token,
	}
}

// refresh sends one request and stores the new refresh token.
func (r *refresher) refresh(ctx context.Context) error {
	form := url.Values{"grant_type": {"refresh_token"}, "client_id": {r.clientID}, "refresh_token": {r.token}}
	var got struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	if err := postForm(ctx, r.http, r.endpoint, form, &got); err != nil {
		return err
	}
	if got.Access == "" || got.Refresh == "" || got.Refresh == r.token {
		return errors.New("the reply has no new pair of tokens")
	}
	r.token = got.Refresh
	return nil
}

// round makes all clients refresh for the duration.
func (t *tokenServer) round(ctx context.Context, d time.Duration) error {
	before, err := t.cpuTime()
	if err != nil {
		return err
	}
	began := time.Now()
	waits, errs := make([][]time.Duration, len(t.clients)), make([]error, len(t.clients))
	var wg sync.WaitGroup
	for i, c := range t.clients {
		wg.Go(func() {
			for asked := time.Now(); asked.Sub(began) < d; {
				if errs[i] = c.refresh(ctx); errs[i] != nil {
					return
				}
				now := time.Now()
				waits[i] = append(waits[i], now.Sub(asked))
				asked = now
			}
		})
	}
	wg.Wait()
	spent := time.Since(began)
	after, err := t.cpuTime()
	if err = errors.Join(append(errs, err)...); err != nil {
		return err
	}
	t.cpu += after - before
	n := 0
	for _, w := range waits {
		n += len(w)
		t.waits = append(t.waits, w...)
	}
	t.rates = append(t.rates, float64(n)/spent.Seconds())
	return nil
}

func postForm(ctx context.Context, client *http.Client, address string, form url.Values, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", res.Status, body)
	}
	return json.Unmarshal(body, out)
}

// visitor is the browser of the user who authorizes the clients.
type visitor struct {
	http *http.Client
	base string
}

// connectAll signs in and authorizes a client several times, one grant for each refresher.
func connectAll(ctx context.Context, base string, count int) ([]*refresher, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	v := &visitor{base: base, http: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	const redirect = "https://app.example/cb"
	made, err := v.do(ctx, http.MethodPost, "/api/auth/mcp/register", "application/json",
		`{"client_name":"bench","redirect_uris":["`+redirect+`"],"token_endpoint_auth_method":"none"}`)
	if err != nil {
		return nil, err
	}
	var client struct {
		ID string `json:"client_id"`
	}
	if err := json.Unmarshal([]byte(made.body), &client); err != nil {
		return nil, err
	}
	signIn, err := v.do(ctx, http.MethodGet, "/sign-in", "", "")
	if err != nil {
		return nil, err
	}
	form := fieldsOf(signIn.body)
	form.Set("email", carrelEmail)
	form.Set("password", carrelPassword)
	if _, err := v.do(ctx, http.MethodPost, "/sign-in", formType, form.Encode()); err != nil {
		return nil, err
	}
	var clients []*refresher
	for range count {
		token, err := v.connect(ctx, client.ID, redirect)
		if err != nil {
			return nil, fmt.Errorf("connect a client: %w", err)
		}
		clients = append(clients, newRefresher(base+"/api/auth/mcp/token", client.ID, token))
	}
	return clients, nil
}

// connect authorizes the client and returns the refresh token.
func (v *visitor) connect(ctx context.Context, clientID, redirect string) (string, error) {
	verifier := rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	query := url.Values{
		"client_id": {clientID}, "redirect_uri": {redirect}, "response_type": {"code"}, "scope": {"agents offline_access"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	page, err := v.do(ctx, http.MethodGet, "/api/auth/mcp/authorize?"+query.Encode(), "", "")
	if err != nil {
		return "", err
	}
	form := fieldsOf(page.body)
	form.Set("decision", "allow")
	answer, err := v.do(ctx, http.MethodPost, "/api/auth/mcp/authorize", formType, form.Encode())
	if err != nil {
		return "", err
	}
	to, err := url.Parse(answer.location)
	if err != nil || to.Query().Get("code") == "" {
		return "", fmt.Errorf("no code but %q", answer.location)
	}
	var got struct {
		Refresh string `json:"refresh_token"`
	}
	err = postForm(ctx, v.http, v.base+"/api/auth/mcp/token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {clientID}, "redirect_uri": {redirect},
		"code": {to.Query().Get("code")}, "code_verifier": {verifier},
	}, &got)
	return got.Refresh, err
}

const formType = "application/x-www-form-urlencoded"

type visited struct{ body, location string }

// do sends a request with the headers of a same-origin browser request.
func (v *visitor) do(ctx context.Context, method, path, contentType, body string) (visited, error) {
	req, err := http.NewRequestWithContext(ctx, method, v.base+path, strings.NewReader(body))
	if err != nil {
		return visited{}, err
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := v.http.Do(req)
	if err != nil {
		return visited{}, err
	}
	defer res.Body.Close()
	read, err := io.ReadAll(res.Body)
	if err != nil {
		return visited{}, err
	}
	if res.StatusCode >= http.StatusBadRequest {
		return visited{}, fmt.Errorf("%s %s: %s", method, path, res.Status)
	}
	return visited{string(read), res.Header.Get("Location")}, nil
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// fieldsOf returns the hidden form fields of a page.
func fieldsOf(page string) url.Values {
	form := url.Values{}
	for _, m := range hiddenField.FindAllStringSubmatch(page, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	return form
}
