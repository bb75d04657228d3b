package oauth

import (
	"context"

	"carrel/internal/core"
)

// client finds a client that is stored by its id.
func (s *Service) client(ctx context.Context, id string) (Client, error) {
	if !core.IsID(core.PrefixClient, id) && checkDocumentID(id) != "" {
		return Client{}, core.NotFound("client")
	}
	return s.store.Client(ctx, id)
}
