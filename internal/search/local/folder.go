package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"carrel/internal/search"
)

// Discard throws the index in a folder away. A Follower that has it open begins anew, and answers from the files
// that it has open meanwhile; those it removes itself.
func Discard(dir string) error {
	err := os.Remove(filepath.Join(dir, manifestName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("throw the search index away: %w", err)
	}
	return nil
}

// Covered returns the spans of the change log that the index in a folder says it holds: none when there is no index.
// It reads no more than the manifest; see Check.
func Covered(dir string) ([]search.Span, error) {
	m, err := readManifest(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errForeign) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what the search index holds: %w", err)
	}
	spans := make([]search.Span, len(m.Parts))
	for i, p := range m.Parts {
		spans[i] = search.Span{After: p.After, Through: p.Through}
	}
	return joined(spans), nil
}
