// Package billing sells plans through Stripe: it sends people to pay, and keeps their subscriptions as Stripe says that
// they are. Stripe is the one that knows; what is kept here is a copy that is read anew whenever Stripe says that
// something happened.
package billing

import "carrel/internal/account"

// Offer is what an account can buy now.
type Offer struct {
	// Checkout says that a plan can be bought: nothing that is paid for runs.
	Checkout bool
	// Portal says that Stripe knows the account, and so has a page with what it pays for.
	Portal bool
	// Plans are those that can be bought, the cheapest first.
	Plans []account.Plan
}
