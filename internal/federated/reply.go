package federated

import (
	"context"

	"carrel/internal/source"
)

// record is one result in a reply, decoded from JSON or XML.
type record interface {
	document() source.Document
}

// documents converts the records of a reply. A nil list means that the reply does not have the expected shape.
func documents[R record](records []R) ([]source.Document, error) {
	if records == nil {
		return nil, errUnexpected
	}
	out := make([]source.Document, len(records))
	for i, r := range records {
		out[i] = r.document()
	}
	return out, nil
}

// fetchResults sends a request whose reply is a JSON object with a list of results.
func fetchResults[R record](ctx context.Context, c *apiClient, r request) ([]source.Document, error) {
	var reply struct {
		Results []R `json:"results"`
	}
	if err := c.getJSON(ctx, r, &reply); err != nil {
		return nil, err
	}
	return documents(reply.Results)
}
