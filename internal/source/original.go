package source

import (
	"context"
	"io"

	"carrel/internal/core"
)

// Originals opens stored files; see package blob. A missing file is not_found.
type Originals interface {
	Open(ctx context.Context, key string, size int64) (io.ReadSeekCloser, error)
}

// Original returns a document with its original file, which the caller closes. A document without one is not_found.
func (s *Service) Original(
	ctx context.Context, actor core.Actor, agentID, documentID string,
) (Document, io.ReadSeekCloser, error) {
	if err := s.agents.Allow(ctx, actor, core.OpDownloadOriginal, agentID); err != nil {
		return Document{}, nil, err
	}
	d, err := s.DocumentOf(ctx, actor.UserID, agentID, documentID)
	if err != nil {
		return Document{}, nil, err
	}
	if d.Original.Hash == "" || s.originals == nil {
		return Document{}, nil, core.NotFound("original")
	}
	content, err := s.originals.Open(ctx, d.Original.Hash, d.Original.Size)
	return d, content, err
}
