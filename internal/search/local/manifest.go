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

	"carrel/internal/search/disk"
)

// The files of an index's folder: the manifest, and numbered files that it names.
const (
	manifestName    = "MANIFEST"
	manifestDraft   = "MANIFEST.new"
	segmentSuffix   = ".segment"
	tombstoneSuffix = ".deleted"
)

// manifestVersion is that of the whole folder: files of another are not read but built anew.
const manifestVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errForeign says that a file is not what it should be: damaged, of another version or of another index.
var errForeign = errors.New("file cannot be trusted")

// manifest says what an index consists of. It is replaced as a whole, so that a change of the index is done or not.
type manifest struct {
	// Identity is that of the database whose documents these are.
	Identity string `json:"identity"`
	// Next is a number that no file has or had.
	Next uint64 `json:"next"`
	// Parts are in order of their spans, which do not overlap.
	Parts  []manifestPart `json:"parts"`
	Graves []grave        `json:"graves,omitempty"`
	// Purges says that parts note what must leave the disk. An index of an earlier version did not, so that all of its
	// parts with deleted documents are written anew once.
	Purges bool `json:"purges,omitempty"`
}

// manifestPart is what the index holds of a span.
type manifestPart struct {
	After   uint64 `json:"after"`
	Through uint64 `json:"through"`
	// Segment is the number of a file, 0 when no document of the span is left.
	Segment uint64 `json:"segment,omitempty"`
	// Print knows the segment's file from others with the same name.
	Print uint32 `json:"print,omitempty"`
	// Tombstones is the number of the file that says which documents are deleted, 0 for none, and Sum its checksum.
	Tombstones uint64 `json:"tombstones,omitempty"`
	Sum        uint32 `json:"sum,omitempty"`
	// Purge says that the segment holds documents of deleted sources, whose words must not stay on the disk.
	Purge bool `json:"purge,omitempty"`
}

const manifestHeader = "carrel search index %d %08x\n"

func (m manifest) encode() ([]byte, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the index's manifest: %w", err)
	}
	header := fmt.Sprintf(manifestHeader, manifestVersion, crc32.Checksum(body, castagnoli))
	return append([]byte(header), body...), nil
}

// decodeManifest reads what encode wrote. Any difference is errForeign.
func decodeManifest(data []byte) (manifest, error) {
	header, body, _ := bytes.Cut(data, []byte("\n"))
	var version int
	var sum uint32
	if _, err := fmt.Sscanf(string(header)+"\n", manifestHeader, &version, &sum); err != nil {
		return manifest{}, fmt.Errorf("manifest has no header: %w", errForeign)
	}
	if version != manifestVersion {
		return manifest{}, fmt.Errorf("manifest is of version %d: %w", version, errForeign)
	}
	if crc32.Checksum(body, castagnoli) != sum {
		return manifest{}, fmt.Errorf("manifest's checksum differs: %w", errForeign)
	}
	var m manifest
	if err := json.Unmarshal(body, &m); err != nil {
		return manifest{}, fmt.Errorf("decode the manifest (%w): %w", err, errForeign)
	}
	return m, m.check()
}

// check holds a manifest to its own rules. A right checksum over a wrong manifest would be our own mistake, and
// must not become wrong answers.
func (m manifest) check() error {
	end := uint64(0)
	for _, p := range m.Parts {
		if p.After < end || p.Through <= p.After || p.Segment >= m.Next || p.Tombstones >= m.Next {
			return fmt.Errorf("manifest contradicts itself: %w", errForeign)
		}
		end = p.Through
	}
	return nil
}

// readManifest returns the manifest of the folder, fs.ErrNotExist when it has none.
func readManifest(dir string) (manifest, error) {
	data, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return manifest{}, fmt.Errorf("read the index's manifest: %w", err)
	}
	return decodeManifest(data)
}

// draftManifest writes a manifest beside the present one. The folder is synced so that every file the manifest
// names is there before it takes effect.
func draftManifest(fsys disk.FS, dir string, m manifest) error {
	data, err := m.encode()
	if err != nil {
		return err
	}
	if err := writeFile(fsys, filepath.Join(dir, manifestDraft), data); err != nil {
		return fmt.Errorf("write the index's manifest: %w", err)
	}
	if err := fsys.SyncDir(dir); err != nil {
		return fmt.Errorf("sync the index's folder: %w", err)
	}
	return nil
}

// swapManifest puts the draft in force.
func swapManifest(fsys disk.FS, dir string) error {
	if err := fsys.Rename(filepath.Join(dir, manifestDraft), filepath.Join(dir, manifestName)); err != nil {
		return fmt.Errorf("replace the index's manifest: %w", err)
	}
	if err := fsys.SyncDir(dir); err != nil {
		return fmt.Errorf("sync the index's folder: %w", err)
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

// fingerprint is a checksum of a file's size and end. A segment ends with the checksums of all it holds, so that a
// whole segment from elsewhere is told apart without reading it.
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

// isLost reports whether an error of reading a file means that its content is gone, rather than that this process
// could not read it just now.
func isLost(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errForeign) || isDamage(err)
}
