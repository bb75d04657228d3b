package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"unicode/utf8"

	"carrel/internal/audit"
	"carrel/internal/billing"
	"carrel/internal/core"
)

// Copy is an opened copy of a database.
type Copy interface {
	audit.Store
	// SpendDifferences returns the monthly totals that differ from the sums of their ledger rows.
	SpendDifferences(ctx context.Context) ([]billing.SpendDifference, error)
	// SampleDocuments returns up to n documents at random.
	SampleDocuments(ctx context.Context, n int) ([]Document, error)
}

// Document is a document of a copy.
type Document struct {
	ID, Title, Text string
	// Original is the file that the document was read from. Its hash is empty if there is none.
	Original Original
}

// sampleSize is the number of documents that Verify reads.
const sampleSize = 200

// Report is the outcome of a check.
type Report struct {
	// AuditEntries is the length of the audit log, Documents the number of documents read, and Originals the number of
	// originals whose content was read.
	AuditEntries int64
	Documents    int
	Originals    int
	// Problems is empty for an intact backup.
	Problems []string
}

func (r *Report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// Verify checks the opened database copy of a backup: the hash chain of the audit log, the spend totals against the
// ledger, and a sample of documents with their originals. It checks that every original is stored, and with all also
// the content of every original. The caller has fetched the copy, which compares its checksum, and has checked its
// structure.
func (t *Target) Verify(ctx context.Context, m Manifest, c Copy, all bool, progress Progress) (Report, error) {
	var r Report
	progress("Checking the database", 0, 0)
	log := audit.New(audit.Deps{Store: c, Clock: core.SystemClock{}, Log: slog.New(slog.DiscardHandler)})
	head, err := log.Verify(ctx, nil)
	if broken, is := errors.AsType[*audit.BrokenError](err); is {
		r.problem("%v", broken)
	} else if err != nil {
		return r, err
	}
	r.AuditEntries = head.Seq
	differences, err := c.SpendDifferences(ctx)
	if err != nil {
		return r, err
	}
	if n := len(differences); n > 0 {
		r.problem("%d spend totals differ from the ledger", n)
	}
	missing := hashSet{}
	for _, hash := range m.Originals.Missing {
		missing.add(hash)
	}
	if err := t.verifySample(ctx, c, missing, !all, &r); err != nil {
		return r, err
	}
	return r, t.verifyOriginals(ctx, m, missing, all, &r, progress)
}

// verifySample reads documents and, if originals is set, the files that they refer to.
func (t *Target) verifySample(ctx context.Context, c Copy, missing hashSet, originals bool, r *Report) error {
	docs, err := c.SampleDocuments(ctx, sampleSize)
	if err != nil {
		return err
	}
	for _, d := range docs {
		r.Documents++
		if d.Title == "" && d.Text == "" {
			r.problem("the document %s is empty", d.ID)
		}
		if !utf8.ValidString(d.Title) || !utf8.ValidString(d.Text) {
			r.problem("the text of the document %s is damaged", d.ID)
		}
		if originals && d.Original.Hash != "" && !missing.has(d.Original.Hash) {
			if err := t.verifyContent(ctx, d.Original, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// verifyContent compares the content of an original with its hash.
func (t *Target) verifyContent(ctx context.Context, o Original, r *Report) error {
	content, err := t.originals.Open(ctx, o.Hash, o.Size)
	if errors.Is(err, os.ErrNotExist) {
		r.problem("the original %s is missing", o.Hash)
		return nil
	}
	if err != nil {
		if t.remote {
			return err
		}
		r.problem("the original %s is damaged: %v", o.Hash, err)
		return nil
	}
	_, hash, err := sum(ctx, content)
	if err = errors.Join(err, content.Close()); err != nil {
		return err
	}
	r.Originals++
	if hash != o.Hash {
		r.problem("the original %s is damaged: its content has another hash", o.Hash)
	}
	return nil
}

// verifyOriginals checks that the originals of the list are stored.
func (t *Target) verifyOriginals(
	ctx context.Context, m Manifest, missing hashSet, all bool, r *Report, progress Progress,
) error {
	done := int64(0)
	err := t.eachOriginalOf(ctx, m, func(o Original) error {
		defer func() { done++; progress("Checking originals", done, int64(m.Originals.Count)) }()
		if missing.has(o.Hash) {
			return nil
		}
		if all {
			return t.verifyContent(ctx, o, r)
		}
		content, err := t.originals.Open(ctx, o.Hash, o.Size)
		switch {
		case err == nil:
			return content.Close()
		case t.remote && !errors.Is(err, os.ErrNotExist):
			return err
		}
		r.problem("the original %s is missing or damaged", o.Hash)
		return nil
	})
	if err == nil && done != int64(m.Originals.Count) {
		r.problem("the list of originals has %d entries instead of %d", done, m.Originals.Count)
	}
	return err
}
