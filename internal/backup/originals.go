package backup

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// eachOriginal reads a list of originals: lines of hash and size.
func eachOriginal(r io.Reader, f func(Original) error) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		hash, size, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseInt(size, 10, 64)
		if _, bad := decodeHash(hash); bad != nil || err != nil || n < 0 {
			return damaged(listName, "has an invalid line")
		}
		if err := f(Original{Hash: hash, Size: n}); err != nil {
			return err
		}
	}
	return lines.Err()
}

// hashSet holds hashes in a third of the memory of their text.
type hashSet map[[32]byte]struct{}

func decodeHash(hash string) (out [32]byte, err error) {
	b, err := hex.DecodeString(hash)
	if err != nil || len(b) != len(out) {
		return out, fmt.Errorf("%q is not a hash", hash)
	}
	return [32]byte(b), nil
}

func (s hashSet) add(hash string) {
	if h, err := decodeHash(hash); err == nil {
		s[h] = struct{}{}
	}
}

func (s hashSet) remove(hash string) {
	if h, err := decodeHash(hash); err == nil {
		delete(s, h)
	}
}

func (s hashSet) has(hash string) bool {
	h, err := decodeHash(hash)
	_, found := s[h]
	return found && err == nil
}

// addOriginals adds the originals of a complete backup to a set, after checking the list.
func (t *Target) addOriginals(ctx context.Context, m Manifest, to hashSet) error {
	return t.eachOriginalOf(ctx, m, func(o Original) error {
		to.add(o.Hash)
		return nil
	})
}

// eachOriginalOf calls f for each original of a complete backup. Nothing is called for a damaged list.
func (t *Target) eachOriginalOf(ctx context.Context, m Manifest, f func(Original) error) error {
	if err := t.copyFile(ctx, m.ID, m.Originals.List, io.Discard); err != nil {
		return err
	}
	return t.eachListed(ctx, m.ID, f)
}

// eachListed calls f for each original in the list of a backup, which may be incomplete and have no list.
func (t *Target) eachListed(ctx context.Context, id string, f func(Original) error) error {
	r, err := t.files.open(ctx, fileName(id, listName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(eachOriginal(r, f), r.Close())
}

// prune deletes all complete backups but the newest, the incomplete ones, and the originals that no other backup needs.
// The caller holds the lock, so that no other backup is being made. After a crash the next call completes the work: a
// backup first loses its manifest, and its list of originals last.
func (t *Target) prune(ctx context.Context, keep int) (removed []string, err error) {
	all, complete, err := t.ids(ctx)
	if err != nil {
		return nil, err
	}
	needed := hashSet{}
	var unneeded []string
	kept := 0
	for _, id := range slices.Backward(all) {
		if !complete[id] {
			unneeded = append(unneeded, id)
			continue
		}
		if keep > 0 && kept >= keep {
			removed, unneeded = append(removed, id), append(unneeded, id)
			continue
		}
		kept++
		m, err := t.manifest(ctx, id)
		if err == nil {
			err = t.addOriginals(ctx, m, needed)
		}
		if err != nil {
			return nil, err // without its list, an original that it needs could be deleted
		}
	}
	for _, id := range unneeded {
		if err := t.removeBackup(ctx, id, needed); err != nil {
			return nil, err
		}
	}
	return removed, nil
}

// removeBackup deletes a backup and the originals that only it needs.
func (t *Target) removeBackup(ctx context.Context, id string, needed hashSet) error {
	if err := t.files.remove(ctx, fileName(id, manifestName)); err != nil {
		return err
	}
	err := t.eachListed(ctx, id, func(o Original) error {
		if needed.has(o.Hash) {
			return nil
		}
		return t.originals.Delete(ctx, o.Hash)
	})
	if err != nil {
		return err
	}
	names, err := t.files.list(ctx, fileName(id, ""))
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != fileName(id, listName) {
			if err := t.files.remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return t.files.remove(ctx, fileName(id, listName))
}
