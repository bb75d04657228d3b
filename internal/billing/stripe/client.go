package stripe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
)

// apiVersion pins the response format, independent of the default version of the Stripe account.
const apiVersion = "2026-08-26.dahlia"

const (
	// defaultTimeout is short because a user waits for the page.
	defaultTimeout = 20 * time.Second
	// maxResponse is larger than a hundred subscriptions with their invoices.
	maxResponse = 8 << 20
)

// client implements the four API requests Carrel needs. Stripe's SDK would add 10 MB of code for hundreds of others.
type client struct {
	http     *http.Client
	url, key string
	timeout  time.Duration // of a request
}

// newCustomer creates a customer and returns its id. It is idempotent per user.
func (c client) newCustomer(ctx context.Context, userID, email string) (string, error) {
	form := url.Values{"metadata[carrel_user]": {userID}}
	if email != "" {
		form.Set("email", email)
	}
	var created struct {
		ID string `json:"id"`
	}
	err := c.post(ctx, "/v1/customers", form, userID, &created)
	if err == nil && created.ID == "" {
		err = errors.New("stripe: customer without an id")
	}
	return created.ID, err
}

// checkout describes a purchase.
type checkout struct {
	customer  Customer
	price     string
	trialDays int
	// returnURL is the page that Stripe's page links back to.
	returnURL string
	// earlier is the number of subscriptions the customer has had.
	earlier int
	now     time.Time
}

// hostedPage is a page hosted by Stripe.
type hostedPage struct {
	URL string `json:"url"`
}

// checkout creates a checkout page. Within the hour, the same purchase returns the same page, which can be paid once: a
// double click does not buy twice.
func (c client) checkout(ctx context.Context, o checkout) (string, error) {
	hour := o.now.UTC().Truncate(time.Hour)
	form := url.Values{
		"mode":                    {"subscription"},
		"customer":                {o.customer.ID},
		"client_reference_id":     {o.customer.UserID},
		"line_items[0][price]":    {o.price},
		"line_items[0][quantity]": {"1"},
		"success_url":             {o.returnURL + "?checkout=done"},
		"cancel_url":              {o.returnURL + "?checkout=cancelled"},
		// Stripe requires at least 30 minutes; 40 to 100 remain, depending on the minute of the hour.
		"expires_at": {strconv.FormatInt(hour.Add(100*time.Minute).Unix(), 10)},
		"subscription_data[metadata][carrel_user]": {o.customer.UserID},
	}
	if o.trialDays > 0 {
		form.Set("subscription_data[trial_period_days]", strconv.Itoa(o.trialDays))
	}
	var page hostedPage
	if err := c.post(ctx, "/v1/checkout/sessions", form, strconv.Itoa(o.earlier), &page); err != nil {
		return "", err
	}
	return page.checkedURL()
}

// portal creates a page where a customer can change and cancel subscriptions.
func (c client) portal(ctx context.Context, customerID, returnURL string) (string, error) {
	var page hostedPage
	form := url.Values{"customer": {customerID}, "return_url": {returnURL}}
	if err := c.post(ctx, "/v1/billing_portal/sessions", form, "", &page); err != nil {
		return "", err
	}
	return page.checkedURL()
}

// checkedURL returns the URL of the page. The browser is redirected there, so anything but https is an error.
func (p hostedPage) checkedURL() (string, error) {
	if u, err := url.Parse(p.URL); err != nil || u.Scheme != "https" {
		return "", errors.New("stripe: page without an https URL")
	}
	return p.URL, nil
}

// subscriptions returns all current and past subscriptions of a customer, newest first.
func (c client) subscriptions(ctx context.Context, customerID string) ([]subscription, error) {
	var list struct {
		Data []subscription `json:"data"`
	}
	query := url.Values{"customer": {customerID}, "status": {"all"}, "limit": {"100"}, "expand[]": {"data.latest_invoice"}}
	err := c.do(ctx, http.MethodGet, "/v1/subscriptions?"+query.Encode(), "", "", &list)
	return list.Data, err
}

// post sends a form. If scope is not empty, the request is idempotent for a day: the key is a hash of scope and form,
// because Stripe rejects a key that is reused with a different form.
func (c client) post(ctx context.Context, path string, form url.Values, scope string, out any) error {
	body, key := form.Encode(), ""
	if scope != "" {
		sum := sha256.Sum256([]byte(path + "\n" + scope + "\n" + body))
		key = "carrel-" + hex.EncodeToString(sum[:])
	}
	return c.do(ctx, http.MethodPost, path, body, key, out)
}

func (c client) do(ctx context.Context, method, path, body, idempotencyKey string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("stripe: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Stripe-Version", apiVersion)
	if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if idempotencyKey != "" {
		req.Header.Set("Idempotency-Key", idempotencyKey)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return unavailable(err)
	}
	defer func() { _ = resp.Body.Close() }() // fully read
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return unavailable(err)
	}
	if resp.StatusCode != http.StatusOK {
		return responseError(resp.StatusCode, b)
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("stripe: decode response: %w", err)
	}
	return nil
}

// unavailable returns the error for an outage or overload of Stripe. A retry may succeed.
func unavailable(cause error) error {
	return (&core.Error{
		Kind: core.KindUnavailable, Code: "unavailable", RetryAfter: time.Minute,
		Detail: "The payment provider can't be reached. Try again in a minute.",
	}).Because(fmt.Errorf("stripe: %w", cause))
}

// responseError returns the error for a rejected request. It contains type, code and parameter but not Stripe's
// message, which may repeat the request.
func responseError(status int, body []byte) error {
	var reply struct {
		Error struct {
			Type  string `json:"type"`
			Code  string `json:"code"`
			Param string `json:"param"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &reply) // without a body the status is reported
	e := reply.Error
	err := fmt.Errorf("stripe: status %d, type %q, code %q, param %q", status, e.Type, e.Code, e.Param)
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("%w; check stripe-secret-key", err)
	case status == http.StatusTooManyRequests || status == http.StatusConflict || status >= http.StatusInternalServerError:
		return unavailable(err)
	}
	return err
}
