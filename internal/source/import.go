package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"

	"carrel/internal/core"
)

// Imported counts the outcome of an import.
type Imported struct {
	Added, Updated, Unchanged int
}

// Total returns the number of processed documents.
func (i Imported) Total() int { return i.Added + i.Updated + i.Unchanged }

// importBatch is the number of documents in a transaction: enough to amortize the disk sync, few enough to let other
// writers in.
const importBatch = 500

// batchBytes limits the text of a batch, because 500 long documents would be gigabytes.
const batchBytes = 8 << 20

// Import is AddDocuments after an access check.
func (s *Service) Import(
	ctx context.Context, actor core.Actor, src Source, docs iter.Seq2[Document, error], progress func(Imported),
) (Imported, error) {
	if err := s.agents.Allow(ctx, actor, core.OpUploadFiles, src.AgentID); err != nil {
		return Imported{}, err
	}
	return s.AddDocuments(ctx, src, docs, progress)
}

// AddDocuments stores documents in a source and calls progress after each batch. Unchanged documents are not written.
// A failure keeps the batches before it, and running the same import again resumes there. A source without a language
// gets the language detected in its first batch.
//
// AddDocuments does not check access. Its caller runs an import task, whose submission was authorized.
func (s *Service) AddDocuments(
	ctx context.Context, src Source, docs iter.Seq2[Document, error], progress func(Imported),
) (Imported, error) {
	var done Imported
	batch := make([]Document, 0, importBatch)
	var hashes hasher
	size := 0
	flush := func() (err error) {
		if src.Language == "" { // before storing, so that the documents are indexed once
			if src.Language, err = s.detectLanguage(ctx, src, batch); err != nil {
				return err
			}
		}
		added, updated, err := s.store.PutDocuments(ctx, src.ID, batch)
		if err != nil {
			return fmt.Errorf("store documents: %w", err)
		}
		done.Added += added
		done.Updated += updated
		done.Unchanged += len(batch) - added - updated
		clear(batch)
		batch, size = batch[:0], 0
		if progress != nil {
			progress(done)
		}
		return nil
	}
	for d, err := range docs {
		if err != nil {
			return done, err
		}
		now := s.clock.Now()
		d.ID, d.SourceID, d.CreatedAt, d.UpdatedAt = core.NewID(core.PrefixDocument), src.ID, now, now
		d.dropUnsafeLinks()
		d.Language = s.knownLanguage(d.Language)
		if d.Hash, err = hashes.sum(d); err != nil {
			return done, err
		}
		s.detectDocumentLanguage(&d)
		size += len(d.Text)
		if batch = append(batch, d); len(batch) == importBatch || size > batchBytes {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	if len(batch) == 0 {
		return done, nil
	}
	return done, flush()
}

// dropUnsafeLinks removes links that are not web addresses. Parsers and catalogues check links as well; this is the
// one place that all documents pass.
func (d *Document) dropUnsafeLinks() {
	d.URL, d.OpenAccessURL = core.WebLink(d.URL), core.WebLink(d.OpenAccessURL)
}

// hasher hashes documents and reuses its buffer.
type hasher struct{ buf bytes.Buffer }

// sum returns the hash that detects changes to a document. Fields added in later versions count only if they are set,
// so that the hashes of older documents stay valid.
func (h *hasher) sum(d Document) ([]byte, error) {
	fields := []any{d.Title, d.Authors, d.Text, d.Year, d.URL, d.DOI, d.Venue, d.Type}
	if d.PublishedAt != "" || d.CitationCount != nil || d.OpenAccessURL != "" {
		fields = append(fields, d.PublishedAt, d.CitationCount, d.OpenAccessURL)
	}
	if d.File != "" {
		fields = append(fields, d.File) // a document that moved to another file counts as changed
	}
	if d.Original.Hash != "" {
		fields = append(fields, d.Original.Hash)
	}
	if len(d.Tags) > 0 {
		fields = append(fields, d.Tags)
	}
	if d.Completed.From != "" {
		fields = append(fields, d.Completed)
	}
	if d.Language != "" { // named by the file; a detected language depends on the text
		fields = append(fields, d.Language)
	}
	h.buf.Reset()
	if err := json.NewEncoder(&h.buf).Encode(fields); err != nil {
		return nil, err
	}
	// Without the newline of Encode, as earlier versions hashed it.
	sum := sha256.Sum256(bytes.TrimSuffix(h.buf.Bytes(), []byte("\n")))
	return sum[:16], nil
}
