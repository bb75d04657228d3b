package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"carrel/internal/search/local/disk"
)

// The files in the index folder: the manifest, and the numbered files it names.
const (
	manifestName    = "MANIFEST"
	manifestDraft   = "MANIFEST.new"
	segmentSuffix   = ".segment"
	tombstoneSuffix = ".deleted"
)

// manifestVersion is the version of all files in the folder and of the terms in them. An index of another version is
// rebuilt.
const manifestVersion = 2

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errUntrusted means that a file is damaged, of another version or of another index.
var errUntrusted = errors.New("file cannot be trusted")

// manifest lists the content of an index. It is replaced atomically.
type manifest struct {
	// Identity names the database whose documents the index holds.
	Identity string `json:"identity"`
	// Encoder is the model of the encoder that computed vectors, "" for none.
	Encoder string `json:"encoder,omitempty"`
	// Next is higher than the number of any file, past or present.
	Next uint64 `json:"next"`
	// Parts are sorted by span; spans do not overlap.
	Parts     []manifestPart `json:"parts"`
	Deletions []deletion     `json:"graves,omitempty"`
	// Purges means that parts record Purge. Older versions did not, so all their parts with deleted documents are
	// rewritten once.
	Purges bool `json:"purges,omitempty"`
}

// manifestPart is the part of the index for one span.
type manifestPart struct {
	After   uint64 `json:"after"`
	Through uint64 `json:"through"`
	// Segment is the number of the segment file, 0 if the span has no documents.
	Segment uint64 `json:"segment,omitempty"`
	// Print is the fingerprint of the segment file.
	Print uint32 `json:"print,omitempty"`
	// Tombstones is the number of the tombstone file, 0 for none, and Sum its checksum.
	Tombstones uint64 `json:"tombstones,omitempty"`
	Sum        uint32 `json:"sum,omitempty"`
	// Purge means that the segment holds documents of deleted sources, whose words must leave the disk.
	Purge bool `json:"purge,omitempty"`
}

const manifestHeader = "carrel search index %d %08x\n"

func (m manifest) encode() ([]byte, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the index manifest: %w", err)
	}
	header := fmt.Sprintf(manifestHeader, manifestVersion, crc32.Checksum(body, castagnoli))
	return append([]byte(header), body...), nil
}

// decodeManifest decodes the result of encode. Any defect is errUntrusted.
func decodeManifest(data []byte) (manifest, error) {
	header, body, _ := bytes.Cut(data, []byte("\n"))
	var version int
	var sum uint32
	if _, err := fmt.Sscanf(string(header)+"\n", manifestHeader, &version, &sum); err != nil {
		return manifest{}, fmt.Errorf("manifest has no header: %w", errUntrusted)
	}
	if version != manifestVersion {
		return manifest{}, fmt.Errorf("manifest is of version %d: %w", version, errUntrusted)
	}
	if crc32.Checksum(body, castagnoli) != sum {
		return manifest{}, fmt.Errorf("manifest's checksum differs: %w", errUntrusted)
	}
	var m manifest
	if err := json.Unmarshal(body, &m); err != nil {
		return manifest{}, fmt.Errorf("decode the manifest (%w): %w", err, errUntrusted)
	}
	return m, m.check()
}

// check verifies the invariants of a manifest. A manifest that violates them despite a correct checksum is the result
// of a bug, and must not lead to wrong results.
func (m manifest) check() error {
	end := uint64(0)
	for _, p := range m.Parts {
		if p.After < end || p.Through <= p.After || p.Segment >= m.Next || p.Tombstones >= m.Next {
			return fmt.Errorf("manifest contradicts itself: %w", errUntrusted)
		}
		end = p.Through
	}
	return nil
}

// readManifest returns the manifest of the folder, or fs.ErrNotExist.
func readManifest(dir string) (manifest, error) {
	data, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return manifest{}, fmt.Errorf("read the index manifest: %w", err)
	}
	return decodeManifest(data)
}

// draftManifest writes a manifest next to the current one and syncs the folder, so that every file it names exists
// before it takes effect.
func draftManifest(fsys disk.FS, dir string, m manifest) error {
	data, err := m.encode()
	if err != nil {
		return err
	}
	if err := writeFile(fsys, filepath.Join(dir, manifestDraft), data); err != nil {
		return fmt.Errorf("write the index manifest: %w", err)
	}
	if err := fsys.SyncDir(dir); err != nil {
		return fmt.Errorf("sync the index folder: %w", err)
	}
	return nil
}

// swapManifest makes the draft the current manifest.
func swapManifest(fsys disk.FS, dir string) error {
	if err := fsys.Rename(filepath.Join(dir, manifestDraft), filepath.Join(dir, manifestName)); err != nil {
		return fmt.Errorf("replace the index manifest: %w", err)
	}
	if err := fsys.SyncDir(dir); err != nil {
		return fmt.Errorf("sync the index folder: %w", err)
	}
	return nil
}

// writeFile writes and syncs a file.
func writeFile(fsys disk.FS, path string, data []byte) error {
	f, err := fsys.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func segmentPath(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%08d%s", number, segmentSuffix))
}

func tombstonePath(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%08d%s", number, tombstoneSuffix))
}

// fingerprint returns a checksum of a file's size and last bytes. A segment ends with the checksums of its pages, so
// it distinguishes segments of the same name without reading them.
func fingerprint(path string) (uint32, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	const tail = 4096
	end := make([]byte, min(tail, info.Size()))
	if _, err := f.ReadAt(end, info.Size()-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	sum := crc32.Checksum([]byte(fmt.Sprint(info.Size(), ":")), castagnoli)
	return crc32.Update(sum, castagnoli, end), nil
}

// isLost reports whether an error means that a file's content is gone, and not just unreadable at the moment.
func isLost(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errUntrusted) || isDamage(err)
}
