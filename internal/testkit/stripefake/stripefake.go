// Package stripefake is a Stripe account for tests: the few requests that are made to it, and the messages that it sends.
// It is strict: a request with anything that a test does not know of fails the test. What customers have is set by tests,
// in the shapes that Stripe has.
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

// Key is the account's secret key, and Version the one of the API that must be asked for.
const (
	Key     = "sk_test_aSecretOfTheTest0123456789"
	Version = "2026-08-26.dahlia"
)

// Server is a Stripe account on this machine.
type Server struct {
	server   *httptest.Server
	complain func(error)

	mu            sync.Mutex
	down          bool
	gate          func()
	customers     map[string]url.Values
	subscriptions map[string][]Subscription
	sessions      []url.Values
	replies       map[string]remembered
	requests      int
}

// remembered is what was answered to an Idempotency-Key.
type remembered struct {
	form string
	body any
}

// New starts an account that is closed at the test's end.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		complain:  func(err error) { t.Errorf("a request to Stripe is wrong: %v", err) },
		customers: map[string]url.Values{}, subscriptions: map[string][]Subscription{}, replies: map[string]remembered{},
	}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	return s
}

// URL is where its API is.
func (s *Server) URL() string { return s.server.URL }

// Down makes every request fail, or work again.
func (s *Server) Down(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Hold makes the next list of subscriptions wait: after it was read, and before it is answered, f is called.
func (s *Server) Hold(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = f
}

// Set says what a customer has and had.
func (s *Server) Set(customer string, all ...Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriptions[customer] = all
}

// Sessions returns what was sent for pages to pay on, each page once.
func (s *Server) Sessions() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sessions)
}

// Customers returns how many customers were made, and Requests how many requests there were.
func (s *Server) Customers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.customers)
}

// Requests returns how many requests there were.
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
		answer(w, http.StatusServiceUnavailable, failure("api_error", "", ""))
		return
	}
	if got := r.Header.Get("Stripe-Version"); got != Version {
		s.complain(fmt.Errorf("version %q", got))
	}
	if strings.Contains(r.URL.String(), "sk_") {
		s.complain(fmt.Errorf("the key is in the address %s", r.URL.Path))
	}
	if r.Header.Get("Authorization") != "Bearer "+Key {
		answer(w, http.StatusUnauthorized, failure("invalid_request_error", "", ""))
		return
	}
	form := r.URL.Query()
	if r.Method == http.MethodPost {
		b, err := io.ReadAll(r.Body)
		if err == nil {
			form, err = url.ParseQuery(string(b))
		}
		if err != nil || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
			s.complain(fmt.Errorf("%s: the body is no form: %w", r.URL.Path, err))
		}
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/subscriptions":
		s.list(w, form)
	case "POST /v1/customers":
		s.post(w, r, form, []string{"metadata[carrel_user]"}, []string{"email"}, s.newCustomer)
	case "POST /v1/checkout/sessions":
		s.post(w, r, form, []string{
			"mode", "customer", "client_reference_id", "line_items[0][price]", "line_items[0][quantity]", "success_url", "cancel_url",
			"expires_at", "subscription_data[metadata][carrel_user]",
		}, []string{"subscription_data[trial_period_days]"}, s.newSession)
	case "POST /v1/billing_portal/sessions":
		s.post(w, r, form, []string{"customer", "return_url"}, nil, func(f url.Values) any {
			return map[string]any{"id": "bps_1", "object": "billing_portal.session", "customer": f.Get("customer"), "url": "https://billing.stripe.test/p/" + f.Get("customer")}
		})
	default:
		s.complain(fmt.Errorf("%s %s", r.Method, r.URL.Path))
		answer(w, http.StatusNotFound, failure("invalid_request_error", "", ""))
	}
}

// list answers with what a customer has, the newest first.
func (s *Server) list(w http.ResponseWriter, query url.Values) {
	if query.Get("status") != "all" || query.Get("limit") != "100" || query.Get("expand[]") != "data.latest_invoice" || len(query) != 4 {
		s.complain(fmt.Errorf("a list of %v", query))
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
	answer(w, http.StatusOK, map[string]any{"object": "list", "url": "/v1/subscriptions", "has_more": false, "data": data})
}

// post makes something of a form, once for an Idempotency-Key, and refuses a form that it does not know.
func (s *Server) post(w http.ResponseWriter, r *http.Request, form url.Values, needed, allowed []string, makeIt func(url.Values) any) {
	for _, name := range needed {
		if form.Get(name) == "" {
			answer(w, http.StatusBadRequest, failure("invalid_request_error", "parameter_missing", name))
			s.complain(fmt.Errorf("%s: %s is missing", r.URL.Path, name))
			return
		}
	}
	for name := range form {
		if !slices.Contains(needed, name) && !slices.Contains(allowed, name) {
			answer(w, http.StatusBadRequest, failure("invalid_request_error", "parameter_unknown", name))
			s.complain(fmt.Errorf("%s: %s is not known", r.URL.Path, name))
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if before, ok := s.replies[key]; ok && key != "" {
		if before.form != form.Encode() {
			answer(w, http.StatusBadRequest, failure("idempotency_error", "", ""))
			s.complain(fmt.Errorf("%s: the same Idempotency-Key with another form", r.URL.Path))
			return
		}
		answer(w, http.StatusOK, before.body)
		return
	}
	body := makeIt(form)
	s.replies[key] = remembered{form.Encode(), body}
	answer(w, http.StatusOK, body)
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
		"id": id, "object": "checkout.session", "mode": form.Get("mode"), "status": "open", "payment_status": "unpaid", "customer": form.Get("customer"),
		"client_reference_id": form.Get("client_reference_id"), "url": "https://checkout.stripe.test/c/pay/" + id,
	}
}

func failure(kind, code, param string) map[string]any {
	return map[string]any{"error": map[string]any{"type": kind, "code": code, "param": param, "message": "No: " + Key}}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // whoever asked may be gone
}
