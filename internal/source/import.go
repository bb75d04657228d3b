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

// batchBytes limits the text of a batch, because 500 long documents would be gigabytes. Two batches are in memory.
const batchBytes = 4 << 20

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
// gets the language detected in its first batch. While a batch is being stored, the next one is read.
//
// AddDocuments does not check access. Its caller runs an import task, whose submission was authorized.
func (s *Service) AddDocuments(
	ctx context.Context, src Source, docs iter.Seq2[Document, error], progress func(Imported),
) (Imported, error) {
	w := &batchWriter{service: s, src: src, progress: progress, stored: make(chan storedBatch, 1)}
	err := w.addAll(ctx, docs)
	if stored := w.wait(); err == nil {
		err = stored
	}
	return w.done, err
}

// batchWriter stores documents in batches. At most one batch is being stored at a time.
type batchWriter struct {
	service  *Service
	src      Source
	progress func(Imported)
	done     Imported

	batch   []Document
	size    int // of the texts in batch
	spare   []Document
	storing []Document // the batch that is being stored, or nil
	stored  chan storedBatch
}

// storedBatch is the result of storing a batch.
type storedBatch struct {
	added, updated int
	err            error
}

func (w *batchWriter) addAll(ctx context.Context, docs iter.Seq2[Document, error]) error {
	var hashes hasher
	for d, err := range docs {
		if err != nil {
			return err
		}
		now := w.service.clock.Now()
		d.ID, d.SourceID, d.CreatedAt, d.UpdatedAt = core.NewID(core.PrefixDocument), w.src.ID, now, now
		d.dropUnsafeLinks()
		d.Language = w.service.knownLanguage(d.Language)
		if d.Hash, err = hashes.sum(d); err != nil {
			return err
		}
		w.service.detectDocumentLanguage(&d)
		w.size += len(d.Text)
		if w.batch = append(w.batch, d); len(w.batch) == importBatch || w.size > batchBytes {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
	}
	if len(w.batch) == 0 {
		return nil
	}
	return w.flush(ctx)
}

// flush waits for the batch before and starts to store the current one.
func (w *batchWriter) flush(ctx context.Context) error {
	err := w.wait()
	if err != nil {
		return err
	}
	if w.src.Language == "" { // before storing, so that the documents are indexed once
		if w.src.Language, err = w.service.detectLanguage(ctx, w.src, w.batch); err != nil {
			return err
		}
	}
	w.storing, w.batch, w.size = w.batch, w.spare, 0
	go func(batch []Document) {
		var r storedBatch
		r.added, r.updated, r.err = w.service.store.PutDocuments(ctx, w.src.ID, batch)
		w.stored <- r
	}(w.storing)
	return nil
}

// wait returns when no batch is being stored.
func (w *batchWriter) wait() error {
	if w.storing == nil {
		return nil
	}
	r := <-w.stored
	n := len(w.storing)
	clear(w.storing)
	w.spare, w.storing = w.storing[:0], nil
	if r.err != nil {
		return fmt.Errorf("store documents: %w", r.err)
	}
	w.done.Added += r.added
	w.done.Updated += r.updated
	w.done.Unchanged += n - r.added - r.updated
	if w.progress != nil {
		w.progress(w.done)
	}
	return nil
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
