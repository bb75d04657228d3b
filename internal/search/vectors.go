package search

import (
	"context"
	"fmt"
)

// VectorSource returns the stored embeddings of documents by document id.
type VectorSource interface {
	Vectors(ctx context.Context, docs []Document) (map[string]*Vectors, error)
}

// WithVectors returns a log whose documents carry their embeddings.
func WithVectors(log Log, vectors VectorSource) Log { return vectorLog{log, vectors} }

type vectorLog struct {
	Log
	vectors VectorSource
}

// Changes returns the changes of the log, with the documents' embeddings.
func (l vectorLog) Changes(ctx context.Context, after, through uint64, limit int) ([]Change, error) {
	changes, err := l.Log.Changes(ctx, after, through, limit)
	if err != nil {
		return nil, err
	}
	docs := make([]Document, 0, len(changes))
	for _, c := range changes {
		if c.Op == Put {
			docs = append(docs, c.Document)
		}
	}
	vectors, err := l.vectors.Vectors(ctx, docs)
	if err != nil {
		return nil, fmt.Errorf("read embeddings: %w", err)
	}
	for i := range changes {
		changes[i].Document.Vectors = vectors[changes[i].ID]
	}
	return changes, nil
}
