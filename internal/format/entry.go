package format

import (
	"archive/zip"
	"io"
	"io/fs"
)

// Entries gives access to the files of a zip archive that was read as a library.
type Entries struct {
	zip   *zip.ReadCloser
	files map[string]*zip.File
}

// OpenEntries opens an archive whose directory OpenWithin has accepted.
func OpenEntries(path string) (*Entries, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	e := &Entries{zip: z, files: make(map[string]*zip.File, len(z.File))}
	for _, f := range z.File {
		e.files[entryName(f.Name)] = f
	}
	return e, nil
}

// Open returns the content of the file that a document with this external id was read from. A record of a list was not
// read from a file of its own, which is fs.ErrNotExist.
func (e *Entries) Open(id string) (io.ReadCloser, error) {
	f := e.files[id]
	if f == nil || HoldsRecords(id) {
		return nil, fs.ErrNotExist
	}
	return f.Open()
}

// Close closes the archive.
func (e *Entries) Close() error { return e.zip.Close() }
