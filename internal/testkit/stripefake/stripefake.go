// Package stripefake is a fake Stripe account: the API requests that Carrel makes, and the webhook events that Stripe
// sends. It is strict: a request with an unknown path or parameter fails the test. Tests set the subscriptions of
// customers.
package stripefake

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Key is the secret key of the account, Version the required API version.
const (
	Key     = "sk_test_aSecretOfTheTest0123456789"
	Version = "2026-08-26.dahlia"
)

// Server is a running fake.
type Server struct {
	server *httptest.Server
	fail   func(error)

	mu            sync.Mutex
	down          bool
	gate          func()
	customers     map[string]url.Values
	subscriptions map[string][]Subscription
	sessions      []url.Values
	replies       map[string]storedReply
	requests      int
}

// storedReply is the reply to a request with an Idempotency-Key.
type storedReply struct {
	form string
	body any
}

// New starts a fake that stops with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		fail:      func(err error) { t.Errorf("invalid request to Stripe: %v", err) },
		customers: map[string]url.Values{}, subscriptions: map[string][]Subscription{}, replies: map[string]storedReply{},
	}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	return s
}

// URL returns the base URL of the API.
func (s *Server) URL() string { return s.server.URL }

// Down turns an outage on or off.
func (s *Server) Down(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Hold calls f during the next list request, after the subscriptions are read and before they are sent.
func (s *Server) Hold(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = f
}

// Set replaces the subscriptions of a customer.
func (s *Server) Set(customer string, all ...Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriptions[customer] = all
}

// Sessions returns the forms of the checkout sessions that were created.
func (s *Server) Sessions() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sessions)
}

// Customers returns the number of customers that were created.
func (s *Server) Customers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.customers)
}

// Requests returns the number of requests.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	down := s.down
	s.mu.Unlock()
	if down {
		reply(w, http.StatusServiceUnavailable, errorBody("api_error", "", ""))
		return
	}
	if got := r.Header.Get("Stripe-Version"); got != Version {
		s.fail(fmt.Errorf("Stripe-Version %q", got))
	}
	if strings.Contains(r.URL.String(), "sk_") {
		s.fail(fmt.Errorf("the secret key is in the URL %s", r.URL.Path))
	}
	if r.Header.Get("Authorization") != "Bearer "+Key {
		reply(w, http.StatusUnauthorized, errorBody("invalid_request_error", "", ""))
		return
	}
	form := r.URL.Query()
	if r.Method == http.MethodPost {
		b, err := io.ReadAll(r.Body)
		if err == nil {
			form, err = url.ParseQuery(string(b))
		}
		if err != nil || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
			s.fail(fmt.Errorf("%s: the body is not a form: %w", r.URL.Path, err))
		}
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/subscriptions":
		s.list(w, form)
	case "POST /v1/customers":
		s.post(w, r, form, []string{"metadata[carrel_user]"}, []string{"email"}, s.newCustomer)
	case "POST /v1/checkout/sessions":
		s.post(w, r, form, []string{
			"mode",
			"customer",
			"client_reference_id",
			"line_items[0][price]",
			"line_items[0][quantity]",
			"success_url",
			"cancel_url",
			"expires_at",
			"subscription_data[metadata][carrel_user]",
		}, []string{"subscription_data[trial_period_days]"}, s.newSession)
	case "POST /v1/billing_portal/sessions":
		s.post(w, r, form, []string{"customer", "return_url"}, nil, func(f url.Values) any {
			return map[string]any{
				"id":       "bps_1",
				"object":   "billing_portal.session",
				"customer": f.Get("customer"),
				"url":      "https://billing.stripe.test/p/" + f.Get("customer"),
			}
		})
	default:
		s.fail(fmt.Errorf("%s %s", r.Method, r.URL.Path))
		reply(w, http.StatusNotFound, errorBody("invalid_request_error", "", ""))
	}
}

// list returns the subscriptions of a customer, newest first.
func (s *Server) list(w http.ResponseWriter, query url.Values) {
	if query.Get("status") != "all" || query.Get("limit") != "100" || query.Get("expand[]") != "data.latest_invoice" ||
		len(query) != 4 {
		s.fail(fmt.Errorf("list with the parameters %v", query))
	}
	s.mu.Lock()
	all := slices.Clone(s.subscriptions[query.Get("customer")])
	gate := s.gate
	s.gate = nil
	s.mu.Unlock()
	if gate != nil {
		gate()
	}
	slices.SortFunc(all, func(a, b Subscription) int { return b.Created.Compare(a.Created) })
	data := make([]any, len(all))
	for i, one := range all {
		data[i] = one.object(query.Get("customer"), true)
	}
	reply(w, http.StatusOK, map[string]any{"object": "list", "url": "/v1/subscriptions", "has_more": false, "data": data})
}

// post creates an object from a form, once per Idempotency-Key. Missing and unknown parameters fail the test.
func (s *Server) post(
	w http.ResponseWriter, r *http.Request, form url.Values, required, optional []string, create func(url.Values) any,
) {
	for _, name := range required {
		if form.Get(name) == "" {
			reply(w, http.StatusBadRequest, errorBody("invalid_request_error", "parameter_missing", name))
			s.fail(fmt.Errorf("%s: %s is missing", r.URL.Path, name))
			return
		}
	}
	for name := range form {
		if !slices.Contains(required, name) && !slices.Contains(optional, name) {
			reply(w, http.StatusBadRequest, errorBody("invalid_request_error", "parameter_unknown", name))
			s.fail(fmt.Errorf("%s: unknown parameter %s", r.URL.Path, name))
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if before, ok := s.replies[key]; ok && key != "" {
		if before.form != form.Encode() {
			reply(w, http.StatusBadRequest, errorBody("idempotency_error", "", ""))
			s.fail(fmt.Errorf("%s: Idempotency-Key reused with another form", r.URL.Path))
			return
		}
		reply(w, http.StatusOK, before.body)
		return
	}
	body := create(form)
	s.replies[key] = storedReply{form.Encode(), body}
	reply(w, http.StatusOK, body)
}

func (s *Server) newCustomer(form url.Values) any {
	id := "cus_" + form.Get("metadata[carrel_user]")
	s.customers[id] = form
	return map[string]any{"id": id, "object": "customer", "email": form.Get("email"), "livemode": false}
}

func (s *Server) newSession(form url.Values) any {
	s.sessions = append(s.sessions, form)
	id := "cs_test_" + strconv.Itoa(len(s.sessions))
	return map[string]any{
		"id":                  id,
		"object":              "checkout.session",
		"mode":                form.Get("mode"),
		"status":              "open",
		"payment_status":      "unpaid",
		"customer":            form.Get("customer"),
		"client_reference_id": form.Get("client_reference_id"),
		"url":                 "https://checkout.stripe.test/c/pay/" + id,
	}
}

func errorBody(kind, code, param string) map[string]any {
	return map[string]any{"error": map[string]any{"type": kind, "code": code, "param": param, "message": "No: " + Key}}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have disconnected
}
