package stripefake

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
)

// Subscription is a current or past subscription of a customer.
type Subscription struct {
	ID, Status, Price string
	Created           time.Time
	PeriodStart       time.Time
	PeriodEnd         time.Time
	CancelAtPeriodEnd bool
	// CancelAt, EndedAt and Invoiced are null in the API if they are zero.
	CancelAt, EndedAt, Invoiced time.Time
}

// object returns the API representation. Lists contain the expanded invoice, events only its id.
func (s Subscription) object(customer string, expanded bool) map[string]any {
	var invoice any
	if !s.Invoiced.IsZero() {
		invoice = "in_" + s.ID
		if expanded {
			invoice = map[string]any{
				"id":            invoice,
				"object":        "invoice",
				"created":       s.Invoiced.Unix(),
				"status":        "open",
				"customer":      customer,
				"attempt_count": 1,
			}
		}
	}
	price := map[string]any{
		"id":             s.Price,
		"object":         "price",
		"active":         true,
		"billing_scheme": "per_unit",
		"currency":       "usd",
		"product":        "prod_1",
		"type":           "recurring",
		"recurring":      map[string]any{"interval": "month", "interval_count": 1, "usage_type": "licensed"},
		"unit_amount":    900,
	}
	return map[string]any{
		"id":                   s.ID,
		"object":               "subscription",
		"status":               s.Status,
		"customer":             customer,
		"created":              s.Created.Unix(),
		"start_date":           s.Created.Unix(),
		"cancel_at_period_end": s.CancelAtPeriodEnd,
		"cancel_at":            unix(s.CancelAt),
		"canceled_at":          unix(s.EndedAt),
		"ended_at":             unix(s.EndedAt),
		"billing_cycle_anchor": s.Created.Unix(),
		"collection_method":    "charge_automatically",
		"currency":             "usd",
		"livemode":             false,
		"latest_invoice":       invoice,
		"metadata":             map[string]any{},
		"pause_collection":     nil,
		"trial_end":            nil,
		"items": map[string]any{
			"object":      "list",
			"has_more":    false,
			"total_count": 1,
			"url":         "/v1/subscription_items",
			"data": []any{map[string]any{
				"id": "si_" + s.ID, "object": "subscription_item", "price": price, "quantity": 1, "subscription": s.ID,
				"current_period_start": s.PeriodStart.Unix(), "current_period_end": s.PeriodEnd.Unix(),
			}},
		},
	}
}

func unix(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}

// Event returns the payload of a webhook event about a subscription.
func Event(id, kind, customer string, about Subscription) []byte {
	var object map[string]any
	switch kind {
	case "checkout.session.completed":
		object = map[string]any{
			"id":             "cs_" + about.ID,
			"object":         "checkout.session",
			"mode":           "subscription",
			"status":         "complete",
			"payment_status": "paid",
			"customer":       customer,
			"subscription":   about.ID,
			"amount_total":   900,
			"currency":       "usd",
		}
	case "invoice.paid", "invoice.payment_failed", "invoice.payment_action_required":
		object = map[string]any{
			"id":             "in_" + about.ID,
			"object":         "invoice",
			"customer":       customer,
			"billing_reason": "subscription_cycle",
			"attempt_count":  1,
			"amount_due":     900,
			"parent": map[string]any{
				"type":                 "subscription_details",
				"subscription_details": map[string]any{"subscription": about.ID},
			},
		}
	default:
		object = about.object(customer, false)
	}
	b, err := json.Marshal(map[string]any{
		"id":               id,
		"object":           "event",
		"api_version":      "2020-08-27",
		"created":          about.Created.Unix(),
		"livemode":         false,
		"pending_webhooks": 1,
		"request":          map[string]any{"id": nil, "idempotency_key": nil},
		"type":             kind,
		"data":             map[string]any{"object": object},
	})
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return b
}

// Sign returns the Stripe-Signature header of a payload.
func Sign(payload []byte, at time.Time, secrets ...string) string {
	t := strconv.FormatInt(at.Unix(), 10)
	header := "t=" + t
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(t + "."))
		mac.Write(payload)
		header += ",v1=" + hex.EncodeToString(mac.Sum(nil))
	}
	// The v0 scheme of test mode must be ignored.
	return header + ",v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39"
}
