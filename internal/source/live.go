package source

import "context"

// Live is a source that is asked at question time and keeps nothing here until something of it is opened, cited or
// saved.
type Live interface {
	// Search returns what the source finds, best first. It keeps to the request's years itself, ends with the context,
	// and answers with an error rather than with less than it was asked for.
	Search(ctx context.Context, r LiveRequest) ([]Card, error)
}

// LiveRequest is what a live source is asked.
type LiveRequest struct {
	Source Source
	// Secret is the source's, in the clear.
	Secret           string
	Query            string
	Limit            int
	FromYear, ToYear int
}
