package ingest

import (
	"archive/zip"
	"errors"
	"io/fs"
)

// What an archive may hold.
const (
	maxEntries  = 100_000
	maxArchived = 16 << 30
)

// openArchive lists the texts of a zip file as if it were a folder.
func openArchive(path string) (*Library, error) {
	f := &folder{open: func() (fs.FS, func() error, error) {
		z, err := zip.OpenReader(path)
		if err != nil {
			return nil, nil, err
		}
		return &z.Reader, z.Close, nil
	}}
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, unsupported("This is not a zip file, or one that is damaged.")
	}
	defer func() { _ = z.Close() }() // nothing was written
	var total uint64
	for _, entry := range z.File {
		total += entry.UncompressedSize64
	}
	if len(z.File) > maxEntries || total > maxArchived {
		return nil, unsupported("This archive holds more than can be read at once; part it.")
	}
	err = fs.WalkDir(&z.Reader, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return f.list(&z.Reader, name, entry)
	})
	if err != nil { // names that are there twice, or that are folders of others
		return nil, unsupported("This is not a zip file, or one that is damaged.")
	}
	if len(f.files) == 0 {
		return nil, unsupported("This archive holds nothing that can be read.")
	}
	return &Library{f}, nil
}

// broken turns what a damaged archive answers into the trouble of one file.
func broken(err error) error {
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrAlgorithm) {
		return fault("can't be unpacked: it is damaged or packed in an unknown way")
	}
	return err
}
