package webapp

import "carrel/internal/oauth"

// The pages are the front of the authorization server, which says what they show.
type (
	// Session is who is signed in at a browser.
	Session = oauth.Session
	// ConsentPage is a question to the user: may this client do this?
	ConsentPage = oauth.ConsentPage
	// ScopeText says in a sentence what a scope lets a client do.
	ScopeText = oauth.ScopeText
	// FailPage tells a person why a request can't go on.
	FailPage = oauth.FailPage
)

var _ oauth.Front = (*App)(nil)
