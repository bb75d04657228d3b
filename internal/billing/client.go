package billing

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

// version is the version of Stripe's API that is asked for. What it answers does not depend on the account's own.
const version = "2026-08-26.dahlia"

const (
	// patience bounds every request: somebody is waiting for a page.
	patience = 20 * time.Second
	// maxAnswer is more than a hundred subscriptions with their invoices.
	maxAnswer = 8 << 20
)

// client makes the few requests to Stripe that are needed. Stripe's own module is 10 MB of code for hundreds of others.
type client struct {
	web      *http.Client
	url, key string
}

// newCustomer makes Stripe know a user. The same user asked for twice is one customer.
func (c client) newCustomer(ctx context.Context, userID, email string) (string, error) {
	form := url.Values{"metadata[carrel_user]": {userID}}
	if email != "" {
		form.Set("email", email)
	}
	var made struct {
		ID string `json:"id"`
	}
	err := c.post(ctx, "/v1/customers", form, userID, &made)
	if err == nil && made.ID == "" {
		err = errors.New("stripe: a customer without an id")
	}
	return made.ID, err
}

// checkout is what is bought.
type checkout struct {
	customer  Customer
	price     string
	trialDays int
	// back is the page of ours that Stripe's page leads to.
	back string
	// before is how many subscriptions the customer has had.
	before int
	now    time.Time
}

// page is a page of Stripe's that somebody is sent to.
type page struct {
	URL string `json:"url"`
}

// checkout makes a page to pay on. Asked for again within the hour it is the same page, on which one can pay once: whoever
// clicks twice does not buy twice.
func (c client) checkout(ctx context.Context, o checkout) (string, error) {
	hour := o.now.UTC().Truncate(time.Hour)
	form := url.Values{
		"mode":                    {"subscription"},
		"customer":                {o.customer.ID},
		"client_reference_id":     {o.customer.UserID},
		"line_items[0][price]":    {o.price},
		"line_items[0][quantity]": {"1"},
		"success_url":             {o.back + "?checkout=done"},
		"cancel_url":              {o.back + "?checkout=cancelled"},
		// The shortest that Stripe allows is half an hour.
		"expires_at": {strconv.FormatInt(hour.Add(100*time.Minute).Unix(), 10)},
		"subscription_data[metadata][carrel_user]": {o.customer.UserID},
	}
	if o.trialDays > 0 {
		form.Set("subscription_data[trial_period_days]", strconv.Itoa(o.trialDays))
	}
	var made page
	if err := c.post(ctx, "/v1/checkout/sessions", form, strconv.Itoa(o.before), &made); err != nil {
		return "", err
	}
	return made.address()
}

// portal makes a page on which a customer changes and cancels what they bought.
func (c client) portal(ctx context.Context, customerID, back string) (string, error) {
	var made page
	if err := c.post(ctx, "/v1/billing_portal/sessions", url.Values{"customer": {customerID}, "return_url": {back}}, "", &made); err != nil {
		return "", err
	}
	return made.address()
}

func (p page) address() (string, error) {
	if u, err := url.Parse(p.URL); err != nil || u.Scheme != "https" {
		return "", errors.New("stripe: a page without an address")
	}
	return p.URL, nil
}

// subscriptions returns all that a customer has and had, the newest first.
func (c client) subscriptions(ctx context.Context, customerID string) ([]subscription, error) {
	var list struct {
		Data []subscription `json:"data"`
	}
	query := url.Values{"customer": {customerID}, "status": {"all"}, "limit": {"100"}, "expand[]": {"data.latest_invoice"}}
	err := c.ask(ctx, http.MethodGet, "/v1/subscriptions?"+query.Encode(), "", "", &list)
	return list.Data, err
}

// post sends a form. With a name, the same form under the same name makes one thing, however often it is sent (Stripe
// remembers that for a day); a form that differs is another name, which Stripe would refuse.
func (c client) post(ctx context.Context, path string, form url.Values, name string, out any) error {
	body, key := form.Encode(), ""
	if name != "" {
		sum := sha256.Sum256([]byte(path + "\n" + name + "\n" + body))
		key = "carrel-" + hex.EncodeToString(sum[:])
	}
	return c.ask(ctx, http.MethodPost, path, body, key, out)
}

func (c client) ask(ctx context.Context, method, path, body, key string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("stripe: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Stripe-Version", version)
	if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.web.Do(req)
	if err != nil {
		return away(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return away(err)
	}
	if resp.StatusCode != http.StatusOK {
		return refused(resp.StatusCode, b)
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("stripe: read the answer: %w", err)
	}
	return nil
}

// away is a Stripe that can't be reached or that has no time: the same again may work.
func away(cause error) error {
	return (&core.Error{
		Kind: core.KindUnavailable, Code: "unavailable", Detail: "The payment provider can't be reached. Try again in a minute.", RetryAfter: time.Minute,
	}).Because(fmt.Errorf("stripe: %w", cause))
}

// refused is a request that Stripe does not take: the fault is ours or the settings'. It is told by Stripe's stable words
// and not by its sentences, which repeat what was sent.
func refused(status int, body []byte) error {
	var answer struct {
		Error struct {
			Type  string `json:"type"`
			Code  string `json:"code"`
			Param string `json:"param"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &answer) // the status says enough
	err := fmt.Errorf("stripe: status %d, type %q, code %q, param %q", status, answer.Error.Type, answer.Error.Code, answer.Error.Param)
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("%w; look at stripe-secret-key", err)
	case status == http.StatusTooManyRequests || status == http.StatusConflict || status >= http.StatusInternalServerError:
		return away(err)
	}
	return err
}
