package oauth

import (
	"context"

	"carrel/internal/core"
)

// client returns the stored client with this id. An id of the wrong form is not looked up.
func (s *Service) client(ctx context.Context, id string) (Client, error) {
	if !core.IsID(core.PrefixClient, id) && checkDocumentID(id) != "" {
		return Client{}, core.NotFound("client")
	}
	return s.store.Client(ctx, id)
}
