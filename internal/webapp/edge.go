package webapp

import "time"

// Session is who is signed in at a browser.
type Session struct {
	ID, UserID, Email, Name string
	AuthenticatedAt         time.Time
}

// ConsentPage is a question to the user: may this client do this?
type ConsentPage struct {
	Client, ClientHost, RedirectTo string
	Scopes                         []ScopeText
	Account, Action                string
	Fields                         map[string]string
}

// ScopeText says in a sentence what a scope lets a client do.
type ScopeText struct{ Scope, Text string }

// FailPage tells a person why a request can't go on.
type FailPage struct {
	Title, Detail string
	Status        int
}
