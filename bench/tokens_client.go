package main

import (
	"bytes"
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
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// refresher refreshes the token of one grant repeatedly.
type refresher struct {
	head  []byte // everything before the value of Content-Length
	form  []byte // everything before the value of refresh_token
	token string
}

func newRefresher(addr, path, clientID, token string) *refresher {
	return &refresher{
		head:  fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: ", path, addr, formType),
		form:  []byte("grant_type=refresh_token&client_id=" + url.QueryEscape(clientID) + "&refresh_token="),
		token: token,
	}
}

// request returns the request of the current token. A check of its reply stores the next one.
func (r *refresher) request() request {
	return request{append: r.append, check: r.check}
}

// append writes the request to dst. The length of tokens can differ, so Content-Length is computed each time.
func (r *refresher) append(dst []byte, _ uint64) []byte {
	token := url.QueryEscape(r.token)
	dst = append(dst, r.head...)
	dst = strconv.AppendInt(dst, int64(len(r.form)+len(token)), 10)
	dst = append(append(dst, "\r\n\r\n"...), r.form...)
	return append(dst, token...)
}

// check requires both tokens, and stores the new refresh token.
func (r *refresher) check(body []byte) error {
	_, err := tokenField(body, `"access_token"`)
	if err != nil {
		return err
	}
	refresh, err := tokenField(body, `"refresh_token"`)
	if err != nil {
		return err
	}
	if string(refresh) == r.token {
		return errors.New("the refresh token is not new")
	}
	r.token = string(refresh)
	return nil
}

// tokenField returns the value of a string field of a JSON object. It accepts no escapes, which tokens do not need,
// and so costs a fraction of encoding/json. A quoted name followed by a colon is a name and not part of a value,
// because quotes within a value are escaped.
func tokenField(object []byte, quotedName string) ([]byte, error) {
	object = bytes.TrimSpace(object)
	if !bytes.HasPrefix(object, []byte("{")) || !bytes.HasSuffix(object, []byte("}")) {
		return nil, errors.New("the reply is not a JSON object")
	}
	_, rest, _ := bytes.Cut(object, []byte(quotedName))
	rest, isName := bytes.CutPrefix(bytes.TrimLeft(rest, jsonSpace), []byte(":"))
	rest, isString := bytes.CutPrefix(bytes.TrimLeft(rest, jsonSpace), []byte(`"`))
	value, after, isClosed := bytes.Cut(rest, []byte(`"`))
	if !isName || !isString || !isClosed || len(value) == 0 || bytes.IndexByte(value, '\\') >= 0 {
		return nil, fmt.Errorf("the reply has no token %s", quotedName)
	}
	if bytes.Contains(after, []byte(quotedName)) {
		return nil, fmt.Errorf("the reply has %s twice", quotedName)
	}
	return value, nil
}

const jsonSpace = " \t\r\n"

// round makes all clients refresh for the duration, each over its own connection. Connections are opened for each
// round, because servers close them between rounds.
func (t *tokenServer) round(ctx context.Context, d time.Duration) error {
	before, err := t.cpuTime()
	if err != nil {
		return err
	}
	taken, err := load{
		addr:        t.addr,
		connections: len(t.clients),
		duration:    d,
		maxRequests: maxRoundRequests,
		requestOf:   func(connection int) request { return t.clients[connection].request() },
		counter:     new(atomic.Uint64),
	}.run(ctx)
	if err != nil {
		return err
	}
	after, err := t.cpuTime()
	if err != nil {
		return err
	}
	t.cpu += after - before
	t.waits = append(t.waits, taken.latencies...)
	t.rates = append(t.rates, taken.perSecond())
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
func connectAll(ctx context.Context, addr string, count int) ([]*refresher, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	v := &visitor{base: "http://" + addr, http: &http.Client{
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
		clients = append(clients, newRefresher(addr, "/api/auth/mcp/token", client.ID, token))
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
