package importer

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"carrel/internal/format"
	"carrel/internal/source"
)

// Originals stores the files that documents are read from; see package blob.
type Originals interface {
	Keeps() bool
	// KeepFile stores a copy of a file. The key is empty if the file no longer has this hash.
	KeepFile(ctx context.Context, path string, hash [32]byte) (key string, size int64, err error)
	// Open returns a stored file. A missing file is not_found.
	Open(ctx context.Context, key string, size int64) (io.ReadSeekCloser, error)
}

// originalKeeper stores the originals of the documents of one file: the file itself if it is one document, the entry of
// an archive or folder, and nothing for a record of a list.
type originalKeeper struct {
	service *Service
	file    localFile
	hash    [32]byte
	// entries is open while an archive is imported.
	entries *format.Entries
	// folder is the folder that the documents are read from, or nil.
	folder *os.Root
	// kept is the stored original of a file that is one document.
	kept source.Original
}

// original stores the original of the document with this id in the file.
func (k *originalKeeper) original(ctx context.Context, id string) (source.Original, error) {
	originals := k.service.options.Originals
	if originals == nil || !originals.Keeps() {
		return source.Original{}, nil
	}
	message, attachment, isAttachment := format.SplitAttachment(id)
	switch {
	case k.folder != nil || format.IsArchive(k.file.path):
		o, err := k.copyOf(ctx, id, func() (io.ReadCloser, error) { return k.open(id) })
		if err != nil || o.Hash != "" || !isAttachment {
			return o, err
		}
		fallthrough
	case isAttachment:
		return k.copyOf(ctx, id, func() (io.ReadCloser, error) { return k.attachment(ctx, message, attachment) })
	case format.HoldsRecords(k.file.path) || k.kept.Hash != "":
		return k.kept, nil
	}
	key, size, err := originals.KeepFile(ctx, k.file.path, k.hash)
	if err != nil || key == "" {
		return source.Original{}, err
	}
	name := k.file.name
	if k.file.url != "" {
		name = k.file.path // a URL may have no file name
	}
	k.kept = source.Original{Hash: key, Name: path.Base(name), Size: size}
	return k.kept, nil
}

// attachment opens an attachment of a mail file, which is the file itself or in its archive or folder.
func (k *originalKeeper) attachment(ctx context.Context, message, name string) (io.ReadCloser, error) {
	content, err := k.open(message)
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }() // opened for reading only
	return format.OpenAttachment(ctx, message, content, name)
}

// open opens the file, or the file of its archive or folder, that the document with this id was read from.
func (k *originalKeeper) open(id string) (content io.ReadCloser, err error) {
	switch {
	case k.folder != nil:
		return k.folderFile(id)
	case !format.IsArchive(k.file.path):
		return os.Open(k.file.path)
	case k.entries == nil:
		if k.entries, err = format.OpenEntries(k.file.path); err != nil {
			return nil, err
		}
	}
	return k.entries.Open(id)
}

// copyOf stores the content of an entry of an archive or a file of a folder. Without one, there is no original.
func (k *originalKeeper) copyOf(
	ctx context.Context, id string, open func() (io.ReadCloser, error),
) (o source.Original, err error) {
	content, err := open()
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	defer func() { _ = content.Close() }() // opened for reading only
	temp, err := os.CreateTemp(k.service.options.Scratch, "carrel-entry-*")
	if err != nil {
		return o, err
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	hash := sha256.New()
	// The entry was parsed within the limits of an upload, so its size is bounded.
	_, err = io.Copy(io.MultiWriter(temp, hash), content)
	if err = errors.Join(err, temp.Close()); err != nil {
		return o, err
	}
	key, size, err := k.service.options.Originals.KeepFile(ctx, temp.Name(), [32]byte(hash.Sum(nil)))
	if err != nil || key == "" {
		return source.Original{}, err
	}
	return source.Original{Hash: key, Name: path.Base(id), Size: size}, nil
}

func (k *originalKeeper) close() {
	if k.entries != nil {
		_ = k.entries.Close() // opened for reading only
	}
	if k.folder != nil {
		_ = k.folder.Close() // opened for reading only
	}
}
