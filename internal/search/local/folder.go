package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"carrel/internal/search"
)

// Discard deletes the index in a folder. A Follower that has the index open notices, rebuilds it and removes the
// remaining files; searches read the open files in the meantime.
func Discard(dir string) error {
	err := os.Remove(filepath.Join(dir, manifestName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("discard the search index: %w", err)
	}
	return nil
}

// Covered returns the spans of the change log that the index in a folder claims to hold, none if there is no index. It
// reads only the manifest; see Check.
func Covered(dir string) ([]search.Span, error) {
	m, err := readManifest(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errUntrusted) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the search index: %w", err)
	}
	spans := make([]search.Span, len(m.Parts))
	for i, p := range m.Parts {
		spans[i] = search.Span{After: p.After, Through: p.Through}
	}
	return joined(spans), nil
}
